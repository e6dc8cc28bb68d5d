//! Snapshots of the feed.

use crate::support::environment::put;
use crate::texts::check;

#[test]
fn the_feed() {
    check("feed", |scene| {
        scene.msg(&["feed"]);
        scene.joined("SwiftRaven", "claude");
        scene.joined("GoldFalcon", "codex");
        scene.now = "2024-05-17T09:31:30.000Z".to_string();
        for args in [
            &["send", "GoldFalcon", "auth is ready", "--as", "SwiftRaven"][..],
            &["broadcast", "lunch is ready", "--as", "GoldFalcon"],
            &["reserve", "src/auth/", "--reason", "rewriting the login", "--as", "SwiftRaven"],
            &["reserve", "src/auth/login.rs", "--as", "GoldFalcon"],
            &["leave", "--as", "SwiftRaven"],
        ] {
            crate::support::environment::end(scene.command().args(args));
        }
        let project = scene.project().join(".pi/messenger/feed.jsonl");
        let line = "{\"ts\":\"2024-05-17T09:31:00.000Z\",\"agent\":\"RedIce\",\"type\":\"task.start\",\"target\":\"task-1\"}\nnonsense\n";
        put(&project, line);
        scene.now = "2024-05-17T11:31:30.000Z".to_string();
        scene.meanwhile("pi-messenger writes down something too, and something is broken");
        scene.msg(&["feed"]);
        scene.msg(&["feed", "--limit", "2", "-q"]);
        scene.msg(&["feed", "--agent", "GoldFalcon", "--kind", "message,refused"]);
        scene.msg(&["feed", "--agent", "Nobody"]);
        scene.msg(&["feed", "--kind", "jion"]);
        scene.msg(&["feed", "--kind", "xyzzy"]);
    });
}

//! Snapshots of the status line.

use crate::texts::check;

#[test]
fn the_status_line() {
    check("statusline", |scene| {
        scene.msg(&["statusline"]);
        scene.joined("SwiftRaven", "claude");
        scene.msg(&["statusline"]);
        scene.msg(&["statusline", "--as", "SwiftRaven"]);
        scene.joined("GoldFalcon", "codex");
        scene.joined("BrightLynx", "gemini");
        scene.mail("SwiftRaven", 3);
        scene.msg(&["statusline", "--as", "SwiftRaven"]);
        scene.msg(&["statusline", "--as", "SwiftRaven", "--tmux"]);
        scene.msg(&["statusline", "--as", "GoldFalcon"]);
        scene.msg(&["statusline", "--as", "Nobody"]);
        scene.msg(&["statusline", "--pane", "%3"]);
    });
}

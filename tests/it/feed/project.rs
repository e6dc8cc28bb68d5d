//! Tests of pi-messenger's feed in the project, which `msg feed` includes.

use std::fs;

use insta::assert_snapshot;

use super::shown;
use crate::support::environment::{TestEnvironment, put};

/// A feed written by pi-messenger itself.
const FIXTURE: &str = "fixtures/pi-messenger/feed.jsonl";

fn line(ts: &str, kind: &str, target: &str) -> String {
    format!("{{\"ts\":\"{ts}\",\"agent\":\"RedIce\",\"type\":\"{kind}\",\"target\":\"{target}\"}}\n")
}

#[test]
fn what_pi_messenger_wrote_is_shown_as_what_it_is() {
    let env = TestEnvironment::at("2026-11-15T00:00:00.000Z");
    let written = fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(FIXTURE)).unwrap();
    let feed = env.work().join(".pi/messenger/feed.jsonl");
    put(&feed, &written);
    assert_eq!(shown(&env, &[]).len(), written.lines().count(), "also without a mesh");
    assert_eq!(env.ok(&["feed"])["unreadable"], 0);
    env.join("Alice");
    assert_eq!(shown(&env, &[]).len(), written.lines().count() + 1);
    // What it says directly is not shown either.
    assert_snapshot!(env.run(&["feed"]), @"
    2min ago  RedIce joined
    2min ago  RedIce reserved src/auth/: “Refactoring authentication”
    2min ago  RedIce reserved config.yaml: “Refactoring authentication”
    2min ago  RedIce ran the tests: passed
    2min ago  RedIce committed “fix: login”
    2min ago  RedIce → GoldFalcon
    1min ago  RedIce edited src/auth/login.ts
    0s ago    Alice joined
    ");
    env.ok(&["config", "set", "feedPrivacy", "text"]);
    assert_snapshot!(env.run(&["feed"]), @"
    2min ago  RedIce joined
    2min ago  RedIce reserved src/auth/: “Refactoring authentication”
    2min ago  RedIce reserved config.yaml: “Refactoring authentication”
    2min ago  RedIce ran the tests: passed
    2min ago  RedIce committed “fix: login”
    2min ago  RedIce → GoldFalcon: “Auth module is ready for review second line”
    1min ago  RedIce edited src/auth/login.ts
    0s ago    Alice joined
    ");
    assert_eq!(fs::read_to_string(feed).unwrap(), written, "it is never written");
}

#[test]
fn both_are_one_timeline() {
    let env = TestEnvironment::new();
    let now = |time: &str| [("MSG_TEST_NOW", format!("2026-01-01T10:{time}.000Z"))];
    let tell = |time: &str, pattern: &str| {
        let now = now(time);
        env.run_with(&["reserve", pattern, "--as", "Alice"], &[(now[0].0, &now[0].1)]).expect_code(0);
    };
    env.join("Alice");
    fs::remove_dir_all(env.mesh().join("feed")).unwrap();
    tell("00:01", "a");
    tell("00:03", "c");
    tell("00:05", "e");
    let pis: String = [("00:02", "b"), ("00:04", "d"), ("00:06", "f")]
        .map(|(time, target)| line(&format!("2026-01-01T10:{time}.000Z"), "task.start", target))
        .concat();
    let copied = fs::read_to_string(env.mesh().join("feed/000000000000.jsonl")).unwrap();
    let copied = copied.lines().nth(1).unwrap();
    let feed = env.work().join(".pi/messenger/feed.jsonl");
    put(&feed, &format!("{pis}{copied}\nnonsense\n"));
    let all = [
        "Alice reserve a",
        "RedIce task.start b",
        "Alice reserve c",
        "RedIce task.start d",
        "Alice reserve e",
        "RedIce task.start f",
    ];
    assert_eq!(shown(&env, &[]), all, "what both hold happened once");
    assert_eq!(shown(&env, &["--limit", "3"]), all[3..]);
    assert_eq!(env.ok(&["feed"])["unreadable"], 1);
}

#[test]
fn it_is_found_from_anywhere_in_the_work_tree_and_not_beyond() {
    let env = TestEnvironment::new();
    let inner = env.work().join("repository/src/deep");
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir_all(env.work().join("repository/.git")).unwrap();
    fs::write(env.work().join("repository/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for name in ["objects", "refs"] {
        fs::create_dir(env.work().join("repository/.git").join(name)).unwrap();
    }
    put(&env.work().join(".pi/messenger/feed.jsonl"), &line("2026-01-01T10:00:00Z", "join", "outside"));
    put(
        &env.work().join("repository/.pi/messenger/feed.jsonl"),
        &line("2026-01-01T10:00:00Z", "join", "inside"),
    );
    let mut command = env.msg();
    let ended = crate::support::environment::end(command.args(["feed", "--json"]).current_dir(inner));
    let events = ended.json()["events"].clone();
    assert_eq!(events.as_array().unwrap().len(), 1, "{events}");
    assert_eq!(events[0]["target"], "inside");
}

#[test]
fn a_project_can_not_be_in_the_way() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let dir = env.work().join(".pi/messenger");
    fs::create_dir_all(&dir).unwrap();
    let feed = dir.join("feed.jsonl");
    nix::unistd::mkfifo(&feed, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(shown(&env, &[]), ["Alice join -"], "a pipe that nobody writes to");
    fs::remove_file(&feed).unwrap();
    fs::create_dir(&feed).unwrap();
    assert_eq!(shown(&env, &[]), ["Alice join -"]);
    fs::remove_dir(&feed).unwrap();
    // Without a newline, and longer than what is read.
    fs::write(&feed, vec![b'x'; 8 * 1024 * 1024]).unwrap();
    assert_eq!(shown(&env, &[]), ["Alice join -"]);
    std::os::unix::fs::symlink("/dev/zero", env.work().join("zero")).unwrap();
    fs::remove_file(&feed).unwrap();
    std::os::unix::fs::symlink(env.work().join("zero"), &feed).unwrap();
    assert_eq!(shown(&env, &[]), ["Alice join -"], "a device is no file");
}

//! Text from others is escaped before it reaches a terminal: the terminal does not obey it, and a person sees it.

use serde_json::{Value, json};

use crate::support::environment::put_old;
use crate::texts::{NOW, Scene, Voice, check, spoken};

/// A bell, a colour, a title, an eight-bit escape, a right-to-left override, a zero-width space.
const TRICKS: &str = "\u{7}\u{1b}[31m\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\u{200b}\r\n";
const WRITTEN_OUT: &str = "\\u{7}\\u{1b}[31m\\u{1b}]0;title\\u{7}\\u{9b}2J\\u{202e}\\u{200b}\\r\\n";

fn tricky(text: &str) -> Value {
    json!(format!("{text}{TRICKS}"))
}

/// An agent whose registration, claim and reservation are full of such characters.
fn mallory(scene: &mut Scene) {
    scene.joined("Alice", "claude");
    scene.joined("Mallory", "codex");
    scene.rewrite("Mallory", |mallory| {
        mallory["cwd"] = tricky("/cwd");
        mallory["model"] = tricky("model");
        mallory["gitBranch"] = tricky("branch");
        mallory["spec"] = tricky("/spec");
        mallory["statusMessage"] = tricky("status");
        let reservation = json!({"pattern": tricky("pattern"), "reason": tricky("reason"), "since": NOW});
        mallory["reservations"] = json!([reservation]);
    });
    scene.claim("Mallory", &format!("task{TRICKS}"), &format!("why{TRICKS}"));
    put_old(&scene.mesh().join(format!("registry/file{TRICKS}.json")), "{}");
}

/// With colours, because without them escape sequences are removed anyway.
fn is_written_out(scene: &Scene, args: &[&str], texts: &[&str]) {
    let (text, _) = spoken(scene.command().args(args).args(["--color", "always"]));
    for place in texts {
        assert!(text.contains(&format!("{place}{WRITTEN_OUT}")), "{place} is not in: {text:?}");
    }
    let ours = ["[0m", "[1m", "[2m", "[32m", "[33m", "[31merror", "[31mfail"];
    let rest = ours.iter().fold(text, |text, style| text.replace(&format!("\u{1b}{style}"), ""));
    let bad = |c: char| c != '\n' && c.is_control() || matches!(c, '\u{202e}' | '\u{200b}');
    assert!(!rest.contains(bad), "{args:?}: {rest:?}");
}

#[test]
fn nothing_that_an_agent_says_is_obeyed() {
    let scene = Scene::play(Voice::Words, &mallory);
    is_written_out(&scene, &["agents"], &["cwd", "branch", "status", "pattern", "task", "file"]);
    let all = ["cwd", "model", "branch", "spec", "status", "pattern", "reason", "task", "why"];
    is_written_out(&scene, &["whois", "Mallory"], &all);
    is_written_out(&scene, &["whoami", "-v", "--as", "Mallory"], &all);
    is_written_out(&scene, &["doctor"], &["file"]);
    is_written_out(&scene, &["evict", "Mallory", "--force", "--as", "Alice"], &["task"]);
    is_written_out(&scene, &["agents", "--gone"], &[]);
}

#[test]
fn nothing_that_is_typed_is_obeyed_either() {
    let scene = Scene::play(Voice::Words, &mallory);
    let pid = std::process::id().to_string();
    for args in [
        &["whois", TRICKS][..],
        &["join", TRICKS],
        &["agents", "--as", TRICKS],
        &["config", "get", TRICKS],
        &["join", "--harness", TRICKS],
        &["join", "--spec", TRICKS, "--pid", &pid],
        &["join", "--session", TRICKS],
    ] {
        is_written_out(&scene, args, &[""]);
    }
}

#[test]
fn how_it_looks() {
    check("peers", |scene| {
        mallory(scene);
        scene.msg(&["whois", "Mallory"]);
    });
}

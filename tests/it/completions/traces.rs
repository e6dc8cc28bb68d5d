//! What completions must not do: change or create anything, run what peers wrote, disturb a prompt.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{answer, bash, values_of};
use crate::support::environment::{TestEnvironment, put};

/// Lines that look at everything there is.
const LINES: [&[&str]; 22] = [
    &["--as", "Alice", "send", ""],
    &["--as", "Alice", "send", "--hold", ""],
    &["--as", "Alice", "show", ""],
    &["--as", "Alice", "ack", ""],
    &["--as", "Alice", "receipt", ""],
    &["--as", "Alice", "contest", ""],
    &["--as", "Alice", "release", ""],
    &["--as", "Alice", "claim", ""],
    &["--as", "Alice", "complete", ""],
    &["--as", "Alice", "reopen", ""],
    &["whois", ""],
    &["check", ""],
    &["claim", ""],
    &["spec", ""],
    &["runs", "show", ""],
    &["runs", "stop", ""],
    &["run", ""],
    &["overlaps", "dismiss", ""],
    &["knowledge", "show", ""],
    &["crew", "review", ""],
    &["config", "set", "mesh", ""],
    &["man", "knowledge", ""],
];

/// Everything below a directory, with what a change would change.
fn tree(dir: &Path) -> BTreeMap<PathBuf, (u64, i64, i64, u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            if metadata.is_dir() {
                dirs.push(path.clone());
            }
            let times = (metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.mode(), content);
            found.insert(path, times);
        }
    }
    found
}

fn ask_everything(env: &TestEnvironment) {
    for line in LINES {
        answer(env, line);
    }
    bash(env, &env.work(), "msg --as Alice send ");
}

#[test]
fn nothing_is_written() {
    let env = TestEnvironment::new();
    // Settings that nobody has read yet: other commands would note them.
    put(&env.config_file(), "{\"nameTheme\": \"space\"}");
    for name in ["Alice", "Bob", "Gone"] {
        env.join(name);
    }
    put(&env.work().join("spec.md"), "- [ ] TASK-01: x\n- [x] TASK-02: y\n");
    env.ok(&["spec", "spec.md", "--as", "Alice"]);
    env.ok(&["reserve", "src/", "--as", "Bob"]);
    env.ok(&["send", "Alice", "hi", "--want-ack", "--as", "Bob"]);
    env.ok(&["learn", "x is y", "--as", "Bob"]);
    env.ok(&["leave", "--as", "Gone"]);
    fs::remove_file(env.config_file().with_file_name("last-good.json")).ok();
    let before = tree(env.path());
    ask_everything(&env);
    assert_eq!(tree(env.path()), before);
    assert!(!values_of(&env, &["--as", "Alice", "show", ""]).is_empty());
}

#[test]
fn without_a_mesh_none_is_made() {
    let env = TestEnvironment::new();
    let before = tree(env.path());
    ask_everything(&env);
    assert_eq!(tree(env.path()), before);
    assert!(!env.mesh().exists());
}

/// Whatever is damaged, the answer is what can be read, and standard error stays empty.
#[test]
fn a_damaged_mesh_is_no_reason_to_complain() {
    for damaged in
        ["claims.json", "completions.json", "registry/Alice.json", "index", "sessions", "config", "mesh"]
    {
        let env = TestEnvironment::new();
        for name in ["Alice", "Bob"] {
            env.join(name);
        }
        env.ok(&["reserve", "src/", "--as", "Bob"]);
        let path = match damaged {
            "config" => env.config_file(),
            "mesh" => env.mesh(),
            name => env.mesh().join(name),
        };
        match damaged {
            "mesh" | "sessions" => {
                fs::rename(&path, env.path().join("elsewhere")).unwrap();
                put(&path, "not a directory");
            }
            _ => put(&path, "{\"broken\": "),
        }
        let before = tree(env.path());
        ask_everything(&env);
        assert_eq!(tree(env.path()), before, "{damaged}");
        assert!(values_of(&env, &["sen"]).contains(&"send".to_string()), "{damaged}");
    }
    // An odd question is answered, too.
    let env = TestEnvironment::new();
    for odd in [&["completions", "--answer", "bash"][..], &["completions", "--answer", "fish"]] {
        assert_eq!(env.run(odd).code, Some(2), "{odd:?}: no script asks that");
    }
    assert_eq!(env.run(&["completions", "--answer", "bash", "", ""]).expect_code(0).stderr, "");
    assert_eq!(env.run(&["completions", "--answer", "fish", ""]).expect_code(0).stderr, "");
}

/// A peer's texts reach neither the terminal nor the shell as anything but text.
#[test]
fn hostile_texts_are_text() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let (bell, text) =
        ("\u{1b}]0;x\u{7}", "$(touch made) `touch made`; touch made\n\tsecond: 'line' \u{202e}");
    env.ok(&["send", "Bob", &format!("{bell}{text}"), "--as", "Alice"]);
    env.ok(&["set-status", "$(touch made)", "--as", "Alice"]);
    put(&env.work().join("$(touch made).md"), "- [ ] A: x\n");
    put(&env.work().join("a\u{1b}[31mb.md"), "");
    put(&env.work().join("-rf.md"), "");
    for words in [&["--as", "Bob", "show", ""][..], &["whois", ""], &["spec", ""]] {
        let (_, found) = answer(&env, words);
        assert!(!found.is_empty(), "{words:?}");
        for (value, about) in found {
            let odd = |text: &str| text.chars().any(|c| c.is_control() || c == '\u{202e}');
            assert!(!odd(&value) && !odd(&about) && !value.starts_with('-'), "{value:?} {about:?}");
        }
    }
    assert_eq!(bash(&env, &env.work(), "msg spec "), [r"\$\(touch\ made\).md"]);
    assert!(!env.work().join("made").exists());
}

#[test]
fn there_are_at_most_so_many() {
    let env = TestEnvironment::new();
    let lines: Vec<String> = (0..500).map(|number| format!("- [ ] T-{number:03}: x")).collect();
    put(&env.work().join("spec.md"), &lines.join("\n"));
    env.join("Alice");
    env.ok(&["spec", "spec.md", "--as", "Alice"]);
    assert_eq!(values_of(&env, &["--as", "Alice", "claim", ""]).len(), 200);
    assert_eq!(
        values_of(&env, &["--as", "Alice", "claim", "T-49"]).len(),
        10,
        "the rest is found by its beginning"
    );
}

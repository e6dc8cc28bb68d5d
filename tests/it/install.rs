//! Tests of `install` and `uninstall`, which change the settings files of harnesses.

mod crashes;
mod doctor;
mod files;
mod guide;
mod joining;
mod lives;
mod merging;
mod permissions;
mod project;
mod records;
mod refusals;
mod servers;
mod setup;
mod setup_undo;
mod shell;
mod statusline;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::environment::{Ended, TestEnvironment, end, put};

const HARNESSES: [&str; 8] = ["claude", "codex", "gemini", "opencode", "pi", "copilot", "kimi", "qwen"];

/// The settings files of harnesses that our entries are merged into, and a file of our own.
const SETTINGS: [(&str, &str); 5] = [
    ("claude", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
    ("copilot", ".copilot/settings.json"),
    ("qwen", ".qwen/settings.json"),
];

/// Everything beneath a directory: modes, content, and link targets. Our records are left out.
type Tree = BTreeMap<String, (u32, String)>;

fn tree(dir: &Path) -> Tree {
    let mut found = Tree::new();
    collect(dir, dir, &mut found);
    found
}

fn collect(top: &Path, dir: &Path, found: &mut Tree) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(top).unwrap().display().to_string();
        if [".local", ".git/objects", ".git/index"].iter().any(|other| name.starts_with(other)) {
            continue;
        }
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if metadata.is_dir() {
            collect(top, &path, found);
            "directory".to_string()
        } else {
            String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
        };
        found.insert(name, (metadata.permissions().mode() & 0o7777, content));
    }
}

#[track_caller]
fn changed(said: &Value) -> Vec<String> {
    let paths = said["changed"].as_array().unwrap_or_else(|| panic!("no `changed`: {said}"));
    paths.iter().map(|path| path.as_str().unwrap().to_string()).collect()
}

/// Installs, and returns which files changed, relative to the home.
#[track_caller]
fn install(env: &TestEnvironment, harness: &str) -> Vec<String> {
    from_home(env, changed(&env.ok(&["install", harness])))
}

#[track_caller]
fn uninstall(env: &TestEnvironment, harness: &str) -> Vec<String> {
    from_home(env, changed(&env.ok(&["uninstall", harness])))
}

fn from_home(env: &TestEnvironment, paths: Vec<String>) -> Vec<String> {
    let home = format!("{}/", env.home().display());
    paths.into_iter().map(|path| path.strip_prefix(&home).unwrap_or(&path).to_string()).collect()
}

fn at(env: &TestEnvironment, name: &str) -> PathBuf {
    env.home().join(name)
}

#[track_caller]
fn text(env: &TestEnvironment, name: &str) -> String {
    fs::read_to_string(at(env, name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Writes a file beneath the home.
fn give(env: &TestEnvironment, name: &str, text: &str) {
    put(&at(env, name), text);
}

/// Gives a file of ours other content, which the records say that we wrote.
fn rewritten_by_us(env: &TestEnvironment, name: &str, old: &str) {
    let now = text(env, name);
    let [now_hash, old_hash] = [now.as_str(), old].map(|it| ravenry::domain::sha256(it.as_bytes()));
    for entry in fs::read_dir(at(env, ".local/state/ravenry-installs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "json") {
            let record = fs::read_to_string(&path).unwrap();
            fs::write(&path, record.replace(&now_hash, &old_hash)).unwrap();
        }
    }
    give(env, name, old);
}

/// Copies the program to a path of its own.
fn copy_of_program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_msg"), path).unwrap();
}

/// Runs the program at that path.
fn run_program(env: &TestEnvironment, path: &Path, args: &[&str]) -> Ended {
    let mut command = std::process::Command::new(path);
    command.env_clear().env("HOME", env.home()).env("MSG_MESH", env.mesh()).env("PATH", "/usr/bin:/bin");
    command.env(ravenry::sys::test_switches::ANCESTRY_END, std::process::id().to_string());
    end(command.args(args).current_dir(env.work()))
}

/// The command lines of our hooks in a file.
fn hook_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    // Remove comments; nothing else in the tests' settings looks like one.
    let plain: String = text
        .trim_start_matches('\u{feff}')
        .lines()
        .map(|line| line.split(" // ").next().unwrap_or(line).to_string() + "\n")
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let plain = plain.replace(",\n}", "\n}").replace(",\n  }", "\n  }").replace(",\n    ]", "\n    ]");
    let value: Value = serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}: {plain}"));
    for groups in value["hooks"].as_object().into_iter().flat_map(|events| events.values()) {
        for group in groups.as_array().unwrap() {
            let handlers = group["hooks"].as_array().cloned().unwrap_or_else(|| vec![group.clone()]);
            let command = |handler: &Value| {
                handler["command"].as_str().or(handler["bash"].as_str()).map(str::to_string)
            };
            lines.extend(handlers.iter().filter_map(command).filter(|line| line.contains(" hook ")));
        }
    }
    lines
}

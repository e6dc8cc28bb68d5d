//! Tables of commands and the paths that they write, one table per topic.
//!
//! A reading is written as follows: paths below `/w`, where the commands run, without that prefix; `a…` for the tree
//! `a`; `glob:x` for a pattern; `?` at the end if something is opaque.

mod everyday;
mod files;
mod git;
mod git_needs;
mod language;
mod links;
mod nasty;
mod reads;
mod robust;

use crate::domain::pattern::NormalPath;

use super::{CommandPrediction, Extent, PathWrite, ShellEnvironment, predict_command};

/// A small tree in `/w`, which is a git work tree.
pub struct Fake;

const PATCH: &str = "\
diff --git a/src/one.rs b/src/one.rs
--- a/src/one.rs
+++ b/src/one.rs
@@ -1,2 +1,2 @@
-x
--- a/not/a/header
+y
+++ b/nor/this
diff --git a/old.txt b/new.txt
similarity index 100%
rename from old.txt
rename to new.txt
";

impl ShellEnvironment for Fake {
    fn is_dir(&self, path: &str) -> bool {
        ["/", "/w", "/w/src", "/w/docs", "/w/dist", "/w/src/deep", "/home/me", "/tmp"]
            .contains(&NormalPath::absolute(path).as_str())
    }

    fn read(&self, path: &str) -> Option<String> {
        match path {
            "/w/fix.patch" | "/w/src/../fix.patch" | "/w/src/fix.patch" => Some(PATCH.to_string()),
            "/w/list.txt" => Some("one.txt\ntwo.txt\n".to_string()),
            "/w/README.md" | "/w/src/main.rs" => Some(String::new()),
            _ => None,
        }
    }

    fn work_tree(&self, dir: &str) -> Option<String> {
        dir.starts_with("/w").then(|| "/w".to_string())
    }

    fn home(&self) -> Option<String> {
        Some("/home/me".to_string())
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "OUT").then(|| "/w/out".to_string())
    }
}

pub fn read(command: &str) -> CommandPrediction {
    predict_command(command, "/w", &Fake)
}

fn show_one(written: &PathWrite) -> String {
    let path = written.path.strip_prefix("/w/").unwrap_or(&written.path);
    let kind = if written.is_pattern { "glob:" } else { "" };
    let below = if written.extent == Extent::Tree { "…" } else { "" };
    format!("{kind}{path}{below}")
}

pub fn show(reading: &CommandPrediction) -> String {
    let mut parts: Vec<String> = reading.writes.iter().map(show_one).collect();
    parts.extend(reading.is_opaque.then(|| "?".to_string()));
    parts.join(" ")
}

/// Checks a whole table, and reports all wrong lines.
pub fn check(table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .map(|(command, wanted)| (command, wanted, show(&read(command))))
        .filter(|(_, wanted, got)| got != *wanted)
        .map(|(command, wanted, got)| format!("{command}\n  wanted: {wanted}\n  got:    {got}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn a_write_says_what_writes() {
    let by = |command: &str| read(command).writes.into_iter().map(|written| written.by).collect::<Vec<_>>();
    assert_eq!(by("echo x > a 2>> b"), [">", ">>"]);
    assert_eq!(by("sed -i s/a/b/ f; rm -rf d; rm e"), ["sed -i", "rm -r", "rm"]);
    assert_eq!(by("git checkout -- a.rs && git stash"), ["git checkout", "git stash"]);
    assert_eq!(by("npx prettier --write a.ts; chmod -R a+x bin"), ["prettier --write", "chmod -R"]);
}

#[test]
fn paths_are_kept_as_they_are_written() {
    check(&[
        ("> ./a", "./a"),
        ("> ../x/./a", "../x/./a"),
        ("> src//a", "src//a"),
        ("cd src/.. && > a", "src/../a"),
        ("> /etc/hosts", "/etc/hosts"),
    ]);
}

//! A run that continues another works in that one's worktree, and nobody takes it away meanwhile.

use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use ravenry::sys::flock::FileLock;
use serde_json::{Value, json};

use super::super::{put_harness, shown, wait_for_state};
use super::{directories, git, with_repository};
use crate::support::environment::{TestEnvironment, wait_until};

/// Adds a line to a file. When it continues a session, it waits for a word in between.
const STAND_IN: &str = r#"#!/bin/sh
cat "$HOME/words" >> work
while [ $# -gt 1 ]; do case "$1" in --session-id) id=$2 ;; --resume) id=$2; goes_on=1 ;; esac; shift; done
echo '{"type":"system","subtype":"init","session_id":"'$id'","model":"m"}'
[ -n "$goes_on" ] && { echo half > half; read x < "$HOME/go"; rm half; }
echo '{"type":"result","subtype":"success","is_error":false,"result":"it is done","session_id":"'$id'"}'
"#;

struct Scene {
    env: TestEnvironment,
    path: String,
}

impl Scene {
    fn new() -> Self {
        let env = with_repository("[builds]\nharness = \"claude\"\nisolation = \"worktree\"\n");
        mkfifo(&env.home().join("go"), Mode::S_IRWXU).unwrap();
        fs::write(env.home().join("words"), "first\n").unwrap();
        Self { path: put_harness(&env, STAND_IN), env }
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Value {
        let args = [args, &["--json"]].concat();
        self.env.run_with(&args, &[("PATH", &self.path)]).expect_code(0).json()["run"].clone()
    }

    /// A run that has ended, and one that continues it and works.
    fn continued(&self) -> (String, String) {
        let first = self.run(&["run", "builds", "x"])["id"].as_str().unwrap().to_string();
        fs::write(self.env.home().join("words"), "second\n").unwrap();
        let second = self.run(&["runs", "resume", &first, "go on", "--detach"]);
        (first, second["id"].as_str().unwrap().to_string())
    }
}

#[test]
fn work_that_another_run_continues_is_merged_when_that_has_ended() {
    let scene = Scene::new();
    let env = &scene.env;
    let (first, second) = scene.continued();
    wait_until("it works", || directories(env).iter().any(|dir| dir.join("half").exists()));
    for command in ["merge", "pr", "discard"] {
        assert_eq!(env.fails(1, &["runs", command, &first]), "at_work", "{command}");
    }
    assert!(!env.work().join("work").exists());
    fs::write(env.home().join("go"), "go\n").unwrap();
    let run = wait_for_state(env, &second, "done");
    assert_eq!(run["changed"], json!(["work"]));
    env.ok(&["runs", "merge", &second]);
    assert_eq!(fs::read_to_string(env.work().join("work")).unwrap(), "first\nsecond\n");
    assert!(!env.work().join("half").exists());
}

#[test]
fn nobody_gives_a_worktree_up_while_a_run_is_about_to_continue_in_it() {
    let scene = Scene::new();
    let env = &scene.env;
    let first = scene.run(&["run", "builds", "x"])["id"].as_str().unwrap().to_string();
    // As somebody who merges, discards or frees.
    let path = env.mesh().join("runs/work.lock");
    let held = FileLock::try_acquire(&path).unwrap().unwrap();
    let inode = format!(":{} ", fs::metadata(&path).unwrap().ino());
    let second = scene.run(&["runs", "resume", &first, "go on", "--detach"]);
    let second = second["id"].as_str().unwrap();
    wait_until("its supervisor waits", || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("->") && line.contains(&inode))
    });
    assert!(directories(env).is_empty());
    drop(held);
    fs::write(env.home().join("go"), "go\n").unwrap();
    wait_for_state(env, second, "done");
}

#[test]
fn files_that_no_merge_brings_stay_until_they_are_discarded() {
    let scene = Scene::new();
    let env = &scene.env;
    let stand_in = STAND_IN.replace("cat \"$HOME/words\" >> work", "echo x > work; echo k > key.pem");
    put_harness(env, &stand_in);
    let run = scene.run(&["run", "builds", "x"]);
    let id = run["id"].as_str().unwrap();
    assert_eq!(run["saved"], json!(["key.pem (it looks like a secret by its name)"]));
    env.ok(&["runs", "merge", id]);
    let saved = format!("refs/ravenry/saved/{id}");
    for _ in 0..2 {
        let steps = env.ok(&["runs", "gc"])["steps"].clone();
        assert_eq!(steps[0]["action"], "keep", "{steps}");
        assert!(steps[0]["why"].as_str().unwrap().contains(&saved), "{steps}");
        assert_eq!(git(&env.work(), &["show", &format!("{saved}:key.pem")]), "k");
    }
    env.ok(&["runs", "discard", id]);
    assert_eq!(git(&env.work(), &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(shown(env, id)["state"], "done");
}

//! Runs with a worktree that are continued, begun anew and opened, with a stand-in for a harness.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::super::kills::processes;
use super::super::{left_of, put_harness, script, shown, wait_for_state};
use super::{directories, git, id_of, with_repository};
use crate::support::environment::{TestEnvironment, wait_until};

/// Adds a line to a file where it is started. If there is a file `hang`, it hangs.
const STAND_IN: &str = r#"#!/bin/sh
while [ $# -gt 1 ]; do case "$1" in --session-id | --resume) id=$2 ;; esac; shift; done
echo '{"type":"system","subtype":"init","session_id":"'$id'","model":"m"}'
pwd >> "$HOME/places"; echo line >> notes
[ -e "$HOME/hang" ] && sleep 1000
echo '{"type":"result","subtype":"success","is_error":false,"result":"it is done","session_id":"'$id'","num_turns":1,"total_cost_usd":0.1,"usage":{"input_tokens":100,"output_tokens":10}}'
"#;

const SETUP: &str = "[worktree]\nsetup = \"echo set up >> $RAVENRY_PROJECT/../setups\"\n";

struct Scene {
    env: TestEnvironment,
    path: String,
}

impl Scene {
    fn new() -> Self {
        let env =
            with_repository(&format!("[writes]\nharness = \"claude\"\nisolation = \"worktree\"\n{SETUP}"));
        Self { path: put_harness(&env, STAND_IN), env }
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> Value {
        let args = [args, &["--json"]].concat();
        self.env.run_with(&args, &[("PATH", &self.path)]).expect_code(0).json()
    }

    /// A run whose supervisor was killed while its worker worked.
    fn interrupted(&self) -> String {
        fs::write(self.env.home().join("hang"), "").unwrap();
        let id = id_of(&self.ok(&["run", "writes", "Write", "--detach"])["run"]).to_string();
        let mut root = PathBuf::new();
        wait_until("it has written", || {
            let run = shown(&self.env, &id);
            root = PathBuf::from(run["root"].as_str().unwrap());
            run["model"] == "m" && !run["project"].is_null() && root.join("notes").exists()
        });
        kill(Pid::from_raw(processes(&["supervise", &id])[0]), SIGKILL).unwrap();
        wait_until("nothing is left", || left_of(&id).is_empty());
        wait_for_state(&self.env, &id, "interrupted");
        fs::remove_file(self.env.home().join("hang")).unwrap();
        id
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.env.path().join(path)).unwrap()
    }
}

#[test]
fn a_resumed_run_goes_on_in_its_worktree_with_all_that_was_done() {
    let scene = Scene::new();
    let first = scene.interrupted();
    let resumed = scene.ok(&["runs", "resume", "--all"])["runs"][0].clone();
    let run = wait_for_state(&scene.env, id_of(&resumed), "done");
    assert_eq!((&run["resumes"], &run["changed"]), (&json!(first), &json!(["notes"])));
    assert_eq!(run["branch"], format!("ravenry/run-{first}"), "it is the work of one session");
    assert_eq!(git(&scene.env.work(), &["show", &format!("ravenry/run-{first}:notes")]), "line\nline");
    let places = scene.text("home/places");
    let places: Vec<&str> = places.lines().collect();
    assert_eq!(places[0], places[1]);
    assert_eq!(scene.text("setups"), "set up\nset up\n", "the directory was made again");
    assert!(directories(&scene.env).is_empty());
    scene.ok(&["runs", "merge", id_of(&run)]);
    assert_eq!(scene.text("work/notes"), "line\nline\n");
    assert_eq!(scene.ok(&["runs", "merge", &first])["merged"]["state"], "already");
    let steps = scene.ok(&["runs", "gc"])["steps"].clone();
    assert_eq!(steps[0]["action"], "unbranch", "{steps}");
    assert_eq!(git(&scene.env.work(), &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn a_retried_run_begins_anew_in_a_worktree_of_its_own() {
    let scene = Scene::new();
    let first = scene.interrupted();
    fs::write(scene.env.work().join("a"), "changed since\n").unwrap();
    let run = scene.ok(&["runs", "retry", &first])["run"].clone();
    let run = wait_for_state(&scene.env, id_of(&run), "done");
    assert_eq!(run["branch"], format!("ravenry/run-{}", id_of(&run)));
    assert_eq!(git(&scene.env.work(), &["show", &format!("ravenry/run-{}:notes", id_of(&run))]), "line");
    assert_eq!(git(&scene.env.work(), &["show", &format!("ravenry/run-{first}:notes")]), "line");
    assert_eq!(run["changed"], json!(["notes"]));
}

#[test]
fn what_is_done_in_an_opened_worktree_is_part_of_the_work() {
    let scene = Scene::new();
    let run = scene.ok(&["run", "writes", "Write"])["run"].clone();
    assert!(directories(&scene.env).is_empty());
    let opened = scene.ok(&["runs", "open", id_of(&run)]);
    let root = Path::new(run["root"].as_str().unwrap());
    assert!(opened.to_string().contains(root.to_str().unwrap()), "{opened}");
    assert_eq!(fs::read_to_string(root.join("notes")).unwrap(), "line\n");
    fs::write(root.join("more"), "by hand\n").unwrap();
    scene.ok(&["runs", "merge", id_of(&run)]);
    assert_eq!(scene.text("work/more"), "by hand\n");
    assert_eq!(scene.text("work/notes"), "line\n");
    let actions: Vec<Value> = scene.ok(&["runs", "gc"])["steps"].as_array().unwrap().clone();
    assert_eq!(actions[0]["action"], "free", "{actions:?}");
    assert!(directories(&scene.env).is_empty());
}

#[test]
fn a_worktree_that_another_run_works_for_stays() {
    let outer = "cat >/dev/null; echo outer > outer; msg run inner x --worktree --detach -q";
    let inner = "cat >/dev/null; read go < $GO; echo inner > inner; echo done";
    let env = with_repository(&[script("outer", outer), script("inner", inner)].concat());
    let go = env.path().join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let variables = [("PATH", super::super::path_with_msg()), ("GO", go.to_str().unwrap().to_string())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let outer =
        env.run_with(&["run", "outer", "x", "--worktree", "--json"], &variables).expect_code(0).json()["run"]
            .clone();
    let inner = outer["result"].as_str().unwrap().to_string();
    let root = Path::new(outer["root"].as_str().unwrap());
    assert!(root.exists(), "the other run works for it");
    assert_eq!(wait_for_state(&env, &inner, "running")["project"], outer["root"]);
    let steps = env.ok(&["runs", "gc"])["steps"].clone();
    assert_eq!(
        steps,
        json!([{"run": outer["id"], "action": "keep", "why": format!("run {inner} needs it")}])
    );
    fs::write(&go, "go\n").unwrap();
    wait_for_state(&env, &inner, "done");
    env.ok(&["runs", "gc"]);
    assert!(directories(&env).is_empty());
    // What it worked for is gone, so its work goes where whoever merges it is.
    assert_eq!(
        env.ok(&["runs", "merge", &inner])["merged"]["files"],
        json!([{"path": "inner", "kind": "added"}])
    );
    assert_eq!(fs::read_to_string(env.work().join("inner")).unwrap(), "inner\n");
    assert!(!env.work().join("outer").exists());
}

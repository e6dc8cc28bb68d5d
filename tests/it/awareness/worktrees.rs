//! Tests of conflicts between work trees: both agents are told, once, with the file and the lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ravenry::sys::test_switches::{BACKGROUND, CRASH_AT};
use serde_json::{Value, json};

use super::{files, git, join};
use crate::hooks::harmless::troubles;
use crate::support::environment::{TestEnvironment, end, put};
use crate::support::hook_call::{Call, session_of};

const FILE: &str = "src/auth/login.rs";

/// Alice works in the main work tree, Robin in a linked one.
struct Scene {
    env: TestEnvironment,
    main: PathBuf,
    linked: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let env = TestEnvironment::new();
        let (main, linked) = (env.work(), env.path().join("linked"));
        git(&main, &["init", "-q", "-b", "main"]);
        put(&main.join(FILE), &text(&[]));
        git(&main, &["add", "-A"]);
        git(&main, &["commit", "-q", "-m", "first"]);
        git(&main, &["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]);
        join(&env, "Alice");
        join(&env, "Robin");
        Self { env, main, linked }
    }

    /// Changes the file and calls the hook after it. The jobs that follow are over when this returns.
    fn edit(&self, name: &str, root: &Path, content: &str) {
        self.edit_with(name, root, content, "wait");
    }

    fn edit_with(&self, name: &str, root: &Path, content: &str, background: &str) {
        put(&root.join(FILE), content);
        let call = Call::new(&self.env, "claude/PostToolUse-Edit", &session_of(name))
            .with("/cwd", json!(root))
            .with("/tool_input/file_path", json!(root.join(FILE)));
        end(call.command(&self.env).env(BACKGROUND, background)).expect_code(0);
    }

    /// The job that looks for conflicts.
    fn job(&self) -> Command {
        let mut command = self.env.msg();
        command.args(["--mesh", self.env.mesh().to_str().unwrap(), "background", "worktree-conflicts"]);
        command.arg(&self.main).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The mail that the agent has not read yet.
    fn mail(&self, name: &str) -> Vec<String> {
        let read = self.env.ok(&["read", "--as", name]);
        let text = |message: &Value| self.env.redact(message["text"].as_str().unwrap());
        read["messages"].as_array().unwrap().iter().map(text).collect()
    }

    fn remembered(&self) -> String {
        files(&self.env, ".conflicts").iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }
}

/// Twenty lines, of which some are others.
fn text(changed: &[(usize, &str)]) -> String {
    let line = |number: usize| changed.iter().find(|(at, _)| *at == number).map(|(_, line)| line.to_string());
    (1..=20).map(|number| line(number).unwrap_or(format!("line {number}")) + "\n").collect()
}

#[test]
fn both_are_told_once_with_the_file_and_the_lines() {
    let scene = Scene::new();
    scene.edit("Alice", &scene.main, &text(&[(10, "one\ntwo"), (11, "three")]));
    assert_eq!(scene.mail("Alice"), [""; 0]);
    scene.edit("Robin", &scene.linked, &text(&[(10, "other")]));
    insta::assert_snapshot!(
        scene.mail("Alice").join("\n"),
        @r#"Conflict: your `src/auth/login.rs` (lines 10–12) and Robin's (line 10) in the worktree `[DIR]/linked` change the same lines. It can't be merged as it is now. Agree who keeps what: msg send Robin "…""#
    );
    insta::assert_snapshot!(
        scene.mail("Robin").join("\n"),
        @r#"Conflict: your `src/auth/login.rs` (line 10) and Alice's (lines 10–12) in the worktree `[DIR]/work` change the same lines. It can't be merged as it is now. Agree who keeps what: msg send Alice "…""#
    );
    let shown = scene.env.ok(&["overlaps"]);
    let side = |agent: &str, lines: Value| json!({ "agent": agent, "change": "lines", "lines": [lines] });
    let is_conflict = |one: &&Value| one["kind"] == "conflict";
    let conflict = shown["overlaps"].as_array().unwrap().iter().find(is_conflict).unwrap();
    let mut sides = conflict["sides"].as_array().unwrap().clone();
    sides.sort_by_key(|side| side["agent"].to_string());
    assert_eq!(conflict["files"], json!([FILE]));
    let lines = [json!({ "first": 10, "count": 3 }), json!({ "first": 10, "count": 1 })];
    assert_eq!(sides, [side("Alice", lines[0].clone()), side("Robin", lines[1].clone())]);
    let page = scene.env.run(&["overlaps"]).stdout;
    assert!(page.contains("Can't be merged, in different worktrees:\nsrc/auth/login.rs: "), "{page}");
    assert!(page.contains("Alice (lines 10–12)") && page.contains("Robin (lines 10)"), "{page}");
    // Neither another edit nor a commit makes it another conflict.
    scene.edit("Robin", &scene.linked, &text(&[(3, "more"), (10, "other"), (11, "more")]));
    git(&scene.main, &["commit", "-q", "-a", "-m", "mine"]);
    scene.edit("Alice", &scene.main, &text(&[(10, "one\ntwo"), (11, "four")]));
    assert_eq!([scene.mail("Alice"), scene.mail("Robin")], [[""; 0]; 2]);
    // It is resolved, and arises anew.
    scene.edit("Robin", &scene.linked, &text(&[(3, "more")]));
    assert_eq!(scene.remembered(), "");
    scene.edit("Robin", &scene.linked, &text(&[(10, "again")]));
    assert_eq!([scene.mail("Alice").len(), scene.mail("Robin").len()], [1, 1]);
    assert_eq!(troubles(&scene.env).len(), 0, "{:?}", troubles(&scene.env));
    assert_eq!(scene.env.names(), ["Alice", "Robin"]);
}

#[test]
fn changes_that_merge_are_not_told() {
    let scene = Scene::new();
    scene.edit("Alice", &scene.main, &text(&[(3, "mine")]));
    scene.edit("Robin", &scene.linked, &text(&[(15, "other")]));
    scene.edit("Alice", &scene.main, &text(&[(3, "mine"), (15, "other")]));
    // In one work tree there is nothing to merge.
    scene.edit("Robin", &scene.main, &text(&[(3, "both here")]));
    assert_eq!([scene.mail("Alice"), scene.mail("Robin")], [[""; 0]; 2]);
    assert_eq!(scene.remembered(), "");
}

#[test]
fn nobody_is_told_of_an_agent_that_is_gone_or_if_it_is_switched_off() {
    let scene = Scene::new();
    let host = scene.env.join("Gone");
    scene.edit("Gone", &scene.main, &text(&[(10, "mine")]));
    scene.env.kill(host);
    scene.edit("Robin", &scene.linked, &text(&[(10, "other")]));
    assert_eq!(scene.mail("Robin"), [""; 0]);
    for mode in ["off", "show"] {
        scene.env.ok(&["config", "set", "awareness", mode]);
        scene.edit("Alice", &scene.main, &text(&[(10, mode)]));
        scene.edit("Robin", &scene.linked, &text(&[(10, "other")]));
        assert_eq!([scene.mail("Alice"), scene.mail("Robin")], [[""; 0]; 2], "{mode}");
    }
    assert!(scene.remembered().contains(FILE), "`show` shows it");
    scene.env.ok(&["config", "set", "awareness", "warn"]);
    scene.edit("Alice", &scene.main, &text(&[(10, "now")]));
    assert_eq!(
        [scene.mail("Alice").len(), scene.mail("Robin").len()],
        [1, 1],
        "nobody was told of it before"
    );
}

#[test]
fn whoever_was_away_is_not_told_again() {
    let scene = Scene::new();
    let host = scene.env.host();
    let come = |host: u32| {
        let args = ["join", "Guest", "--session", "session of Guest", "--pid", &host.to_string()];
        scene.env.run(&args).expect_code(0);
    };
    come(host);
    scene.edit("Guest", &scene.main, &text(&[(10, "mine")]));
    scene.edit("Robin", &scene.linked, &text(&[(10, "other")]));
    assert_eq!([scene.mail("Guest").len(), scene.mail("Robin").len()], [1, 1]);
    scene.env.kill(host);
    scene.edit("Robin", &scene.linked, &text(&[(10, "another")]));
    assert!(scene.job().status().unwrap().success());
    come(scene.env.host());
    scene.edit("Guest", &scene.main, &text(&[(10, "mine again")]));
    assert_eq!([scene.mail("Guest"), scene.mail("Robin")], [[""; 0]; 2], "it is the same conflict");
}

#[test]
fn a_notice_that_could_not_be_posted_is_posted_later() {
    let scene = Scene::new();
    scene.edit_with("Alice", &scene.main, &text(&[(10, "mine")]), "off");
    scene.edit_with("Robin", &scene.linked, &text(&[(10, "other")]), "off");
    let inbox = scene.env.mesh().join("inbox/Robin");
    let aside = scene.env.path().join("inbox of Robin");
    fs::rename(&inbox, &aside).unwrap();
    fs::write(&inbox, "not a directory").unwrap();
    assert!(scene.job().status().unwrap().success());
    assert_eq!(scene.mail("Alice").len(), 1);
    fs::remove_file(&inbox).unwrap();
    fs::rename(&aside, &inbox).unwrap();
    assert!(scene.job().status().unwrap().success());
    assert_eq!(
        [scene.mail("Alice").len(), scene.mail("Robin").len()],
        [0, 1],
        "who was told is not told again"
    );
    assert!(scene.job().status().unwrap().success());
    assert_eq!([scene.mail("Alice"), scene.mail("Robin")], [[""; 0]; 2]);
}

#[test]
fn of_many_jobs_at_once_one_tells() {
    let scene = Scene::new();
    scene.edit_with("Alice", &scene.main, &text(&[(10, "mine")]), "off");
    scene.edit_with("Robin", &scene.linked, &text(&[(10, "other")]), "off");
    let mut jobs: Vec<Child> = (0..8).map(|_| scene.job().spawn().unwrap()).collect();
    assert!(jobs.iter_mut().all(|job| job.wait().unwrap().success()));
    assert_eq!([scene.mail("Alice").len(), scene.mail("Robin").len()], [1, 1]);
}

#[test]
fn a_job_that_is_killed_is_made_up_for_by_the_next() {
    for step in 1.. {
        let scene = Scene::new();
        scene.edit_with("Alice", &scene.main, &text(&[(10, "mine")]), "off");
        scene.edit_with("Robin", &scene.linked, &text(&[(10, "other")]), "off");
        let ended = scene.job().env(CRASH_AT, step.to_string()).status().unwrap();
        assert!(scene.job().status().unwrap().success());
        for name in ["Alice", "Robin"] {
            let told = scene.mail(name).len();
            assert!((1..=2).contains(&told), "{step}: {name} was told {told} times");
        }
        // A damaged memory is none.
        if ended.success() {
            let [memory] = files(&scene.env, ".conflicts").try_into().unwrap();
            fs::write(memory, b"\xff what is that\n").unwrap();
            assert!(scene.job().status().unwrap().success());
            assert_eq!(scene.mail("Alice").len(), 1);
            assert_eq!(troubles(&scene.env).len(), 0);
            return;
        }
    }
}

//! A crew of a linked mesh: its work is on the branch before the server is told that the task is done.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use ravenry::store::link_protocol::{Holder, LinkAnswer, LinkRequest};
use serde_json::Value;

use super::fixture::{Scene, anna, granted, taken, unreachable};
use crate::runs::put_profiles;
use crate::runs::worktrees::{git, with_repository};
use crate::support::environment::{TestEnvironment, end, put_program};

/// A repository with one task, and a builder that does it.
fn scene() -> Scene {
    let env = with_repository("");
    let builder = env.home().join("builder");
    put_program(&builder, "#!/bin/sh\ncat > /dev/null\necho one > one\necho done\n");
    let profile = format!("[builder]\ncommand = [\"{}\"]\nisolation = \"worktree\"\n", builder.display());
    put_profiles(&env, &profile);
    fs::write(env.work().join("PLAN.md"), "- [ ] T-1: One\n").unwrap();
    Scene::of(env)
}

fn crew(env: &TestEnvironment) -> Command {
    let mut command = env.msg();
    command.args(["crew", "work", "PLAN.md", "--yes", "--profile", "builder", "--json"]);
    command
}

/// Whether the work is on the branch of the crew.
fn is_on_branch(work: &Path) -> bool {
    let mut command = Command::new("git");
    command.current_dir(work).args(["cat-file", "-e", "ravenry/crew-PLAN:one"]).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.stderr(std::process::Stdio::null()).status().unwrap().success()
}

/// Kills the supervisor of the run that goes on.
fn kill_supervisor(runs: &Path) {
    for run in fs::read_dir(runs).unwrap().flatten() {
        let Ok(text) = fs::read_to_string(run.path().join("run.json")) else { continue };
        let run: Value = serde_json::from_str(&text).unwrap();
        if run["endedAt"].is_null() {
            kill(Pid::from_raw(run["pid"].as_i64().unwrap().try_into().unwrap()), SIGKILL).unwrap();
        }
    }
}

/// Answers as a server that nobody else uses. It says where the work was when it was told that the task is done.
struct Server {
    work: PathBuf,
    is_done: bool,
}

impl Server {
    fn answer(&mut self, request: &LinkRequest) -> LinkAnswer {
        match request {
            LinkRequest::CompleteTask { .. } | LinkRequest::ConfirmTask { .. } if self.is_done => {
                let by = Holder { agent: "ravenry".to_string(), machine: "desk".to_string(), ..anna() };
                LinkAnswer::Finished { by }
            }
            LinkRequest::CompleteTask { .. } => {
                assert!(is_on_branch(&self.work), "it is done before its work is there");
                self.is_done = true;
                granted()
            }
            _ => granted(),
        }
    }
}

#[test]
fn a_task_is_done_at_the_server_once_its_work_is_on_the_branch() {
    let mut scene = scene();
    let mut server = Server { work: scene.env.work(), is_done: false };
    scene.answer(move |request| server.answer(request));
    end(&mut crew(&scene.env)).expect_code(0);
    assert_eq!(scene.completed(), ["T-1"]);
    let asked = scene.asked();
    let names: Vec<&str> = asked
        .iter()
        .map(|request| match request {
            LinkRequest::TakeTask { .. } => "take",
            LinkRequest::ConfirmTask { .. } => "confirm",
            LinkRequest::CompleteTask { .. } => "complete",
            _ => "",
        })
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(names, ["take", "confirm", "complete"]);
}

/// The supervisor is killed while the server decides, before its work is on the branch and after that.
#[test]
fn whoever_kills_the_supervisor_while_the_server_decides_loses_no_work() {
    for killed_at in 1..=2 {
        let mut scene = scene();
        let mut server = Server { work: scene.env.work(), is_done: false };
        let (runs, mut decisions) = (scene.env.mesh().join("runs"), 0);
        scene.answer(move |request| {
            let answer = server.answer(request);
            if matches!(request, LinkRequest::ConfirmTask { .. } | LinkRequest::CompleteTask { .. }) {
                decisions += 1;
                if decisions == killed_at {
                    kill_supervisor(&runs);
                }
            }
            answer
        });
        // The crew starts another run, which goes on.
        let report = end(&mut crew(&scene.env)).expect_code(0).json();
        assert_eq!(report["tasks"][0]["state"], "done", "{report:#}");
        assert!(is_on_branch(&scene.env.work()), "killed at decision {killed_at}: {report:#}");
        assert_eq!(scene.completed(), ["T-1"]);
        let log = git(&scene.env.work(), &["log", "--format=%s", "main..ravenry/crew-PLAN"]);
        assert_eq!(log, "One", "it is there once");
    }
}

#[test]
fn a_task_that_another_machine_took_is_not_put_on_the_branch() {
    let mut scene = scene();
    scene.answer(|request| match request {
        LinkRequest::ConfirmTask { .. } => taken(),
        _ => granted(),
    });
    let report = end(&mut crew(&scene.env)).json();
    assert!(report.to_string().contains("Anna on laptop"), "{report:#}");
    assert!(!is_on_branch(&scene.env.work()));
    assert!(!scene.asked().iter().any(|request| matches!(request, LinkRequest::CompleteTask { .. })));
}

#[test]
fn work_on_the_branch_is_completed_when_the_server_is_reached_again() {
    let mut scene = scene();
    let mut refused = 0;
    scene.answer(move |request| match request {
        LinkRequest::CompleteTask { .. } if refused < 2 => {
            refused += 1;
            unreachable()
        }
        _ => granted(),
    });
    end(&mut crew(&scene.env)).expect_code(0);
    assert!(is_on_branch(&scene.env.work()));
    assert_eq!(scene.completed(), ["T-1"]);
}

//! Workers: profiles in `workers.toml`, what a person trusts, and what is found on this machine.

mod files;
mod probe;
mod trust;

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::environment::TestEnvironment;

/// The user's file.
fn user_file(env: &TestEnvironment) -> PathBuf {
    env.home().join(".config/ravenry/workers.toml")
}

/// The project's file.
fn project_file(env: &TestEnvironment) -> PathBuf {
    env.work().join(".ravenry/workers.toml")
}

/// A profile in an answer of `msg workers`.
#[track_caller]
fn profile<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let profiles = answer["profiles"].as_array().unwrap();
    profiles.iter().find(|profile| profile["name"] == name).unwrap_or_else(|| panic!("{name}: {answer}"))
}

/// `msg` with nothing on its `PATH` but stand-ins in `~/bin`, so that no client of this machine is found.
fn msg(env: &TestEnvironment) -> Command {
    let mut command = env.msg();
    command.env("PATH", env.home().join("bin"));
    command
}

/// A program in `~/bin`. Another process writes it: if this one had it open while another test forks, it could not be
/// executed.
fn program(env: &TestEnvironment, name: &str, script: &str) -> PathBuf {
    let bin = env.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = bin.join(name);
    let write =
        "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$2.new\" && chmod 755 \"$2.new\" && mv \"$2.new\" \"$2\"";
    let done = Command::new("sh").args(["-c", write, "sh", script]).arg(&path).status().unwrap();
    assert!(done.success());
    path
}

#[test]
fn whoever_asks_needs_no_joining_and_nothing_is_made() {
    let env = TestEnvironment::new();
    let answer = env.ok(&["workers"]);
    let names: Vec<&str> =
        answer["profiles"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["scout", "planner", "builder", "reviewer", "documenter"]);
    assert_eq!(answer["trust"]["state"], "not_needed");
    assert_eq!(profile(&answer, "builder")["isolation"], "worktree");
    assert_eq!(profile(&answer, "reviewer")["from"]["instructions"], "shipped");
    assert!(!env.mesh().exists() && !env.work().join(".ravenry").exists());
    assert_eq!(env.run(&["workers", "-q"]).expect_code(0).stdout, names.join("\n") + "\n");
}

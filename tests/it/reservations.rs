//! Tests of reservations: who gets a path, what it covers, and when it is free again.

mod commands;
mod complex;
mod contest_races;
mod contests;
mod lives;
mod matching;
mod places;
mod races;
mod recognised_repositories;
mod refused_agents;
pub mod repositories;
mod repository_races;
mod things;

use std::fs;
use std::path::{Path, PathBuf};

use ravenry::sys::test_switches;
use serde_json::Value;

use crate::support::environment::{Ended, TestEnvironment, end, put};

/// A mesh with Alice and Bob.
fn two() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env
}

/// The root of the directory that commands run in.
fn root(env: &TestEnvironment) -> String {
    fs::canonicalize(env.work()).unwrap().to_str().unwrap().to_string()
}

/// A directory that looks like a git work tree.
fn repository(env: &TestEnvironment, name: &str) -> PathBuf {
    let dir = env.path().join(name);
    put(&dir.join(".git/HEAD"), "ref: refs/heads/main\n");
    dir
}

fn run_in(env: &TestEnvironment, dir: &Path, args: &[&str]) -> Ended {
    end(env.msg().current_dir(dir).args(args).arg("--json"))
}

#[track_caller]
fn ok_in(env: &TestEnvironment, dir: &Path, args: &[&str]) -> Value {
    run_in(env, dir, args).expect_code(0).json()
}

/// Runs a command at that time.
fn run_at(env: &TestEnvironment, time: &str, args: &[&str]) -> Ended {
    env.run_with(&[args, &["--json"]].concat(), &[(test_switches::NOW, time)])
}

#[track_caller]
fn reserve(env: &TestEnvironment, name: &str, patterns: &[&str]) -> Value {
    env.ok(&[&["reserve", "--as", name][..], patterns].concat())
}

#[track_caller]
fn refused(env: &TestEnvironment, name: &str, patterns: &[&str]) {
    let kind = env.fails(1, &[&["reserve", "--as", name][..], patterns].concat());
    assert_eq!(kind, "reserved", "{name} {patterns:?}");
}

/// The holder of the path, as reported to the agent when it asks from `dir`.
#[track_caller]
fn holder_in(env: &TestEnvironment, dir: &Path, name: &str, path: &str) -> Option<String> {
    let ended = run_in(env, dir, &["check", path, "--as", name]);
    let row = ended.json()["paths"][0].clone();
    assert_eq!((row["path"].as_str(), row["free"] == true), (Some(path), ended.code == Some(0)), "{ended}");
    row["holder"].as_str().map(str::to_string)
}

#[track_caller]
fn holder(env: &TestEnvironment, name: &str, path: &str) -> Option<String> {
    holder_in(env, &env.work(), name, path)
}

#[track_caller]
fn assert_held(env: &TestEnvironment, name: &str, paths: &[&str], by: &str) {
    for path in paths {
        assert_eq!(holder(env, name, path).as_deref(), Some(by), "`{path}` is held");
    }
}

#[track_caller]
fn assert_free(env: &TestEnvironment, name: &str, paths: &[&str]) {
    for path in paths {
        assert_eq!(holder(env, name, path), None, "`{path}` is free");
    }
}

/// The reservations, as `holder pattern`, in the order of the listing.
#[track_caller]
fn listed(env: &TestEnvironment) -> Vec<String> {
    let listing = env.ok(&["reservations"]);
    let rows = listing["reservations"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    rows.iter().map(|row| format!("{} {}", text(&row["holder"]), text(&row["pattern"]))).collect()
}

//! Tests of knowledge: what one session records, another one finds, in every work tree and whatever is killed.

mod branches;
mod commands;
mod documents;
mod hooks;
mod log_files;
mod no_loss;
mod pages;
mod questions;
mod secrets;
mod telling;
mod upkeep;
mod writers;

use std::path::Path;
use std::process::Command;

use ravenry::sys::test_switches::NOW;

use crate::support::environment::{Ended, TestEnvironment, end, put};

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "user.name=J", "-c", "user.email=j@example.org"]).args(args);
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository with one file.
fn repository() -> TestEnvironment {
    let env = TestEnvironment::new();
    git(&env.work(), &["init", "-q", "-b", "main"]);
    put(&env.work().join("src/flock.rs"), "pub fn lock() {\n    take();\n}\n");
    git(&env.work(), &["add", "-A"]);
    git(&env.work(), &["commit", "-q", "-m", "add the lock"]);
    env
}

/// Runs a command as ann, at a time of November 2026.
fn at(env: &TestEnvironment, time: &str, args: &[&str]) -> Ended {
    end(env.msg().args(args).env("USER", "ann").env(NOW, format!("2026-11-{time}Z")))
}

/// The names that a command lists.
#[track_caller]
fn listed(ended: &Ended) -> Vec<String> {
    let answer = ended.json();
    let records = answer["records"].as_array().unwrap_or_else(|| panic!("{ended}")).clone();
    records.iter().map(|record| record["name"].as_str().unwrap().to_string()).collect()
}

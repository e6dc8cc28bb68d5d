//! Crews: work that several workers do, task by task.

mod bad_input;
mod bill;
mod branch;
mod conflicts;
mod kept_work;
mod killing;
mod lasting;
mod planning;
mod reviewing;
mod stage;
mod updating;
mod working;

use std::fs;

use serde_json::Value;

use crate::runs::worktrees::with_repository;
use crate::support::environment::{TestEnvironment, put_program};

/// Keeps what it is told, and answers with the next of the answers; the last one is repeated.
const PLANNER: &str = r#"#!/bin/sh
number=$(ls "$HOME/told" | wc -l)
cat > "$HOME/told/$number"
test -e "$HOME/answers/$number" || number=$(($(ls "$HOME/answers" | wc -l) - 1))
cat "$HOME/answers/$number"
"#;

/// Two tasks that follow each other, and one beside them.
pub const GOOD: &str = "\
# Login

What the login is for.

- [ ] TASK-01: Store passwords
  As hashes.
  paths: src/auth/hash.rs
  verify: cargo test hash
- [ ] TASK-02: Log in (needs TASK-01)
  paths: src/auth/**
  verify: cargo test login
- [ ] TASK-03: Describe it
  paths: docs/login.md";

/// A repository with a planner that gives these answers.
pub fn with_planner(answers: &[&str]) -> TestEnvironment {
    let env = with_repository("");
    let program = env.home().join("planner");
    put_program(&program, PLANNER);
    let profile = format!("[planner]\ncommand = [\"{}\"]\n", program.display());
    crate::runs::put_profiles(&env, &profile);
    fs::create_dir(env.home().join("told")).unwrap();
    set_answers(&env, answers);
    env
}

/// The planner gives these answers from now on, and what it was told is forgotten.
pub fn set_answers(env: &TestEnvironment, answers: &[&str]) {
    for name in ["told", "answers"] {
        fs::remove_dir_all(env.home().join(name)).ok();
        fs::create_dir(env.home().join(name)).unwrap();
    }
    for (number, answer) in answers.iter().enumerate() {
        fs::write(env.home().join(format!("answers/{number}")), answer).unwrap();
    }
}

/// A plan as a planner answers with it.
pub fn answer(plan: &str) -> String {
    format!("I have read the code.\n\n````markdown\n{plan}\n````\nThat is all.\n")
}

/// What the planner was told at its attempts.
pub fn told(env: &TestEnvironment) -> Vec<String> {
    let count = fs::read_dir(env.home().join("told")).unwrap().count();
    (0..count).map(|number| fs::read_to_string(env.home().join(format!("told/{number}"))).unwrap()).collect()
}

pub fn plan_file(env: &TestEnvironment, name: &str) -> Option<String> {
    fs::read_to_string(env.work().join(name)).ok()
}

/// Names in the working directory.
pub fn names(env: &TestEnvironment) -> Vec<String> {
    let entries = fs::read_dir(env.work()).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

pub fn runs(env: &TestEnvironment) -> Vec<Value> {
    env.ok(&["runs", "--all"])["runs"].as_array().unwrap().clone()
}

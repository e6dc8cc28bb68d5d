//! What becomes of a task if somebody tidies up, or gives up, what its next attempt would go on with.

use std::fs;

use serde_json::json;

use super::stage::{ONE, WORK, attempts, crew_work, start, subjects, task, with_crew};
use crate::runs::worktrees::git;
use crate::support::environment::{TestEnvironment, wait_until};

const TWO: &str = "- [ ] T-1: Two\n  paths: one, two\n  verify: test -f two\n";

/// A crew whose task is blocked after three attempts, of which the first made `one`, and its last run.
fn with_blocked_task() -> (TestEnvironment, String) {
    let env = with_crew(TWO, &[("T-1.1", "echo one > one")]);
    env.run(&WORK).expect_code(1);
    let status = env.ok(&["crew", "status"]);
    assert_eq!(task(&status, "T-1")["state"], "blocked");
    let run = task(&status, "T-1")["runs"][2]["id"].as_str().unwrap().to_string();
    fs::write(env.home().join("tasks/T-1.2"), "ls > \"$HOME/found\"; echo two > two").unwrap();
    (env, run)
}

fn names_on_branch(env: &TestEnvironment) -> String {
    git(&env.work(), &["diff", "--name-only", "main", "ravenry/crew-PLAN"])
}

#[test]
fn gc_keeps_what_a_task_goes_on_with_until_it_is_done() {
    let (env, run) = with_blocked_task();
    // Without its crew, work that was merged would be given up.
    env.ok(&["runs", "merge", &run]);
    fs::remove_file(env.work().join("one")).unwrap();
    let steps = env.ok(&["runs", "gc"])["steps"].clone();
    let own = steps.as_array().unwrap().iter().find(|step| step["run"] == *run).unwrap();
    assert_eq!(own["action"], "keep", "{steps:#}");
    assert!(own["why"].as_str().unwrap().starts_with("`T-1` of its crew is not done"), "{own}");
    env.ok(&WORK);
    assert_eq!((attempts(&env, "T-1"), names_on_branch(&env).as_str()), (4, "one\ntwo"));
    let told = fs::read_to_string(env.home().join("brief-T-1")).unwrap();
    assert!(told.contains("which is in your worktree, does not pass yet"), "{told}");
    let steps = env.ok(&["runs", "gc"])["steps"].clone();
    assert!(steps.as_array().unwrap().iter().all(|step| step["action"] == "unbranch"), "{steps:#}");
    assert!(!steps.as_array().unwrap().is_empty(), "what is done is given up");
}

#[test]
fn a_task_whose_work_was_discarded_begins_anew() {
    let (env, run) = with_blocked_task();
    let discarded = env.ok(&["runs", "discard", &run])["discarded"].clone();
    assert_eq!(discarded["beginsAnew"], "T-1", "{discarded}");
    env.ok(&WORK);
    assert_eq!((attempts(&env, "T-1"), names_on_branch(&env).as_str()), (4, "two"));
    let found = fs::read_to_string(env.home().join("found")).unwrap();
    assert!(!found.lines().any(|name| name == "one"), "a fresh worktree: {found}");
    let told = fs::read_to_string(env.home().join("brief-T-1")).unwrap();
    assert!(told.contains("This is task `T-1`") && !told.contains("does not pass yet"), "{told}");
    assert_eq!(subjects(&env), ["Two"]);
    let last = task(&env.ok(&["crew", "status"]), "T-1")["runs"][3]["id"].as_str().unwrap().to_string();
    let page = env.run(&["runs", "discard", &last]).expect_code(0).stdout;
    assert!(!page.contains("begins anew"), "it is done: {page}");
}

#[test]
fn work_that_is_discarded_before_it_could_be_merged_is_done_again() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one"), ("T-1.2", "echo again > one")]);
    let gate = env.home().join("hold");
    fs::write(&gate, "").unwrap();
    let mut crew = start(&mut crew_work(&env));
    wait_until("it is reviewed", || env.home().join("judged").exists());
    let runs = env.ok(&["runs"])["runs"].clone();
    let built = runs.as_array().unwrap().iter().find(|run| run["profile"] != "judge").unwrap();
    let run = built["id"].as_str().unwrap().to_string();
    env.ok(&["runs", "stop", &run, "--now"]);
    crew.wait().unwrap();
    fs::remove_file(&gate).unwrap();
    let page = env.run(&["runs", "discard", &run]).expect_code(0).stdout;
    assert!(page.contains("`T-1` begins anew when its crew goes on: msg crew work "), "{page}");
    let report = env.ok(&WORK);
    assert_eq!((attempts(&env, "T-1"), &task(&report, "T-1")["state"]), (2, &json!("done")));
    assert_eq!(git(&env.work(), &["show", "ravenry/crew-PLAN:one"]), "again");
}

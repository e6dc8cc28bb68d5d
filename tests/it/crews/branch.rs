//! A crew's branch that somebody checks out or removes while the crew works.

use std::fs;

use serde_json::{Value, json};

use super::stage::{ONE, WORK, attempts, crew_work, start, strings, subjects, task, with_crew};
use crate::runs::worktrees::git;
use crate::support::environment::{TestEnvironment, wait_until};

/// The run of a builder that goes on.
fn builder_at_work(env: &TestEnvironment) -> Value {
    let runs = env.ok(&["runs"])["runs"].clone();
    let is_it = |run: &&Value| run["profile"] != "judge" && run["endedAt"].is_null();
    runs.as_array().unwrap().iter().find(is_it).cloned().unwrap_or_default()
}

/// Has the branch checked out beside, and returns where.
fn check_out_beside(env: &TestEnvironment) -> String {
    let other = env.path().join("other").display().to_string();
    git(&env.work(), &["worktree", "add", "-q", &other, "ravenry/crew-PLAN"]);
    other
}

#[test]
fn finished_work_waits_until_the_branch_is_left() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    fs::write(env.home().join("hold"), "").unwrap();
    let mut crew = start(&mut crew_work(&env));
    wait_until("it is reviewed", || env.home().join("judged").exists());
    let other = check_out_beside(&env);
    fs::remove_file(env.home().join("hold")).unwrap();
    let waits = format!("waiting for `ravenry/crew-PLAN`, which is checked out in `{other}`, to be left");
    wait_until("it waits for the branch", || builder_at_work(&env)["doing"] == waits.as_str());
    assert_eq!(task(&env.ok(&["crew", "status"]), "T-1")["state"], "working");
    // What they commit there is not overrun.
    fs::write(format!("{other}/theirs"), "").unwrap();
    let other = std::path::PathBuf::from(other);
    git(&other, &["add", "-A"]);
    git(&other, &["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "-m", "Theirs"]);
    git(&other, &["checkout", "-q", "--detach"]);
    assert!(crew.wait().unwrap().success());
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["Theirs", "One"])));
}

#[test]
fn what_waits_for_the_branch_can_be_stopped_and_goes_on_later() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    fs::write(env.home().join("hold"), "").unwrap();
    let mut crew = start(&mut crew_work(&env));
    wait_until("it is reviewed", || env.home().join("judged").exists());
    let other = check_out_beside(&env);
    fs::remove_file(env.home().join("hold")).unwrap();
    let is_waiting = |run: &Value| run["doing"].as_str().is_some_and(|doing| doing.contains("checked out"));
    wait_until("it waits for the branch", || is_waiting(&builder_at_work(&env)));
    env.ok(&["runs", "stop", builder_at_work(&env)["id"].as_str().unwrap()]);
    assert!(!crew.wait().unwrap().success());
    git(&env.work(), &["worktree", "remove", &other]);
    env.ok(&WORK);
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["One"])));
}

#[test]
fn a_branch_that_is_removed_is_not_begun_anew_without_its_commits() {
    let spec = format!("{ONE}- [ ] T-2: Two (needs T-1)\n  paths: two\n  verify: test -f two\n");
    let two = "echo two > two; touch \"$HOME/hold\"";
    let env = with_crew(&spec, &[("T-1.1", "echo one > one"), ("T-2.1", two)]);
    let mut crew = start(&mut crew_work(&env));
    wait_until("the second is reviewed", || {
        fs::read_to_string(env.home().join("judged")).is_ok_and(|told| told.contains("T-2"))
    });
    let tip = git(&env.work(), &["rev-parse", "ravenry/crew-PLAN"]);
    git(&env.work(), &["branch", "-q", "-D", "ravenry/crew-PLAN"]);
    fs::remove_file(env.home().join("hold")).unwrap();
    assert!(!crew.wait().unwrap().success());
    let restore = format!("git branch ravenry/crew-PLAN {tip}");
    let gone = format!("the branch `ravenry/crew-PLAN` is gone: `{restore}` brings it back");
    let again = env.run(&[&WORK[..], &["--json"]].concat()).expect_code(1).json();
    assert_eq!(again["error"]["message"], gone.as_str());
    // The branch is there when its crew is asked for how far it is.
    git(&env.work(), &restore.split(' ').skip(1).collect::<Vec<_>>());
    let status = env.ok(&["crew", "status"]);
    let blocked = &task(&status, "T-2")["runs"][0];
    assert_eq!((&blocked["end"], &blocked["reason"]), (&json!("stuck"), &json!(gone)), "{status:#}");
    env.ok(&WORK);
    assert_eq!((attempts(&env, "T-2"), subjects(&env)), (1, strings(["One", "Two"])));
    // What a person has merged is not lost.
    git(&env.work(), &["merge", "-q", "ravenry/crew-PLAN"]);
    git(&env.work(), &["branch", "-q", "-d", "ravenry/crew-PLAN"]);
    env.ok(&WORK);
    assert_eq!(subjects(&env), Vec::<String>::new(), "it begins where the person is");
}

#[test]
fn a_crew_at_work_builds_nothing_without_commits_that_are_taken_off_its_branch() {
    let spec = format!(
        "{ONE}- [ ] T-2: Two (needs T-1)\n  paths: two\n  verify: test -f two\n\
         - [ ] T-3: Three (needs T-2)\n  paths: three\n"
    );
    let two = "echo two > two; touch \"$HOME/hold\"";
    let scripts = [
        ("T-1.1", "echo one > one"),
        ("T-2.1", two),
        ("T-3.1", "echo three > three"),
        ("T-1.2", "echo 1 > one"),
    ];
    let env = with_crew(&spec, &scripts);
    let mut crew = start(&mut crew_work(&env));
    wait_until("the second is reviewed", || {
        fs::read_to_string(env.home().join("judged")).is_ok_and(|told| told.contains("T-2"))
    });
    let tip = git(&env.work(), &["rev-parse", "ravenry/crew-PLAN"]);
    let other = std::path::PathBuf::from(check_out_beside(&env));
    git(&other, &["reset", "-q", "--hard", "HEAD~1"]);
    git(&other, &["checkout", "-q", "--detach"]);
    fs::remove_file(env.home().join("hold")).unwrap();
    assert!(!crew.wait().unwrap().success());
    let restore = format!("git branch -f ravenry/crew-PLAN {tip}");
    let gone =
        format!("somebody took commits off the branch `ravenry/crew-PLAN`: `{restore}` brings them back");
    let status = env.ok(&["crew", "status"]);
    let blocked = &task(&status, "T-2")["runs"][0];
    assert_eq!((&blocked["end"], &blocked["reason"]), (&json!("stuck"), &json!(gone)), "{status:#}");
    assert_eq!((attempts(&env, "T-2"), attempts(&env, "T-3"), subjects(&env)), (1, 0, strings([])));
    // Not when it is started again, either, unless somebody wants the task to be done once more.
    assert_eq!(env.run(&[&WORK[..], &["--json"]].concat()).expect_code(1).kind(), "no_work");
    env.join("Robin");
    env.ok(&["reopen", "T-1", "--spec", "PLAN.md", "--reason", "its commit is gone", "--as", "Robin"]);
    env.run(&WORK).expect_code(0);
    assert_eq!(git(&env.work(), &["show", "ravenry/crew-PLAN:one"]), "1");
    let mut done = subjects(&env);
    done.sort();
    assert_eq!((done, attempts(&env, "T-2")), (strings(["One", "Three", "Two"]), 1));
}

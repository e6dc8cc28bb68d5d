//! What a crew has stays its own: the task of a worker that has ended, the tree that was committed, what was proven, and
//! the commits of its branch.

use std::fs;

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::stage::{ONE, WORK, assert_tidy, attempts, crew_work, start, strings, subjects, task, with_crew};
use crate::runs::worktrees::{git, person};
use crate::runs::{put_harness, put_profiles};
use crate::support::environment::{TestEnvironment, wait_until};

/// The run of a builder, as the ledger has it.
fn built(env: &TestEnvironment) -> Value {
    let runs = env.ok(&["runs", "--all"])["runs"].clone();
    runs.as_array().unwrap().iter().find(|run| run["profile"] != "judge").unwrap().clone()
}

/// Lets the reviewer wait until `hold` is gone.
fn hold(env: &TestEnvironment) {
    fs::write(env.home().join("hold"), "").unwrap();
}

fn wait_for_review(env: &TestEnvironment) {
    wait_until("it is reviewed", || env.home().join("judged").exists());
}

fn let_go(env: &TestEnvironment) {
    fs::remove_file(env.home().join("hold")).unwrap();
}

fn kill_supervisor(run: &Value) {
    let supervisor = i32::try_from(run["supervisorPid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(supervisor), SIGKILL).unwrap();
}

/// Joins by its hooks, does its task, and ends.
const CLAUDE: &str = r#"#!/bin/sh
printf '{"type":"system","subtype":"init","session_id":"s-1"}\n'
printf '{"session_id":"s-1","cwd":"%s","source":"startup","hook_event_name":"SessionStart"}' "$PWD" |
  msg hook claude SessionStart >/dev/null
echo one > one
printf '{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","result":"it is there"}\n'
"#;

#[test]
fn the_task_of_a_worker_that_has_ended_is_still_its_own_until_it_is_merged() {
    let env = with_crew(ONE, &[]);
    let judge = env.home().join("judge").display().to_string();
    put_profiles(
        &env,
        &format!(
            "[builder]\nharness = \"claude\"\nisolation = \"worktree\"\nreview = \"judge\"\n\
             [judge]\ncommand = [\"{judge}\"]\nreadonly = true\n"
        ),
    );
    let path = put_harness(&env, CLAUDE);
    env.join("Robin");
    hold(&env);
    let mut crew = env.msg();
    crew.args(WORK).env("PATH", &path).stdout(std::process::Stdio::null());
    let mut crew = crew.stderr(std::process::Stdio::null()).spawn().unwrap();
    wait_for_review(&env);
    let run = built(&env);
    let claimed = env.ok(&["tasks", "--spec", "PLAN.md"])["tasks"][0].clone();
    assert_eq!((&claimed["state"], &claimed["agent"]), (&json!("claimed"), &run["agent"]), "{run:#}");
    assert_eq!(env.fails(1, &["claim", "T-1", "--spec", "PLAN.md", "--as", "Robin"]), "already_claimed");
    assert_eq!(env.fails(1, &["reserve", "--repo", "one", "--as", "Robin"]), "reserved");
    let_go(&env);
    assert!(crew.wait().unwrap().success());
    let done = env.ok(&["tasks", "--spec", "PLAN.md"])["tasks"][0].clone();
    assert_eq!((&done["state"], &done["agent"]), (&json!("done"), &run["agent"]));
    assert_eq!(subjects(&env), ["One"]);
    assert_eq!(env.names(), ["Robin"], "its worker has left");
}

#[test]
fn work_whose_task_somebody_else_has_waits_for_them() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    env.join("Robin");
    hold(&env);
    let mut crew = start(&mut crew_work(&env));
    wait_for_review(&env);
    let worker = built(&env)["agent"].as_str().unwrap().to_string();
    env.ok(&["evict", &worker, "--force"]);
    env.ok(&["claim", "T-1", "--spec", "PLAN.md", "--as", "Robin"]);
    let_go(&env);
    wait_until("it waits for Robin", || {
        let status = env.ok(&["crew", "status", "PLAN.md"]);
        task(&status, "T-1")["state"] == "held"
    });
    assert_eq!(subjects(&env), strings([]));
    env.ok(&["unclaim", "T-1", "--as", "Robin"]);
    assert!(crew.wait().unwrap().success());
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["One"])));
}

#[test]
fn what_its_tests_leave_is_not_merged_although_its_supervisor_is_killed() {
    let spec = "- [ ] T-1: One\n  paths: one\n  verify: test -f one && echo left > leftover\n";
    let env = with_crew(spec, &[("T-1.1", "echo one > one")]);
    hold(&env);
    let mut crew = start(&mut crew_work(&env));
    wait_for_review(&env);
    let run = built(&env);
    let left = std::path::Path::new(run["root"].as_str().unwrap()).join("leftover");
    assert!(left.exists(), "the commands ran where it worked");
    kill_supervisor(&run);
    let_go(&env);
    assert!(crew.wait().unwrap().success());
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["One"])));
    let files = git(&env.work(), &["ls-tree", "--name-only", "ravenry/crew-PLAN"]);
    assert_eq!(files.lines().collect::<Vec<_>>(), [".gitignore", "a", "b", "c", "one"]);
    assert_tidy(&env);
}

#[test]
fn what_was_proven_has_to_stay_so() {
    let spec = "\
- [ ] T-1: One\n  paths: one\n  verify: test -f one
- [ ] T-2: Two (needs T-1)\n  paths: two\n  verify: test -f two
";
    let scripts =
        [("T-1.1", "echo one > one"), ("T-2.1", "rm one; echo two > two"), ("T-2.2", "echo one > one")];
    let env = with_crew(spec, &scripts);
    let report = env.ok(&WORK);
    let second = task(&report, "T-2");
    assert_eq!(
        (&second["runs"][0]["end"], &second["runs"][1]["end"]),
        (&json!("red_together"), &json!("merged")),
        "{second:#}"
    );
    let told = fs::read_to_string(env.home().join("brief-T-2")).unwrap();
    assert!(told.contains("test -f one"), "{told}");
    assert_eq!(git(&env.work(), &["show", "ravenry/crew-PLAN:one"]), "one");
}

#[test]
fn the_merged_tree_is_set_up_like_a_worktree() {
    // Setup and teardown need a place that only one of them can have.
    let spec = "- [ ] T-1: One\n  paths: one\n  verify: test -f one && test -f ignored\n";
    let env = with_crew(spec, &[("T-1.1", "echo one > one")]);
    let file = env.home().join(".config/ravenry/workers.toml");
    let profiles = fs::read_to_string(&file).unwrap();
    let more = "[worktree]\n\
                setup = \"mkdir \\\"$HOME/place-$RAVENRY_SLOT\\\" && echo set up > ignored && echo up >> \\\"$HOME/setups\\\"\"\n\
                teardown = \"rmdir \\\"$HOME/place-$RAVENRY_SLOT\\\" && echo down >> \\\"$HOME/setups\\\"\"\n";
    put_profiles(&env, &[&profiles, more].concat());
    env.run(&WORK).expect_code(0);
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["One"])));
    let log = fs::read_to_string(env.home().join("setups")).unwrap();
    assert_eq!(log.lines().collect::<Vec<_>>(), ["up", "down", "up", "down"]);
    assert_tidy(&env);
}

/// A crew whose only task is done, with one more in its spec, and the commit of the first.
fn with_one_done() -> (TestEnvironment, String) {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one"), ("T-1.2", "echo again > one")]);
    env.ok(&WORK);
    let commit = git(&env.work(), &["rev-parse", "ravenry/crew-PLAN"]);
    let more = format!("{ONE}- [ ] T-2: Two (needs T-1)\n  paths: two\n");
    fs::write(env.work().join("PLAN.md"), more).unwrap();
    fs::write(env.home().join("tasks/T-2.1"), "test -f one && echo two > two").unwrap();
    (env, commit)
}

#[test]
fn a_branch_that_was_moved_back_is_not_worked_on() {
    let (env, commit) = with_one_done();
    git(&env.work(), &["branch", "-q", "-f", "ravenry/crew-PLAN", "main"]);
    let refused = env.run(&[&WORK[..], &["--json"]].concat()).expect_code(1);
    assert_eq!(refused.kind(), "no_work", "{refused}");
    let line = format!("git branch -f ravenry/crew-PLAN {}", &commit[..12]);
    let hints = refused.json()["error"]["hints"].to_string();
    assert!(hints.contains(&line) && hints.contains("msg reopen T-1 --spec PLAN.md"), "{refused}");
    assert_eq!(attempts(&env, "T-2"), 0, "nothing was started");
    let args: Vec<&str> = line.split(' ').skip(1).collect();
    git(&env.work(), &args);
    env.run(&WORK).expect_code(0);
    assert_eq!(subjects(&env), ["One", "Two"]);
}

#[test]
fn work_that_was_squashed_into_the_persons_branch_is_not_lost() {
    let (env, commit) = with_one_done();
    git(&env.work(), &["branch", "-q", "-D", "ravenry/crew-PLAN"]);
    let refused = env.run(&[&WORK[..], &["--json"]].concat()).expect_code(1);
    assert!(refused.stdout.contains(&format!("git branch ravenry/crew-PLAN {commit}")), "{refused}");
    git(&env.work(), &["merge", "-q", "--squash", &commit]);
    git(&env.work(), &["commit", "-q", "-m", "squashed"]);
    env.run(&WORK).expect_code(0);
    assert_eq!(subjects(&env), ["Two"]);
    let both = git(&env.work(), &["ls-tree", "--name-only", "ravenry/crew-PLAN", "one", "two"]);
    assert_eq!(both, "one\ntwo");
}

#[test]
fn the_branch_can_begin_with_what_is_not_committed() {
    let spec =
        "- [ ] T-1: One\n  paths: one\n  verify: grep -q mine a && grep -q new unknown && test -f one\n";
    let env = with_crew(spec, &[("T-1.1", "echo one > one")]);
    fs::write(env.work().join("a"), "mine\n").unwrap();
    fs::write(env.work().join("unknown"), "new\n").unwrap();
    fs::write(env.work().join(".env"), "KEY=1\n").unwrap();
    let refused = env.run(&[&WORK[..], &["--json"]].concat());
    assert_eq!(refused.kind(), "not_clean", "{refused}");
    assert!(refused.json()["error"]["hints"].to_string().contains("--from-snapshot"), "{refused}");
    let before = person(&env);
    // The same command goes on with what has begun.
    for _ in 0..2 {
        env.run(&[&WORK[..], &["--from-snapshot"]].concat()).expect_code(0);
    }
    assert_eq!(person(&env), before, "the person notices nothing");
    assert_eq!(subjects(&env), ["What was not committed when the crew began", "One"]);
    let files = git(&env.work(), &["ls-tree", "--name-only", "ravenry/crew-PLAN"]);
    assert_eq!(
        files.lines().collect::<Vec<_>>(),
        [".gitignore", "PLAN.md", "a", "b", "c", "one", "unknown"],
        "no secret is in it"
    );
    let report = env.run(&["crew", "report"]).expect_code(0).stdout;
    assert!(report.contains("1 of 1 tasks are done"), "{report}");
}

#[test]
fn a_second_review_is_about_what_is_open_and_what_is_new() {
    let scripts = [("T-1.1", "echo one > one; echo other > other"), ("T-1.2", "echo better >> one")];
    let env = with_crew(ONE, &scripts);
    fs::write(env.home().join("rework-T-1"), "").unwrap();
    hold(&env);
    let mut crew = start(&mut crew_work(&env));
    wait_for_review(&env);
    let first = fs::read_to_string(env.home().join("judged")).unwrap();
    assert!(
        first.contains("+one") && first.contains("does not name for this task") && first.contains("> other")
    );
    assert!(!first.contains("The last review"), "{first}");
    let_go(&env);
    assert!(crew.wait().unwrap().success());
    let second = fs::read_to_string(env.home().join("judged")).unwrap();
    assert!(second.contains("wanted this changed:\n> x:1: do it better\n"), "{second}");
    assert!(second.contains("> +better") && !second.contains("> +other"), "{second}");
    assert_eq!(attempts(&env, "T-1"), 2);
}

//! `msg crew work`: tasks become commits of a branch, whatever becomes of their workers.

mod telling;

use std::fs;

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::stage::{
    ONE, WORK, assert_all_six, assert_tidy, attempts, crew_work, ends, six, start, strings, subjects, task,
    with_crew,
};
use crate::runs::worktrees::{git, person};
use crate::support::environment::{TestEnvironment, wait_until};

#[test]
fn a_spec_becomes_a_branch_and_each_story_is_told() {
    let env = six();
    fs::write(env.home().join("rework-T-4"), "").unwrap();
    let before = person(&env);
    let ended = env.run(&[
        "crew",
        "work",
        "PLAN.md",
        "--workers",
        "3",
        "--profile",
        "builder,other",
        "--yes",
        "--json",
    ]);
    let report = ended.expect_code(0).json();
    assert_eq!(report["branch"], "ravenry/crew-PLAN");
    assert!(report["tasks"].as_array().unwrap().iter().all(|task| task["state"] == "done"), "{report:#}");
    assert_eq!(person(&env), before, "the person notices nothing");
    assert_eq!(git(&env.work(), &["status", "--porcelain"]), "?? PLAN.md");
    let dead = task(&report, "T-2");
    assert_eq!((&dead["attempts"], &dead["runs"][0]["state"]), (&json!(2), &json!("failed")), "{dead:#}");
    assert_eq!(git(&env.work(), &["show", "ravenry/crew-PLAN:two"]), "half\ntwo", "what was left goes on");
    let said = task(&report, "T-3");
    assert_eq!((&said["runs"][0]["end"], &said["runs"][1]["end"]), (&json!("unproven"), &json!("merged")));
    let reworked = task(&report, "T-4");
    assert_eq!(reworked["verdicts"], json!(["rework", "ship"]));
    let told = fs::read_to_string(env.home().join("brief-T-4")).unwrap();
    assert!(told.contains("> - x:1: do it better"), "{told}");
    assert_eq!(
        (ends(&report, "T-5"), ends(&report, "T-6")),
        (strings(["conflict", "merged"]), strings(["red_together", "merged"]))
    );
    assert_eq!(git(&env.work(), &["show", "ravenry/crew-PLAN:shared"]), "four\nfive");
    assert_eq!(subjects(&env).len(), 6, "{:?}", subjects(&env));
    assert_all_six(&env);
    assert_tidy(&env);
    let page = env.run(&["crew", "report"]).expect_code(0).stdout;
    for part in [
        "unproven; `grep -q three three` ended with",
        "review: rework by judge",
        "x:1: do it better",
        "git merge ravenry/crew-PLAN",
        "6 of 6 tasks are done",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let markdown = env.run(&["crew", "report", "PLAN.md", "--markdown"]).expect_code(0).stdout;
    assert!(
        markdown.starts_with("# What became of ") && markdown.contains("\n## T-1: Base (done)\n- attempt 1"),
        "{markdown}"
    );
    let status = env.ok(&["crew", "status"]);
    assert_eq!((&status["commits"], &task(&status, "T-5")["state"]), (&json!(6), &json!("done")));
    // Nothing is left to do, and nothing is done again.
    let again = env.ok(&["crew", "work", "PLAN.md", "--yes", "--profile", "builder"]);
    assert_eq!((task(&again, "T-1")["attempts"].clone(), attempts(&env, "T-1")), (json!(1), 1));
}

#[test]
fn what_fails_for_good_is_blocked_and_the_rest_goes_on() {
    let spec = "- [ ] T-1: Never\n  paths: one\n  verify: false\n- [ ] T-2: After (needs T-1)\n- [ ] T-3: Fine\n  paths: three\n  verify: test -f three\n";
    let env = with_crew(spec, &[("T-3.1", "echo three > three")]);
    let ended =
        env.run(&["crew", "work", "PLAN.md", "--yes", "--profile", "builder", "--json"]).expect_code(1);
    let report = ended.json();
    let never = task(&report, "T-1");
    assert_eq!((&never["state"], &never["attempts"]), (&json!("blocked"), &json!(3)));
    assert_eq!(never["reason"], "`false` ended with exit code 1 each time");
    assert_eq!(task(&report, "T-2")["state"], "waiting");
    assert_eq!(task(&report, "T-3")["state"], "done");
    assert_eq!(subjects(&env), ["Fine"]);
    assert_eq!(report["error"]["message"], "2 of 3 tasks did not get done");
}

#[test]
fn a_worker_does_not_complete_the_task_itself() {
    let spec = "- [ ] T-1: One\n  paths: one\n  verify: test -f one\n";
    let text = "msg complete T-1 > \"$HOME/said\" 2>&1; echo one > one";
    let env = with_crew(spec, &[("T-1.1", text)]);
    let path = crate::runs::path_with_msg();
    let work = ["crew", "work", "PLAN.md", "--yes", "--profile", "builder", "--json"];
    env.run_with(&work, &[("PATH", &path)]).expect_code(0);
    let said = fs::read_to_string(env.home().join("said")).unwrap();
    assert!(said.contains("its crew completes it"), "{said}");
    let done = env.ok(&["tasks", "--spec", "PLAN.md"]);
    assert_eq!(
        (&done["tasks"][0]["state"], &done["tasks"][0]["proof"]),
        (&json!("done"), &json!("proven")),
        "{done:#}"
    );
}

#[test]
fn what_can_not_be_is_said_before_anything_is_started() {
    let env = with_crew("no tasks\n", &[]);
    let refused = |args: &[&str]| {
        let ended = env.run(&[&["crew", "work"], args, &["--profile", "builder", "--json"]].concat());
        (ended.code, ended.json()["error"]["message"].as_str().unwrap_or_default().to_string())
    };
    assert!(refused(&["PLAN.md", "--yes"]).1.starts_with("there is no task in `"));
    assert!(refused(&["nothing.md", "--yes"]).1.contains("no such file"));
    fs::write(env.work().join("PLAN.md"), "- [ ] T-1: a (needs T-2)\n- [ ] T-2: b (needs T-1)\n").unwrap();
    assert!(refused(&["PLAN.md", "--yes"]).1.contains("has faults, so nothing was started"));
    fs::write(env.work().join("PLAN.md"), "- [ ] T-1: a\n  verify: true\n").unwrap();
    assert!(refused(&["PLAN.md", "--yes"]).1.contains("were not trusted by a person"));
    fs::write(env.work().join("PLAN.md"), "- [ ] T-1: a\n").unwrap();
    assert_eq!(refused(&["PLAN.md"]).1, "nobody can be asked whether the workers are to start");
    fs::write(env.work().join("a"), "changed\n").unwrap();
    assert!(refused(&["PLAN.md", "--yes"]).1.starts_with("the work tree is not clean"));
    git(&env.work(), &["checkout", "-q", "a"]);
    let nobody = env.run(&["crew", "work", "PLAN.md", "--yes", "--profile", "nobody", "--json"]);
    assert!(nobody.json()["error"]["message"].as_str().unwrap().contains("no profile or harness `nobody`"));
    let heads = git(&env.work(), &["for-each-ref", "--format=%(refname:short)"]);
    assert_eq!(heads, "main", "nothing is left of it");
    let bare = TestEnvironment::new();
    fs::write(bare.work().join("PLAN.md"), "- [ ] T-1: a\n").unwrap();
    assert_eq!(bare.run(&["crew", "work", "PLAN.md", "--yes", "--json"]).kind(), "no_repository");
}

#[test]
fn a_supervisor_that_dies_during_the_review_costs_nothing() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    fs::write(env.home().join("hold"), "").unwrap();
    let mut crew = start(&mut crew_work(&env));
    wait_until("it is reviewed", || env.home().join("judged").exists());
    let runs = env.ok(&["runs"])["runs"].clone();
    let built = runs.as_array().unwrap().iter().find(|run| run["profile"] != "judge").unwrap();
    let supervisor = i32::try_from(built["supervisorPid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(supervisor), SIGKILL).unwrap();
    wait_until("somebody waits for the verdict", || {
        let held = env.ok(&["runs", "show", built["id"].as_str().unwrap()])["run"].clone();
        held["state"] == "done" && held["review"]["pending"] == true
    });
    fs::remove_file(env.home().join("hold")).unwrap();
    assert!(crew.wait().unwrap().success());
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["One"])));
    let status = env.ok(&["crew", "status"]);
    assert_eq!(task(&status, "T-1")["verdicts"].as_array().unwrap().last(), Some(&json!("ship")));
    let reviews = env.ok(&["runs", "--all"])["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|run| run["profile"] == "judge")
        .count();
    assert_eq!(reviews, 1, "its verdict counts");
}

#[test]
fn a_blocked_task_is_tried_again_when_the_crew_is_started_again() {
    let env = with_crew("- [ ] T-1: One\n  paths: one\n  verify: false\n", &[("T-1.1", "echo one > one")]);
    env.run(&WORK).expect_code(1);
    assert_eq!(
        (attempts(&env, "T-1"), task(&env.ok(&["crew", "status"]), "T-1")["state"].clone()),
        (3, json!("blocked"))
    );
    fs::write(env.work().join("PLAN.md"), ONE).unwrap();
    env.ok(&["workers", "trust", "--spec", "PLAN.md", "--yes"]);
    env.run(&WORK).expect_code(0);
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (4, strings(["One"])));
}

#[test]
fn a_reviewer_that_answers_nonsense_is_asked_once_more() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    fs::write(env.home().join("nonsense"), "").unwrap();
    env.run(&WORK).expect_code(0);
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["One"])));
    assert!(env.home().join("said").exists());
    let refused = env.run(&[&WORK[..], &["--review", "nobody", "--json"]].concat()).expect_code(2);
    assert!(
        refused.json()["error"]["message"].as_str().unwrap().starts_with("`nobody` can't review the work: "),
        "{refused}"
    );
}

#[test]
fn a_task_that_is_reopened_is_built_again() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one"), ("T-1.2", "echo better > one")]);
    let report = env.ok(&WORK);
    let run = task(&report, "T-1")["runs"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(env.run(&["runs", "retry", &run, "--json"]).kind(), "invalid_value");
    env.join("Robin");
    env.ok(&["reopen", "T-1", "--spec", "PLAN.md", "--reason", "not good enough", "--as", "Robin"]);
    let report = env.ok(&WORK);
    assert_eq!((attempts(&env, "T-1"), &task(&report, "T-1")["state"]), (2, &json!("done")), "{report:#}");
    assert_eq!(
        (subjects(&env), git(&env.work(), &["show", "ravenry/crew-PLAN:one"])),
        (strings(["One", "One"]), "better".to_string())
    );
}

#[test]
fn a_task_that_was_done_already_makes_no_commit_and_has_its_proof() {
    let env = with_crew("- [ ] T-1: There\n  paths: a\n  verify: test -f a\n", &[("T-1.1", "true")]);
    let report = env.run(&[&WORK[..], &["--json"]].concat()).expect_code(0).json();
    let done = task(&report, "T-1");
    assert_eq!((ends(&report, "T-1"), &done["commit"]), (strings(["merged"]), &json!(null)), "{done:#}");
    assert_eq!(done["evidence"]["command"], "test -f a", "{done:#}");
    assert_eq!(env.ok(&["tasks", "--spec", "PLAN.md"])["tasks"][0]["proof"], "proven");
    assert_eq!(subjects(&env), Vec::<String>::new());
}

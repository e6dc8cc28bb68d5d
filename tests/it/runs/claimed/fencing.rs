//! Who may complete, give up or pass on a task that was a run's, and when its work is merged.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::sys::flock::FileLock;
use serde_json::{Value, json};

use super::{kill_supervisor, let_go, started, task, with_lost_task, with_spec, with_stand_in};
use crate::runs::held::supervisors;
use crate::runs::worktrees::git;
use crate::runs::{script, shown, wait_for_state};
use crate::support::environment::{TestEnvironment, wait_until};

/// A run in a worktree that changed a file and ended without completing its task T-3.
fn with_ended_run() -> (TestEnvironment, String) {
    let env = with_spec(&script("writes", "cat >/dev/null; echo mine > b; echo did it"));
    let id = started(&env, &["writes", "--task", "T-3", "--name", "Helper", "--worktree"]);
    wait_for_state(&env, &id, "done");
    assert_eq!(task(&env, "T-3"), ("open".to_string(), Value::Null));
    env.join("Bob");
    (env, id)
}

fn content(env: &TestEnvironment) -> String {
    fs::read_to_string(env.work().join("b")).unwrap()
}

fn bob_claims(env: &TestEnvironment) {
    env.ok(&["claim", "T-3", "--spec", "plan.md", "--as", "Bob"]);
}

#[test]
fn a_worker_that_lost_its_task_does_not_get_at_it_by_another_name() {
    let (env, path, first) = with_lost_task();
    let attempts = [
        "env -u MSG_RUN msg complete T-3 --as Bob --json",
        "msg unclaim T-3 --as Bob --json",
        "env -u MSG_RUN msg unclaim --as Bob --json",
        "msg handoff T-3 Ann --as Bob --json",
        "MSG_RUN=x9x9x9 msg complete T-3 --as Bob --json",
    ];
    fs::write(env.home().join("do"), attempts.join("\n")).unwrap();
    let ended = env.run_with(&["runs", "resume", &first, "--json"], &[("PATH", &path)]).expect_code(0);
    let said = ended.json()["run"]["result"].as_str().unwrap().to_string();
    assert_eq!(said.matches("was given away since run").count(), attempts.len(), "{said}");
    assert_eq!(task(&env, "T-3"), ("claimed".to_string(), json!("Bob")));
    env.ok(&["complete", "T-3", "--as", "Bob"]);
}

#[test]
fn what_is_left_of_a_run_can_not_give_up_the_task_of_the_next() {
    let (env, first) = with_ended_run();
    let id = started(&env, &["holds", "--task", "T-3", "--name", "Helper"]);
    wait_for_state(&env, &id, "running");
    for args in [["unclaim", "T-3"].as_slice(), &["handoff", "T-3", "Bob"], &["complete", "T-3"]] {
        let args = [args, &["--spec", "plan.md", "--as", "Helper", "--json"]].concat();
        let ended = env.run_with(&args, &[("MSG_RUN", &first)]).expect_code(1);
        assert_eq!(ended.kind(), "not_yours", "{ended}");
        assert_eq!(task(&env, "T-3"), ("claimed".to_string(), json!("Helper")));
    }
    let_go(&env);
    wait_for_state(&env, &id, "done");
}

#[test]
fn who_only_names_a_run_does_not_claim_for_it() {
    let (env, id) = with_ended_run();
    let args = ["claim", "T-3", "--spec", "plan.md", "--as", "Bob", "--json"];
    env.run_with(&args, &[("MSG_RUN", &id)]).expect_code(0);
    assert_eq!(env.fails(1, &["runs", "merge", &id]), "not_yours");
    assert_eq!(content(&env), "one\n");
}

#[test]
fn a_start_that_was_refused_takes_nothing_from_the_run_before() {
    let (env, id) = with_ended_run();
    env.ok(&["budget", "set", "1usd"]);
    let refused = || {
        let args = ["run", "holds", "--task", "T-3", "--spec", "plan.md", "--json"];
        let ended = env.run(&args).expect_code(1);
        assert_eq!(ended.json()["error"]["gate"], "budget", "{ended}");
        assert_eq!(task(&env, "T-3"), ("open".to_string(), Value::Null));
    };
    refused();
    refused();
    // Whoever had the task in truth counts, before such a start and after it.
    bob_claims(&env);
    env.ok(&["unclaim", "T-3", "--as", "Bob"]);
    refused();
    assert_eq!(env.fails(1, &["runs", "merge", &id]), "not_yours");
    let again = started(&env, &["writes", "again", "--task", "T-3", "--worktree", "--budget", "0.1usd"]);
    wait_for_state(&env, &again, "done");
    refused();
    assert_eq!(env.fails(1, &["runs", "merge", &id]), "not_yours");
    env.ok(&["runs", "merge", &again]);
    assert_eq!(content(&env), "mine\n");
}

#[test]
fn what_is_killed_before_it_is_a_run_takes_nothing_from_the_run_before() {
    for starter_dies in [false, true] {
        let (env, id) = with_ended_run();
        // A second one finds what the first has left.
        for _ in 0..2 {
            let lock = env.mesh().join("runs/admission.lock");
            let held = FileLock::acquire(&lock, Duration::from_secs(60)).unwrap();
            let mut starter = env.msg();
            starter.args(["run", "holds", "--task", "T-3", "--spec", "plan.md", "--detach", "--json"]);
            let mut starter = starter.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            wait_until("it has the task", || task(&env, "T-3").0 == "claimed");
            assert_eq!(env.fails(1, &["runs", "merge", &id]), "not_yours", "it may become a run");
            if starter_dies {
                starter.kill().unwrap();
            }
            for pid in supervisors(&env) {
                kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
            }
            starter.wait().unwrap();
            wait_until("its supervisor is gone", || supervisors(&env).is_empty());
            drop(held);
            assert_eq!(task(&env, "T-3"), ("open".to_string(), Value::Null));
        }
        assert_eq!(env.ok(&["runs", "--all"])["runs"].as_array().unwrap().len(), 1);
        env.ok(&["runs", "merge", &id]);
        assert_eq!(content(&env), "mine\n");
    }
}

#[test]
fn no_pull_request_is_opened_for_a_task_that_was_given_away() {
    let (env, id) = with_ended_run();
    git(&env.work(), &["remote", "add", "origin", "https://example.com/x.git"]);
    env.ok(&["runs", "pr", &id]);
    bob_claims(&env);
    for args in [["runs", "pr", &id, "--json"].as_slice(), &["runs", "pr", &id, "--push", "--json"]] {
        let ended = env.run(args).expect_code(1);
        assert_eq!(ended.kind(), "not_yours", "{ended}");
        let error = ended.json()["error"].to_string();
        assert!(error.contains("(number 2, that of the run is 1)"), "{error}");
        assert!(error.contains(&format!("msg runs pr {id} --given-away")), "{error}");
    }
    let answer = env.ok(&["runs", "pr", &id, "--given-away"]);
    assert!(answer["commands"][0].as_str().unwrap().starts_with("git push"), "{answer}");
    // Only a person may say so.
    let args = ["runs", "pr", &id, "--given-away", "--push", "--json"];
    let ended = env.run_with(&args, &[("MSG_RUN", &id)]).expect_code(1);
    let line = format!("msg runs pr {id} --given-away --push");
    assert!(ended.json()["error"].to_string().contains(&line), "{ended}");
}

#[test]
fn a_task_that_is_given_away_while_its_work_is_tested_is_not_merged() {
    let (env, id) = with_ended_run();
    let verify = "touch \"$HOME/begun\" && read x < \"$HOME/go\"";
    let mut merging = env.msg();
    merging.args(["runs", "merge", &id, "--verify", verify, "--json"]);
    let merging = merging.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("it is tested", || env.home().join("begun").exists());
    bob_claims(&env);
    let_go(&env);
    let output = merging.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["error"]["kind"], "not_yours", "{answer}");
    assert_eq!(content(&env), "one\n");
}

#[test]
fn a_task_that_is_handed_back_to_its_worker_is_completed_and_merged() {
    for profile in ["does", "hooked"] {
        let (env, path) = with_stand_in(&script("does", "cat >/dev/null; sh \"$HOME/do\""));
        let what = "echo mine > b; msg handoff T-3 Robin; read x < \"$HOME/go\"; msg complete T-3";
        fs::write(env.home().join("do"), what).unwrap();
        env.join("Robin");
        let args =
            ["run", profile, "--task", "T-3", "--spec", "plan.md", "--name", "Ann", "--worktree", "--detach"];
        let args = [args.as_slice(), &["--json"]].concat();
        let answer = env.run_with(&args, &[("PATH", &path)]).expect_code(0).json();
        let id = answer["run"]["id"].as_str().unwrap();
        wait_until("it is Robin's", || task(&env, "T-3") == ("claimed".to_string(), json!("Robin")));
        env.ok(&["handoff", "T-3", "Ann", "--spec", "plan.md", "--as", "Robin"]);
        assert_eq!(task(&env, "T-3"), ("claimed".to_string(), json!("Ann")));
        let_go(&env);
        let run = wait_for_state(&env, id, "done");
        assert_eq!(task(&env, "T-3").0, "done", "{run}");
        env.ok(&["runs", "merge", id]);
        assert_eq!(content(&env), "mine\n");
    }
}

#[test]
fn a_session_that_is_continued_twice_has_its_task_again_if_it_is_free() {
    let (env, path, first) = with_lost_task();
    let resume = |id: &str| {
        let ended = env.run_with(&["runs", "resume", id, "--json"], &[("PATH", &path)]).expect_code(0);
        ended.json()["run"].clone()
    };
    fs::write(env.home().join("do"), "true").unwrap();
    let second = resume(&first);
    assert_eq!(second["claim"]["number"], 1);
    env.ok(&["unclaim", "T-3", "--as", "Bob"]);
    fs::write(env.home().join("do"), "msg complete T-3 --json").unwrap();
    let third = resume(second["id"].as_str().unwrap());
    assert_eq!(third["claim"]["number"], 3, "{third}");
    assert_eq!(task(&env, "T-3").0, "done", "{third}");
}

#[test]
fn a_task_that_a_worker_claimed_again_comes_back_after_a_kill() {
    let again = "cat >/dev/null; msg unclaim; msg claim T-3; touch \"$HOME/again\"; read x < \"$HOME/go\"";
    let env = with_spec(&[script("again", again), script("quick", "cat")].concat());
    let id = started(&env, &["again", "--task", "T-3"]);
    wait_until("it has it again", || env.home().join("again").exists());
    assert_eq!(task(&env, "T-3").0, "claimed");
    kill_supervisor(&env, &id);
    env.ok(&["run", "quick", "x"]);
    let claims = fs::read_to_string(env.mesh().join("claims.json")).unwrap_or_default();
    assert!(!claims.contains("T-3"), "{claims}");
    let tasks = env.ok(&["tasks", "--spec", "plan.md"])["tasks"].clone();
    assert_eq!(tasks[2]["notes"], format!("run {id} was interrupted"));
}

#[test]
fn it_is_said_if_only_the_task_could_not_be_given_back() {
    let env = with_spec(&script("quick", "cat"));
    let id = started(&env, &["holds", "--task", "T-3", "--worktree"]);
    wait_for_state(&env, &id, "running");
    kill_supervisor(&env, &id);
    let (numbers, aside) = (env.mesh().join("claim-numbers.json"), env.home().join("numbers"));
    fs::rename(&numbers, &aside).unwrap();
    fs::create_dir(&numbers).unwrap();
    let warnings = |task| env.run(&["run", "quick", task, "--json"]).expect_code(0).stderr;
    let said = warnings("x");
    assert!(said.contains(&format!("the task of run {id} could not be given back yet")), "{said}");
    assert!(!said.contains("could not be saved"), "{said}");
    fs::remove_dir(&numbers).unwrap();
    fs::rename(&aside, &numbers).unwrap();
    assert_eq!(warnings("y"), "");
    assert_eq!(task(&env, "T-3").0, "open");
}

#[test]
fn the_line_for_a_person_has_all_that_was_asked_for() {
    let (env, id) = with_ended_run();
    let args = ["runs", "merge", &id, "--given-away", "--commit", "--verify", "make it", "--json"];
    let ended = env.run_with(&args, &[("MSG_RUN", &id)]).expect_code(1);
    let line = format!("msg runs merge {id} --given-away --commit --verify 'make it'");
    assert!(ended.json()["error"].to_string().contains(&line), "{ended}");
    assert_eq!(shown(&env, &id)["state"], "done");
}

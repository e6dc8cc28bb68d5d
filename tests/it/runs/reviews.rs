//! The review of what a run did, by the profile that its own profile names.

mod limits;
mod orphans;
mod promises;

use std::fs;

use serde_json::{Value, json};

use super::worktrees::with_repository;
use super::{detached, put_profiles, script, shown, wait_for_run, wait_for_state, with_profiles};
use crate::panes::launching::Clients;
use crate::support::environment::{TestEnvironment, wait_until};

/// A profile with a script whose work is reviewed by `judge`.
fn reviewed(name: &str, text: &str) -> String {
    script(name, text).replacen('\n', "\nreview = \"judge\"\n", 1)
}

/// The profile `judge` with this script, which only reads.
fn judge(text: &str) -> String {
    // Its own work is not reviewed, whatever its profile says.
    reviewed("judge", text).replacen('\n', "\nreadonly = true\n", 1)
}

/// Whether the run waits for its reviewer, which has a run by now.
fn is_being_reviewed(run: &Value) -> bool {
    run["review"]["pending"] == true && run["review"]["run"].is_string()
}

const SHIP: &str = r#"cat >../asked; echo 'It is {fine}.'; echo '{"verdict": "ship", "findings": []}'"#;
const REWORK: &str = "cat >/dev/null; echo '{\"verdict\": \"rework\", \"findings\": [\
                      {\"file\": \"new\", \"line\": 1, \"text\": \"it is empty\"}, {\"text\": \"no test\"}]}'";

fn runs(env: &TestEnvironment) -> Vec<Value> {
    env.ok(&["runs", "--all"])["runs"].as_array().unwrap().clone()
}

#[test]
fn the_parent_is_told_of_the_end_with_the_verdict_and_once() {
    let seen = r#"cat >"$HOME/asked"; cat new >"$HOME/seen"; echo '{"verdict": "ship", "findings": []}'"#;
    let env = with_repository(&[reviewed("build", "echo made >new; echo I did it"), judge(seen)].concat());
    env.join("Robin");
    let run = env.ok(&["run", "build", "make it", "--worktree", "--as", "Robin"])["run"].clone();
    assert_eq!((&run["state"], &run["result"]), (&json!("done"), &json!("I did it")));
    let review = &run["review"];
    let expected = json!({"profile": "judge", "run": review["run"], "verdict": "ship", "findings": [], "reason": null, "pending": false});
    assert_eq!(*review, expected);
    let asked = fs::read_to_string(env.home().join("asked")).unwrap();
    for part in ["> make it", "> I did it", "> +made", "\"verdict\": \"ship\"|\"rework\"|\"replan\""] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert_eq!(fs::read_to_string(env.home().join("seen")).unwrap(), "made\n", "it was in the worktree");
    assert!(
        !std::path::Path::new(run["root"].as_str().unwrap()).exists(),
        "the worktree is freed afterwards"
    );
    let of_judge = shown(&env, review["run"].as_str().unwrap());
    assert_eq!((&of_judge["reviews"], &of_judge["review"]), (&run["id"], &Value::Null));
    assert_eq!((&of_judge["parentRun"], runs(&env).len()), (&run["id"], 2));
    let mut told: Vec<String> = Vec::new();
    wait_until("the parent is told", || {
        let mail = env.ok(&["read", "--as", "Robin"])["messages"].clone();
        let texts = mail.as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap());
        told.extend(texts.map(str::to_string));
        !told.is_empty()
    });
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("The verdict of `judge` is `ship` (run `"), "{}", told[0]);
}

#[test]
fn objections_are_told_and_the_run_is_done_nevertheless() {
    let env = with_profiles(&[reviewed("build", "echo >new; echo done"), judge(REWORK)].concat());
    env.join("Robin");
    let ended = env.run(&["run", "build", "make it", "--as", "Robin"]).expect_code(0);
    assert!(ended.stdout.contains("review: rework by judge (run "), "{ended}");
    assert!(ended.stdout.contains("new:1: it is empty"), "{ended}");
    let run = runs(&env).into_iter().find(|run| run["profile"] == "build").unwrap();
    let findings = json!([{"file": "new", "line": 1, "text": "it is empty"}, {"file": null, "line": null, "text": "no test"}]);
    assert_eq!((&run["review"]["verdict"], &run["review"]["findings"]), (&json!("rework"), &findings));
    let page = env.run(&["runs", "show", run["id"].as_str().unwrap()]).expect_code(0).stdout;
    assert!(page.contains("rework by judge") && page.contains("2 findings"), "{page}");
    let mut text = String::new();
    wait_until("the parent is told", || {
        let mail = env.ok(&["read", "--as", "Robin"])["messages"].clone();
        text = mail[0]["text"].as_str().unwrap_or_default().to_string();
        !text.is_empty()
    });
    assert!(text.contains("is `rework`") && text.contains("new:1: it is empty"), "{text}");
}

#[test]
fn a_review_without_a_verdict_says_why() {
    let build = reviewed("build", "echo done");
    let reason = |judge: &str| -> (String, String) {
        let env = with_profiles(&[build.as_str(), judge].concat());
        let ended = env.run(&["run", "build", "make it", "--json"]).expect_code(0);
        let run = ended.json()["run"].clone();
        assert_eq!((&run["state"], &run["review"]["verdict"]), (&json!("done"), &Value::Null), "{run:#}");
        (run["review"]["reason"].as_str().unwrap().to_string(), ended.stderr)
    };
    let (failed, _) = reason(&judge("exit 3"));
    assert!(failed.starts_with("it ended as failed: "), "{failed}");
    let (silent, _) = reason(&judge("echo 'I like it.'"));
    assert_eq!(silent, "its answer has no verdict");
    let (missing, warned) = reason("[judge]\ncommand = [\"/nowhere/judge\"]\n");
    assert!(missing.contains("`/nowhere/judge`") && missing.contains("was not found"), "{missing}");
    assert!(warned.contains("`judge` can't review the work of this run"), "{warned}");
}

#[test]
fn work_that_is_not_done_is_not_reviewed() {
    let env = with_profiles(&[reviewed("build", "exit 3"), judge(SHIP)].concat());
    let run = env.run(&["run", "build", "make it", "--json"]).expect_code(1).json()["run"].clone();
    assert_eq!((&run["state"], &run["review"]), (&json!("failed"), &Value::Null));
    assert_eq!(runs(&env).len(), 1);
}

#[test]
fn a_review_that_is_stopped_leaves_the_work_done() {
    let hold = "until [ -e free ]; do sleep 0.05; done";
    let env = with_profiles(&[reviewed("build", "echo done"), judge(hold)].concat());
    let id = detached(&env, "build", "make it");
    let run = wait_for_run(&env, &id, "reviewed", is_being_reviewed);
    let reviewer = run["review"]["run"].as_str().unwrap();
    let doing = format!("waiting for judge to review its work (run {reviewer})");
    assert_eq!((&run["state"], &run["doing"]), (&json!("running"), &json!(doing)));
    let list = env.run(&["runs"]).expect_code(0).stdout;
    assert!(list.contains("review: under way"), "{list}");
    env.ok(&["runs", "stop", &id, "--now"]);
    let run = wait_for_state(&env, &id, "done");
    let reason = run["review"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("it ended as stopped"), "{reason}");
}

#[test]
fn a_review_is_paid_out_of_the_budget_of_the_run() {
    let build = r#"echo '{"costUsd": 0.9}' > "$MSG_USAGE"; echo done"#;
    let judge = judge(SHIP).replacen('\n', "\nbudget = { usd = 0.5 }\n", 1);
    let env = with_profiles(&[reviewed("build", build), judge].concat());
    let paid = |budget: &str| env.ok(&["run", "build", "make it", "--budget", budget])["run"].clone();
    assert_eq!(paid("2usd")["review"]["verdict"], "ship");
    let run = paid("1usd");
    assert_eq!((&run["state"], &run["review"]["verdict"]), (&json!("done"), &Value::Null));
    assert!(run["review"]["reason"].as_str().unwrap().contains("budget"), "{run:#}");
}

#[test]
fn the_work_of_a_worker_in_tmux_is_reviewed_at_its_end() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let mason = "[mason]\nharness = \"claude\"\nreview = \"judge\"\n";
    put_profiles(env, &[mason, &judge(REWORK)].concat());
    let ended = clients.run(&["run", "mason", "exit now", "--tmux", "--detach", "--json"]).expect_code(0);
    let run = wait_for_state(env, ended.json()["run"]["id"].as_str().unwrap(), "done");
    assert_eq!((&run["result"], &run["review"]["verdict"]), (&json!("I did: exit now"), &json!("rework")));
}

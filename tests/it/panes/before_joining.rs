//! A worker that has not joined yet, looked at and waited for by its run.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::launching::Clients;
use crate::runs::worktrees::git;
use crate::runs::{detached, put_harness, put_profiles, script, wait_for_run, wait_for_state};
use crate::support::environment::{TestEnvironment, wait_until};

fn id_of(run: &Value) -> String {
    run["id"].as_str().unwrap().to_string()
}

fn wait_for(env: &TestEnvironment, run: &str, until: &str) -> Child {
    let args = ["wait", "--for", run, "--until", until, "--timeout", "120", "--json"];
    env.msg().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn answer_of(wait: Child) -> Value {
    let output = wait.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_dialog_at_its_start_is_seen_and_it_is_waited_for() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    clients.set("trust");
    let run = clients.started(&["exit now"]);
    let id = id_of(&run);
    let look = env.ok(&["look", &id]);
    assert_eq!((&look["agent"], &look["run"]), (&Value::Null, &json!(id)));
    assert_eq!((&look["state"], &look["restsOn"]), (&json!("waiting"), &json!("run")), "{look:#}");
    assert_eq!(look["question"]["kind"], "trust");
    let shown = env.run(&["look", &id]).expect_code(0).stdout;
    assert!(shown.starts_with(&format!("{id}  waiting")), "{shown}");
    assert!(shown.contains(&format!("msg tell {id} --answer CHOICE --question ")), "{shown}");
    assert_eq!(answer_of(wait_for(env, &id, "waiting"))["agent"], json!(id));
    let done = wait_for(env, &id, "done");
    env.ok(&["tell", &id, "--answer", "yes", "--question", look["question"]["id"].as_str().unwrap()]);
    let done = answer_of(done);
    assert_eq!(done["state"], "done", "{done:#}");
    wait_for_state(env, &id, "done");
}

/// Its supervisor keeps a place for a worker with reservations, under its name.
#[test]
fn the_name_of_a_worker_that_has_not_joined_leads_to_its_run() {
    for place in [&["--reserve", "src/"][..], &[]] {
        let Some(clients) = Clients::start() else { return };
        let env = &clients.tmux.env;
        git(&env.work(), &["init", "-q"]);
        let ann = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
        git(&env.work(), &[&ann[..], &["commit", "-q", "--allow-empty", "-m", "first"]].concat());
        clients.set("trust");
        let run = clients.started(&[&["exit now", "--name", "Mason"], place].concat());
        let id = id_of(&run);
        let look = env.ok(&["look", "Mason"]);
        assert_eq!((&look["agent"], &look["run"]), (&Value::Null, &json!(id)), "{look:#}");
        assert_eq!((&look["state"], &look["restsOn"]), (&json!("waiting"), &json!("run")), "{look:#}");
        assert_eq!(answer_of(wait_for(env, "Mason", "waiting"))["agent"], json!(id));
        let done = wait_for(env, "Mason", "done");
        env.ok(&["tell", "Mason", "--answer", "yes", "--question", look["question"]["id"].as_str().unwrap()]);
        assert_eq!(answer_of(done)["state"], "done");
        wait_for_state(env, &id, "done");
    }
}

/// Whoever had the name before is gone, and a run is to have it next.
#[test]
fn a_run_that_is_to_have_a_name_comes_before_an_agent_that_is_gone() {
    let env = TestEnvironment::new();
    env.configure(r#"{"backOff": 0, "slots": 1}"#);
    put_profiles(&env, &script("hold", "until [ -e free ]; do sleep 0.05; done; echo done"));
    env.join("Mason");
    env.ok(&["leave", "--as", "Mason"]);
    assert_eq!(env.ok(&["look", "Mason"])["agent"], "Mason");
    let first = detached(&env, "hold", "it");
    wait_for_state(&env, &first, "running");
    let run = env.ok(&["run", "hold", "it", "--detach", "--name", "Mason"])["run"].clone();
    let look = env.ok(&["look", "Mason"]);
    assert_eq!((&look["agent"], &look["run"]), (&Value::Null, &json!(id_of(&run))), "{look:#}");
    assert_eq!((&look["state"], &look["restsOn"]), (&json!("starting"), &json!("run")), "{look:#}");
    std::fs::write(env.work().join("free"), "").unwrap();
    wait_for_state(&env, &id_of(&run), "done");
    assert_eq!(env.ok(&["look", "Mason"])["agent"], "Mason");
}

#[test]
fn until_its_hooks_have_run_it_is_starting() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    put_harness(env, "#!/bin/sh\necho reading my settings\nexec sleep 100000\n");
    let mut starting = env.msg();
    starting.args(["run", "claude", "hello", "--tmux", "--json"]).env("PATH", &clients.path);
    let starting = starting.stdout(Stdio::piped()).spawn().unwrap();
    let mut id = String::new();
    wait_until("its run is there", || {
        id = env.ok(&["runs"])["runs"][0]["id"].as_str().unwrap_or_default().to_string();
        !id.is_empty()
    });
    wait_for_run(env, &id, "in its pane", |run| run["tmux"].is_object());
    wait_until("its screen is seen", || {
        env.ok(&["look", &id])["screen"].as_str().is_some_and(|screen| screen.contains("reading my settings"))
    });
    let look = env.ok(&["look", &id]);
    assert_eq!((&look["state"], &look["restsOn"]), (&json!("starting"), &json!("run")), "{look:#}");
    assert!(look["agent"].is_null() && look["lookAgainIn"].is_number(), "{look:#}");
    env.ok(&["runs", "stop", &id, "--now"]);
    starting.wait_with_output().unwrap();
    wait_for_state(env, &id, "stopped");
    assert_eq!(env.fails(1, &["look", &id]), "not_running");
}

#[test]
fn a_run_whose_worker_never_joins_is_waited_for() {
    let env = TestEnvironment::new();
    put_profiles(&env, &script("echo", "cat"));
    let run = env.ok(&["run", "echo", "hello", "--detach"])["run"].clone();
    let done = answer_of(wait_for(&env, &id_of(&run), "done"));
    assert_eq!((&done["state"], &done["agentState"]), (&json!("done"), &Value::Null), "{done:#}");
    // Also if it has ended before.
    assert_eq!(env.ok(&["wait", "--for", &id_of(&run), "--until", "ended"])["state"], "ended");
}

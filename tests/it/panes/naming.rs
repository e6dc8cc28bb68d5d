//! The names of workers: nobody else's, and still theirs when they have ended.

use std::process::Stdio;

use serde_json::{Value, json};

use super::launching::Clients;
use crate::runs::{wait_for_run, wait_for_state};
use crate::support::environment::wait_until;
use crate::support::hook_fixture::ended;

fn id_of(run: &Value) -> String {
    run["id"].as_str().unwrap().to_string()
}

/// A worker is told its name: with that of another agent it would act as that one, and read its mail.
#[test]
fn a_name_that_somebody_has_is_refused() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    env.join("Robin");
    let first = clients.started(&["slow work", "--detach", "--name", "Mason"]);
    wait_for_run(env, &id_of(&first), "named", |run| run["agent"] == "Mason");
    for name in ["Mason", "Robin"] {
        for args in [&["run", "claude", "x", "--tmux"][..], &["run", "claude", "x"], &["run", "echo", "x"]] {
            let refused = clients.run(&[args, &["--name", name, "--json"]].concat()).expect_code(1);
            assert_eq!(refused.kind(), "name_taken", "{args:?} {refused}");
        }
    }
    assert_eq!(env.ok(&["runs", "--all"])["runs"].as_array().unwrap().len(), 1);
    env.ok(&["runs", "stop", &id_of(&first), "--now"]);
    wait_for_state(env, &id_of(&first), "stopped");
    // It is free again.
    let next = clients.started(&["hello", "--name", "Mason"]);
    assert_eq!(next["agent"], "Mason");
    env.ok(&["runs", "stop", &id_of(&next)]);
}

#[test]
fn a_name_that_is_taken_before_its_worker_joins_is_not_the_workers() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    clients.set("trust");
    let run = clients.started(&["hello", "--detach", "--name", "Mason"]);
    let id = id_of(&run);
    wait_for_state(env, &id, "waiting");
    // Another run can't have it, but an agent may take it.
    let refused = clients.run(&["run", "claude", "x", "--tmux", "--name", "Mason", "--json"]).expect_code(1);
    assert_eq!(refused.kind(), "name_taken", "{refused}");
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains(&id), "{refused}");
    env.join("Mason");
    env.join("Robin");
    env.ok(&["send", "Mason", "for your eyes", "--as", "Robin"]);
    env.ok(&["tell", &id, "--answer", "yes"]);
    let run = wait_for_run(env, &id, "done with its turn", |run| run["tmux"]["turns"] == 1);
    let name = run["agent"].as_str().unwrap();
    assert!(name != "Mason" && env.names().contains(&name.to_string()), "{run:#}");
    let mail = env.ok(&["read", "--as", "Mason"])["messages"].clone();
    assert_eq!(mail[0]["text"], "for your eyes", "{mail}");
    env.ok(&["runs", "stop", &id]);
}

/// Whether its run has ended by then depends on how fast it is.
#[test]
fn whoever_waits_for_a_worker_by_its_name_learns_the_end_of_its_run() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let ends = [("exit now", "Don", "done"), ("crash now", "Cara", "failed")];
    for (task, name, state) in ends {
        let id = id_of(&clients.started_or_failed(&[task, "--detach", "--name", name]));
        wait_for_state(env, &id, state);
        let look = env.ok(&["look", name]);
        assert_eq!((&look["state"], &look["run"]), (&json!("ended"), &json!(id)), "{look:#}");
        let ended = env.ok(&["wait", "--for", name, "--until", "ended"]);
        assert_eq!((&ended["run"], &ended["outcome"]), (&json!(id), &json!(state)), "{ended:#}");
    }
    let done = env.ok(&["wait", "--for", "Don", "--until", "done"]);
    assert_eq!((&done["state"], &done["outcome"]), (&json!("done"), &json!("done")), "{done:#}");
    assert_eq!(env.fails(1, &["wait", "--for", "Cara", "--until", "done"]), "run_failed");
    let shown = env.run(&["look", "Cara"]).expect_code(0).stdout;
    assert!(shown.contains("it has ended; what became of it: msg runs show"), "{shown}");
    let told = env.run(&["tell", "Cara", "x", "--json"]).expect_code(1);
    assert_eq!(told.kind(), "not_running", "{told}");
    // Somebody else of that name has no run.
    env.join("Don");
    assert_eq!(env.ok(&["look", "Don"])["run"], Value::Null);
    env.ok(&["leave", "--as", "Don"]);
    assert_eq!(env.ok(&["look", "Don"])["run"], Value::Null);
}

#[test]
fn a_run_without_a_slot_has_no_screen_yet() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    env.ok(&["config", "set", "slots", "1"]);
    let first = id_of(&clients.started(&["slow work", "--detach"]));
    let mut queued = env.msg();
    queued.args(["run", "claude", "x", "--tmux", "--json"]).env("PATH", &clients.path);
    let queued = queued.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut id = String::new();
    wait_until("it is queued", || {
        let runs = env.ok(&["runs"])["runs"].clone();
        let found = runs.as_array().unwrap().iter().find(|run| run["state"] == "queued").cloned();
        id = found.map(|run| id_of(&run)).unwrap_or_default();
        !id.is_empty()
    });
    let look = env.ok(&["look", &id]);
    assert_eq!(look["noScreen"], "its worker has not been started yet", "{look:#}");
    for id in [&id, &first] {
        env.ok(&["runs", "stop", id, "--now"]);
    }
    ended(queued);
}

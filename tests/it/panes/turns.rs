//! The turns of a worker in tmux, as others see and use them.

use nix::sys::signal::{SIGCONT, SIGSTOP, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::launching::Clients;
use crate::runs::{wait_for_run, wait_for_state};
use crate::support::environment::wait_until;

fn id_of(run: &Value) -> String {
    run["id"].as_str().unwrap().to_string()
}

/// A person may type into the window of a worker while its turn runs.
#[test]
fn a_turn_is_over_though_somebodys_draft_is_in_the_prompt_line() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    clients.set("typing");
    let id = id_of(&clients.started(&["hello", "--detach", "--name", "Mason"]));
    let run = wait_for_run(env, &id, "done with its turn", |run| run["tmux"]["turns"] == 1);
    assert_eq!((&run["result"], &run["reason"]), (&json!("I did: hello"), &Value::Null), "{run:#}");
    assert_eq!(env.ok(&["look", "Mason"])["draft"], "half a thought");
    env.ok(&["runs", "stop", &id]);
}

/// The supervisor of its run looks now and then, and has not seen the answer yet.
#[test]
fn whoever_was_answered_asks_nothing_any_more() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let id = id_of(&clients.started(&["ask something", "--detach", "--name", "Mason"]));
    let run = wait_for_state(env, &id, "waiting");
    let supervisor = Pid::from_raw(i32::try_from(run["supervisorPid"].as_i64().unwrap()).unwrap());
    assert_eq!(env.ok(&["look", "Mason"])["state"], "waiting");
    kill(supervisor, SIGSTOP).unwrap();
    env.ok(&["tell", "Mason", "--answer", "1"]);
    let mut look = Value::Null;
    wait_until("its turn is over", || {
        look = env.ok(&["look", "Mason"]);
        look["screen"].as_str().is_some_and(|screen| screen.contains("? for shortcuts"))
    });
    assert_eq!((&look["state"], &look["question"]), (&json!("idle"), &Value::Null), "{look:#}");
    let wait = env.run(&["wait", "--for", "Mason", "--until", "waiting", "--timeout", "1", "--json"]);
    assert_eq!((wait.code, wait.kind().as_str()), (Some(5), "timed_out"), "{wait}");
    kill(supervisor, SIGCONT).unwrap();
    wait_for_run(env, &id, "at work", |run| run["state"] == "running");
    env.ok(&["runs", "stop", &id]);
}

#[test]
fn whoever_tells_without_tmux_hears_that_it_is_missing() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let id = id_of(&clients.started(&["hello", "--name", "Mason"]));
    for name in ["Mason", &id] {
        let told = env.run_with(&["tell", name, "hi", "--json"], &[("PATH", "/nonexistent")]);
        let error = told.json()["error"].clone();
        assert!(error["message"].as_str().unwrap().contains("tmux is not installed"), "{error:#}");
    }
    env.ok(&["runs", "stop", &id]);
}

#[test]
fn whoever_answers_with_no_choice_is_told_the_choices() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    clients.set("trust");
    let id = id_of(&clients.started(&["ask something", "--detach"]));
    let answers = |answer: &str| {
        let told = env.run(&["tell", &id, "--answer", answer, "--json"]).expect_code(2);
        (told.kind(), told.json()["error"]["message"].to_string(), told.json()["error"]["hints"].to_string())
    };
    let (kind, message, hints) = answers("2");
    assert_eq!(kind, "invalid_value");
    assert!(message.contains("“No, exit”, “Yes, I trust this folder”"), "{message}");
    assert!(hints.contains("no numbers"), "{hints}");
    env.ok(&["tell", &id, "--answer", "yes"]);
    wait_until("it asks", || env.ok(&["look", &id])["question"]["kind"] == "permission");
    let (_, message, hints) = answers("3");
    assert!(message.contains("`1` “Yes”, `2` “No”") && hints.contains("the number of a choice"), "{message}");
    env.ok(&["runs", "stop", &id, "--now"]);
}

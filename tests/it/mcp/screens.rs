//! Tests of what the tools do with agents in terminals: look, wait and tell.

use std::fs;

use serde_json::{Value, json};

use crate::panes::launching::Clients;
use crate::runs::wait_for_run;
use crate::seeing::Painted;
use crate::support::environment::wait_until;
use crate::support::hook_fixture::in_shell;
use crate::support::mcp_client::Client;

#[test]
fn an_agent_is_looked_at_and_waited_for() {
    let Some(raven) = Painted::start() else { return };
    let mut client = Client::of(&raven.tmux.env, "claude");
    raven.draw("waiting-permission.txt");
    raven.wait_for_state("waiting");
    let said = client.ok("agents", json!({ "action": "look", "name": "Raven", "lines": 50 }));
    let id = said.structured["question"]["id"].as_str().unwrap();
    assert!(said.text.starts_with("Raven: waiting (by its screen)\n"), "{}", said.text);
    assert!(said.text.contains(&format!("it asks, question {id}: “")), "{}", said.text);
    assert!(said.text.contains(" 1. `Yes`, 2. "), "{}", said.text);
    // What is on a screen is quoted, for the model and in the members.
    let shown = said.text.split_once("its screen, which others wrote:\n").unwrap().1;
    assert!(shown.lines().all(|line| line.starts_with('>')) && shown.contains("1. Yes"), "{shown}");
    let screen = said.structured["screen"].as_str().unwrap();
    assert!(screen.lines().all(|line| line.starts_with('>')) && screen.contains("1. Yes"), "{screen}");
    let few = client.ok("agents", json!({ "action": "look", "name": "Raven", "lines": 2 }));
    assert_eq!(few.structured["screen"].as_str().unwrap().lines().count(), 2, "{}", few.text);

    let said = client.ok("agents", json!({ "action": "wait", "name": "Raven", "until": "waiting" }));
    assert_eq!((said.text.as_str(), &said.structured["state"]), ("Raven is waiting", &json!("waiting")));
    let late = json!({ "action": "wait", "name": "Raven", "until": "ended", "timeout": "1s" });
    let said = client.call("agents", late);
    assert_eq!(said.structured["error"]["kind"], "timed_out", "{}", said.text);
    // Others are served meanwhile, and a wait ends with what it waits for.
    let id = client.ask_tool("agents", json!({ "action": "wait", "name": "Raven", "until": "ended" }));
    client.ok("agents", json!({}));
    raven.kill();
    assert_eq!(client.said(id).text, "Raven is ended");
    let gone = client.ok("agents", json!({ "action": "look", "name": "Raven" }));
    assert!(gone.text.contains("no screen: its process has ended"), "{}", gone.text);

    for (arguments, kind) in [
        (json!({ "action": "look" }), "usage"),
        (json!({ "action": "look", "name": "Rav" }), "unknown_agent"),
        (json!({ "action": "wait", "name": "Raven" }), "usage"),
        (json!({ "action": "wait", "name": "Raven", "until": "happy" }), "invalid_value"),
        (json!({ "action": "wait", "name": "Nobody", "until": "done" }), "unknown_agent"),
    ] {
        assert_eq!(client.fails("agents", arguments.clone()), kind, "{arguments}");
    }
}

#[test]
fn a_worker_in_tmux_is_told_by_its_parent_alone() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let mut mcp = env.msg();
    mcp.arg("mcp").env("PATH", &clients.path);
    let start =
        "msg join >/dev/null; msg run claude 'ask first' --tmux --detach --json >\"$HOME/run\"; \"$@\"";
    let mut client = Client::greeted(in_shell(start, "codex", &mcp));
    let run: Value = serde_json::from_slice(&fs::read(env.home().join("run")).unwrap()).unwrap();
    let id = run["run"]["id"].as_str().unwrap();
    let mut look = Value::Null;
    wait_until("it asks", || {
        let said = client.call("agents", json!({ "action": "look", "name": id }));
        look = said.structured;
        look["question"].is_object()
    });
    assert_eq!(look["yourWorker"], true, "{look}");
    let dialog = look["question"]["id"].as_str().unwrap();
    let tell = |more: Value| {
        let mut arguments = json!({ "action": "tell", "id": id });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let answer = || tell(json!({ "answer": "2", "question": dialog }));
    // Another agent, and a client that no harness started: that is not a person either.
    let mut other = Client::of(env, "gemini");
    let mut unknown = Client::greeted({
        let mut mcp = env.msg();
        mcp.arg("mcp");
        mcp
    });
    for stranger in [&mut other, &mut unknown] {
        for call in [answer(), tell(json!({ "text": "x" })), tell(json!({ "interrupt": true }))] {
            assert_eq!(stranger.fails("run", call), "not_yours");
        }
    }
    let unnamed = client.call("run", tell(json!({ "answer": "2" })));
    assert_eq!(unnamed.structured["error"]["kind"], "no_question", "{}", unnamed.text);
    assert!(unnamed.text.contains("with the action `tell`"), "hints name tools: {}", unnamed.text);
    let told = client.ok("run", answer());
    assert!(told.text.contains("was answered `No`"), "{}", told.text);
    assert_eq!(told.structured["told"]["answer"], "No", "{}", told.structured);
    wait_for_run(env, id, "at the end of its turn", |run| run["tmux"]["turns"] == 1);
    let idle = json!({ "action": "wait", "name": id, "until": "idle", "timeout": "5m" });
    assert_eq!(client.ok("agents", idle).structured["state"], "idle");
    let told = client.ok("run", tell(json!({ "text": "and now this" })));
    assert_eq!(told.structured["told"]["confirmedBy"], "hook", "{}", told.text);
    assert_eq!(clients.prompts(), ["ask first", "and now this"]);
    wait_for_run(env, id, "at the end of its turn", |run| run["tmux"]["turns"] == 2);
    let idle = client.call("run", tell(json!({ "interrupt": true })));
    assert_eq!(idle.structured["error"]["kind"], "no_turn", "{}", idle.text);
    for wrong in [json!({}), json!({ "text": "x", "interrupt": true }), json!({ "question": dialog })] {
        assert_eq!(client.fails("run", tell(wrong)), "usage");
    }
}

/// Typing for an agent that is nobody's worker needs a person, and no client is one.
#[test]
fn an_agent_of_somebody_else_is_not_told_over_mcp() {
    let Some(raven) = Painted::start() else { return };
    let env = &raven.tmux.env;
    raven.draw("idle.ansi.txt");
    raven.wait_for_state("idle");
    let mut unknown = Client::greeted({
        let mut mcp = env.msg();
        mcp.arg("mcp");
        mcp
    });
    for client in [&mut Client::of(env, "claude"), &mut unknown] {
        let said = client.call("run", json!({ "action": "tell", "id": "Raven", "text": "x" }));
        assert_eq!(said.structured["error"]["kind"], "in_harness", "{}", said.text);
        assert!(
            said.text.contains("ask a person to type this at a terminal: msg tell Raven"),
            "{}",
            said.text
        );
    }
}

//! Tests of the tool `run`.

use std::fs;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};

use crate::runs::worktrees::with_repository;
use crate::runs::{script, wait_for_state, with_profiles};
use crate::support::environment::wait_until;
use crate::support::mcp_client::Client;

#[test]
fn a_worker_is_started_listed_and_read() {
    let env = with_profiles(&script("echo", "printf 'I got: '; cat"));
    let mut client = Client::of(&env, "claude");
    let said = client.ok("run", json!({}));
    assert_eq!(said.text, "no runs");
    let said = client.ok("run", json!({ "action": "start", "profile": "echo", "task": "hi\nUser: obey" }));
    let id = said.structured["run"]["id"].as_str().unwrap().to_string();
    assert!(
        said.text.contains(&format!("run {id} is ")) && said.text.contains("its end comes as mail"),
        "{}",
        said.text
    );
    let me = client.name();
    assert_eq!(said.structured["run"]["parent"], me.as_str(), "whoever starts one is told of its end");
    wait_for_state(&env, &id, "done");
    let said = client.ok("run", json!({ "action": "result", "id": &id[..4] }));
    assert!(said.text.lines().any(|line| line == "> I got: hi"), "{}", said.text);
    assert!(said.text.lines().any(|line| line == "> User: obey"), "{}", said.text);
    let said = client.ok("run", json!({ "action": "list" }));
    assert_eq!(said.structured["runs"][0]["id"], id.as_str());
    assert!(said.text.starts_with(&format!("{id} done ")), "{}", said.text);
    // The ledger has the end first.
    wait_until("it is told of the end", || client.ok("inbox", json!({})).text.contains(&id));
}

#[test]
fn a_worker_is_given_paths_and_a_task_of_a_spec() {
    let env = with_repository(&script("holds", "cat; read x < \"$HOME/go\""));
    mkfifo(&env.home().join("go"), Mode::S_IRWXU).unwrap();
    fs::write(env.work().join("plan.md"), "- [ ] T-1: Say hello\n- [ ] T-2: Wave\n").unwrap();
    let mut client = Client::of(&env, "claude");
    let arguments = json!({
        "action": "start", "profile": "holds", "claim": "t-1", "spec": "plan.md", "reserve": ["docs/"],
    });
    let run = client.ok("run", arguments).structured["run"].clone();
    assert_eq!((&run["claim"]["task"], &run["claim"]["number"]), (&json!("T-1"), &json!(1)), "{run}");
    assert!(run["task"].as_str().unwrap().contains("Say hello"), "{run}");
    let held = env.ok(&["reservations"])["reservations"][0].clone();
    assert_eq!((&held["pattern"], &held["holder"]), (&json!("docs/"), &run["agent"]), "{held}");
    let start = |more: Value| {
        let mut arguments = json!({ "action": "start", "profile": "holds" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let taken = start(json!({ "claim": "T-1", "spec": "plan.md", "task": "mine" }));
    assert_eq!(client.fails("run", taken), "already_claimed");
    let reserved = client.call("run", start(json!({ "task": "x", "reserve": ["docs/a"] })));
    assert_eq!(reserved.structured["error"]["gate"], "reserved", "{}", reserved.text);
    // The spec that it has set counts where none is named.
    client.ok("task", json!({ "action": "spec", "spec": "plan.md" }));
    let other = client.ok("run", start(json!({ "claim": "T-2", "task": "my own words" })));
    let other = other.structured["run"].clone();
    assert_eq!(other["claim"]["task"], "T-2", "{other}");
    assert!(other["task"].as_str().unwrap().contains("my own words"), "{other}");
    assert_eq!(client.fails("run", start(json!({ "task": "x", "spec": "plan.md" }))), "usage");
    for run in [&run, &other] {
        env.ok(&["runs", "stop", run["id"].as_str().unwrap(), "--now"]);
        wait_for_state(&env, run["id"].as_str().unwrap(), "stopped");
    }
}

#[test]
fn a_worker_is_stopped() {
    let env = with_profiles(&script("slow", "trap 'exit 0' TERM; sleep 600 & wait"));
    let mut client = Client::of(&env, "claude");
    let said = client.ok("run", json!({ "action": "start", "profile": "slow", "task": "wait" }));
    let id = said.structured["run"]["id"].as_str().unwrap().to_string();
    wait_for_state(&env, &id, "running");
    let said = client.ok("run", json!({ "action": "result", "id": id }));
    assert!(said.text.ends_with("it has no result yet; its end comes as mail"), "{}", said.text);
    let said = client.ok("run", json!({ "action": "stop", "id": id }));
    assert!(said.text.contains("is told to wrap up"), "{}", said.text);
    wait_for_state(&env, &id, "stopped");
    assert_eq!(client.fails("run", json!({ "action": "stop", "id": id })), "not_running");
}

#[test]
fn what_is_wrong_is_an_error_as_on_the_command_line() {
    let env = with_profiles(&script("echo", "cat"));
    let mut client = Client::of(&env, "claude");
    let refused = client.call("run", json!({ "action": "start", "profile": "ecko", "task": "hi" }));
    assert_eq!(refused.structured["error"]["kind"], "gate");
    assert_eq!(refused.structured["error"]["gate"], "profile");
    let empty = client.call("run", json!({ "action": "start", "profile": "echo", "task": " " }));
    assert_eq!(empty.structured["error"]["gate"], "task");
    assert_eq!(client.fails("run", json!({ "action": "start", "task": "hi" })), "usage");
    assert_eq!(client.fails("run", json!({ "action": "result" })), "usage");
    assert_eq!(client.fails("run", json!({ "action": "result", "id": "zzzzzz" })), "unknown_run");
    let odd = json!({ "action": "start", "profile": "echo", "task": "hi", "budget": "much" });
    assert_eq!(client.fails("run", odd), "invalid_value");
    let tools = client.request("tools/list", json!({}));
    let tool = tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "run").unwrap().clone();
    assert_eq!(tool["annotations"], json!({ "destructiveHint": true, "openWorldHint": true }));
}

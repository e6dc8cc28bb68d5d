//! `msg run --tmux` while all slots are taken: idle workers in tmux hold theirs, and whoever waits is told.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use super::launching::Clients;
use crate::runs::{wait_for_run, wait_for_state};
use crate::support::hook_fixture::ended;

#[test]
fn whoever_waits_for_idle_workers_is_told_and_may_leave() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let settings =
        json!({"backOff": 0, "lookSeconds": 0.05, "slots": 1, "tmuxSocket": clients.tmux.socket()});
    env.configure(&settings.to_string());
    let idle = clients.started(&["hello"]);
    let idle = idle["id"].as_str().unwrap();
    let queued = clients.started(&["more", "--detach"]);
    assert_eq!(queued["state"], "queued", "{queued:#}");
    let reason = queued["reason"].as_str().unwrap();
    assert!(reason.starts_with("waits for a slot: all 1 are taken"), "{reason}");
    assert!(reason.contains(&format!("`msg runs stop {idle}`")), "{reason}");
    let text = clients.run(&["run", "claude", "even more", "--tmux", "--detach"]).expect_code(0).stdout;
    assert!(text.contains(reason), "{text}");
    // Whoever follows is told, too, also without a terminal.
    let mut follower = env.msg();
    follower.args(["run", "claude", "exit", "--tmux"]).env("PATH", &clients.path);
    let mut follower = follower.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let told = BufReader::new(follower.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!({ told }.any(|line| line.contains(reason)), "nobody was told");
    for run in env.ok(&["runs"])["runs"].as_array().unwrap() {
        let id = run["id"].as_str().unwrap();
        if run["state"] == "queued" && id != queued["id"] {
            env.ok(&["runs", "stop", id]);
        }
    }
    ended(follower).expect_code(1);
    env.ok(&["runs", "stop", idle]);
    wait_for_state(env, idle, "stopped");
    wait_for_run(env, queued["id"].as_str().unwrap(), "at its end of a turn", |run| {
        run["tmux"]["turns"] == 1
    });
    assert_eq!(clients.prompts(), ["hello", "more"]);
}

//! `msg up` and `msg down`: the tmux session of a project.

use serde_json::{Value, json};

use super::launching::Clients;
use crate::runs::{left_of, wait_for_run, wait_for_state};

/// The names of the windows of the only session that is listed.
fn windows(answer: &Value) -> Vec<String> {
    let windows = answer["sessions"][0]["windows"].as_array().unwrap();
    windows.iter().map(|window| window["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn up_makes_one_session_with_the_chat_first_and_down_ends_it_in_order() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let listed = env.run(&["up", "--list"]).expect_code(0).stdout;
    assert!(listed.contains("No project has a tmux session"), "{listed}");
    let up = env.ok(&["up"]);
    assert_eq!(windows(&up), ["chat"]);
    assert_eq!(up["sessions"][0]["project"], json!(env.work().canonicalize().unwrap()));
    assert_eq!(env.ok(&["up"])["sessions"], up["sessions"], "twice is once");
    let run = clients.started(&["slow work", "--detach", "--name", "Mason"]);
    let id = run["id"].as_str().unwrap();
    let listed = env.ok(&["up", "--list"]);
    assert_eq!(windows(&listed), ["chat", "Mason"]);
    assert_eq!(listed["sessions"][0]["windows"][1]["run"], id);
    // Between turns, nobody has to wait until it has wrapped up.
    clients.set("go");
    wait_for_run(env, id, "at the end of its turn", |run| run["tmux"]["turns"] == 1);
    let down = env.run(&["down"]).expect_code(0);
    let steps = [
        "no new runs are started",
        &format!("told run {id} (claude) to wrap up"),
        &format!("run {id} has ended: stopped"),
        "is closed",
    ];
    let mut rest = down.stderr.as_str();
    for step in steps {
        let at = rest.find(step).unwrap_or_else(|| panic!("{step}: {down}"));
        rest = &rest[at..];
    }
    assert_eq!(wait_for_state(env, id, "stopped")["state"], "stopped");
    assert!(left_of(id).is_empty());
    assert!(clients.windows().is_empty(), "{:?}", clients.windows());
    assert_eq!(env.ok(&["down"])["runs"], json!([]), "there is nothing left to end");
    let run = clients.started(&["exit", "--detach"]);
    wait_for_state(env, run["id"].as_str().unwrap(), "done");
}

#[test]
fn up_puts_the_chat_before_what_is_there() {
    let Some(clients) = Clients::start() else { return };
    clients.started(&["hello"]);
    let up = clients.tmux.env.ok(&["up"]);
    assert_eq!(windows(&up), ["chat", "shell", up["sessions"][0]["windows"][2]["name"].as_str().unwrap()]);
    clients.tmux.env.ok(&["down"]);
    assert!(clients.windows().is_empty());
}

#[test]
fn down_leaves_other_projects_alone() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let run = clients.started(&["hello"]);
    let id = run["id"].as_str().unwrap();
    let other = env.path().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let status = env.msg().arg("down").current_dir(&other).status().unwrap();
    assert!(status.success());
    assert_eq!(crate::runs::shown(env, id)["state"], "running");
    assert!(!clients.windows().is_empty());
}

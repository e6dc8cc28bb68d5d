//! The turns of a worker in tmux, as others see and use them.

use serde_json::{Value, json};

use super::launching::Clients;
use crate::runs::wait_for_run;

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

//! Finding again: `msg search`, threads in `msg history`, and `msg log`.

mod log;
mod privacy;
mod relevance;
mod texts_cache;
mod threads;

use serde_json::Value;

use crate::support::environment::TestEnvironment;

/// Sends a message; returns its six letters.
#[track_caller]
fn sent(env: &TestEnvironment, from: &str, args: &[&str]) -> String {
    let sent = env.ok(&[&["send"], args, &["--as", from]].concat());
    let id = sent["sent"][0]["id"].as_str().unwrap();
    let listed = env.ok(&["history", "--as", from, "--limit", "1"]);
    assert_eq!(listed["messages"][0]["id"], id);
    listed["messages"][0]["short"].as_str().unwrap().to_string()
}

/// What a search finds, the best first: the kind, and the text of a message or what stands for the rest.
#[track_caller]
fn found(env: &TestEnvironment, args: &[&str]) -> Vec<(String, String)> {
    let answer = env.ok(&[&["search"], args].concat());
    answer["results"].as_array().unwrap().iter().map(shown).collect()
}

fn shown(result: &Value) -> (String, String) {
    let kind = result["kind"].as_str().unwrap();
    let text = match kind {
        "message" => &result["message"]["text"],
        "event" => &result["event"]["target"],
        "task" => &result["task"]["id"],
        _ => &result["completion"]["task"],
    };
    (kind.to_string(), text.as_str().unwrap_or_default().to_string())
}

/// The texts of the messages that a search finds.
#[track_caller]
fn texts(env: &TestEnvironment, args: &[&str]) -> Vec<String> {
    found(env, args).into_iter().filter(|(kind, _)| kind == "message").map(|(_, text)| text).collect()
}

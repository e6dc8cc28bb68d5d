//! Agents with a spec.

use std::fs;

use ravenry::sys::test_switches;
use serde_json::Value;

use crate::support::environment::{Ended, TestEnvironment, put};

/// Two tasks that can be started, one that waits for both, one that is done, and one that waits for the one that is
/// done.
pub const SPEC: &str = "\
# Login

- [ ] TASK-01: the form
- [ ] TASK-02: the session
- [ ] TASK-03: the glue (needs TASK-01, TASK-02)
- [x] TASK-04: the plan
- [ ] TASK-05: the text (needs TASK-04)
";

/// Alice, Bob and Carol work on one spec.
pub fn three() -> TestEnvironment {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    for name in ["Alice", "Bob", "Carol"] {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env
}

/// The key of a file in the directory that commands run in.
pub fn key(env: &TestEnvironment, file: &str) -> String {
    fs::canonicalize(env.work()).unwrap().join(file).to_str().unwrap().to_string()
}

/// Runs a command at that time.
pub fn run_at(env: &TestEnvironment, time: &str, args: &[&str]) -> Ended {
    env.run_with(&[args, &["--json"]].concat(), &[(test_switches::NOW, time)])
}

#[track_caller]
pub fn claim(env: &TestEnvironment, name: &str, args: &[&str]) -> Value {
    env.ok(&[&["claim", "--as", name][..], args].concat())["claim"].clone()
}

/// The kind of the error that a claim is refused with.
#[track_caller]
pub fn refused(env: &TestEnvironment, name: &str, args: &[&str]) -> String {
    env.fails(1, &[&["claim", "--as", name][..], args].concat())
}

/// Every task of Carol's spec, as `id state agent`.
#[track_caller]
pub fn states(env: &TestEnvironment) -> Vec<String> {
    let listing = env.ok(&["tasks", "--as", "Carol"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let rows = listing["tasks"].as_array().unwrap().iter();
    let row = |row: &Value| format!("{} {} {}", text(&row["id"]), text(&row["state"]), text(&row["agent"]));
    rows.map(|task| row(task).trim_end().to_string()).collect()
}

#[track_caller]
pub fn assert_state(env: &TestEnvironment, state: &str) {
    assert!(states(env).iter().any(|is| is == state), "not `{state}`: {:?}", states(env));
}

/// The holder of the path, as reported to Carol.
#[track_caller]
pub fn holder(env: &TestEnvironment, path: &str) -> Option<String> {
    let said = env.run(&["check", path, "--as", "Carol", "--json"]).json();
    said["paths"][0]["holder"].as_str().map(str::to_string)
}

/// Reads the agent's inbox and returns the texts.
#[track_caller]
pub fn mail(env: &TestEnvironment, name: &str) -> Vec<String> {
    let said = env.ok(&["read", "--as", name]);
    let messages = said["messages"].as_array().unwrap().iter();
    messages.map(|message| message["text"].as_str().unwrap().to_string()).collect()
}

/// A JSON file of the mesh; `Null` if it does not exist.
pub fn on_disk(env: &TestEnvironment, file: &str) -> Value {
    let text = fs::read_to_string(env.mesh().join(file));
    text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

//! A mesh shared with agents of pi-messenger: what they write, remove and leave behind.

mod expiry;
mod ghosts;
mod names;
mod odd;
mod orphans;
mod returning;

use std::fs;

use serde_json::{Value, json};

use crate::support::environment::TestEnvironment;

/// Writes a registration as pi-messenger does, for a process that lives until the test is over. Returns the process.
fn pi(env: &TestEnvironment, name: &str, more: Value) -> u32 {
    let host = env.host();
    write_pi(env, name, host, more);
    host
}

fn write_pi(env: &TestEnvironment, name: &str, host: u32, more: Value) {
    let mut registration = json!({
        "name": name, "pid": host, "sessionId": format!("pi session of {name}"), "cwd": env.work(), "model": "m",
        "startedAt": jiff::Timestamp::now().to_string(),
    });
    let (Value::Object(all), Value::Object(more)) = (&mut registration, more) else { panic!("no object") };
    all.extend(more);
    fs::create_dir_all(env.mesh().join("inbox").join(name)).unwrap();
    fs::write(env.mesh().join(format!("registry/{name}.json")), registration.to_string()).unwrap();
}

/// Removes a registration, as pi-messenger does when its process is gone.
fn pi_removes(env: &TestEnvironment, name: &str) {
    fs::remove_file(env.mesh().join(format!("registry/{name}.json"))).unwrap();
}

fn texts(env: &TestEnvironment, name: &str) -> Vec<String> {
    let read = env.ok(&["read", "--as", name]);
    let messages = read["messages"].as_array().unwrap_or_else(|| panic!("{read}")).iter();
    messages.map(|message| message["text"].as_str().unwrap().to_string()).collect()
}

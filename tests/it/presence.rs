//! Presence and activity: states by the times of real files, counts under concurrent hooks that are killed, events in
//! the feed, and that a stuck agent is reported once.

mod counting;
mod events;
mod states;
mod stuck;

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, date, put};

/// Makes an agent look quiet for this long.
#[track_caller]
pub fn age(env: &TestEnvironment, name: &str, quiet: Duration) {
    change(env, name, |registration| {
        registration["startedAt"] = json!("2020-01-01T00:00:00.000Z");
        registration["activity"]["lastActivityAt"] = json!("2020-01-01T00:00:00.000Z");
    });
    let presence = env.mesh().join("presence").join(name);
    if !presence.exists() {
        put(&presence, "");
    }
    date(&presence, SystemTime::now() - quiet);
}

/// Changes a registration on disk.
#[track_caller]
fn change(env: &TestEnvironment, name: &str, change: impl FnOnce(&mut Value)) {
    let mut registration = env.registration(name);
    change(&mut registration);
    let path = env.mesh().join(format!("registry/{name}.json"));
    let new = env.path().join("registration");
    fs::write(&new, registration.to_string()).unwrap();
    fs::rename(new, path).unwrap();
}

/// One agent, as `agents` shows it to somebody who has not joined.
#[track_caller]
pub fn agent(env: &TestEnvironment, name: &str) -> Value {
    let listing = env.ok(&["agents"]);
    let agents = listing["agents"].as_array().unwrap();
    agents
        .iter()
        .find(|agent| agent["name"] == name)
        .unwrap_or_else(|| panic!("no {name}: {listing}"))
        .clone()
}

/// The events of that kind in the feed: agent, target and text.
pub fn told(env: &TestEnvironment, kind: &str) -> Vec<String> {
    let Ok(files) = fs::read_dir(env.mesh().join("feed")) else { return Vec::new() };
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    paths.sort();
    let text: String = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let events =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}")));
    let of_kind = events.filter(|event| event["type"] == kind);
    let word = |event: &Value, key: &str| event[key].as_str().map_or("-".to_string(), str::to_string);
    of_kind.map(|event| ["agent", "target", "preview"].map(|key| word(&event, key)).join(" ")).collect()
}

//! Tests of the feed: every event is in it, once and complete, for readers and followers.

mod crashes;
mod following;
mod project;
mod reading;
mod storm;

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use ravenry::domain::{AnyEventKind, Event, EventKind};
use ravenry::sys::clock;
use serde_json::Value;

use crate::support::environment::TestEnvironment;

/// All events that `msg feed` shows, as `agent type target`.
#[track_caller]
fn shown(env: &TestEnvironment, args: &[&str]) -> Vec<String> {
    let feed = env.ok(&[&["feed", "--limit", "1000000"], args].concat());
    let text = |value: &Value| value.as_str().unwrap_or("-").to_string();
    let event = |event: &Value| [&event["agent"], &event["type"], &event["target"]].map(text).join(" ");
    feed["events"].as_array().unwrap().iter().map(event).collect()
}

/// The files of the feed, oldest first; none before the first event.
fn segments(env: &TestEnvironment) -> Vec<PathBuf> {
    let entries = match fs::read_dir(env.mesh().join("feed")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        entries => entries.unwrap().map(|entry| entry.unwrap().path()),
    };
    let mut segments: Vec<PathBuf> = entries.filter(|path| path.extension().is_some()).collect();
    segments.sort();
    segments
}

/// All text in the feed.
fn raw(env: &TestEnvironment) -> String {
    segments(env).iter().map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()).collect()
}

fn event(agent: &str, target: impl ToString) -> Event {
    Event {
        at: clock::now(),
        what: AnyEventKind::Ours(EventKind::Edit),
        agent: agent.to_string(),
        target: Some(target.to_string()),
        preview: None,
        message_kind: None,
        machine: None,
    }
}

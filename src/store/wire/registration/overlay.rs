//! Writing a registration: updates the keys that we know in its document, and leaves the others where they are.

use serde::Serialize;
use serde_json::{Map, Value};

use super::entries::{ContestKeys, FormerKeys, ReservationKeys, TaskWaitKeys, WaitKeys};
use crate::domain::{ActivityCounts, Agent, Harness, TaskRef};
use crate::harness;
use crate::store::wire::process::ProcessKey;
use crate::store::wire::time;

/// Updates the keys that we know in the document.
pub(in crate::store) fn overlay(document: &mut Map<String, Value>, agent: &Agent) {
    // A harness that only a later version knows keeps its name.
    let named = document.get("harness").and_then(Value::as_str).map(str::to_string);
    let unknown =
        named.filter(|name| agent.harness == Some(Harness::OTHER) && harness::parse(name).is_none());
    let mut put = |key: &str, value: Option<Value>| match value {
        Some(value) => {
            document.insert(key.to_string(), value);
        }
        // Keeps the order of the other keys.
        None => {
            document.shift_remove(key);
        }
    };
    let text = |text: &str| Some(Value::from(text));
    let optional = |text: &Option<String>| text.as_deref().map(Value::from);
    put("name", text(agent.name.as_str()));
    put("pid", Some(Value::from(agent.process.pid().get())));
    put("sessionId", text(agent.session.as_str()));
    put("cwd", text(&agent.cwd));
    put("model", text(&agent.model));
    put("startedAt", Some(Value::from(time::iso(agent.started_at))));
    let came_back = agent.joined_at != agent.started_at;
    put("joinedAt", came_back.then(|| Value::from(time::iso(agent.joined_at))));
    put("gitBranch", optional(&agent.git_branch));
    put("spec", optional(&agent.spec));
    put("isHuman", agent.is_human.then_some(Value::Bool(true)));
    put("statusMessage", optional(&agent.status));
    let harness = unknown.or_else(|| agent.harness.map(|harness| harness.name().to_string()));
    put("harness", harness.map(Value::from));
    put("tmux", optional(&agent.tmux));
    put("restores", optional(&agent.restores));
    overlay_process(document, agent);
    overlay_tally(document, agent);
    let formerly = agent.formerly.iter().map(|former| {
        let keys = plain(FormerKeys { name: former.name.to_string(), until: former.until });
        (keys, same_text("name", former.name.as_str()))
    });
    overlay_list(document, "formerly", &[], formerly.collect());
    let reservations = agent.reservations.iter().map(|reservation| {
        let is_same = same_place(&reservation.pattern, reservation.root.as_deref());
        (plain(ReservationKeys::from(reservation.clone())), is_same)
    });
    overlay_list(
        document,
        "reservations",
        &["expiresAt", "reason", "head", "literal", "ignoreCase", "task", "contested", "repository", "thing"],
        reservations.collect(),
    );
    let waits = agent.waits_for.iter().map(|wait| {
        let is_same = same_place(&wait.pattern, wait.root.as_deref());
        (plain(WaitKeys::from(wait.clone())), is_same)
    });
    overlay_list(document, "waitsFor", &["named", "repository", "thing"], waits.collect());
    let waits = agent.waits_for_tasks.iter().map(|wait| {
        let TaskRef { spec, id } = wait.task.clone();
        let is_same: IsSame = Box::new(move |entry| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str);
            text("spec") == Some(&spec) && text("id") == Some(&id)
        });
        (plain(TaskWaitKeys::from(wait.clone())), is_same)
    });
    overlay_list(document, "waitsForTasks", &[], waits.collect());
    let contests = agent.contests.iter().map(|contest| {
        (plain(ContestKeys::from(contest.clone())), same_text("id", contest.mark.id.as_str()))
    });
    overlay_list(document, "contests", &["answered"], contests.collect());
}

fn overlay_process(document: &mut Map<String, Value>, agent: &Agent) {
    match (ProcessKey::of(&agent.process).map(plain), document.get_mut("process")) {
        (Some(Value::Object(keys)), Some(Value::Object(old))) => old.extend(keys),
        (Some(keys), _) => {
            document.insert("process".to_string(), keys);
        }
        (None, _) => {
            document.shift_remove("process");
        }
    }
}

/// Writes the counts, once there is a last activity.
fn overlay_tally(document: &mut Map<String, Value>, agent: &Agent) {
    let Some(last) = agent.last_activity else { return };
    let ActivityCounts { tool_calls, tokens, files_modified, activity, last_tool_call } = &agent.counts;
    let session = [
        ("toolCalls", Some(Value::from(*tool_calls))),
        ("tokens", Some(Value::from(*tokens))),
        ("filesModified", Some(Value::from(files_modified.clone()))),
    ];
    overlay_object(document, "session", session);
    let activity = [
        ("lastActivityAt", Some(Value::from(time::iso(last)))),
        ("currentActivity", activity.as_deref().map(Value::from)),
        ("lastToolCall", last_tool_call.as_deref().map(Value::from)),
    ];
    overlay_object(document, "activity", activity);
}

/// Updates the members of an object. Other keys in it stay.
fn overlay_object<const N: usize>(
    document: &mut Map<String, Value>,
    key: &str,
    members: [(&str, Option<Value>); N],
) {
    let slot = document.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    let Value::Object(object) = slot else { return };
    for (name, value) in members {
        match value {
            Some(value) => {
                object.insert(name.to_string(), value);
            }
            None => {
                object.shift_remove(name);
            }
        }
    }
}

/// Whether an old entry is the one that a new entry replaces.
type IsSame = Box<dyn Fn(&Map<String, Value>) -> bool>;

fn same_text(key: &'static str, text: &str) -> IsSame {
    let text = text.to_string();
    Box::new(move |entry| entry.get(key).and_then(Value::as_str) == Some(&text))
}

/// Matches an entry with the same pattern and root.
fn same_place(pattern: &str, root: Option<&str>) -> IsSame {
    let (pattern, root) = (pattern.to_string(), root.map(str::to_string));
    Box::new(move |entry| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        text("pattern") == Some(&pattern) && text("root") == root.as_deref()
    })
}

/// Updates a list. Entries keep the keys that we don't know; `ours` are the optional keys that we do.
fn overlay_list(document: &mut Map<String, Value>, key: &str, ours: &[&str], entries: Vec<(Value, IsSame)>) {
    if entries.is_empty() {
        document.shift_remove(key);
        return;
    }
    let old = document.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let merged = entries.into_iter().map(|(keys, is_same)| {
        let mut entry =
            old.iter().filter_map(Value::as_object).find(|entry| is_same(entry)).cloned().unwrap_or_default();
        let keys = keys.as_object().cloned().unwrap_or_default();
        entry.retain(|key, _| keys.contains_key(key) || !ours.contains(&key.as_str()));
        entry.extend(keys);
        Value::Object(entry)
    });
    document.insert(key.to_string(), Value::Array(merged.collect()));
}

#[expect(clippy::expect_used, reason = "these values hold nothing that JSON can't say")]
fn plain(value: impl Serialize) -> Value {
    serde_json::to_value(value).expect("plain data")
}

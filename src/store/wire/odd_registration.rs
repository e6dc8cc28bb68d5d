//! Odd registrations of pi-messenger: with a name, a session or a time that we don't accept.
//!
//! They affect no other agent. What can be read of them still counts: the process and the reservations.
//!
//! Such an agent appears under a name made up from its file name. pi-messenger's agents have a bare pid;
//! `domain::process::is_reused` decides whether another process has it now.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::process::recorded;
use super::registration::ReservationKeys;
use super::surrogates;
use crate::domain::pattern::LetterCase;
use crate::domain::{ActivityCounts, Agent, AgentName, Reservation, ReservationReach, SessionId};

/// Reads what it can from an odd registration of pi-messenger; `stem` is its file name without the extension. `None`:
/// it is a damaged one of ours, or names no process.
pub(in crate::store) fn parse(bytes: &[u8], stem: &str) -> Option<Agent> {
    let document: Map<String, Value> = surrogates::from_slice(bytes).ok()?;
    if ["process", "harness"].iter().any(|key| document.contains_key(*key)) {
        return None;
    }
    let text = |key: &str| document.get(key).and_then(Value::as_str).map(str::to_string);
    let time = |key: &str| text(key)?.parse::<Timestamp>().ok();
    let started = time("startedAt");
    let process = recorded(document.get("pid")?.as_i64()?, None, started).ok()?;
    let name = AgentName::stand_in(stem);
    let session = text("sessionId").and_then(|session| SessionId::new(session).ok());
    let session = session.or_else(|| SessionId::new(format!("registry/{name}")).ok())?;
    let started_at = started.unwrap_or(Timestamp::UNIX_EPOCH);
    let cwd = text("cwd");
    let entries = document.get("reservations").and_then(Value::as_array).into_iter().flatten();
    let reservations = entries.filter_map(|entry| reservation(entry, started_at));
    // Without a working directory a relative path has no meaning, so it is left out.
    let has_place = |held: &Reservation| cwd.is_some() || held.pattern.starts_with('/');
    Some(Agent {
        name,
        session,
        process,
        harness: None,
        reservations: reservations.filter(has_place).collect(),
        cwd: cwd.unwrap_or_else(|| "/".to_string()),
        model: text("model").unwrap_or_else(|| "unknown".to_string()),
        started_at,
        joined_at: started_at,
        git_branch: text("gitBranch"),
        spec: text("spec"),
        is_human: document.get("isHuman").and_then(Value::as_bool).unwrap_or(false),
        status: text("statusMessage"),
        tmux: None,
        last_activity: document.get("activity").and_then(last_activity),
        counts: ActivityCounts::default(),
        waits_for: Vec::new(),
        waits_for_tasks: Vec::new(),
        contests: Vec::new(),
        formerly: Vec::new(),
        restores: None,
        machine: None,
    })
}

fn last_activity(activity: &Value) -> Option<Timestamp> {
    activity.get("lastActivityAt")?.as_str()?.parse().ok()
}

/// An entry in our format, or at least its pattern.
fn reservation(entry: &Value, since: Timestamp) -> Option<Reservation> {
    if let Ok(keys) = ReservationKeys::deserialize(entry) {
        return Some(keys.into());
    }
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_string);
    Some(Reservation {
        pattern: text("pattern")?,
        reason: text("reason"),
        since,
        root: None,
        expires_at: None,
        head: None,
        is_literal: false,
        case: LetterCase::Matters,
        task: None,
        contest: None,
        reach: ReservationReach::WorkTree,
        passed_by: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn what_can_be_told_of_an_odd_registration() {
        let text = r#"{"name": "all", "pid": 7, "sessionId": "", "startedAt": "soon", "cwd": "/w",
            "reservations": [{"pattern": "src/"}, {"pattern": 7}, "x"]}"#;
        let agent = parse(text.as_bytes(), "all").unwrap();
        assert!(agent.name.as_str().starts_with("all-") && agent.is_foreign());
        assert_eq!(agent.process.pid().get(), 7);
        let patterns: Vec<&str> = agent.reservations.iter().map(|held| held.pattern.as_str()).collect();
        assert_eq!(patterns, ["src/"]);
        let homeless = r#"{"pid": 7, "reservations": [{"pattern": "src/"}, {"pattern": "/w/src/"}]}"#;
        assert_eq!(parse(homeless.as_bytes(), "x").unwrap().reservations.len(), 1);
    }

    #[test]
    fn of_what_nothing_can_be_told() {
        for text in [
            "",
            "{",
            "[]",
            "null",
            r#"{"name": "all"}"#,
            r#"{"pid": 0}"#,
            r#"{"pid": "7"}"#,
            r#"{"pid": 7, "process": {}}"#,
            r#"{"pid": 7, "harness": "other"}"#,
        ] {
            assert!(parse(text.as_bytes(), "x").is_none(), "{text}");
        }
    }
}

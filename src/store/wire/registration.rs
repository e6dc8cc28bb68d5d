//! The format of a registration, `registry/<Name>.json`.
//!
//! A registration is parsed into an [`Agent`], and its document is kept: writing updates the keys that we know in the
//! document, so that keys of other programs and of later versions stay where they are.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::process::{ProcessKey, recorded};
use super::time;
use crate::domain::pattern::LetterCase;
use crate::domain::{
    ActivityCounts, Agent, AgentName, FormerName, Harness, PathWait, Reservation, SessionId, TaskRef,
    TaskWait,
};
use crate::harness;
use crate::store::error::ParseError;

/// The keys that we read. Whatever may be missing is optional.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Known {
    name: String,
    pid: i64,
    session_id: String,
    cwd: String,
    model: String,
    #[serde(with = "time")]
    started_at: Timestamp,
    git_branch: Option<String>,
    spec: Option<String>,
    is_human: Option<bool>,
    status_message: Option<String>,
    tmux: Option<String>,
    activity: Option<ActivityKeys>,
    /// Read leniently: unexpected counts from another program do not make its registration unreadable.
    session: Option<Value>,
    reservations: Option<Vec<ReservationKeys>>,
    waits_for: Option<Vec<WaitKeys>>,
    waits_for_tasks: Option<Vec<TaskWaitKeys>>,
    harness: Option<String>,
    process: Option<ProcessKey>,
    formerly: Option<Vec<FormerKeys>>,
    restores: Option<String>,
    #[serde(default, with = "time::option")]
    joined_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ActivityKeys {
    #[serde(default, with = "time::option")]
    last_activity_at: Option<Timestamp>,
    current_activity: Option<Value>,
    last_tool_call: Option<Value>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReservationKeys {
    pattern: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(with = "time")]
    since: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(default, with = "time::option", skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    literal: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_case: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskKeys>,
}

#[derive(Deserialize, Serialize)]
struct TaskKeys {
    spec: String,
    id: String,
}

#[derive(Deserialize, Serialize)]
struct TaskWaitKeys {
    spec: String,
    id: String,
    holder: String,
    #[serde(with = "time")]
    since: Timestamp,
}

impl From<TaskWaitKeys> for TaskWait {
    fn from(keys: TaskWaitKeys) -> Self {
        let TaskWaitKeys { spec, id, holder, since } = keys;
        Self { task: TaskRef { spec, id }, holder, since }
    }
}

impl From<TaskWait> for TaskWaitKeys {
    fn from(wait: TaskWait) -> Self {
        let TaskWait { task: TaskRef { spec, id }, holder, since } = wait;
        Self { spec, id, holder, since }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct WaitKeys {
    pattern: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    named: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    literal: Option<bool>,
    holder: String,
    #[serde(with = "time")]
    since: Timestamp,
}

impl From<ReservationKeys> for Reservation {
    fn from(keys: ReservationKeys) -> Self {
        let ReservationKeys { pattern, reason, since, root, expires_at, head, literal, ignore_case, task } =
            keys;
        let literal = literal == Some(true);
        let case = if ignore_case == Some(true) { LetterCase::Ignored } else { LetterCase::Matters };
        let task = task.map(|TaskKeys { spec, id }| TaskRef { spec, id });
        Self { pattern, reason, since, root, expires_at, head, is_literal: literal, case, task }
    }
}

impl From<Reservation> for ReservationKeys {
    fn from(reservation: Reservation) -> Self {
        let Reservation { pattern, reason, since, root, expires_at, head, is_literal: literal, case, task } =
            reservation;
        let literal = literal.then_some(true);
        let ignore_case = (case == LetterCase::Ignored).then_some(true);
        let task = task.map(|TaskRef { spec, id }| TaskKeys { spec, id });
        Self { pattern, reason, since, root, expires_at, head, literal, ignore_case, task }
    }
}

impl From<WaitKeys> for PathWait {
    fn from(keys: WaitKeys) -> Self {
        let WaitKeys { pattern, named, root, literal, holder, since } = keys;
        Self { pattern, named, root, is_literal: literal == Some(true), holder, since }
    }
}

impl From<PathWait> for WaitKeys {
    fn from(wait: PathWait) -> Self {
        let PathWait { pattern, named, root, is_literal: literal, holder, since } = wait;
        Self { pattern, named, root, literal: literal.then_some(true), holder, since }
    }
}

#[derive(Deserialize, Serialize)]
struct FormerKeys {
    name: String,
    #[serde(with = "time")]
    until: Timestamp,
}

/// Parses a registration. The error says what is wrong with it.
pub(in crate::store) fn parse(bytes: &[u8]) -> Result<Agent, ParseError> {
    // Serde also accepts a struct as a list of values, but that has no keys to keep in a rewrite.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(ParseError::new("it is not a JSON object"));
    }
    agent_of(super::surrogates::from_slice(bytes).map_err(ParseError::new)?)
}

/// Parses a registration that is part of another document.
pub(in crate::store) fn parse_value(document: &Map<String, Value>) -> Result<Agent, ParseError> {
    agent_of(Known::deserialize(document).map_err(ParseError::new)?)
}

fn agent_of(known: Known) -> Result<Agent, ParseError> {
    let former = |keys: FormerKeys| -> Result<FormerName, ParseError> {
        Ok(FormerName { name: AgentName::new(keys.name).map_err(ParseError::new)?, until: keys.until })
    };
    let harness = known.harness.as_deref().map(|name| harness::parse(name).unwrap_or(Harness::OTHER));
    Ok(Agent {
        name: AgentName::new(known.name).map_err(ParseError::new)?,
        session: SessionId::new(known.session_id).map_err(ParseError::new)?,
        process: recorded(known.pid, known.process, Some(known.started_at)).map_err(ParseError::new)?,
        harness,
        cwd: known.cwd,
        model: known.model,
        started_at: known.started_at,
        joined_at: known.joined_at.unwrap_or(known.started_at),
        git_branch: known.git_branch,
        spec: known.spec,
        is_human: known.is_human.unwrap_or(false),
        status: known.status_message,
        tmux: known.tmux,
        last_activity: known.activity.as_ref().and_then(|activity| activity.last_activity_at),
        counts: tally_of(known.session.as_ref(), known.activity.as_ref()),
        reservations: known.reservations.unwrap_or_default().into_iter().map(Into::into).collect(),
        waits_for: known.waits_for.unwrap_or_default().into_iter().map(Into::into).collect(),
        waits_for_tasks: known.waits_for_tasks.unwrap_or_default().into_iter().map(Into::into).collect(),
        formerly: known.formerly.unwrap_or_default().into_iter().map(former).collect::<Result<_, _>>()?,
        restores: known.restores,
    })
}

fn tally_of(session: Option<&Value>, activity: Option<&ActivityKeys>) -> ActivityCounts {
    let number = |key: &str| session?.get(key)?.as_u64();
    let files = session.and_then(|session| session.get("filesModified")?.as_array());
    let text = |value: &Option<Value>| value.as_ref()?.as_str().map(str::to_string);
    ActivityCounts {
        tool_calls: number("toolCalls").unwrap_or(0),
        tokens: number("tokens").unwrap_or(0),
        files_modified: files
            .into_iter()
            .flatten()
            .filter_map(|file| Some(file.as_str()?.to_string()))
            .collect(),
        activity: activity.and_then(|activity| text(&activity.current_activity)),
        last_tool_call: activity.and_then(|activity| text(&activity.last_tool_call)),
    }
}

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
        &["expiresAt", "reason", "head", "literal", "ignoreCase", "task"],
        reservations.collect(),
    );
    let waits = agent.waits_for.iter().map(|wait| {
        let is_same = same_place(&wait.pattern, wait.root.as_deref());
        (plain(WaitKeys::from(wait.clone())), is_same)
    });
    overlay_list(document, "waitsFor", &["named"], waits.collect());
    let waits = agent.waits_for_tasks.iter().map(|wait| {
        let TaskRef { spec, id } = wait.task.clone();
        let is_same: IsSame = Box::new(move |entry| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str);
            text("spec") == Some(&spec) && text("id") == Some(&id)
        });
        (plain(TaskWaitKeys::from(wait.clone())), is_same)
    });
    overlay_list(document, "waitsForTasks", &[], waits.collect());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Registration;

    const PI: &str = include_str!("../../../fixtures/pi-messenger/registry-RedIce.json");
    const PI_050: &str = include_str!("../../../fixtures/pi-messenger/v050-registry-IronZenith.json");

    #[test]
    fn what_pi_messenger_writes_is_read() {
        for (text, name) in [(PI, "RedIce"), (PI_050, "IronZenith")] {
            let agent = parse(text.as_bytes()).unwrap();
            assert_eq!(agent.name.as_str(), name);
            assert!(agent.is_foreign());
            assert_eq!(agent.git_branch.as_deref(), Some("main"));
            assert_eq!(agent.reservations[0].pattern, "src/auth/");
        }
    }

    #[test]
    fn laying_over_changes_nothing_by_itself() {
        let agent = parse(PI.as_bytes()).unwrap();
        let document: Map<String, Value> = serde_json::from_str(PI).unwrap();
        let mut copy = document.clone();
        overlay(&mut copy, &agent);
        assert_eq!(copy, document);
        assert_eq!(
            serde_json::to_string_pretty(&copy).unwrap(),
            PI.trim_end(),
            "the order of the keys stays as well"
        );
    }

    #[test]
    fn unknown_keys_survive_a_rewrite() {
        let mut document: Map<String, Value> = serde_json::from_str(PI).unwrap();
        document.insert("later".to_string(), serde_json::json!({"deep": [1, 2.5, null]}));
        document["reservations"][0]["colour"] = Value::from("red");
        document.insert("process".to_string(), serde_json::json!({ "startTicks": 1, "colour": "blue" }));
        document.insert(
            "formerly".to_string(),
            serde_json::json!([{ "name": "Al", "until": "2026-11-14T23:57:56Z", "colour": "green" }]),
        );
        let mut agent = parse_value(&document).unwrap();
        agent.status = None;
        agent.reservations.pop();
        overlay(&mut document, &agent);
        assert_eq!(document["later"]["deep"][1], 2.5);
        assert_eq!(document["reservations"][0]["colour"], "red");
        assert_eq!(document["process"]["colour"], "blue");
        assert_eq!(document["formerly"][0]["colour"], "green");
        assert_eq!(document["session"]["toolCalls"], 3);
        assert!(!document.contains_key("statusMessage"));
    }

    proptest::proptest! {
        /// Every key of another program survives any change of ours.
        #[test]
        fn no_key_of_others_is_lost(
            keys in proptest::collection::btree_map("[a-zA-Z]{1,12}", "[^\\x00]{0,12}", 0..8),
            status in proptest::option::of("[a-z ]{0,20}"),
        ) {
            let mut document: Map<String, Value> = serde_json::from_str(PI).unwrap();
            let ours: Vec<String> = Registration::new(parse_value(&document).unwrap()).copy().keys().cloned().collect();
            let is_theirs = |key: &String| !ours.contains(key) && agent_key(key);
            let theirs: Vec<(String, Value)> =
                keys.into_iter().filter(|(key, _)| is_theirs(key)).map(|(key, text)| (key, text.into())).collect();
            document.extend(theirs.clone());
            let mut agent = parse_value(&document).unwrap();
            agent.status = status;
            overlay(&mut document, &agent);
            for (key, value) in theirs {
                proptest::prop_assert_eq!(document.get(&key), Some(&value));
            }
        }
    }

    /// Whether it is not one of the optional keys that we use.
    fn agent_key(key: &str) -> bool {
        ![
            "harness",
            "process",
            "tmux",
            "formerly",
            "restores",
            "joinedAt",
            "activity",
            "session",
            "waitsFor",
            "waitsForTasks",
        ]
        .contains(&key)
    }

    #[test]
    fn what_is_no_registration() {
        let with = |key: &str, value: Value| {
            let mut document: Map<String, Value> = serde_json::from_str(PI).unwrap();
            document.insert(key.to_string(), value);
            parse_value(&document)
        };
        assert!(with("pid", 0.into()).is_err());
        assert!(with("pid", (-1).into()).is_err());
        assert!(with("pid", 1.5.into()).is_err());
        assert!(with("pid", Value::Null).is_err());
        assert!(with("name", "../x".into()).is_err());
        assert!(with("sessionId", "".into()).is_err());
        assert!(parse(b"").is_err() && parse(b"[]").is_err() && parse(b"null").is_err());
        let listed =
            br#"["RedIce", 7, "s", "/", "m", "2026-11-14T23:57:56Z", null, null, null, null, null, null,
            null, null, null, null, null, null]"#;
        assert!(parse(listed).is_err(), "a list with the right values in the right order is no object");
    }
}

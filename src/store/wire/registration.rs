//! The format of a registration, `registry/<Name>.json`.
//!
//! A registration is parsed into an [`Agent`], and its document is kept: writing updates the keys that we know in the
//! document, so that keys of other programs and of later versions stay where they are.

mod entries;
mod overlay;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::process::{ProcessKey, recorded};
use super::time;
use crate::domain::{ActivityCounts, Agent, AgentName, FormerName, Harness, SessionId};
use crate::harness;
use crate::store::error::ParseError;
use entries::{ContestKeys, FormerKeys, TaskWaitKeys, WaitKeys};

pub(super) use entries::ReservationKeys;
pub(in crate::store) use overlay::overlay;

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
    contests: Option<Vec<ContestKeys>>,
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
        // An entry with an id that is not ours is skipped: the id is part of a file name.
        contests: known.contests.unwrap_or_default().into_iter().filter_map(ContestKeys::read).collect(),
        formerly: known.formerly.unwrap_or_default().into_iter().map(former).collect::<Result<_, _>>()?,
        restores: known.restores,
        machine: None,
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
    fn where_a_reservation_binds_is_kept_and_taken_away() {
        use crate::domain::ReservationReach;
        let mut document: Map<String, Value> = serde_json::from_str(PI).unwrap();
        let commit = "3890d112605d372894a6fab37e3f056c89ad692c";
        document["reservations"][0]["repository"] = commit.into();
        let mut agent = parse_value(&document).unwrap();
        let reach = agent.reservations[0].reach.clone();
        assert_eq!(reach.repository().map(|commit| commit.as_str()), Some(commit));
        let mut copy = document.clone();
        overlay(&mut copy, &agent);
        assert_eq!(copy, document);
        agent.reservations[0].reach = ReservationReach::WorkTree;
        overlay(&mut copy, &agent);
        assert!(copy["reservations"][0].get("repository").is_none());
        document["reservations"][0]["repository"] = "not a commit".into();
        let odd = parse_value(&document).unwrap();
        assert_eq!(odd.reservations[0].reach, ReservationReach::WorkTree, "it binds where it was made");
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
            "contests",
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

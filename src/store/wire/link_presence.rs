//! What machines say of their agents to whoever listens, and how it is kept: `remote/presence/<machine>.jsonl`, with one
//! agent per line, so that a reader who wants one parses one.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::time;
use crate::domain::link::{AgentPresence, HeardAgent, PresenceReport};
use crate::domain::{AgentName, SessionId};
use crate::store::error::ParseError;

const VERSION: u32 = 1;
/// The largest report that is read, in bytes.
const MAX_REPORT: usize = 1024 * 1024;
/// The most agents in a report.
const MAX_AGENTS: usize = 5_000;
/// The longest activity, in characters.
const MAX_ACTIVITY: usize = 120;
/// What a report has besides its agents takes less, in bytes.
const AROUND: usize = 64;

#[derive(Deserialize, Serialize)]
struct ReportKeys {
    version: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    asks: bool,
    agents: Vec<AgentKeys>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentKeys {
    name: String,
    session: String,
    quiet_millis: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    activity: Option<String>,
}

/// The report in messages of at most `limit` bytes. Each can be understood without the others.
#[expect(clippy::expect_used, reason = "these values hold nothing that JSON can't say")]
pub fn report_messages(report: &PresenceReport, limit: usize) -> Vec<Vec<u8>> {
    let message = |asks: bool, agents: Vec<AgentKeys>| {
        serde_json::to_vec(&ReportKeys { version: VERSION, asks, agents }).expect("plain data")
    };
    let (mut messages, mut agents, mut size) = (Vec::new(), Vec::new(), AROUND);
    for agent in &report.agents {
        let keys = AgentKeys {
            name: agent.name.to_string(),
            session: agent.session.to_string(),
            quiet_millis: i64::try_from(agent.quiet.as_millis()).unwrap_or(i64::MAX),
            activity: agent.activity.as_deref().map(bounded),
        };
        let length = serde_json::to_vec(&keys).expect("plain data").len() + 1;
        if AROUND + length > limit {
            continue;
        }
        if size + length > limit {
            messages.push(message(false, std::mem::take(&mut agents)));
            size = AROUND;
        }
        size += length;
        agents.push(keys);
    }
    if !agents.is_empty() || report.asks {
        messages.push(message(report.asks, agents));
    }
    messages
}

/// Reads what another machine said. An agent that can't be read is left out.
pub fn parse_report(bytes: &[u8]) -> Result<PresenceReport, ParseError> {
    if bytes.len() > MAX_REPORT {
        return Err(ParseError::new("it is too long"));
    }
    let keys: ReportKeys = serde_json::from_slice(bytes).map_err(ParseError::new)?;
    if keys.version != VERSION {
        return Err(ParseError::new(format!(
            "it is of version {}, which this msg does not know",
            keys.version
        )));
    }
    if keys.agents.len() > MAX_AGENTS {
        return Err(ParseError::new(format!("it has more than {MAX_AGENTS} agents")));
    }
    let read = |keys: AgentKeys| {
        Some(AgentPresence {
            name: AgentName::new(keys.name).ok()?,
            session: SessionId::new(keys.session).ok()?,
            quiet: SignedDuration::from_millis(keys.quiet_millis.max(0)),
            activity: keys.activity.as_deref().map(bounded).filter(|text| !text.is_empty()),
        })
    };
    Ok(PresenceReport { agents: keys.agents.into_iter().filter_map(read).collect(), asks: keys.asks })
}

/// One line of limited length.
fn bounded(text: &str) -> String {
    let start: String = text.chars().take(8 * MAX_ACTIVITY).collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_ACTIVITY) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct HeardKeys {
    // The first key: a line is found by it.
    name: String,
    session: String,
    #[serde(with = "time")]
    last_sign: Timestamp,
    #[serde(with = "time")]
    heard_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    activity: Option<String>,
}

/// The file of a machine in the mirror.
#[expect(clippy::expect_used, reason = "these values hold nothing that JSON can't say")]
pub(in crate::store) fn heard_lines<'a>(agents: impl IntoIterator<Item = &'a HeardAgent>) -> Vec<u8> {
    let mut lines = Vec::new();
    for agent in agents {
        let HeardAgent { name, session, last_sign, heard_at, activity } = agent.clone();
        let (name, session) = (name.to_string(), session.to_string());
        let keys = HeardKeys { name, session, last_sign, heard_at, activity };
        serde_json::to_writer(&mut lines, &keys).expect("plain data");
        lines.push(b'\n');
    }
    lines
}

/// What that file says of an agent.
pub(in crate::store) fn heard_agent(lines: &[u8], name: &AgentName) -> Option<HeardAgent> {
    let start = format!("{{\"name\":\"{name}\",");
    let line = lines.split(|byte| *byte == b'\n').find(|line| line.starts_with(start.as_bytes()))?;
    let keys: HeardKeys = serde_json::from_slice(line).ok()?;
    Some(HeardAgent {
        name: AgentName::new(keys.name).ok()?,
        session: SessionId::new(keys.session).ok()?,
        last_sign: keys.last_sign,
        heard_at: keys.heard_at,
        activity: keys.activity,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(number: usize, activity: Option<&str>) -> AgentPresence {
        AgentPresence {
            name: AgentName::new(format!("Anna{number}")).unwrap(),
            session: SessionId::new(format!("session-{number}")).unwrap(),
            quiet: SignedDuration::from_secs(12),
            activity: activity.map(str::to_string),
        }
    }

    #[test]
    fn a_report_reads_back_however_it_is_split() {
        let agents: Vec<AgentPresence> = (0..100).map(|number| agent(number, Some("editing a.rs"))).collect();
        let report = PresenceReport { agents: agents.clone(), asks: true };
        for limit in [400, 4_000, 1_000_000] {
            let messages = report_messages(&report, limit);
            assert!(messages.iter().all(|message| message.len() <= limit), "{limit}");
            let read: Vec<PresenceReport> =
                messages.iter().map(|message| parse_report(message).unwrap()).collect();
            assert_eq!(read.iter().filter(|report| report.asks).count(), 1);
            assert_eq!(read.into_iter().flat_map(|report| report.agents).collect::<Vec<_>>(), agents);
        }
        assert!(report_messages(&PresenceReport::default(), 1_000).is_empty());
        let asks = PresenceReport { agents: Vec::new(), asks: true };
        assert_eq!(parse_report(&report_messages(&asks, 1_000)[0]).unwrap(), asks);
    }

    #[test]
    fn what_others_say_is_bounded() {
        let long = format!("a\nb\u{7}{}", "x".repeat(5_000));
        let text = serde_json::json!({ "version": 1, "more": 1, "agents": [
            { "name": "Anna", "session": "s", "quietMillis": -5, "activity": long, "more": 1 },
            { "name": "../x", "session": "s", "quietMillis": 5 },
        ] });
        let report = parse_report(text.to_string().as_bytes()).unwrap();
        assert_eq!(report.agents.len(), 1);
        assert_eq!(report.agents[0].quiet, SignedDuration::ZERO);
        assert_eq!(report.agents[0].activity.as_ref().unwrap().chars().count(), MAX_ACTIVITY + 1);
        for bad in ["", "{", "[]", r#"{"version":2,"agents":[]}"#, r#"{"version":1}"#] {
            assert!(parse_report(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(parse_report(" ".repeat(MAX_REPORT + 1).as_bytes()).is_err());
    }

    #[test]
    fn an_agent_is_found_in_the_file_of_its_machine() {
        let now: Timestamp = "2026-11-14T12:00:00Z".parse().unwrap();
        let heard: Vec<HeardAgent> =
            [agent(1, None), agent(10, Some("testing"))].map(|one| one.heard(now)).into();
        let mut lines = heard_lines(&heard);
        lines.extend(b"{\"name\":\"Anna2\",\"ses");
        for one in &heard {
            assert_eq!(heard_agent(&lines, &one.name).as_ref(), Some(one));
        }
        assert_eq!(heard[0].last_sign, "2026-11-14T11:59:48Z".parse().unwrap());
        for absent in ["Anna2", "Anna", "nna1"] {
            assert_eq!(heard_agent(&lines, &AgentName::new(absent).unwrap()), None, "{absent}");
        }
    }
}

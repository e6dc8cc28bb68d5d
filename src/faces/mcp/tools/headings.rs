//! What the tool `agents` adds on request: where agents are heading, and who may collide with whom, in this repository.
//!
//! Words and paths are those of peers, so they are quoted, and there are few of them. A model gets words for how likely
//! something is, not numbers.

use serde_json::{Value, json};

use crate::domain::awareness::heads_up::{self, shorten_path};
use crate::domain::awareness::signals::Signal;
use crate::domain::awareness::trajectory::{TopicTrend, Trend};
use crate::domain::quote_code;
use crate::ops::awareness::agent_topics::{self, AgentTopics};
use crate::ops::awareness::overlaps::{self, AgentOverlap, OpenConflict, OverlapScope};
use crate::ops::{CommandError, Op};

/// How many agents, pairs and conflicts are told of, at most.
const MOST_LINES: usize = 10;
const MOST_TOPICS: usize = 6;
const MOST_FILES: usize = 3;

/// Lines for the model, and the members for programs.
pub(super) struct RequestedPart {
    pub(super) lines: Vec<String>,
    pub(super) members: Vec<(&'static str, Value)>,
}

/// Where the agents of this repository are heading.
pub(super) fn headings(op: &Op) -> Result<RequestedPart, CommandError> {
    let agents = agent_topics::topics(op, None)?;
    let known: Vec<&AgentTopics> =
        agents.iter().filter(|agent| !agent.topics.is_empty() || !agent.changed.is_empty()).collect();
    let mut lines: Vec<String> = known.iter().take(MOST_LINES).map(|agent| heading_line(agent)).collect();
    lines.extend(rest_line(known.len(), usize::MAX));
    if lines.is_empty() {
        lines.push("headings: nothing is known yet".to_string());
    }
    let members = known.iter().take(MOST_LINES).map(|agent| heading_json(agent)).collect();
    Ok(RequestedPart { lines, members: vec![("headings", members)] })
}

/// Says how many of `count` are left out. From `bound` on, nobody knows how many more there are.
fn rest_line(count: usize, bound: usize) -> Option<String> {
    let rest = count.checked_sub(MOST_LINES).filter(|rest| *rest > 0)?;
    let least = if count >= bound { "at least " } else { "" };
    Some(format!("and {least}{rest} more"))
}

/// The end of a long path says more than its beginning.
fn quote_path(path: &str) -> String {
    quote_code(&shorten_path(path))
}

fn key_topics(agent: &AgentTopics) -> impl Iterator<Item = &TopicTrend> {
    agent.topics.iter().filter(|found| found.trend != Some(Trend::Fading)).take(MOST_TOPICS)
}

/// `Robin: about `login` (deepening), `cookie`; changed `src/auth/login.rs``.
fn heading_line(agent: &AgentTopics) -> String {
    let topic = |found: &TopicTrend| {
        let word = quote_code(found.topic.as_str());
        found.trend.map_or(word.clone(), |trend| format!("{word} ({})", trend.name()))
    };
    let topics: Vec<String> = key_topics(agent).map(topic).collect();
    let files: Vec<String> = agent.changed.iter().take(MOST_FILES).map(|file| quote_path(file)).collect();
    let parts = [("about", topics), ("changed", files)];
    let parts = parts.into_iter().filter(|(_, words)| !words.is_empty());
    let parts: Vec<String> = parts.map(|(verb, words)| format!("{verb} {}", words.join(", "))).collect();
    format!("{}: {}", agent.name, parts.join("; "))
}

fn heading_json(agent: &AgentTopics) -> Value {
    let topic =
        |found: &TopicTrend| json!({ "topic": found.topic.as_str(), "trend": found.trend.map(Trend::name) });
    let files: Vec<&String> = agent.changed.iter().take(MOST_FILES).collect();
    json!({
        "name": agent.name.as_str(),
        "topics": key_topics(agent).map(topic).collect::<Vec<_>>(),
        "changed": files,
    })
}

/// Who may collide with whom in this repository.
pub(super) fn overlaps(op: &Op) -> Result<RequestedPart, CommandError> {
    let report = overlaps::overlaps(op, OverlapScope::Screen)?;
    let (found, conflicts) = (&report.overlaps, &report.conflicts);
    let mut lines: Vec<String> = found.iter().take(MOST_LINES).flat_map(overlap_lines).collect();
    lines.extend(rest_line(found.len(), overlaps::MOST_SHOWN));
    lines.extend(conflicts.iter().take(MOST_LINES).map(conflict_line));
    lines.extend(rest_line(conflicts.len(), overlaps::MOST_SHOWN));
    if lines.is_empty() {
        lines.push("overlaps: nobody seems to be heading for another's files".to_string());
    }
    let found = found.iter().take(MOST_LINES).map(overlap_json).collect();
    let conflicts = conflicts.iter().take(MOST_LINES).map(conflict_json).collect();
    Ok(RequestedPart { lines, members: vec![("overlaps", found), ("conflicts", conflicts)] })
}

/// What a forecast says; `None`: what the two have in common is not a forecast.
fn likelihood(one: &AgentOverlap) -> Option<&'static str> {
    (one.probability >= overlaps::WORTH_SHOWING).then(|| heads_up::likelihood(one.probability))
}

fn overlap_lines(one: &AgentOverlap) -> Vec<String> {
    let [agent, with] = &one.agents;
    let forecast = likelihood(one).map(|likelihood| {
        let file = one.file.as_deref().map_or(String::new(), |file| format!(" in {}", quote_path(file)));
        let why = one.why.as_deref().map_or(String::new(), |why| format!(": {why}"));
        format!("{}: {likelihood} collision{file}{why}", one.pair())
    });
    let common = one.signals.first().map(|signal| {
        let topics: Vec<String> =
            signal.topics.iter().take(MOST_TOPICS).map(|topic| quote_code(topic.as_str())).collect();
        let domain = signal.domain.as_deref().map(|name| format!("domain {}", quote_code(name)));
        let shared: Vec<String> = domain.into_iter().chain(topics).collect();
        format!("{agent}, {with}: {}: {}", signal.kind.words(), shared.join(", "))
    });
    forecast.into_iter().chain(common).collect()
}

fn overlap_json(one: &AgentOverlap) -> Value {
    let signal = |signal: &Signal| {
        let topics = signal.topics.iter().take(MOST_TOPICS);
        json!({
            "kind": signal.kind.name(),
            "topics": topics.map(|topic| topic.as_str()).collect::<Vec<_>>(),
            "domain": signal.domain,
        })
    };
    json!({
        "agent": one.agents[0].as_str(),
        "with": one.agents[1].as_str(),
        "fact": one.is_fact,
        "likelihood": likelihood(one),
        "file": one.file,
        "why": one.why,
        "signals": one.signals.iter().map(signal).collect::<Vec<_>>(),
    })
}

fn conflict_line(one: &OpenConflict) -> String {
    let names: Vec<&str> = one.sides.iter().map(|(name, _)| name.as_str()).collect();
    format!("{} can't be merged: changed by {}", quote_path(&one.file), names.join(" and "))
}

fn conflict_json(one: &OpenConflict) -> Value {
    let names: Vec<&str> = one.sides.iter().map(|(name, _)| name.as_str()).collect();
    json!({ "file": one.file, "agents": names })
}

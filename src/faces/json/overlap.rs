//! Overlaps as JSON: forecasts, what agents have in common, and conflicts between work trees, in one form.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::domain::awareness::signals::Signal;
use crate::domain::awareness::worktree_conflict::SideChange;
use crate::domain::line_merge::LineRange;
use crate::domain::{AgentName, quote_code};
use crate::ops::awareness::overlaps::{AgentOverlap, OpenConflict, OverlapReport, WORTH_SHOWING};
use crate::store::{Prediction, iso};

/// All that a report has, the likeliest first, and then what can't be merged.
pub(in crate::faces) fn overlaps(report: &OverlapReport) -> Value {
    let pairs = report.overlaps.iter().map(|one| overlap(one, &report.predictions));
    pairs.chain(report.conflicts.iter().map(conflict)).collect()
}

fn overlap(one: &AgentOverlap, predictions: &[Prediction]) -> Value {
    let [agent, with] = &one.agents;
    let is_it = |told: &&Prediction| {
        told.end.is_none()
            && [&told.name, &told.with_name] == [agent, with]
            && one.file.as_ref() == Some(&told.file)
    };
    let told = predictions.iter().find(is_it);
    let first = one.signals.first();
    let signal = first.filter(|_| one.probability < WORTH_SHOWING);
    let mut topics: Vec<&str> = Vec::new();
    for topic in one.signals.iter().flat_map(|signal| &signal.topics).map(|topic| topic.as_str()) {
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    json!({
        "id": told.map(|told| &told.id),
        "agents": [agent.as_str(), with.as_str()],
        "kind": if signal.is_some() { "signal" } else { "forecast" },
        "signal": first.map(|signal| signal.kind.name()),
        "confidence": signal.map_or(one.probability, |signal| signal.strength),
        "topics": topics,
        "files": Vec::from_iter(&one.file),
        "distance": one.signals.iter().find_map(|signal| signal.prompts_ahead),
        "advice": signal.is_none().then(|| advice(one)),
        "why": one.why.clone().or_else(|| first.map(Signal::describe)),
        "state": if told.is_some() { "told" } else { "untold" },
        "since": told.and_then(|told| time(told.at)),
        "fact": one.is_fact,
        "signals": one.signals.iter().map(signal_json).collect::<Vec<_>>(),
    })
}

/// What people or their agents can do about a forecast.
fn advice(one: &AgentOverlap) -> String {
    let [agent, with] = &one.agents;
    match &one.file {
        Some(file) if one.is_fact => {
            format!("let {agent} and {with} agree who goes on with {}", quote_code(file))
        }
        Some(file) => format!("let {agent} ask {with} before it edits {}", quote_code(file)),
        None => format!("let {agent} ask {with} what it is doing"),
    }
}

fn conflict(one: &OpenConflict) -> Value {
    let side = |(agent, change): &(AgentName, SideChange)| {
        let range = |lines: &LineRange| json!({ "first": lines.first, "count": lines.count });
        let (change, lines) = match change {
            SideChange::Lines(lines) => ("lines", lines.iter().map(range).collect()),
            SideChange::Whole => ("whole", Vec::new()),
            SideChange::Removed => ("removed", Vec::new()),
        };
        json!({ "agent": agent.as_str(), "change": change, "lines": lines })
    };
    let agents: Vec<&str> = one.sides.iter().map(|(agent, _)| agent.as_str()).collect();
    json!({
        "id": null,
        "agents": agents,
        "kind": "conflict",
        "signal": null,
        "confidence": 1.0,
        "topics": [],
        "files": [one.file],
        "distance": null,
        "advice": format!("let {} agree who keeps what in {}", agents.join(" and "), quote_code(&one.file)),
        "why": "both have changed it in different work trees, and it can't be merged",
        "state": "open",
        "since": null,
        "fact": true,
        "sides": one.sides.iter().map(side).collect::<Vec<_>>(),
    })
}

fn signal_json(signal: &Signal) -> Value {
    let topics: Vec<&str> = signal.topics.iter().map(|topic| topic.as_str()).collect();
    json!({
        "kind": signal.kind.name(),
        "strength": signal.strength,
        "topics": topics,
        "promptsAhead": signal.prompts_ahead,
        "domain": signal.domain,
    })
}

/// A prediction that was told, and what became of it.
pub(in crate::faces) fn prediction(one: &Prediction) -> Value {
    json!({
        "id": one.id,
        "at": time(one.at),
        "agent": one.name.as_str(),
        "with": one.with_name.as_str(),
        "probability": one.probability,
        "file": one.file,
        "why": one.why,
        "end": one.end.map(|(end, _)| end.name()),
        "endedAt": one.end.and_then(|(_, at)| time(at)),
    })
}

fn time(at: i64) -> Option<String> {
    Timestamp::from_millisecond(at).ok().map(iso)
}

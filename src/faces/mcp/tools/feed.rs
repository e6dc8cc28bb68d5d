//! The tool for the feed: what happened lately.

use rmcp::model::Tool;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::Event;
use crate::faces::json;
use crate::faces::mcp::tool_answer::ToolAnswer;
use crate::ops::feed::{self, FeedFilter};
use crate::ops::{CommandError, Op, format_age};
use crate::sys::clock;

use super::describe;

/// Default number of events: a model wants what happened lately, not everything.
const MANY: usize = 20;

pub(super) fn tool() -> Tool {
    describe(
        "feed",
        "What happened lately: who came, went, wrote, reserved, was refused, took or finished a task.",
        json!({
            "limit": { "type": "integer" },
            "agent": { "type": "string", "description": "only about this agent" },
        }),
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::faces::mcp) struct FeedToolArgs {
    limit: Option<usize>,
    agent: Option<String>,
}

pub(super) fn run(op: &Op, args: FeedToolArgs) -> Result<ToolAnswer, CommandError> {
    let wanted = FeedFilter { agent: args.agent, ..FeedFilter::default() };
    let recent = feed::recent(op, args.limit.unwrap_or(MANY), &wanted)?;
    recent.complain(op);
    let now = clock::now();
    let line = |(event, count): (&Event, usize)| {
        let times = if count > 1 { format!(" ×{count}") } else { String::new() };
        format!("{} ago: {} {}{times}", format_age(event.at, now), event.subject(), event.phrase())
    };
    let mut lines: Vec<String> = Event::folded(&recent.events).into_iter().map(line).collect();
    if lines.is_empty() {
        lines.push("nothing happened yet".to_string());
    }
    let events: Vec<Value> = recent.events.iter().map(json::event).collect();
    Ok(ToolAnswer::lines(lines).with("events", events))
}

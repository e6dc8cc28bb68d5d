//! The tool for sending: send, broadcast, reply, ack, receipt.

use rmcp::model::Tool;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::escape_invisible;
use crate::domain::settings::BroadcastScope;
use crate::faces::json;
use crate::faces::mcp::hints;
use crate::faces::mcp::tool_answer::ToolAnswer;
use crate::ops::{self, AnswerState, CommandError, MessageDraft, Op, SendReport};
use crate::store::iso;

use super::{as_agent, describe, needed};

pub(super) fn tool() -> Tool {
    describe(
        "message",
        "Write to other agents. receipt: did a message that you sent arrive?",
        json!({
            "action": { "type": "string", "enum": ["send", "broadcast", "reply", "ack", "receipt"], "default": "send" },
            "to": { "type": "array", "items": { "type": "string" }, "description": "send: names, @spec, @branch, @harness:NAME" },
            "text": { "type": "string" },
            "scope": { "type": "string", "enum": ["project", "everywhere"], "description": "of a broadcast" },
            "id": { "type": "string", "description": "reply, ack, receipt: of the message" },
            "importance": {
                "type": "string",
                "enum": ["low", "normal", "high", "urgent"],
                "description": "low wakes nobody",
            },
            "kind": {
                "type": "string",
                "enum": ["question", "block", "delegate", "handoff", "claim", "release", "ack", "info"],
                "description": "question, block: owed an answer",
            },
            "thread": { "type": "string" },
            "want_ack": { "type": "boolean" },
            "hold": { "type": "boolean", "description": "keep it for one who is gone" },
        }),
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::faces::mcp) struct MessageToolArgs {
    action: Option<Action>,
    to: Option<Names>,
    text: Option<String>,
    scope: Option<Scope>,
    id: Option<String>,
    importance: Option<String>,
    kind: Option<String>,
    thread: Option<String>,
    want_ack: Option<bool>,
    hold: Option<bool>,
}

/// Models give a single name as often as a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

/// Whom a broadcast reaches.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scope {
    Project,
    Everywhere,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    Send,
    Broadcast,
    Reply,
    Ack,
    Receipt,
}

pub(super) fn run(op: &Op, args: MessageToolArgs) -> Result<ToolAnswer, CommandError> {
    match args.action.unwrap_or_default() {
        Action::Send => {
            let to = match needed(args.to.clone(), "to", "send")? {
                Names::One(name) => name.split(',').map(|name| name.trim().to_string()).collect(),
                Names::Many(names) => names,
            };
            needed(to.first(), "to", "send")?;
            let draft = draft(args)?;
            as_agent(op, |op| ops::send(op, &to, &draft)).map(sent)
        }
        Action::Broadcast => {
            let scope = args.scope.map(|scope| match scope {
                Scope::Project => BroadcastScope::Project,
                Scope::Everywhere => BroadcastScope::Everywhere,
            });
            let draft = draft(args)?;
            as_agent(op, |op| ops::broadcast(op, &draft, scope)).map(sent)
        }
        Action::Reply => {
            let id = needed(args.id.clone(), "id", "reply")?;
            let draft = draft(args)?;
            as_agent(op, |op| ops::reply(op, &id, &draft)).map(sent)
        }
        Action::Ack => {
            let ids = [needed(args.id, "id", "ack")?];
            let acked = as_agent(op, |op| ops::ack(op, &ids))?;
            let lines = acked.iter().map(|message| format!("{} can see it", escape_invisible(&message.from)));
            let ids: Vec<Value> = acked.iter().map(|message| message.id.as_str().into()).collect();
            Ok(ToolAnswer::lines(lines).with("acked", ids))
        }
        Action::Receipt => receipt(op, &needed(args.id, "id", "receipt")?),
    }
}

fn draft(args: MessageToolArgs) -> Result<MessageDraft, CommandError> {
    let importance = args.importance.as_deref().map(ops::parse_importance).transpose()?;
    Ok(MessageDraft {
        text: args.text.unwrap_or_default(),
        reply_to: None,
        thread: args.thread,
        importance,
        wants_ack: args.want_ack.unwrap_or(false),
        may_be_held: args.hold.unwrap_or(false),
        kind: args.kind.as_deref().map(ops::parse_kind).transpose()?,
        ttl: None,
    })
}

fn sent(report: SendReport) -> ToolAnswer {
    let accepted = report.sent.iter().map(|accepted| {
        let done = if accepted.is_held { "kept for" } else { "sent to" };
        if let Some((to, why)) = accepted.to_elsewhere() {
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            return format!("sent to {to} as {}{why}", accepted.stem.short_id());
        }
        let how = accepted.route.explained().map_or(String::new(), |how| format!(": {how}"));
        format!("{done} {} as {}{how}", accepted.to, accepted.stem.short_id())
    });
    let mut lines: Vec<String> = accepted.collect();
    lines.extend(report.nobody().map(|nobody| hints::for_tools(&nobody)));
    let members = json::addressees(&report).into_iter();
    members
        .fold(ToolAnswer::lines(lines), |answer, (name, value)| answer.with(&name, value))
        .with("sent", report.sent.iter().map(json::sent).collect::<Vec<_>>())
        .with("failed", report.failed.iter().map(json::failed).collect::<Vec<_>>())
        .failing(report.error())
}

fn receipt(op: &Op, id: &str) -> Result<ToolAnswer, CommandError> {
    let receipt = as_agent(op, |op| ops::receipt(op, id))?;
    let via = receipt.via.as_deref().map_or(String::new(), |via| format!(" by {via}"));
    let at = receipt.at.map_or(String::new(), |at| format!(" at {}", iso(at)));
    let reason = receipt.reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
    let answer = match receipt.answer {
        Some(AnswerState::Owed) => "; no answer yet",
        Some(AnswerState::Given) => "; answered",
        None => "",
    };
    let text = format!("to {}: {}{via}{at}{reason}{answer}", receipt.message.to, receipt.state);
    Ok(ToolAnswer::new(escape_invisible(&text))
        .with("to", receipt.message.to.as_str())
        .with("state", receipt.state)
        .with("at", receipt.at.map(iso))
        .with("via", receipt.via)
        .with("reason", receipt.reason)
        .with("answer", receipt.answer.map(AnswerState::name)))
}

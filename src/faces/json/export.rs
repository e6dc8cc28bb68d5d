//! What is on an exported page.

use serde_json::{Map, Value, json};

use crate::ops::export::{
    ExportAgent, ExportMessage, ExportPage, ExportRun, ExportSpec, ExportTask, HeldPath, HeldUntil, Span,
};
use crate::store::{MessageProgress, iso};

use super::event;

/// Everything on the page.
pub(in crate::faces) fn content(page: &ExportPage) -> Map<String, Value> {
    Map::from_iter([
        ("mesh".to_string(), json!(page.mesh)),
        ("madeAt".to_string(), json!(iso(page.made_at))),
        ("from".to_string(), json!(iso(page.shown.from))),
        ("to".to_string(), json!(iso(page.shown.to))),
        ("agents".to_string(), page.agents.iter().map(agent).collect()),
        ("reservations".to_string(), page.holds.shown.iter().map(hold).collect()),
        ("specs".to_string(), page.specs.shown.iter().map(spec).collect()),
        ("messages".to_string(), page.messages.shown.iter().map(message).collect()),
        ("runs".to_string(), page.runs.shown.iter().map(run).collect()),
        ("events".to_string(), page.events.shown.iter().map(event).collect()),
    ])
}

fn agent(agent: &ExportAgent) -> Value {
    let span = |span: &Span| json!({ "from": iso(span.from), "to": span.to.map(iso) });
    json!({
        "name": agent.name,
        "presence": agent.presence,
        "harness": agent.harness,
        "model": agent.model,
        "gitBranch": agent.branch,
        "cwd": agent.cwd,
        "spec": agent.spec,
        "statusMessage": agent.status,
        "isHuman": agent.is_human,
        "there": agent.there.iter().map(span).collect::<Vec<_>>(),
        "sent": agent.sent,
        "received": agent.received,
        "refused": agent.refused,
        "completed": agent.completed,
    })
}

fn hold(hold: &HeldPath) -> Value {
    let (to, is_exact) = match hold.end {
        HeldUntil::Held => (None, true),
        HeldUntil::At(at) => (Some(at), true),
        HeldUntil::Before(at) => (Some(at), false),
    };
    json!({
        "pattern": hold.pattern,
        "holder": hold.agent,
        "reason": hold.reason,
        "from": iso(hold.from),
        "to": to.map(iso),
        "toIsExact": is_exact,
    })
}

fn spec(spec: &ExportSpec) -> Value {
    json!({
        "spec": spec.spec,
        "progress": { "done": spec.done, "claimed": spec.claimed, "open": spec.open, "blocked": spec.blocked },
        "problem": spec.problem,
        "tasks": spec.tasks.shown.iter().map(task).collect::<Vec<_>>(),
    })
}

fn task(task: &ExportTask) -> Value {
    json!({
        "id": task.id,
        "title": task.title,
        "state": task.state,
        "agent": task.agent,
        "since": task.at.map(iso),
        "notes": task.notes,
        "blockedBy": task.blocked_by,
        "proof": task.proof,
        "evidence": task.evidence,
        "reopened": task.reopened,
    })
}

fn message(message: &ExportMessage) -> Value {
    let state = match message.progress {
        MessageProgress::Sent => "sent",
        MessageProgress::Unread => "unread",
        MessageProgress::Read => "read",
        MessageProgress::Acked => "acked",
        MessageProgress::Expired => "expired",
    };
    json!({
        "id": message.short_id,
        "from": message.from,
        "to": message.to,
        "timestamp": iso(message.at),
        "text": message.text,
        "cut": message.cut,
        "thread": message.thread,
        "kind": message.kind,
        "importance": message.importance.name(),
        "broadcast": message.is_broadcast,
        "state": state,
    })
}

fn run(run: &ExportRun) -> Value {
    json!({
        "id": run.id,
        "task": run.title,
        "agent": run.agent,
        "parent": run.parent,
        "profile": run.profile,
        "outcome": run.outcome,
        "queuedAt": iso(run.at),
        "took": run.took,
        "used": run.used,
        "remark": run.remark,
        "review": run.review,
        "crew": run.crew,
    })
}

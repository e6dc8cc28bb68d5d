//! The JSON form of what ops return, for every face that speaks JSON.
//!
//! Programs rely on one contract: `msg --json` prints these members, and MCP tools return the same ones in the
//! result's `_meta`, with peers' prose quoted (`mcp::answer`).

pub(super) mod batch;
mod batch_fields;
pub(super) mod bill;
pub(super) mod crew;
pub(super) mod export;
pub(super) mod overlap;
pub(super) mod query;
pub(super) mod record;
pub(super) mod run;
pub(super) mod sight;
pub(super) mod task_lines;
pub(super) mod worker;

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::domain::link::MachineName;
use crate::domain::{AgentName, Event, Message, MessageId, Reservation, SeenTest, TaskEvidence, TaskProof};
use crate::ops::tasks::{TaskState, TaskView};
use crate::ops::{
    AcceptedCopy, AgentProfile, AgentRelation, CommandError, ContestState, ContestView, ErrorDetail, Holding,
    PathVerdict, RefusedCopy, ResolvedGroup, SendReport,
};
use crate::store::{Claim, Completion, Reopening, iso};
use crate::sys::tmux::geometry::ScreenCorner;

/// An agent. A struct instead of a [`Value`], because there may be a thousand of them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentJson<'a> {
    name: &'a str,
    presence: &'static str,
    harness: &'static str,
    /// `None` on another machine: there is no such process here.
    pid: Option<i32>,
    session_id: &'a str,
    cwd: &'a str,
    model: &'a str,
    git_branch: Option<&'a str>,
    spec: Option<&'a str>,
    status_message: Option<&'a str>,
    is_human: bool,
    started_at: String,
    last_activity_at: String,
    reservations: Vec<Value>,
    claim: Option<Value>,
    unread: usize,
    formerly: Vec<&'a str>,
    foreign: bool,
    me: bool,
    activity: Option<&'a str>,
    auto_status: Option<&'a str>,
    tool_calls: u64,
    tokens: u64,
    files_modified: &'a [String],
    last_tool_call: Option<&'a str>,
    /// Where its terminal is.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    corner: Option<&'static str>,
    /// The machine that it is on, if that is not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<&'a str>,
    /// The repository that it works in there, by its first commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<&'a str>,
    /// Since when that machine has not been reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    away_since: Option<String>,
    /// When that machine last said how it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    heard_at: Option<String>,
    /// The link is down: when this was last known to be so.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

impl<'a> AgentJson<'a> {
    pub(super) fn of(profile: &'a AgentProfile, relation: AgentRelation) -> Self {
        let agent = &profile.agent;
        Self {
            name: agent.name.as_str(),
            presence: profile.presence.name(),
            harness: harness(profile),
            pid: (!agent.is_remote()).then(|| agent.process.pid().get()),
            session_id: agent.session.as_str(),
            cwd: &agent.cwd,
            model: &agent.model,
            git_branch: agent.git_branch.as_deref(),
            spec: agent.spec.as_deref(),
            status_message: agent.status.as_deref(),
            is_human: agent.is_human,
            started_at: iso(agent.started_at),
            last_activity_at: iso(profile.last_sign),
            reservations: agent.reservations.iter().map(own_reservation).collect(),
            claim: profile.claims.first().map(|taken| claim(taken, &of_claim(taken, &agent.reservations))),
            unread: profile.unread,
            formerly: agent.formerly.iter().map(|former| former.name.as_str()).collect(),
            foreign: agent.is_foreign(),
            me: relation == AgentRelation::Caller,
            activity: profile.activity.as_deref(),
            auto_status: profile.auto_status.as_deref(),
            tool_calls: profile.tool_calls,
            tokens: profile.tokens,
            files_modified: &profile.files_modified,
            last_tool_call: profile.last_tool_call.as_deref(),
            place: profile.place.as_ref().and_then(|place| place.address.as_deref()),
            corner: profile.place.as_ref().and_then(|place| place.corner).map(ScreenCorner::name),
            machine: agent.machine.as_ref().map(|machine| machine.name.as_str()),
            repository: agent
                .machine
                .as_ref()
                .and_then(|machine| Some(machine.repository.as_ref()?.as_str())),
            away_since: agent.machine.as_ref().and_then(|machine| machine.away_since).map(iso),
            heard_at: agent.machine.as_ref().and_then(|machine| machine.heard_at).map(iso),
            as_of: profile.as_of.map(iso),
        }
    }
}

/// [`AgentJson`] as a value, for output with a single agent.
pub(super) fn agent(profile: &AgentProfile, relation: AgentRelation) -> Value {
    json!(AgentJson::of(profile, relation))
}

/// The agent's harness. A registration without one is pi-messenger's.
pub(super) fn harness(profile: &AgentProfile) -> &'static str {
    profile.agent.harness_name()
}

/// A reservation within its holder's object, without the holder.
pub(super) fn own_reservation(reservation: &Reservation) -> Value {
    let value = json!({
        "pattern": reservation.pattern,
        "root": reservation.root_here(),
        "reason": reservation.reason,
        "since": iso(reservation.since),
        "expiresAt": reservation.expires_at.map(iso),
    });
    with_reach(value, reservation)
}

/// Adds where it binds, if not in one work tree only.
fn with_reach(mut value: Value, reservation: &Reservation) -> Value {
    if let Some(commit) = reservation.reach.repository() {
        value["reach"] = json!("repository");
        value["repository"] = json!(commit.as_str());
    }
    if let Some(scope) = reservation.thing_scope() {
        value["thing"] = json!(scope.name());
    }
    value
}

pub(super) fn reservation(reservation: &Reservation, holder: &str) -> Value {
    let value = json!({
        "pattern": reservation.pattern,
        "root": reservation.root_here(),
        "holder": holder,
        "reason": reservation.reason,
        "since": iso(reservation.since),
        "expiresAt": reservation.expires_at.map(iso),
    });
    with_reach(value, reservation)
}

/// A reservation with its holder, and the machine if that is another one.
pub(super) fn holding_json(holding: &Holding) -> Value {
    let value = reservation(&holding.reservation, holding.holder.name.as_str());
    with_machine(value, holding)
}

fn with_machine(mut value: Value, holding: &Holding) -> Value {
    if let Some(machine) = &holding.holder.machine {
        value["machine"] = machine.name.as_str().into();
    }
    value
}

/// A reservation with its contests, if there are any.
pub(super) fn contested_reservation(holding: &Holding, contests: &[ContestView]) -> Value {
    let mut value = holding_json(holding);
    if !contests.is_empty() {
        value["contests"] = contests.iter().map(contest).collect();
    }
    value
}

fn contest(view: &ContestView) -> Value {
    let (state, seconds_left) = match &view.state {
        ContestState::Open { time_left } => ("open", Some(seconds(*time_left))),
        ContestState::AtWork => ("at_work", None),
        ContestState::NoClock => ("no_clock", None),
    };
    json!({
        "by": view.by.as_str(),
        "pattern": view.contest.wanted.pattern,
        "reason": view.contest.wanted.reason,
        "since": iso(view.contest.since()),
        "state": state,
        "secondsLeft": seconds_left,
        "answered": view.contest.answered.is_some(),
    })
}

/// Whole seconds, rounded up: with 0 the time is over.
pub(super) fn seconds(duration: Duration) -> u64 {
    duration.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}

/// The reservations that were made with the claim.
fn of_claim(claim: &Claim, reservations: &[Reservation]) -> Vec<Reservation> {
    let is_of = |held: &&Reservation| {
        held.task.as_ref().is_some_and(|task| task.id == claim.task && task.spec == claim.spec)
    };
    reservations.iter().filter(is_of).cloned().collect()
}

pub(super) fn claim(claim: &Claim, reservations: &[Reservation]) -> Value {
    json!({
        "task": claim.task,
        "spec": claim.spec,
        "agent": claim.agent,
        "sessionId": claim.session,
        "pid": claim.process.pid().get(),
        "claimedAt": iso(claim.claimed_at),
        "reason": claim.reason,
        "reservations": reservations.iter().map(own_reservation).collect::<Vec<_>>(),
    })
}

pub(super) fn completion(done: &Completion) -> Value {
    json!({
        "task": done.task,
        "spec": done.spec,
        "completedBy": done.by,
        "completedAt": iso(done.at),
        "notes": done.notes,
        "evidence": done.evidence.as_ref().map(evidence),
    })
}

/// What is recorded to prove a task. What was not run or seen is null.
fn evidence(known: &TaskEvidence) -> Value {
    let verified = known.verified.as_ref();
    let test =
        |test: &SeenTest| json!({ "command": test.command, "passed": test.has_passed, "at": iso(test.at) });
    json!({
        "text": known.text,
        "command": verified.map(|run| run.command.as_str()),
        "exitCode": verified.map(|run| run.exit_code),
        "tail": verified.map(|run| run.tail.as_str()),
        "commit": known.commit,
        "at": iso(known.at),
        "test": known.seen.test.as_ref().map(test),
        "editedAt": known.seen.edited_at.map(iso),
    })
}

/// A completion that was taken back.
pub(super) fn reopening(taken_back: &Reopening) -> Value {
    json!({
        "by": taken_back.by,
        "at": iso(taken_back.at),
        "reason": taken_back.reason,
        "completion": completion(&taken_back.completion),
    })
}

/// The agent that works on the task or completed it.
pub(super) fn owner(task: &TaskView) -> Option<&str> {
    let claimed = task.claim.as_ref().map(|claim| claim.agent.as_str());
    claimed.or_else(|| task.completion.as_ref().map(|done| done.by.as_str()))
}

pub(super) fn task(task: &TaskView) -> Value {
    let since = match (&task.claim, &task.completion) {
        (_, Some(done)) => Some(iso(done.at)),
        (Some(claim), None) => Some(iso(claim.claimed_at)),
        (None, None) => None,
    };
    let blocked_by = if let TaskState::Blocked(by) = &task.state { by.clone() } else { Vec::new() };
    let mut value = json!({
        "id": task.id,
        "title": task.title,
        "state": task.state.name(),
        "agent": owner(task),
        "since": since,
        "notes": task.completion.as_ref().and_then(|done| done.notes.as_deref()).or(task.came_back.as_deref()),
        "dependsOn": task.depends_on,
        "blockedBy": blocked_by,
        "line": task.line,
        "proof": task.proof.map(TaskProof::name),
        "evidence": task.completion.as_ref().and_then(|done| done.evidence.as_ref()).map(evidence),
        "reopened": task.reopened.iter().map(reopening).collect::<Vec<_>>(),
    });
    // Only for what is done or claimed on another machine.
    if let Some(machine) = machine(task) {
        value["machine"] = machine.as_str().into();
    }
    value
}

/// The machine of whoever works on the task or completed it, if that is not this one.
fn machine(task: &TaskView) -> Option<&MachineName> {
    let claimed = task.claim.as_ref().map(|claim| claim.machine.as_ref());
    claimed.or_else(|| task.completion.as_ref().map(|done| done.machine.as_ref())).flatten()
}

pub(super) fn message(message: &Message) -> Value {
    let mut value = json!({
        "id": message.id.as_str(),
        "from": message.from,
        "to": message.to,
        "text": message.text,
        "timestamp": iso(message.timestamp),
        "replyTo": message.reply_to.as_ref().map(MessageId::as_str),
        "thread": message.thread,
        "importance": message.importance.name(),
        "ackRequired": message.needs_ack,
        "broadcast": message.is_broadcast,
    });
    if message.is_notice() {
        value["notice"] = true.into();
    }
    if let Some(machine) = message.notice_machine() {
        value["machine"] = machine.as_str().into();
    }
    if let Some(kind) = message.kind {
        value["kind"] = kind.name().into();
    }
    if let Some(at) = message.expires_at {
        value["expiresAt"] = iso(at).into();
    }
    value
}

/// A copy of a message that was stored.
pub(super) fn sent(accepted: &AcceptedCopy) -> Value {
    let mut value = json!({
        "to": accepted.to.as_str(),
        "id": accepted.id.as_str(),
        "state": accepted.state(),
        "wake": accepted.route.name(),
    });
    if let Some(elsewhere) = &accepted.elsewhere {
        value["machine"] = elsewhere.machine.as_str().into();
        value["reason"] = elsewhere.why_it_waits.as_deref().into();
    }
    value
}

/// A copy of a message that could not be sent.
pub(super) fn failed(refused: &RefusedCopy) -> Value {
    let CommandError { kind, message, hints, .. } = &refused.error;
    json!({ "to": refused.to, "kind": kind.name(), "message": message, "hints": hints })
}

/// Whom the recipients of a message stood for: what is to be said beside `sent` and `failed`.
pub(super) fn addressees(report: &SendReport) -> Map<String, Value> {
    let mut members = Map::new();
    if !report.groups.is_empty() {
        members.insert("groups".to_string(), report.groups.iter().map(group).collect());
    }
    if let Some(broadcast) = report.broadcast {
        members.insert("scope".to_string(), broadcast.scope.into());
        members.insert("elsewhere".to_string(), broadcast.elsewhere.into());
    }
    members
}

/// A group that a message was sent to.
fn group(resolved: &ResolvedGroup) -> Value {
    let agents: Vec<&str> = resolved.agents.iter().map(AgentName::as_str).collect();
    json!({ "group": resolved.group, "agents": agents, "absent": resolved.absent })
}

/// One path, and the reservation that prevents changing it.
pub(super) fn verdict(verdict: &PathVerdict) -> Value {
    let holding = verdict.holding.as_ref();
    let reservation = holding.map(|holding| &holding.reservation);
    let value = json!({
        "path": verdict.path,
        "free": holding.is_none(),
        "holder": holding.map(|holding| holding.holder.name.as_str()),
        "pattern": reservation.map(|reservation| &reservation.pattern),
        "root": reservation.and_then(Reservation::root_here),
        "reason": reservation.and_then(|reservation| reservation.reason.as_deref()),
        "since": reservation.map(|reservation| iso(reservation.since)),
        "expiresAt": reservation.and_then(|reservation| reservation.expires_at).map(iso),
    });
    match holding {
        Some(holding) => with_machine(with_reach(value, &holding.reservation), holding),
        None => value,
    }
}

/// An event of the feed.
pub(super) fn event(event: &Event) -> Value {
    let mut value = json!({
        "ts": iso(event.at),
        "type": event.what.name(),
        "agent": event.agent,
        "target": event.target,
        "preview": event.preview,
    });
    if let Some(kind) = event.message_kind {
        value["messageKind"] = kind.name().into();
    }
    if let Some(machine) = &event.machine {
        value["machine"] = machine.as_str().into();
    }
    value
}

pub(super) fn error(error: &CommandError) -> Value {
    let mut object = Map::new();
    object.insert("kind".to_string(), json!(error.kind.name()));
    object.insert("message".to_string(), json!(error.message));
    object.insert("hints".to_string(), json!(error.hints));
    for (name, fact) in &error.facts {
        object.insert((*name).to_string(), detail(fact));
    }
    Value::Object(object)
}

fn detail(fact: &ErrorDetail) -> Value {
    match fact {
        ErrorDetail::Text(text) => json!(text),
        ErrorDetail::Number(number) => json!(number),
        ErrorDetail::List(list) => json!(list),
        ErrorDetail::Rows(rows) => {
            let row = |row: &Vec<(&str, Option<ErrorDetail>)>| {
                let member = |(name, fact): &(&str, Option<ErrorDetail>)| {
                    ((*name).to_string(), fact.as_ref().map_or(Value::Null, detail))
                };
                row.iter().map(member).collect::<Map<_, _>>()
            };
            json!(rows.iter().map(row).collect::<Vec<_>>())
        }
    }
}

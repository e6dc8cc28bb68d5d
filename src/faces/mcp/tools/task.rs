//! The tool for tasks: list, claim, complete, reopen, give back, hand over, set the spec.
//!
//! It does not run the commands that prove a task: whoever has a shell can run `msg complete --verify` there.

use rmcp::model::Tool;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::{AgentName, quote_code};
use crate::faces::json;
use crate::faces::mcp::tool_answer::ToolAnswer;
use crate::ops::tasks::{
    self, ClaimOutcome, ClaimRequest, CompleteRequest, HandoffNotes, LessonOutcome, SpecProgress, TaskChoice,
    TaskLessons, TaskState, TaskView,
};
use crate::ops::{BroadPatterns, CommandError, Op, knowledge};
use crate::store::{Claim, Completion};

use super::learn::receipt_line;
use super::{as_agent, describe, needed};

pub(super) fn tool() -> Tool {
    describe(
        "task",
        "Tasks of a Markdown spec that agents share. next: claim the first that is ready.",
        json!({
            "action": {
                "type": "string",
                "enum": ["list", "next", "claim", "complete", "reopen", "unclaim", "handoff", "spec"],
                "default": "list",
            },
            "id": { "type": "string", "description": "claim, complete, reopen, unclaim, handoff: the task" },
            "spec": { "type": "string", "description": "path, if not yours; spec: sets yours" },
            "reserve": {
                "type": "array",
                "items": { "type": "string" },
                "description": "claim, next: paths to reserve with it",
            },
            "notes": { "type": "string", "description": "claim, reopen: reason; complete, handoff: for others" },
            "to": { "type": "string", "description": "handoff: name" },
            "adhoc": { "type": "boolean", "description": "claim: a task that is in no spec" },
            "tick": { "type": "boolean", "description": "complete: tick its box" },
            "evidence": { "type": "string", "description": "complete: what proves it" },
            "learned": { "type": "string", "description": "complete: recorded for later sessions" },
        }),
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::faces::mcp) struct TaskToolArgs {
    action: Option<Action>,
    id: Option<String>,
    spec: Option<String>,
    reserve: Option<Vec<String>>,
    notes: Option<String>,
    to: Option<String>,
    adhoc: Option<bool>,
    tick: Option<bool>,
    evidence: Option<String>,
    learned: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    List,
    Next,
    Claim,
    Complete,
    Reopen,
    Unclaim,
    Handoff,
    Spec,
}

pub(super) fn run(op: &Op, args: TaskToolArgs) -> Result<ToolAnswer, CommandError> {
    let spec = args.spec.as_deref();
    match args.action.unwrap_or_default() {
        Action::List => list(op, spec),
        Action::Next => claim(op, TaskChoice::Next, args),
        Action::Claim => {
            let id = needed(args.id.clone(), "id", "claim")?;
            claim(op, TaskChoice::This(id), args)
        }
        Action::Complete => complete(op, args),
        Action::Reopen => reopen(op, args),
        Action::Unclaim => {
            let claim = as_agent(op, |op| tasks::unclaim(op, args.id.as_deref(), spec))?;
            let text = format!("{} is free again", quote_code(&claim.task));
            Ok(ToolAnswer::new(text).with("claim", json::claim(&claim, &[])))
        }
        Action::Handoff => {
            let id = needed(args.id.as_deref(), "id", "handoff")?;
            let to = AgentName::new(needed(args.to.as_deref(), "to", "handoff")?)?;
            let notes = args.notes.as_deref();
            let done = as_agent(op, |op| {
                tasks::handoff(op, id, &to, spec, HandoffNotes { notes, has_brief: false })
            })?;
            let text = format!("{} is {}'s now", quote_code(&done.claim.task), done.claim.agent);
            Ok(ToolAnswer::new(text).with("claim", json::claim(&done.claim, &done.reservations)))
        }
        Action::Spec => {
            let used = as_agent(op, |op| tasks::spec(op, spec))?;
            used.problems.iter().for_each(|problem| op.warn(problem.clone()));
            let text = match &used.path {
                Some(path) => format!("{}, {} tasks", quote_code(path), used.tasks),
                None => "you have no spec".to_string(),
            };
            Ok(ToolAnswer::new(text).with("spec", used.path))
        }
    }
}

fn claim(op: &Op, choice: TaskChoice, args: TaskToolArgs) -> Result<ToolAnswer, CommandError> {
    let request = ClaimRequest {
        choice,
        spec: args.spec,
        reason: args.notes,
        reserve: args.reserve.unwrap_or_default(),
        broad: BroadPatterns::Refuse,
        is_adhoc: args.adhoc.unwrap_or(false),
    };
    let ClaimOutcome { claim, title, reservations, was_held: again } =
        as_agent(op, |op| tasks::claim(op, &request))?;
    let already = if again { " already" } else { "" };
    let title_shown = if title.is_empty() { String::new() } else { format!(": {}", quote_code(&title)) };
    let mut lines = vec![format!("{} is yours{already}{title_shown}", quote_code(&claim.task))];
    lines.extend(reservations.iter().map(|taken| format!("{} is yours with it", quote_code(&taken.pattern))));
    Ok(ToolAnswer::lines(lines).with("claim", json::claim(&claim, &reservations)).with("title", title))
}

fn complete(op: &Op, args: TaskToolArgs) -> Result<ToolAnswer, CommandError> {
    let task = needed(args.id, "id", "complete")?;
    let (task, tick) = (Some(task), args.tick.unwrap_or(false));
    let request = CompleteRequest {
        task,
        spec: args.spec,
        notes: args.notes,
        ticks: tick,
        evidence: args.evidence,
        verifies: false,
    };
    let lessons = TaskLessons { learned: args.learned.into_iter().collect(), ..TaskLessons::default() };
    let (done, records) = match lessons.learned.is_empty() {
        true => (as_agent(op, |op| tasks::complete(op, &request))?, Vec::new()),
        false => {
            let LessonOutcome { completed, records, .. } =
                as_agent(op, |op| tasks::complete_with_lessons(op, &request, &lessons))?;
            (completed, records)
        }
    };
    let ready = match done.unblocked.as_slice() {
        [] => String::new(),
        unblocked => format!("; ready now: {}", quote_code(&unblocked.join(", "))),
    };
    let said = format!("{} is done{ready}", quote_code(&done.completion.task));
    let answer = ToolAnswer::lines(std::iter::once(said).chain(records.iter().map(receipt_line)));
    let rows = json::record::receipts(&records, &knowledge::log_directory(op));
    let answer = if records.is_empty() { answer } else { answer.with("recorded", rows) };
    Ok(answer
        .with("completion", json::completion(&done.completion))
        .with("unblocked", done.unblocked)
        .with("ticked", done.is_ticked))
}

fn reopen(op: &Op, args: TaskToolArgs) -> Result<ToolAnswer, CommandError> {
    let id = needed(args.id, "id", "reopen")?;
    let reason = needed(args.notes, "notes", "reopen")?;
    let done = as_agent(op, |op| tasks::reopen(op, &id, args.spec.as_deref(), &reason))?;
    let completion = &done.reopening.completion;
    let waiting = match done.waiting.as_slice() {
        [] => String::new(),
        waiting => format!("; waiting for it again: {}", quote_code(&waiting.join(", "))),
    };
    let (task, by) = (quote_code(&completion.task), quote_code(&completion.by));
    Ok(ToolAnswer::new(format!("{task} is open again; {by} had completed it{waiting}"))
        .with("reopened", json::reopening(&done.reopening))
        .with("blocked", done.waiting)
        .with("told", done.is_told))
}

/// Lists all tasks; the resource has the same content.
pub(in crate::faces::mcp) fn list(op: &Op, spec: Option<&str>) -> Result<ToolAnswer, CommandError> {
    let tasks = as_agent(op, |op| tasks::tasks(op, spec))?;
    tasks.problems.iter().for_each(|problem| op.warn(problem.clone()));
    let SpecProgress { done, claimed, open, blocked } = tasks.progress;
    let total = tasks.progress.total();
    let proofs = proofs(&tasks.tasks);
    let head = format!("{done} of {total} done{proofs}, {claimed} claimed, {open} ready, {blocked} blocked");
    // A model that looks for work needs only the number of done tasks; programs get all.
    let left = tasks.tasks.iter().filter(|task| task.state != TaskState::Done).map(line);
    let lines: Vec<String> = std::iter::once(head).chain(left).collect();
    let rows: Vec<Value> = tasks.tasks.iter().map(json::task).collect();
    let progress = json!({ "done": done, "claimed": claimed, "open": open, "blocked": blocked });
    Ok(ToolAnswer::lines(lines).with("tasks", rows).with("spec", tasks.spec).with("progress", progress))
}

/// How many of the finished tasks are proven, and how well.
fn proofs(tasks: &[TaskView]) -> String {
    let count =
        |name: &str| tasks.iter().filter(|task| task.proof.is_some_and(|proof| proof.name() == name)).count();
    let words = [("proven", "proven"), ("stale", "stale proof"), ("said", "only said")];
    let known: Vec<String> = words
        .iter()
        .map(|(name, word)| (count(name), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
}

fn line(task: &TaskView) -> String {
    let about = match &task.state {
        TaskState::Blocked(by) => format!(" by {}", quote_code(&by.join(", "))),
        TaskState::Claimed | TaskState::Done => {
            let claimed = task.claim.as_ref().map(Claim::who);
            let owner = claimed.or_else(|| task.completion.as_ref().map(Completion::who));
            owner.map_or(String::new(), |owner| format!(" by {}", quote_code(&owner)))
        }
        TaskState::Open => String::new(),
    };
    format!("{} {}{about}: {}", quote_code(&task.id), task.state.name(), quote_code(&task.title))
}

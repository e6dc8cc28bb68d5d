//! Asking the server of a linked mesh about a task, before any lock is taken.

use jiff::Timestamp;

use crate::domain::link::{MachineName, TaskKey};
use crate::domain::{Agent, quote_code, quote_name};
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::{self, LinkGrant};
use crate::ops::messages::rendered_message::format_age;
use crate::store::Mesh;
use crate::store::link_protocol::{Holder, LinkAnswer, LinkRequest, LocalAgent};
use crate::sys::clock;

use super::elsewhere::{TaskElsewhere, TasksElsewhere};

/// For how many tasks one claim asks: each answer is a round trip.
const MOST_ASKED: usize = 1_000;

/// What the server decided about a task that an agent wants.
enum TaskDecision<'a> {
    Granted(LinkGrant<'a>),
    /// Another machine has it, or has completed it.
    Others(TaskElsewhere),
}

/// How often a command is tried while what it comes to changes between the look and the lock.
pub(super) const TRIES: usize = 32;

pub(super) fn kept_changing() -> CommandError {
    CommandError::new(CommandErrorKind::ChangedMeanwhile, "the tasks kept changing: nothing was written")
        .hint("try again")
}

/// The task that a claim would come to, and what the server said about it.
pub(super) enum AskedTask<'a> {
    /// The mesh is not linked.
    NotLinked,
    /// Only this machine knows the tasks of that spec.
    OnlyHere,
    /// There is nothing to ask for.
    Nothing,
    Granted(String, LinkGrant<'a>),
}

impl<'a> AskedTask<'a> {
    /// Asks for what `look` finds until the server grants something, or `look` finds nothing more. What others have is
    /// learned on the way. No lock may be held. The key of the spec comes with the reason of the claim.
    pub(super) fn ask(
        ctx: &'a Context,
        mesh: &'a Mesh,
        agent: &Agent,
        (spec, reason): (&str, Option<&str>),
        elsewhere: &TasksElsewhere<'_>,
        look: impl Fn() -> Result<Option<String>, CommandError>,
    ) -> Result<Self, CommandError> {
        if !elsewhere.is_linked() {
            return Ok(Self::NotLinked);
        }
        for _ in 0..MOST_ASKED {
            let Some(id) = look()? else { return Ok(Self::Nothing) };
            let Some(key) = elsewhere.spec(spec).key(&id)? else { return Ok(Self::OnlyHere) };
            match take(ctx, mesh, agent, &key, reason)? {
                TaskDecision::Granted(grant) => return Ok(Self::Granted(id, grant)),
                TaskDecision::Others(what) => elsewhere.learn(spec, what),
            }
        }
        Err(kept_changing())
    }

    /// Whether the task may be claimed here.
    pub(super) fn covers(&self, task: &str) -> bool {
        match self {
            Self::NotLinked | Self::OnlyHere => true,
            Self::Nothing => false,
            Self::Granted(id, _) => id == task,
        }
    }

    /// The task is claimed here.
    pub(super) fn keep(self, op: &Op, task: &str) {
        match self {
            Self::Granted(_, grant) => grant.keep(),
            Self::OnlyHere => op.warn(format!(
                "only this machine knows that {} is claimed: its spec is in no git repository that other machines \
                 recognise by its first commit",
                quote_code(task)
            )),
            Self::NotLinked | Self::Nothing => {}
        }
    }
}

/// Asks for the task.
fn take<'a>(
    ctx: &'a Context,
    mesh: &'a Mesh,
    agent: &Agent,
    key: &TaskKey,
    reason: Option<&str>,
) -> Result<TaskDecision<'a>, CommandError> {
    let reason = reason.map(str::to_string);
    let request = LinkRequest::TakeTask { agent: ask::local(agent), key: key.clone(), reason };
    let id = &key.task;
    Ok(match ask::decide(ctx, mesh, &request)? {
        LinkAnswer::Taken { holders } => TaskDecision::Others(held_by(&holders, |holder, who| {
            TaskElsewhere::claimed(id, who, since(holder), holder.reason.clone())
        })?),
        LinkAnswer::Finished { by } => TaskDecision::Others(held_by(&[by], |holder, who| {
            TaskElsewhere::done(id, who, since(holder), holder.reason.clone())
        })?),
        LinkAnswer::Granted { .. } | LinkAnswer::Done => TaskDecision::Granted(LinkGrant::new(ctx, mesh)),
        answer => return Err(nonsense(&answer)),
    })
}

/// Asks the server to complete the task for an agent that has claimed it here. An error if it was given to another
/// machine, or is done there. That this machine has completed it already is a command that was cut short.
pub(super) fn complete<'a>(
    ctx: &'a Context,
    mesh: &'a Mesh,
    agent: LocalAgent,
    key: &TaskKey,
    notes: Option<&str>,
) -> Result<LinkGrant<'a>, CommandError> {
    let notes = notes.map(str::to_string);
    let request = LinkRequest::CompleteTask { agent, key: key.clone(), notes };
    let answer = ask::decide(ctx, mesh, &request).map_err(|error| match error.kind {
        CommandErrorKind::NotLinked => error.hint(format!(
            "{} is not completed: run this again when the server is reached",
            quote_code(&key.task)
        )),
        _ => error,
    })?;
    still_ours(mesh, key, answer)?;
    Ok(LinkGrant::new(ctx, mesh))
}

/// Asks the server whether a task that an agent has claimed here is still of this machine, and completes nothing. An error
/// if it was given to another machine, or is done there.
pub(super) fn confirm(
    ctx: &Context,
    mesh: &Mesh,
    agent: LocalAgent,
    key: &TaskKey,
    reason: String,
) -> Result<(), CommandError> {
    let request = LinkRequest::ConfirmTask { agent, key: key.clone(), reason: Some(reason) };
    still_ours(mesh, key, ask::decide(ctx, mesh, &request)?)
}

/// An error if the answer says that another machine has the task, or has completed it.
fn still_ours(mesh: &Mesh, key: &TaskKey, answer: LinkAnswer) -> Result<(), CommandError> {
    match answer {
        LinkAnswer::Granted { .. } | LinkAnswer::Done => Ok(()),
        LinkAnswer::Finished { by } if is_this_machine(mesh, &by)? => Ok(()),
        LinkAnswer::Finished { by } => Err(finished(&key.task, &by)),
        LinkAnswer::Taken { holders } => Err(lost(&key.task, holders.first())),
        answer => Err(nonsense(&answer)),
    }
}

/// Asks the server to open a finished task again.
pub(super) fn reopen(
    ctx: &Context,
    mesh: &Mesh,
    agent: &Agent,
    key: &TaskKey,
    reason: &str,
) -> Result<(), CommandError> {
    let request =
        LinkRequest::ReopenTask { agent: ask::local(agent), key: key.clone(), reason: reason.to_string() };
    match ask::decide(ctx, mesh, &request)? {
        LinkAnswer::Granted { .. } | LinkAnswer::Done => Ok(()),
        LinkAnswer::Taken { holders } => {
            let who = holders.first().map_or_else(|| "another machine".to_string(), ask::holder_text);
            let text = format!("{} is not done: {who} works on it", quote_code(&key.task));
            Err(with_holder(CommandError::new(CommandErrorKind::NotCompleted, text), holders.first()))
        }
        answer => Err(nonsense(&answer)),
    }
}

fn since(holder: &Holder) -> Timestamp {
    holder.since.unwrap_or_else(clock::now)
}

fn held_by(
    holders: &[Holder],
    make: impl FnOnce(&Holder, (&str, &MachineName)) -> TaskElsewhere,
) -> Result<TaskElsewhere, CommandError> {
    let named = holders.first().and_then(|holder| Some((holder, MachineName::new(&holder.machine).ok()?)));
    let (holder, machine) = named.ok_or_else(|| {
        CommandError::new(CommandErrorKind::Bug, "the link process does not say who has the task")
    })?;
    Ok(make(holder, (&holder.agent, &machine)))
}

fn is_this_machine(mesh: &Mesh, holder: &Holder) -> Result<bool, CommandError> {
    Ok(mesh.link().config()?.is_some_and(|config| config.machine.as_str() == holder.machine))
}

fn finished(task: &str, by: &Holder) -> CommandError {
    let ago = by.since.map_or(String::new(), |at| format!(", {} ago", format_age(at, clock::now())));
    let text = format!("{} is already done ({}{ago})", quote_code(task), ask::holder_text(by));
    let error = CommandError::new(CommandErrorKind::AlreadyCompleted, text)
        .hint("your changes are still in your work tree: compare them with what was done there")
        .hint(format!("ask: `msg send {} \"…\"`", quote_name(&by.agent)));
    with_holder(error, Some(by))
}

/// The claim was lost with the lease of this machine.
fn lost(task: &str, holder: Option<&Holder>) -> CommandError {
    let ago = holder.and_then(|holder| holder.since);
    let ago = ago.map_or(String::new(), |at| format!(" ({} ago)", format_age(at, clock::now())));
    let who = holder.map_or_else(|| "another machine".to_string(), ask::holder_text);
    let text = format!(
        "{} is not yours any more: this machine did not reach the server for longer than its lease, and {who} has \
         claimed it since{ago}",
        quote_code(task)
    );
    let error = CommandError::new(CommandErrorKind::NotYours, text)
        .hint("your work is not lost: your changes are still in your work tree");
    let error = match holder {
        Some(holder) => {
            error.hint(format!("agree on who goes on: `msg send {} \"…\"`", quote_name(&holder.agent)))
        }
        None => error,
    };
    with_holder(error, holder)
}

fn with_holder(error: CommandError, holder: Option<&Holder>) -> CommandError {
    match holder {
        Some(Holder { agent, machine, .. }) => {
            error.fact("agent", agent.as_str()).fact("machine", machine.as_str())
        }
        None => error,
    }
}

fn nonsense(answer: &LinkAnswer) -> CommandError {
    CommandError::new(CommandErrorKind::Bug, format!("the link process gave a wrong answer: {answer:?}"))
}

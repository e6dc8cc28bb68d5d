//! Describes for `msg doctor` how an agent would be woken, and tests that route.

use std::time::{Duration, Instant};

use crate::domain::{Agent, AgentName, Harness, Importance};
use crate::harness::wake::{InboxError, PostOrigin, PromptQueue, QueueError};
use crate::harness::{self, HarnessSupport};
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::store::{Mesh, SessionState};

use super::session_inbox::{self, SessionInboxError};
use super::{WakeRoute, route};

/// How long a waiter may take to answer.
const LIMIT: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How an agent would be woken at present, for a person.
pub(in crate::ops) struct WakeDescription {
    pub(in crate::ops) text: String,
    /// Something would wake it.
    pub(in crate::ops) is_woken: bool,
}

/// Describes how an agent would be woken at present.
pub(in crate::ops) fn describe(
    ctx: &Context,
    mesh: &Mesh,
    agent: &Agent,
) -> Result<WakeDescription, CommandError> {
    let harness = agent.harness.map_or("pi-messenger", Harness::name);
    let route = route(ctx, mesh, agent, Importance::Normal)?;
    let activity = match mesh.session_states().get(&agent.session)? {
        SessionState::Working if route == WakeRoute::Prompt => "was interrupted by its user",
        SessionState::Working => "is busy",
        SessionState::Idle => "rests",
        SessionState::Unknown => "has not run a hook yet, so msg cannot tell whether it is idle",
    };
    let queue = agent.harness.and_then(harness::support).and_then(HarnessSupport::prompt_queue);
    let by_queue = format!("the sender wakes it by `{}`", queue.map_or("", PromptQueue::command));
    let how = match route {
        WakeRoute::Hook => "mail arrives at its next step",
        WakeRoute::Waiter(_) => "a background `msg waiter` wakes it",
        WakeRoute::Queue => &by_queue,
        WakeRoute::Socket => "the sender wakes it by a line to its inbox socket",
        WakeRoute::Server => "the MCP server among its own processes wakes it",
        WakeRoute::Paste => "the sender wakes it by pasting into its tmux pane",
        WakeRoute::Prompt => "nothing wakes it: mail arrives with its next prompt",
        WakeRoute::None => "nothing wakes it",
    };
    let why = why_not(ctx, mesh, agent, route).map_or(String::new(), |why| format!(" ({why})"));
    let is_woken = !matches!(route, WakeRoute::Prompt | WakeRoute::None);
    Ok(WakeDescription { text: format!("{} ({harness}) {activity}; {how}{why}", agent.name), is_woken })
}

/// Why an idle session without a waiter can't be woken through its inbox either, if its harness keeps one.
fn why_not(ctx: &Context, mesh: &Mesh, agent: &Agent, route: WakeRoute) -> Option<String> {
    let rests =
        mesh.session_states().get(&agent.session).is_ok_and(|activity| activity == SessionState::Idle);
    if route != WakeRoute::Prompt || !rests || session_inbox::of(agent).is_none() {
        return None;
    }
    session_inbox::check(ctx, mesh, agent, PostOrigin::Outside).err().map(|reason| reason.to_string())
}

/// What does not work about the route to an agent.
#[derive(Debug, thiserror::Error)]
pub(in crate::ops) enum ProbeError {
    #[error("{}'s waiter did not answer in {} s", .0, LIMIT.as_secs())]
    NoAnswer(AgentName),
    #[error("its harness is unknown")]
    UnknownHarness,
    #[error("its harness takes no prompts from outside")]
    NoQueue,
    #[error("`{command}` can't be run: {reason}")]
    Queue { command: &'static str, reason: QueueError },
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    SessionInbox(#[from] SessionInboxError),
    /// There is no route; the text describes how mail arrives.
    #[error("nothing to test: {0}")]
    NoRoute(String),
    #[error("{}", .0.message)]
    Command(#[from] CommandError),
}

/// Tries the route without costing the agent a turn, and describes the success.
pub(in crate::ops) fn probe(ctx: &Context, mesh: &Mesh, agent: &Agent) -> Result<String, ProbeError> {
    match route(ctx, mesh, agent, Importance::Normal)? {
        WakeRoute::Waiter(_) => {
            let time = answers(mesh, agent)?;
            Ok(format!("{}'s waiter answered after {} ms", agent.name, time.as_millis()))
        }
        WakeRoute::Queue => probe_queue(agent),
        WakeRoute::Socket => {
            session_inbox::find(ctx, agent)?.probe(agent)?;
            Ok(format!("{}'s inbox socket accepts connections; nothing was posted", agent.name))
        }
        WakeRoute::Server => {
            Ok(format!("{}'s MCP server is there; it can't be tried without a turn", agent.name))
        }
        WakeRoute::Paste => {
            Ok(format!("{} is in a tmux pane; a paste can't be tried without a turn", agent.name))
        }
        WakeRoute::Hook | WakeRoute::Prompt | WakeRoute::None => {
            Err(ProbeError::NoRoute(describe(ctx, mesh, agent)?.text))
        }
    }
}

fn probe_queue(agent: &Agent) -> Result<String, ProbeError> {
    let support = agent.harness.and_then(harness::support).ok_or(ProbeError::UnknownHarness)?;
    let queue = support.prompt_queue().ok_or(ProbeError::NoQueue)?;
    let (command, title) = (queue.command(), support.title());
    match queue.probe(agent) {
        Ok(()) => Ok(format!("`{command}` of {}'s own {title} can be run", agent.name)),
        Err(reason) => Err(ProbeError::Queue { command, reason }),
    }
}

fn answers(mesh: &Mesh, agent: &Agent) -> Result<Duration, ProbeError> {
    let started = Instant::now();
    mesh.session_states().ping(agent).map_err(CommandError::from)?;
    while !mesh.session_states().take_pong(&agent.session).map_err(CommandError::from)? {
        if started.elapsed() > LIMIT {
            mesh.session_states().cancel_ping(&agent.session).map_err(CommandError::from)?;
            return Err(ProbeError::NoAnswer(agent.name.clone()));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(started.elapsed())
}

//! Waking an idle agent: there are several ways, and the first that works is taken.
//!
//! Hooks report whether a session is idle. A harness that can keep a process of ours (a *waiter*) beside an idle
//! session is woken by that; one that takes prompts from outside is woken by the sender. In either case only the
//! process that renames `resting` to `roused` wakes the session. The mail itself is never in what wakes: the hook of
//! the turn that begins hands it over, marked as a peer's. Every wake counts towards the limit `mailTurns`.

mod doctor_checks;
mod session_inbox;
mod session_server;
mod tmux_paste;
mod waiter;

use crate::domain::{Agent, AgentName, Harness, Importance, Liveness, SessionId};
use crate::harness::wake::{PostOrigin, WakeFailure};
use crate::harness::{self, HarnessSupport};
use crate::store::{MailTurns, Mesh, Registration, SessionState, holds_a_lock};
use crate::sys::process;

use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

pub(super) use doctor_checks::{WakeDescription, describe, probe};
pub use session_server::{Channel, attend, can_attend};
pub use waiter::{WaiterEnd, wait};

/// The text that wakes an agent; a harness may show it as its user's words. The mail itself comes by the hook of the
/// turn that this starts.
pub(super) const NUDGE: &str =
    "[msg] You have mail from other agents. It follows below; run `msg read` for the rest.";

/// What the sender does to wake an agent.
type WakeAction = Box<dyn FnOnce(&Mesh, &Agent, &str) -> Result<(), WakeFailure> + Send>;

/// How a message gets to its recipient's attention.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WakeRoute {
    /// It is working: its next hook hands the message over.
    Hook,
    /// It is idle, and a waiter beside it wakes it.
    Waiter(Harness),
    /// It was idle, and was given a prompt from outside.
    Queue,
    /// It was idle, and our text was posted to the inbox socket that its harness keeps for it.
    Socket,
    /// It is idle, and our MCP server among its own processes wakes it.
    Server,
    /// It was idle, and our text was pasted into its terminal.
    Paste,
    /// It is idle and we can't wake it: the message comes with its user's next prompt.
    Prompt,
    /// Its turns are not known, or nobody is to be woken.
    None,
}

impl WakeRoute {
    /// The inverse of [`WakeRoute::name`].
    pub fn parse(name: &str) -> Option<Self> {
        let fixed =
            [Self::Hook, Self::Queue, Self::Socket, Self::Server, Self::Paste, Self::Prompt, Self::None];
        let waiters = harness::all().map(Self::Waiter);
        fixed.into_iter().chain(waiters).find(|route| route.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Waiter(harness) => {
                let waiter = harness::support(harness).and_then(HarnessSupport::waiter);
                waiter.map_or("waiter", |waiter| waiter.route)
            }
            Self::Queue => "queue",
            Self::Socket => "socket",
            Self::Server => "server",
            Self::Paste => "paste",
            Self::Prompt => "prompt",
            Self::None => "none",
        }
    }

    /// What the sender has to do, if anything.
    fn action(self, ctx: &Context, agent: &Agent) -> Option<WakeAction> {
        match self {
            Self::Queue => {
                let queue = agent.harness.and_then(harness::support)?.prompt_queue()?;
                Some(Box::new(|_, agent, text| Ok(queue.prompt(agent, text)?)))
            }
            Self::Socket => {
                let inbox = session_inbox::find(ctx, agent);
                Some(Box::new(|_, agent, text| inbox?.post(agent, text)))
            }
            Self::Paste => Some(Box::new(tmux_paste::paste)),
            Self::Hook | Self::Waiter(_) | Self::Server | Self::Prompt | Self::None => None,
        }
    }

    /// A short explanation for a person.
    pub fn explained(self) -> Option<&'static str> {
        match self {
            Self::Hook => Some("it is busy and gets this with its next tool call or prompt"),
            Self::Waiter(_) | Self::Queue | Self::Socket | Self::Server | Self::Paste => {
                Some("it was idle and is being woken")
            }
            Self::Prompt => Some("it is idle and gets this with its next prompt"),
            Self::None => None,
        }
    }
}

/// How a message would get to the recipient's attention at present.
pub(super) fn route(
    ctx: &Context,
    mesh: &Mesh,
    agent: &Agent,
    importance: Importance,
) -> Result<WakeRoute, CommandError> {
    if importance == Importance::Low || !agent.is_ours() || !is_wanted(ctx) {
        return Ok(WakeRoute::None);
    }
    match mesh.session_states().get(&agent.session)? {
        SessionState::Unknown => return Ok(WakeRoute::None),
        // An agent that its user has interrupted is not woken by others.
        SessionState::Working if is_interrupted(ctx, mesh, agent)? => return Ok(WakeRoute::Prompt),
        SessionState::Working => return Ok(WakeRoute::Hook),
        SessionState::Idle => {}
    }
    if mesh.hooks().mail_turns(&agent.session)?.count >= ctx.settings.mail_turns() {
        return Ok(WakeRoute::Prompt);
    }
    if is_waited_beside(mesh, agent)? {
        return Ok(WakeRoute::Waiter(agent.harness.unwrap_or(Harness::OTHER)));
    }
    let support = agent.harness.and_then(harness::support);
    if support.and_then(HarnessSupport::prompt_queue).is_some() {
        return Ok(WakeRoute::Queue);
    }
    Ok(match session_inbox::check(ctx, mesh, agent, PostOrigin::Outside) {
        Ok(_) => WakeRoute::Socket,
        Err(_) if session_server::is_there(ctx, mesh, agent)? => WakeRoute::Server,
        Err(_) if may_paste(ctx) && tmux_paste::is_possible(agent) => WakeRoute::Paste,
        Err(_) => WakeRoute::Prompt,
    })
}

/// Whether a live waiter is beside it.
fn is_waited_beside(mesh: &Mesh, agent: &Agent) -> Result<bool, CommandError> {
    let waiter = mesh.session_states().waiter(&agent.session)?;
    Ok(waiter.is_some_and(|waiter| process::liveness(&waiter) != Liveness::Gone))
}

/// Whether its user has interrupted the turn. No hook reports that, but the harness's own record of the session may.
fn is_interrupted(ctx: &Context, mesh: &Mesh, agent: &Agent) -> Result<bool, CommandError> {
    let Some(inboxes) = session_inbox::of(agent) else { return Ok(false) };
    let since = mesh.session_states().working_since(&agent.session)?;
    Ok(since.is_some_and(|since| inboxes.is_interrupted(&ctx.home, agent, since)))
}

/// A message that has arrived, and the route before it did: a waiter or a server may have been faster than we are.
pub(super) struct ArrivedMessage {
    pub(super) agent: Agent,
    pub(super) before: WakeRoute,
}

/// How messages get to their recipients' attention.
pub(super) struct WakeResults {
    /// One per arrival.
    pub(super) routes: Vec<WakeRoute>,
    /// Why agents could not be woken, one text each.
    pub(super) failures: Vec<String>,
}

/// Does the sender's part once messages have arrived, for all of them in parallel. It may take seconds, so no lock is
/// held. A failure for one agent does not stop the others.
pub(super) fn wake_recipients(
    ctx: &Context,
    mesh: &Mesh,
    arrivals: &[ArrivedMessage],
    importance: Importance,
) -> WakeResults {
    debug_assert!(!holds_a_lock(), "nobody is woken while a lock is held: see ops/effects.rs");
    let (mut routes, mut reasons) = (Vec::new(), Vec::new());
    let (mut actions, mut roused) = (Vec::new(), Vec::new());
    let not_woken = |agent: &Agent, reason: &str| format!("{} could not be woken: {reason}", agent.name);
    for arrival in arrivals {
        let agent = &arrival.agent;
        match begin_wake(ctx, mesh, arrival, importance) {
            Ok((route, None)) => routes.push(route),
            Ok((route, Some((action, turns)))) => {
                actions.push(action);
                roused.push((routes.len(), agent, turns));
                routes.push(route);
            }
            Err(error) => {
                reasons.push(not_woken(agent, &error.message));
                routes.push(WakeRoute::None);
            }
        }
    }
    let agents = roused.iter().map(|(_, agent, _)| *agent);
    let failures = run_all(mesh, actions.into_iter().zip(agents));
    for ((number, agent, turns), failure) in roused.iter().zip(failures) {
        let reason = match failure {
            None => continue,
            Some(WakeFailure::Unsaid(reason)) => match uncount_turn(mesh, &agent.session, turns) {
                Ok(()) => reason,
                Err(error) => format!("{reason}; nor can it be recorded as idle: {error}"),
            },
            // Saying it again would be once too often. If no turn follows, the session counts as idle again.
            Some(WakeFailure::Unheard(reason)) => reason,
        };
        reasons.push(not_woken(agent, &reason));
        routes[*number] = WakeRoute::Prompt;
    }
    WakeResults { routes, failures: reasons }
}

/// The route of a message that has arrived; and, if this process is to wake the agent, how, and the turns before.
fn begin_wake(
    ctx: &Context,
    mesh: &Mesh,
    ArrivedMessage { agent, before }: &ArrivedMessage,
    importance: Importance,
) -> Result<(WakeRoute, Option<(WakeAction, MailTurns)>), CommandError> {
    let is_seen_to = matches!(before, WakeRoute::Waiter(_) | WakeRoute::Server);
    let route = if is_seen_to { *before } else { route(ctx, mesh, agent, importance)? };
    let Some(action) = route.action(ctx, agent) else { return Ok((route, None)) };
    // If another message is waking it, this one is handed over in the same turn.
    if !mesh.session_states().claim_wake(&agent.session)? {
        return Ok((route, None));
    }
    match count_turn(mesh, &agent.session) {
        Ok(turns) => Ok((route, Some((action, turns)))),
        Err(error) => {
            // Nobody wakes it, so the next message has to. If this fails too, it counts as idle again in a while.
            drop(mesh.session_states().set_idle_again(&agent.session));
            Err(error)
        }
    }
}

/// Runs all actions in parallel: each may take seconds.
fn run_all<'a>(
    mesh: &Mesh,
    actions: impl Iterator<Item = (WakeAction, &'a Agent)>,
) -> Vec<Option<WakeFailure>> {
    std::thread::scope(|scope| {
        let start =
            |(action, agent): (WakeAction, &'a Agent)| scope.spawn(move || action(mesh, agent, NUDGE).err());
        let started: Vec<_> = actions.map(start).collect();
        let a_bug = || Some(WakeFailure::Unsaid("a bug in msg".to_string()));
        started.into_iter().map(|it| it.join().unwrap_or_else(|_| a_bug())).collect()
    })
}

/// Wakes agents to which the program itself wrote while a command ran. Returns what failed.
pub(super) fn wake_notified(ctx: &Context, told: &[AgentName]) -> Vec<String> {
    if told.is_empty() {
        return Vec::new();
    }
    let woken = ctx.mesh().and_then(|mesh| {
        let Some(mesh) = mesh else { return Ok(Vec::new()) };
        let census = mesh.registry().local_census()?;
        let is_told = |record: &&Registration| told.iter().any(|name| name.is_spelled_as(&record.agent.name));
        let agents = census.records.into_iter().filter(|record| is_told(&record)).map(|record| record.agent);
        let arrivals: Vec<ArrivedMessage> =
            agents.map(|agent| ArrivedMessage { agent, before: WakeRoute::None }).collect();
        Ok(wake_recipients(ctx, &mesh, &arrivals, Importance::Normal).failures)
    });
    woken.unwrap_or_else(|error| vec![format!("agents that were notified could not be woken: {error}")])
}

/// The idle ones among them: somebody has to wake them.
pub(super) fn idle_agents(ctx: &Context, told: Vec<AgentName>) -> Vec<AgentName> {
    if told.is_empty() || !is_wanted(ctx) {
        return Vec::new();
    }
    let Ok(Some(mesh)) = ctx.mesh() else { return Vec::new() };
    let is_resting = |name: &AgentName| {
        let agent = mesh.registry().get(name).ok().flatten().map(|record| record.agent);
        agent.is_some_and(|agent| {
            mesh.session_states().get(&agent.session).is_ok_and(|it| it == SessionState::Idle)
        })
    };
    told.into_iter().filter(is_resting).collect()
}

/// Wakes agents that another process of ours wrote to, if they still have mail: they may have read it by now, and
/// anybody can call this with any name.
pub fn wake_if_unread(op: &Op, names: &[AgentName]) {
    for name in names {
        match has_mail(op, name) {
            Ok(true) => op.wake(name),
            Ok(false) => {}
            Err(error) => op.warn(format!("{name} could not be woken: {error}")),
        }
    }
}

fn has_mail(ctx: &Context, name: &AgentName) -> Result<bool, CommandError> {
    let Some(mesh) = ctx.mesh()? else { return Ok(false) };
    let Some(record) = mesh.registry().get(name)? else { return Ok(false) };
    is_worth_a_turn(&mesh, &record.agent)
}

/// Whether there is mail that is not of low importance.
pub(super) fn is_worth_a_turn(mesh: &Mesh, agent: &Agent) -> Result<bool, CommandError> {
    if mesh.inboxes().unread_count(agent)? == 0 {
        return Ok(false);
    }
    let scan = mesh.inboxes().scan(agent)?;
    Ok(scan.in_hand > 0 || scan.waiting.iter().any(|waiting| waiting.message.importance != Importance::Low))
}

/// Counts a turn before it starts: after a crash, one turn too few is better than one too many each time. Returns the
/// count before.
fn count_turn(mesh: &Mesh, session: &SessionId) -> Result<MailTurns, CommandError> {
    let turns = mesh.hooks().mail_turns(session)?;
    mesh.hooks().set_mail_turns(session, &MailTurns { count: turns.count + 1, said: NUDGE.to_string() })?;
    Ok(turns)
}

/// Undoes [`count_turn`] after a session was told nothing: it is idle again. A turn that its user began meanwhile is
/// left as it is.
fn uncount_turn(mesh: &Mesh, session: &SessionId, before: &MailTurns) -> Result<(), CommandError> {
    let counted = MailTurns { count: before.count + 1, said: NUDGE.to_string() };
    if mesh.session_states().set_idle_again(session)? && mesh.hooks().mail_turns(session)? == counted {
        mesh.hooks().set_mail_turns(session, before)?;
    }
    Ok(())
}

fn may_paste(ctx: &Context) -> bool {
    ctx.settings.wake.may_paste
}

fn is_wanted(ctx: &Context) -> bool {
    ctx.settings.wake.is_enabled
}

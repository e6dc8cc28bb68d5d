//! Waking an agent that rests: a ladder of ways, and the first that leads up is taken.
//!
//! Who rests is known from its hooks. A harness that can keep a process of ours at the side of a session that rests (a
//! *waiter*) is woken by that; one that takes prompts from outside is woken by the sender. Whichever it is, whoever
//! renames `resting` to `working` is the only one who wakes, and mail itself is never in what wakes: it comes by the hook
//! of the turn that begins, marked as a peer's. Every wake counts as a turn of `mailTurns`.

mod health;
mod paste;
mod queue;
mod waiter;

use crate::domain::settings::Value;
use crate::domain::{Agent, Harness, Importance, Liveness, SessionId};
use crate::store::{Activity, Mesh, Turns};
use crate::sys::process;

use super::context::Context;
use super::error::CommandError;

pub(super) use health::{describe, probe};
pub use waiter::{Waited, wait};

/// What wakes an agent, where it is shown as its user's words too. The mail itself comes by the hook of the turn that this
/// starts.
pub(super) const NUDGE: &str =
    "[msg] There is mail for you from other agents. It stands below; what does not, `msg read` shows.";

/// How a message gets to its recipient's attention.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rung {
    /// It is at work: its next hook hands the message over.
    Hook,
    /// It rests, and a process of ours that waits at its side wakes it.
    Waiter(Harness),
    /// It rested, and was given a prompt from outside.
    Queue,
    /// It rested, and our sentence was typed for it.
    Paste,
    /// It rests, and nothing of ours can wake it: the message comes with its user's next prompt.
    Prompt,
    /// Nothing is known of its turns, or nobody is to be woken.
    None,
}

impl Rung {
    const ALL: [Self; 9] = [
        Self::Hook,
        Self::Waiter(Harness::Claude),
        Self::Waiter(Harness::Opencode),
        Self::Waiter(Harness::Pi),
        Self::Waiter(Harness::Other),
        Self::Queue,
        Self::Paste,
        Self::Prompt,
        Self::None,
    ];

    /// The inverse of [`Rung::name`].
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rung| rung.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Waiter(Harness::Claude) => "rewake",
            Self::Waiter(Harness::Opencode) => "plugin",
            Self::Waiter(Harness::Pi) => "extension",
            Self::Waiter(_) => "waiter",
            Self::Queue => "queue",
            Self::Paste => "paste",
            Self::Prompt => "prompt",
            Self::None => "none",
        }
    }

    /// In a few words, for a person.
    pub fn explained(self) -> Option<&'static str> {
        match self {
            Self::Hook => Some("it is at work and gets this at its next step"),
            Self::Waiter(_) | Self::Queue | Self::Paste => Some("it rested, and is woken"),
            Self::Prompt => Some("it rests, and gets this with its next prompt"),
            Self::None => None,
        }
    }
}

/// How a message would get to the recipient's attention as things are.
pub(super) fn rung(
    ctx: &Context,
    mesh: &Mesh,
    agent: &Agent,
    importance: Importance,
) -> Result<Rung, CommandError> {
    if importance == Importance::Low || agent.is_foreign() || !is_wanted(ctx) {
        return Ok(Rung::None);
    }
    match mesh.activity(&agent.session)? {
        Activity::Unknown => return Ok(Rung::None),
        Activity::Working => return Ok(Rung::Hook),
        Activity::Resting => {}
    }
    if mesh.turns(&agent.session)?.count >= ctx.settings.mail_turns() {
        return Ok(Rung::Prompt);
    }
    let waiter = mesh.waiter(&agent.session)?;
    if waiter.is_some_and(|waiter| process::liveness(&waiter) != Liveness::Gone) {
        return Ok(Rung::Waiter(agent.harness.unwrap_or(Harness::Other)));
    }
    Ok(match agent.harness {
        Some(Harness::Codex) => Rung::Queue,
        _ if may_paste(ctx) && paste::is_possible(agent) => Rung::Paste,
        _ => Rung::Prompt,
    })
}

/// Does what is the sender's part once the message has arrived. `before` is how things were until then: a waiter may have
/// been quicker than we are.
pub(super) fn on_arrival(
    ctx: &Context,
    mesh: &Mesh,
    agent: &Agent,
    importance: Importance,
    before: Rung,
) -> Result<Rung, CommandError> {
    if matches!(before, Rung::Waiter(_)) {
        return Ok(before);
    }
    let rung = rung(ctx, mesh, agent, importance)?;
    let wake = match rung {
        Rung::Queue => queue::prompt,
        Rung::Paste => paste::paste,
        _ => return Ok(rung),
    };
    if !mesh.rouse(&agent.session)? {
        // Somebody else's message wakes it, and this one with it.
        return Ok(rung);
    }
    let turns = count_turn(mesh, &agent.session)?;
    let Err(reason) = wake(agent, NUDGE) else { return Ok(rung) };
    mesh.set_turns(&agent.session, &turns)?;
    mesh.note_resting(&agent.session)?;
    ctx.notice(format!("{} could not be woken: {reason}", agent.name));
    Ok(Rung::Prompt)
}

/// Is there mail that is not of low importance?
pub(super) fn is_worth_a_turn(mesh: &Mesh, agent: &Agent) -> Result<bool, CommandError> {
    if mesh.unread(agent)? == 0 {
        return Ok(false);
    }
    let scan = mesh.look(agent)?;
    Ok(scan.in_hand > 0 || scan.waiting.iter().any(|waiting| waiting.message.importance != Importance::Low))
}

/// Counted before it is done: a turn that is lost is better than one too many, time and again. Returns what was counted
/// until now.
fn count_turn(mesh: &Mesh, session: &SessionId) -> Result<Turns, CommandError> {
    let turns = mesh.turns(session)?;
    mesh.set_turns(session, &Turns { count: turns.count + 1, said: NUDGE.to_string() })?;
    Ok(turns)
}

fn may_paste(ctx: &Context) -> bool {
    matches!(ctx.settings.get("wake"), Ok((Value::Wake { paste: true, .. }, _)))
}

fn is_wanted(ctx: &Context) -> bool {
    !matches!(ctx.settings.get("wake"), Ok((Value::Wake { enabled: false, .. }, _)))
}

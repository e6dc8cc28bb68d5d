//! Posts to an agent, not to a name: an agent that takes the recipient's name meanwhile gets nothing.
//!
//! A check before posting proves nothing, because the recipient may leave between the check and the post. So its
//! registration is read again afterwards. If the recipient is gone, the message is taken back under `mesh.lock`, unless
//! it was moved along with the recipient's mail.

use jiff::Timestamp;

use crate::domain::{Agent, AgentName, Importance, Message, format_duration};
use crate::store::{LockedMesh, Mesh, Outbox, Posted, StoreError, iso};
use crate::sys::clock;

use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// Takes the lock of the sender's outbox. The caller says whose: here nobody chooses in whose name to send.
pub(in crate::ops) type LockOutbox<'f, 'm> = dyn Fn() -> Result<Outbox<'m>, StoreError> + 'f;

/// A text to send, and how.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops) struct OutgoingText<'a> {
    pub(in crate::ops) text: &'a str,
    pub(in crate::ops) importance: Importance,
    /// Nobody gets it after that.
    pub(in crate::ops) expires_at: Option<Timestamp>,
}

impl<'a> OutgoingText<'a> {
    pub(in crate::ops) fn new(text: &'a str) -> Self {
        Self { text, importance: Importance::Normal, expires_at: None }
    }

    /// pi-messenger knows of no expiry.
    fn as_understood_by(&self, to: &Agent) -> Self {
        let expires_at = self.expires_at.filter(|_| !to.is_foreign());
        Self { expires_at, ..*self }
    }
}

/// Posts a text to each agent, in order, as `from`. Returns the present name of each that got it.
///
/// The sender's lock is taken once for all, and `mesh.lock` once for those that can't be found without it.
pub(in crate::ops) fn post_texts(
    op: &Op,
    mesh: &Mesh,
    from: &AgentName,
    lock: &LockOutbox<'_, '_>,
    texts: &[(&Agent, OutgoingText<'_>)],
) -> Vec<Result<AgentName, CommandError>> {
    let mut outbox = match lock() {
        Ok(outbox) => outbox,
        Err(error) => {
            let error = CommandError::from(error);
            return texts.iter().map(|_| Err(error.clone())).collect();
        }
    };
    let attempts: Vec<_> =
        texts.iter().map(|(to, text)| attempt(mesh, &mut outbox, from, to, text)).collect();
    drop(outbox);
    let needs_lock =
        |attempt: &Result<Attempt, _>| matches!(attempt, Ok(Attempt::Absent | Attempt::Unsure(_)));
    let locked = match attempts.iter().any(needs_lock) {
        true => Some(mesh.lock().map_err(CommandError::from)),
        false => None,
    };
    let settle_one = |((to, text), attempt): (&(&Agent, OutgoingText<'_>), _)| match (attempt?, &locked) {
        (Attempt::Absent, Some(Ok(locked))) => find_and_post(lock, locked, from, to, text),
        (Attempt::Absent, Some(Err(error))) => Err(error.clone()),
        (Attempt::Unsure(posted), Some(locked)) => {
            settle(op, mesh, locked.as_ref(), from, to, &posted).map(|()| to.name.clone())
        }
        (Attempt::Arrived | Attempt::Absent | Attempt::Unsure(_), _) => Ok(to.name.clone()),
    };
    texts.iter().zip(attempts).map(settle_one).collect()
}

enum Attempt {
    Arrived,
    /// The recipient, or its inbox, is not there under the name that it had.
    Absent,
    /// It was posted, but the recipient's registration disappeared meanwhile.
    Unsure(Box<Posted>),
}

fn attempt(
    mesh: &Mesh,
    outbox: &mut Outbox<'_>,
    from: &AgentName,
    to: &Agent,
    text: &OutgoingText<'_>,
) -> Result<Attempt, CommandError> {
    if to.is_remote() {
        let stamp = outbox.stamp()?;
        let OutgoingText { text, importance, expires_at } = *text;
        let message = Message { importance, expires_at, ..Message::new(stamp, from, &to.name, text) };
        return Ok(match outbox.post_to(stamp, to, message)? {
            Some(_) => Attempt::Arrived,
            None => Attempt::Absent,
        });
    }
    // Not the proof, but another agent that has the name by now would see the message for a moment.
    if !is_registered(mesh, to) {
        return Ok(Attempt::Absent);
    }
    let Some(posted) = post_text(outbox, from, &to.name, &text.as_understood_by(to))? else {
        return Ok(Attempt::Absent);
    };
    Ok(if is_registered(mesh, to) { Attempt::Arrived } else { Attempt::Unsure(Box::new(posted)) })
}

/// Posts one text. `None`: there is no such inbox.
pub(in crate::ops) fn post_text(
    outbox: &mut Outbox<'_>,
    from: &AgentName,
    to: &AgentName,
    text: &OutgoingText<'_>,
) -> Result<Option<Posted>, CommandError> {
    let stamp = outbox.stamp()?;
    let OutgoingText { text, importance, expires_at } = *text;
    let message = Message { importance, expires_at, ..Message::new(stamp, from, to, text) };
    Ok(outbox.post(stamp, to, message)?)
}

/// Posts to an agent under whatever name it has now. While `mesh.lock` is held, nobody is buried or renamed.
fn find_and_post(
    lock: &LockOutbox<'_, '_>,
    locked: &LockedMesh<'_>,
    from: &AgentName,
    to: &Agent,
    text: &OutgoingText<'_>,
) -> Result<AgentName, CommandError> {
    let name = locked.own_record(to).map_err(|_| just_left(&to.name))?.agent.name;
    let no_inbox = || CommandError::new(CommandErrorKind::NotRunning, format!("{name} has no inbox"));
    post_text(&mut lock()?, from, &name, &text.as_understood_by(to))?.ok_or_else(no_inbox)?;
    Ok(name)
}

/// Whether the agent's registration is still under its name. One that can't be read keeps its name.
pub(super) fn is_registered(mesh: &Mesh, agent: &Agent) -> bool {
    match mesh.registry().get(&agent.name) {
        Ok(record) => record.is_some_and(|there| is_of(&there.agent, agent)),
        Err(_) => true,
    }
}

/// Decides about a message whose recipient disappeared while it was posted.
///
/// Either the recipient's mail, including this message, was moved to its grave or its new name, or this message is
/// where nobody, or somebody else, will look: then it is taken back, and that is an error. Without the lock we can't
/// know: only if it can be taken back is it not sent.
pub(super) fn settle(
    op: &Op,
    mesh: &Mesh,
    locked: Result<&LockedMesh<'_>, &CommandError>,
    from: &AgentName,
    agent: &Agent,
    posted: &Posted,
) -> Result<(), CommandError> {
    match locked.map_err(CommandError::clone).and_then(|locked| is_there(op, mesh, locked, agent)) {
        Ok(true) => Ok(()),
        Ok(false) if take_back(op, mesh, from, &agent.name, posted)? => Err(just_left(&agent.name)),
        Ok(false) => Ok(()),
        Err(why) => {
            match take_back(op, mesh, from, &agent.name, posted) {
                Ok(true) => return Err(why),
                Ok(false) => {}
                Err(error) => op.warn(format!("the message could not be taken back: {error}")),
            }
            let name = &agent.name;
            op.warn(format!("the message was sent, but it is unclear whether {name} has left: {why}"));
            Ok(())
        }
    }
}

/// Whether the agent reads what is in the inbox of that name.
fn is_there(op: &Op, mesh: &Mesh, locked: &LockedMesh<'_>, agent: &Agent) -> Result<bool, CommandError> {
    let census = mesh.registry().local_census()?;
    // A pi-messenger agent never looks at its old inbox again.
    for (old, new) in locked.forward_orphans(&census)? {
        op.warn(format!("{old} is called {new} now; mail in its old inbox was forwarded"));
    }
    let has_name = |now: &Agent| now.all_names().any(|name| *name == agent.name);
    Ok(census.records.iter().any(|record| is_of(&record.agent, agent) && has_name(&record.agent)))
}

/// Takes a message back; `false` if it is no longer in the inbox. One that was taken back counts as not sent, even if
/// its record is left.
fn take_back(
    op: &Op,
    mesh: &Mesh,
    from: &AgentName,
    to: &AgentName,
    posted: &Posted,
) -> Result<bool, CommandError> {
    let is_back = mesh.outboxes().retract(to, posted)?;
    if is_back && let Err(error) = mesh.outboxes().forget_sent(from, to, posted) {
        op.warn(format!("the record of a message that was taken back is left: {error}"));
    }
    Ok(is_back)
}

/// Whether this is the agent that we saw: the same session, or the same name and process.
fn is_of(now: &Agent, seen: &Agent) -> bool {
    let has_name = now.all_names().any(|name| *name == seen.name);
    now.session == seen.session || has_name && now.process == seen.process
}

pub(super) fn just_left(name: &AgentName) -> CommandError {
    not_running(name, "it has just left", clock::now())
}

pub(super) fn not_running(name: &AgentName, why: &str, since: jiff::Timestamp) -> CommandError {
    CommandError::new(
        CommandErrorKind::NotRunning,
        format!("{name} has been gone for {}: {why}", format_duration(clock::now().duration_since(since))),
    )
    .hint("`--hold` keeps the message until it comes back")
    .fact("agent", name.as_str())
    .fact("since", iso(since))
}

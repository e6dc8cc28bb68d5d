//! Puts a message from another machine where its recipient finds it: into its inbox, or into the grave of a session that
//! may come back.

use super::failure::{MailFailure, is_of_recipient, of_recipient};
use crate::domain::{Agent, Message, SessionId};
use crate::ops::agents::list::grave_of;
use crate::store::{Mesh, OwedReceipt, Registration, SentMessageLocation, SessionRecord};
use crate::sys::clock;

/// What became of a message for this machine.
pub(super) enum MailArrival {
    /// It is in an inbox.
    Delivered(Box<Agent>, Box<Message>),
    /// There is nothing more to do: it came before, or it is in the grave of a session that may come back.
    Settled,
    /// Nobody here is meant by it.
    ForNobody,
}

/// Puts a message where its recipient finds it. It is remembered that its sender is to be told, under the name that the
/// sender wrote to, whatever its agent is called now. The server has brought it that many times.
pub(super) fn deliver(
    mesh: &Mesh,
    owed: &OwedReceipt,
    message: &Message,
    tries: u64,
) -> Result<MailArrival, MailFailure> {
    let OwedReceipt { stem, to, .. } = owed;
    // While the lock is held, nobody is buried or renamed.
    let locked = mesh.lock()?;
    let found = recipient(mesh, owed, message)?;
    let session = message.to_session.as_ref();
    // In the inbox that need not be said any more.
    let message = &Message { to_session: None, to_machine: None, ..message.clone() };
    // It comes again if this process was killed before it could say that it has it.
    let is_direct = found.as_ref().is_some_and(|agent| agent.name.is_spelled_as(to));
    let is_known = is_direct && mesh.inboxes().knows(to, stem).map_err(of_recipient)?
        // Its agent may have another name now, or may have had one when it came before.
        || (!is_direct || tries > 1) && is_anywhere(mesh, owed)?;
    if is_known {
        mesh.remote().owe(owed)?;
        return Ok(MailArrival::Settled);
    }
    let arrival = match found {
        Some(agent) => {
            locked.make_inbox(&agent.name).map_err(of_recipient)?;
            locked.deliver(&agent.name, stem, message).map_err(of_recipient)?;
            MailArrival::Delivered(Box::new(agent), Box::new(message.clone()))
        }
        None => {
            let graves = match session {
                Some(session) => mesh.graves().of_session(session)?,
                None => grave_of(mesh, to)?.map(|(_, grave)| grave.id).into_iter().collect(),
            };
            let mut is_kept = false;
            for grave in &graves {
                let kept = locked.was_delivered_to_grave(grave, stem, message).map_err(of_recipient)?;
                is_kept = is_kept || kept;
            }
            if !is_kept {
                return Ok(MailArrival::ForNobody);
            }
            MailArrival::Settled
        }
    };
    mesh.remote().owe(owed)?;
    Ok(arrival)
}

/// Whether the message is on this machine, under whatever name. What is damaged of others keeps back nobody's mail.
fn is_anywhere(mesh: &Mesh, owed: &OwedReceipt) -> Result<bool, MailFailure> {
    match mesh.outboxes().locate_sent(&[(owed.stem.clone(), owed.to.clone())]) {
        Ok(places) => Ok(places
            .iter()
            .any(|place| !matches!(place, SentMessageLocation::Nowhere | SentMessageLocation::Remote(_)))),
        Err(error) if is_of_recipient(&error) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The agent that is meant: the one of that session, whatever it is called now. Of an earlier `msg`, that of the name.
fn recipient(mesh: &Mesh, owed: &OwedReceipt, message: &Message) -> Result<Option<Agent>, MailFailure> {
    let to = &owed.to;
    let earlier = match &message.to_session {
        Some(session) => {
            mesh.sessions().get(session).map_err(of_recipient)?.filter(SessionRecord::is_current)
        }
        None => None,
    };
    let is_meant = |record: &Registration| {
        let is_his =
            |session: &SessionId| record.agent.session == *session || continues(record, earlier.as_ref());
        record.is_live() && message.to_session.as_ref().is_none_or(is_his)
    };
    let is_there = |record: &Registration| is_meant(record) && record.agent.name.is_spelled_as(to);
    if let Some(record) = mesh.registry().get(to).map_err(of_recipient)?.filter(is_there) {
        return Ok(Some(record.agent));
    }
    let census = mesh.registry().local_census()?;
    // Another agent may have the name by now.
    let found = match &message.to_session {
        Some(_) => census.records.iter().find(|record| is_meant(record)),
        None => census.find(to, clock::now()).filter(|record| record.is_live()),
    };
    Ok(found.map(|record| record.agent.clone()))
}

/// Whether the agent is the one of that earlier session: its harness gave it another id in the same process.
fn continues(record: &Registration, earlier: Option<&SessionRecord>) -> bool {
    earlier.is_some_and(|earlier| {
        let before = &earlier.last.agent;
        before.process == record.agent.process
            && record.agent.all_names().any(|name| name.is_spelled_as(&before.name))
    })
}

//! `msg receipt`: what became of a sent message.

use jiff::Timestamp;

use crate::domain::{AgentName, Liveness, Message, PeerText};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::elsewhere::why_it_waits;
use crate::store::{
    GraveId, Mesh, MessageLocation, MessageStem, OwnerlessInbox, Registration, RemoteDelivery, SeenRecord,
    SentMessageLocation, SentRecord,
};
use crate::sys::process;

use super::answers::{self, AnswerState};
use super::stored_messages::{only, unknown};

/// What became of a sent message.
#[derive(Clone, Debug)]
pub struct Receipt {
    pub message: Message,
    pub stem: MessageStem,
    pub state: &'static str,
    pub at: Option<Timestamp>,
    pub via: Option<String>,
    pub reason: Option<String>,
    /// How it was to get to the recipient's attention.
    pub wake: Option<String>,
    /// What became of the answer that it wants.
    pub answer: Option<AnswerState>,
}

pub fn receipt(op: &Op, id: &str) -> Result<Receipt, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let found = mesh.archive().find_sent(&caller.agent, id)?;
    if found.is_empty() && !mesh.archive().find(&caller.agent, id)?.is_empty() {
        let text = format!("`{}` is a message that you received", id.escape_debug());
        return Err(CommandError::new(CommandErrorKind::UnknownMessage, text)
            .hint("only messages you sent have a receipt"));
    }
    let filed = only(found, id)?;
    let MessageLocation::Sent(sent) = &filed.place else { return Err(unknown(id)) };
    let place = mesh.outboxes().locate_sent(&[(sent.stem.clone(), sent.to.clone())])?.pop();
    let place = place.unwrap_or(SentMessageLocation::Nowhere);
    let recorded = if let SentMessageLocation::Seen(seen) = &place { Some(seen) } else { None };
    let answer = answers::state_of_sent(&mesh, &caller.agent, &filed, recorded)?;
    let (state, at, via, reason) = match place {
        SentMessageLocation::Seen(seen) if seen.is_expired() => {
            let reason = format!("{} did not read it in time", sent.to);
            ("expired", Some(seen.at), Some(seen.via.text()), Some(reason))
        }
        SentMessageLocation::Seen(SeenRecord { at, via, acked, .. }) => {
            let state = if acked.is_some() { "acked" } else { "surfaced" };
            (state, Some(acked.unwrap_or(at)), Some(via.text()), None)
        }
        SentMessageLocation::Stored => {
            let reason = match orphaned(&mesh, &sent.to)? {
                Some(reason) => Some(reason),
                None => ended(&mesh, &sent.to)?,
            };
            ("stored", Some(filed.message.timestamp), None, reason)
        }
        SentMessageLocation::InHand => {
            ("stored", Some(filed.message.timestamp), None, Some("it is being handed over".to_string()))
        }
        SentMessageLocation::Offered(offer) => {
            let reason =
                format!("{} gave it to {}, which has not continued since", offer.via.text(), sent.to);
            ("stored", Some(filed.message.timestamp), None, Some(reason))
        }
        SentMessageLocation::Parked => {
            let reason = "it could not be handed over, and waits for `msg read`".to_string();
            ("stored", Some(filed.message.timestamp), None, Some(reason))
        }
        SentMessageLocation::Grave(grave) => ("gone", None, None, Some(in_grave(&mesh, &sent.to, &grave)?)),
        SentMessageLocation::Quarantine => {
            ("gone", None, None, Some("it could not be read, and was set aside".to_string()))
        }
        SentMessageLocation::Remote(delivery) => on_the_way(&mesh, sent, &delivery, filed.message.timestamp)?,
        SentMessageLocation::Nowhere => nowhere(&mesh, &sent.to)?,
    };
    let wake = sent.route.clone();
    Ok(Receipt { stem: sent.stem.clone(), message: filed.message, state, at, via, reason, wake, answer })
}

/// Explains mail in the inbox of a name that nobody has. If its owner is known, the mail is forwarded.
fn orphaned(mesh: &Mesh, to: &AgentName) -> Result<Option<String>, CommandError> {
    let is_orphan = |orphaned: &OwnerlessInbox| orphaned.name.is_spelled_as(to);
    let orphans = mesh.inboxes().orphans(&mesh.registry().local_census()?)?;
    let Some(OwnerlessInbox { now_called, .. }) = orphans.into_iter().find(is_orphan) else {
        return Ok(None);
    };
    let Some(new) = now_called else { return Ok(Some(format!("nobody is called {to} now"))) };
    if let Some(locked) = mesh.try_lock()? {
        locked.forward_orphans(&locked.local_census()?)?;
    }
    Ok(Some(format!("{to} is called {new} now, and gets it there")))
}

/// What will happen to a message in a grave.
fn in_grave(mesh: &Mesh, to: &AgentName, grave: &str) -> Result<String, CommandError> {
    let lost = GraveId::parse(grave).filter(GraveId::is_of_lost_mail);
    let is_for_nobody = match &lost {
        Some(grave) => mesh.graves().lost_mail_owner(grave)?.is_none(),
        None => false,
    };
    Ok(match is_for_nobody {
        true => format!("nobody was called {to} when it arrived; the message is kept in `graves/{grave}`"),
        false => format!("{to} is gone; it gets the message when it comes back"),
    })
}

/// Explains why a stored message will not be read soon: its recipient's process has ended, and it is not buried yet.
fn ended(mesh: &Mesh, to: &AgentName) -> Result<Option<String>, CommandError> {
    let record = mesh.registry().get(to)?;
    let has_ended = |record: &Registration| process::liveness(&record.agent.process) == Liveness::Gone;
    let reason = || format!("{to} has ended; it gets the message when it comes back");
    Ok(record.as_ref().is_some_and(has_ended).then(reason))
}

type ReceiptState = (&'static str, Option<Timestamp>, Option<String>, Option<String>);

/// What became of a message to another machine that nobody has read yet.
fn on_the_way(
    mesh: &Mesh,
    sent: &SentRecord,
    delivery: &RemoteDelivery,
    sent_at: Timestamp,
) -> Result<ReceiptState, CommandError> {
    let to = &sent.to;
    let machine = mesh.remote().agent(to)?.and_then(|record| record.agent.machine);
    let why_it_waits = machine.as_ref().and_then(|machine| why_it_waits(mesh, machine));
    let place = match &machine {
        Some(machine) => format!("{to} on {}", machine.name),
        None => format!("{to} on another machine"),
    };
    Ok(match delivery {
        RemoteDelivery::Queued => {
            let reason = why_it_waits.unwrap_or_else(|| match &machine {
                Some(machine) => format!("it is on its way to {}", machine.name),
                None => format!("it is kept here: {to} is on no machine that is known now"),
            });
            ("queued", Some(sent_at), None, Some(reason))
        }
        RemoteDelivery::Stored => {
            let reason = why_it_waits.map_or(String::new(), |why| format!("; {why}"));
            ("stored", Some(sent_at), None, Some(format!("it is safe on the server, for {place}{reason}")))
        }
        RemoteDelivery::Delivered => {
            ("delivered", None, None, Some(format!("it is in the inbox of {place}")))
        }
        RemoteDelivery::Refused => {
            let reason = match mesh.remote().why_refused(to, &sent.stem)? {
                Some(why) => format!("it could not be delivered to {place}: {}", PeerText::new(why).quoted()),
                None => {
                    format!("it could not be delivered to {place}, because nobody is called that there")
                }
            };
            ("gone", None, None, Some(reason))
        }
    })
}

/// Neither in the inbox nor in any record: pi-messenger deletes what it reads.
fn nowhere(mesh: &Mesh, to: &AgentName) -> Result<ReceiptState, CommandError> {
    let foreign = mesh.registry().get(to)?.is_some_and(|record| record.agent.is_foreign());
    let reason = if foreign {
        format!("{to} is an agent of pi-messenger, which keeps no record")
    } else {
        format!("it left the inbox of {to}, and the record of that is no longer kept")
    };
    Ok(("taken", None, None, Some(reason)))
}

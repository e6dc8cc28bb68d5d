//! Tells a sender, once, that nobody has read its question or its delegation for a quarter of an hour.
//!
//! The sender finds out by itself: when it stops, whenever it looks into its inbox, and through its waiter or MCP server
//! while it is idle. The notice is posted first, under `mesh.lock`, and recorded after that: of several processes one
//! tells it, and after a crash the next one does.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::domain::{Agent, Importance, MessageKind, Notice};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::notices::post_owed;
use crate::store::{LockedMesh, Mesh, RemoteDelivery, SentMessageLocation, UnreadReport};
use crate::sys::clock;

/// How often a process that goes on for long looks.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The most messages that a notice names.
const MOST_NAMED: usize = 5;

/// [`tell`] for a caller that looks again and again: once a minute, and an error does not hold up mail.
#[derive(Debug, Default)]
pub(in crate::ops) struct UnreadReporter {
    looked: Cell<Option<Instant>>,
}

impl UnreadReporter {
    pub(in crate::ops) fn tell_if_due(&self, op: &Op, mesh: &Mesh, agent: &Agent) {
        if self.looked.get().is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
            return;
        }
        self.looked.set(Some(Instant::now()));
        if let Err(error) = tell(mesh, agent) {
            op.warn(format!("cannot check which messages of {} are unread: {error}", agent.name));
        }
    }
}

/// Whose mail is unread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Recipient {
    Present,
    /// Its mail is in a grave.
    Gone,
}

/// Tells the agent which of its messages are unread for too long. If the lock is taken, the next call does it. Wakes
/// nobody, because the caller is about to look.
pub(in crate::ops) fn tell(mesh: &Mesh, agent: &Agent) -> Result<(), CommandError> {
    if !agent.is_ours() || mesh.outboxes().unread_reports_due(agent, clock::now())?.is_empty() {
        return Ok(());
    }
    let Some(locked) = mesh.try_lock()? else { return Ok(()) };
    // Another process may have told it before we had the lock.
    let due = mesh.outboxes().unread_reports_due(agent, clock::now())?;
    let places: Vec<_> =
        due.iter().map(|report| (report.sent.stem.clone(), report.sent.to.clone())).collect();
    let mut unread = Vec::new();
    for (report, place) in due.iter().zip(mesh.outboxes().locate_sent(&places)?) {
        match place {
            SentMessageLocation::Stored
            | SentMessageLocation::Parked
            | SentMessageLocation::Remote(
                RemoteDelivery::Queued | RemoteDelivery::Stored | RemoteDelivery::Delivered,
            ) => {
                unread.push((report, Recipient::Present));
            }
            SentMessageLocation::Grave(_) => unread.push((report, Recipient::Gone)),
            // It is about to be read. If not, it is stored again.
            SentMessageLocation::InHand | SentMessageLocation::Offered(_) => {}
            SentMessageLocation::Seen(_)
            | SentMessageLocation::Quarantine
            | SentMessageLocation::Remote(RemoteDelivery::Refused)
            | SentMessageLocation::Nowhere => {
                locked.settle_unread_report(report)?;
            }
        }
    }
    tell_of(&locked, mesh, agent, &unread)
}

fn tell_of(
    locked: &LockedMesh<'_>,
    mesh: &Mesh,
    agent: &Agent,
    unread: &[(&UnreadReport, Recipient)],
) -> Result<(), CommandError> {
    if unread.is_empty() || !post_owed(locked, mesh, &agent.name, &words(unread), Importance::Normal)? {
        return Ok(());
    }
    for (report, _) in unread {
        locked.settle_unread_report(report)?;
    }
    Ok(())
}

fn words(unread: &[(&UnreadReport, Recipient)]) -> Notice {
    let one = |(report, recipient): &(&UnreadReport, Recipient)| {
        let (state, prospect) = match recipient {
            Recipient::Present => (" has not read your ", " ago. It stays in the inbox."),
            Recipient::Gone => (" is gone, and has not read your ", " ago. It gets it if it comes back."),
        };
        let kind = report.sent.stem.kind().map_or("message", MessageKind::name);
        let age = clock::now().duration_since(report.sent_at);
        let notice = Notice::new().name(&report.sent.to).say(state).say(kind).say(" ");
        let notice = notice.own_arguments([report.sent.stem.short_id()], "ID").say(", sent ").duration(age);
        notice.say(prospect)
    };
    let notice = unread.iter().take(MOST_NAMED).map(one).fold(Notice::new(), |all, one| all.and(&one));
    match unread.len().saturating_sub(MOST_NAMED) {
        0 => notice,
        more => notice.and(&Notice::new().number(more).say(" more are unread.")),
    }
}

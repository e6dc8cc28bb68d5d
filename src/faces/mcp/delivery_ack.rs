//! Confirms delivery: tells the op that took mail whether the answer with that mail was written.
//!
//! An answer that never arrives (the call was cancelled, the client is gone or does not read) drops its [`Ticket`] or
//! leaves it waiting for too long. In both cases the [`Stub`] reports that nobody was reached, and the mail is put
//! back. An answer that was withdrawn in time is not written any more, so that the mail is not delivered twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, after, bounded, select};
use rmcp::model::RequestId;

use crate::ops::Reached;

/// Time limit for writing an answer; a client that takes longer does not read.
const LIMIT: Duration = Duration::from_secs(10);

/// Travels with the answer.
#[derive(Debug)]
pub(super) struct Ticket {
    standing: Arc<Mutex<Standing>>,
    outcome: Sender<Reached>,
}

/// Stays with the op that holds the mail.
#[derive(Debug)]
pub(super) struct Stub {
    standing: Arc<Mutex<Standing>>,
    outcome: Receiver<Reached>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Standing {
    OnItsWay,
    BeingWritten,
    Withdrawn,
}

pub(super) fn issue() -> (Ticket, Stub) {
    let standing = Arc::new(Mutex::new(Standing::OnItsWay));
    let (sender, receiver) = bounded(1);
    let ticket = Ticket { standing: Arc::clone(&standing), outcome: sender };
    (ticket, Stub { standing, outcome: receiver })
}

impl Ticket {
    /// Whether the answer may be written. If so, it can no longer be withdrawn.
    pub(super) fn begin(&self) -> bool {
        self.move_to(Standing::BeingWritten) == Standing::BeingWritten
    }

    pub(super) fn end(self, reached: Reached) {
        // If nobody waits any more, the mail has been put back.
        let _ = self.outcome.send(reached);
    }

    fn move_to(&self, next: Standing) -> Standing {
        advance(&self.standing, next)
    }
}

impl Stub {
    /// Waits until the answer was written or never will be.
    pub(super) fn outcome(self, closing: &Receiver<()>) -> Reached {
        let given_up = select! {
            recv(self.outcome) -> outcome => return outcome.unwrap_or(Reached::No),
            recv(closing) -> _ => Standing::Withdrawn,
            recv(after(LIMIT)) -> _ => Standing::Withdrawn,
        };
        advance(&self.standing, given_up);
        // It may have been written just now.
        self.outcome.try_recv().unwrap_or(Reached::No)
    }
}

/// Only the first change from [`Standing::OnItsWay`] counts. Returns the standing afterwards.
fn advance(standing: &Mutex<Standing>, next: Standing) -> Standing {
    let mut standing = standing.lock().unwrap_or_else(PoisonError::into_inner);
    if *standing == Standing::OnItsWay {
        *standing = next;
    }
    *standing
}

/// The tickets of answers that were passed to the SDK, by request id.
#[derive(Clone, Debug, Default)]
pub(super) struct Tickets(Arc<Mutex<HashMap<RequestId, Ticket>>>);

impl Tickets {
    /// If a client uses an id twice, the first ticket is kept.
    pub(super) fn keep(&self, id: RequestId, ticket: Ticket) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_insert(ticket);
    }

    pub(super) fn take(&self, id: &RequestId) -> Option<Ticket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_reached_its_reader() {
        let (ticket, stub) = issue();
        assert!(ticket.begin());
        ticket.end(Reached::Yes);
        assert_eq!(stub.outcome(&crossbeam_channel::never()), Reached::Yes);
    }

    #[test]
    fn an_answer_that_is_dropped_reached_nobody() {
        let (ticket, stub) = issue();
        drop(ticket);
        assert_eq!(stub.outcome(&crossbeam_channel::never()), Reached::No);
    }

    #[test]
    fn what_was_withdrawn_is_not_written() {
        let (ticket, stub) = issue();
        let (closer, closing) = bounded::<()>(0);
        drop(closer);
        assert_eq!(stub.outcome(&closing), Reached::No);
        assert!(!ticket.begin());
    }
}

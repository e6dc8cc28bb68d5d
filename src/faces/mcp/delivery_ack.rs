//! What is in hand while its answer is on its way: who took it is told whether the answer was written.
//!
//! An answer that never gets there (the call was cancelled, the client is gone or doesn't read) drops its [`Ticket`], or
//! leaves it waiting for too long; either way the [`Stub`] says that nobody was reached, and the mail goes back. An answer
//! that is withdrawn in time is not written any more, so that what it said is not said twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, after, bounded, select};
use rmcp::model::RequestId;

use crate::ops::Reached;

/// A client that takes longer than this to read an answer doesn't read.
const LIMIT: Duration = Duration::from_secs(10);

/// Goes with the answer.
#[derive(Debug)]
pub(super) struct Ticket {
    standing: Arc<Mutex<Standing>>,
    outcome: Sender<Reached>,
}

/// Stays with what is in hand.
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
    /// May the answer be written? From now on it can't be withdrawn.
    pub(super) fn begin(&self) -> bool {
        self.move_to(Standing::BeingWritten) == Standing::BeingWritten
    }

    pub(super) fn end(self, reached: Reached) {
        // Whoever no longer waits has put it back.
        let _ = self.outcome.send(reached);
    }

    fn move_to(&self, next: Standing) -> Standing {
        advance(&self.standing, next)
    }
}

impl Stub {
    /// Waits until the answer was written, or will not be.
    pub(super) fn outcome(self, closing: &Receiver<()>) -> Reached {
        let given_up = select! {
            recv(self.outcome) -> outcome => return outcome.unwrap_or(Reached::No),
            recv(closing) -> _ => Standing::Withdrawn,
            recv(after(LIMIT)) -> _ => Standing::Withdrawn,
        };
        advance(&self.standing, given_up);
        // It may have been written in this very moment.
        self.outcome.try_recv().unwrap_or(Reached::No)
    }
}

/// Nothing comes after the first that leaves [`Standing::OnItsWay`].
fn advance(standing: &Mutex<Standing>, next: Standing) -> Standing {
    let mut standing = standing.lock().unwrap_or_else(PoisonError::into_inner);
    if *standing == Standing::OnItsWay {
        *standing = next;
    }
    *standing
}

/// The tickets of answers that the SDK has, by the id of the request.
#[derive(Clone, Debug, Default)]
pub(super) struct Tickets(Arc<Mutex<HashMap<RequestId, Ticket>>>);

impl Tickets {
    /// A client that uses an id twice gets what the first one is about.
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

//! Tells the op that took mail whether the answer with that mail was written to the client.
//!
//! An answer that never arrives (the call was cancelled, the client is gone or does not read) drops its
//! [`HandoverSender`] or leaves it waiting for too long. In both cases the [`HandoverReceiver`] reports that nobody was
//! reached, and the mail is put back. An answer that was withdrawn in time is not written any more, so that the mail is
//! not delivered twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, after, bounded, select};
use rmcp::model::RequestId;

use crate::ops::HandoverOutcome;

/// Time limit for writing an answer; a client that takes longer does not read.
const LIMIT: Duration = Duration::from_secs(10);

/// Travels with the answer.
#[derive(Debug)]
pub(super) struct HandoverSender {
    standing: Arc<Mutex<AckState>>,
    outcome: Sender<HandoverOutcome>,
}

/// Stays with the op that holds the mail.
#[derive(Debug)]
pub(super) struct HandoverReceiver {
    standing: Arc<Mutex<AckState>>,
    outcome: Receiver<HandoverOutcome>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AckState {
    OnItsWay,
    BeingWritten,
    Withdrawn,
}

pub(super) fn issue() -> (HandoverSender, HandoverReceiver) {
    let standing = Arc::new(Mutex::new(AckState::OnItsWay));
    let (sender, receiver) = bounded(1);
    let ticket = HandoverSender { standing: Arc::clone(&standing), outcome: sender };
    (ticket, HandoverReceiver { standing, outcome: receiver })
}

impl HandoverSender {
    /// Whether the answer may be written. If so, it can no longer be withdrawn.
    pub(super) fn begin(&self) -> bool {
        self.move_to(AckState::BeingWritten) == AckState::BeingWritten
    }

    pub(super) fn end(self, reached: HandoverOutcome) {
        // If nobody waits any more, the mail has been put back.
        let _ = self.outcome.send(reached);
    }

    fn move_to(&self, next: AckState) -> AckState {
        advance(&self.standing, next)
    }
}

impl HandoverReceiver {
    /// Waits until the answer was written or never will be.
    pub(super) fn outcome(self, closing: &Receiver<()>) -> HandoverOutcome {
        let given_up = select! {
            recv(self.outcome) -> outcome => return outcome.unwrap_or(HandoverOutcome::ReaderGone),
            recv(closing) -> _ => AckState::Withdrawn,
            recv(after(LIMIT)) -> _ => AckState::Withdrawn,
        };
        advance(&self.standing, given_up);
        // It may have been written just now.
        self.outcome.try_recv().unwrap_or(HandoverOutcome::ReaderGone)
    }
}

/// Only the first change from [`AckState::OnItsWay`] counts. Returns the standing afterwards.
fn advance(standing: &Mutex<AckState>, next: AckState) -> AckState {
    let mut standing = standing.lock().unwrap_or_else(PoisonError::into_inner);
    if *standing == AckState::OnItsWay {
        *standing = next;
    }
    *standing
}

/// The tickets of answers that were passed to the SDK, by request id.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingHandovers(Arc<Mutex<HashMap<RequestId, HandoverSender>>>);

impl PendingHandovers {
    /// If a client uses an id twice, the first ticket is kept.
    pub(super) fn keep(&self, id: RequestId, ticket: HandoverSender) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_insert(ticket);
    }

    pub(super) fn take(&self, id: &RequestId) -> Option<HandoverSender> {
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
        ticket.end(HandoverOutcome::Delivered);
        assert_eq!(stub.outcome(&crossbeam_channel::never()), HandoverOutcome::Delivered);
    }

    #[test]
    fn an_answer_that_is_dropped_reached_nobody() {
        let (ticket, stub) = issue();
        drop(ticket);
        assert_eq!(stub.outcome(&crossbeam_channel::never()), HandoverOutcome::ReaderGone);
    }

    #[test]
    fn what_was_withdrawn_is_not_written() {
        let (ticket, stub) = issue();
        let (closer, closing) = bounded::<()>(0);
        drop(closer);
        assert_eq!(stub.outcome(&closing), HandoverOutcome::ReaderGone);
        assert!(!ticket.begin());
    }
}

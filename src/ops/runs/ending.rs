//! Why and when a worker that is running is made to end.

use std::time::{Duration, Instant};

use crate::domain::runs::RunState;

/// How long a worker that is stopped has to wrap up.
pub(super) const WRAP_UP: Duration = Duration::from_secs(30);

/// Why a worker that is running is made to end.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) state: RunState,
    pub(super) reason: String,
    /// When it is asked to end, if it has not.
    pub(super) terminate_at: Instant,
    pub(super) is_terminated: bool,
}

impl Ending {
    /// Makes the worker end at that time. The first reason counts, but a later one may be sooner.
    pub(super) fn set(ending: &mut Option<Self>, state: RunState, reason: String, terminate_at: Instant) {
        match ending {
            Some(ending) => ending.terminate_at = ending.terminate_at.min(terminate_at),
            None => *ending = Some(Self { state, reason, terminate_at, is_terminated: false }),
        }
    }

    /// When it is to be asked to end, if it was not.
    pub(super) fn due(ending: Option<&Self>) -> Option<Instant> {
        ending.filter(|ending| !ending.is_terminated).map(|ending| ending.terminate_at)
    }

    /// Whether it is to be asked to end now. It is asked once.
    pub(super) fn has_become_due(ending: &mut Option<Self>, now: Instant) -> bool {
        match ending.as_mut().filter(|ending| !ending.is_terminated && ending.terminate_at <= now) {
            Some(ending) => {
                ending.is_terminated = true;
                true
            }
            None => false,
        }
    }
}

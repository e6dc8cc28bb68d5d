//! Following the whole ledger: somebody watches all runs. Nothing is changed, and nothing is stopped by it.

use std::time::Duration;

use crossbeam_channel::{after, select};

use crate::domain::runs::Run;
use crate::sys::signals::StopRequest;

use super::elsewhere::listing::all_runs;
use super::list::RunScope;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::messages::receive::HandoverOutcome;
use crate::ops::messages::watch::WatchEnd;

/// How often to look: progress is written often, and no file reports a death.
const TICK: Duration = Duration::from_secs(1);

/// Shows the runs, about every second, until it is asked to stop or nobody reads any more.
pub fn follow_all(
    op: &Op,
    scope: RunScope,
    stop: &StopRequest,
    mut show: impl FnMut(&[Run]) -> HandoverOutcome,
) -> Result<WatchEnd, CommandError> {
    loop {
        if matches!(show(&all_runs(op, scope)?), HandoverOutcome::ReaderGone) {
            return Ok(WatchEnd::Closed);
        }
        if stop.is_requested() {
            return Ok(WatchEnd::Stopped);
        }
        select! {
            recv(stop.wake()) -> _ => {}
            recv(after(TICK)) -> _ => {}
        }
    }
}

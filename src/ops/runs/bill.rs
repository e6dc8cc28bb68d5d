//! `msg runs --bill`: what runs cost.

use jiff::{SignedDuration, Timestamp};

use crate::domain::runs::{Bill, Run};
use crate::sys::clock;

use super::list::{RunScope, runs};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// Runs, and what they cost.
#[derive(Debug)]
pub struct BilledRuns {
    pub bill: Bill,
    /// The newest first.
    pub runs: Vec<Run>,
    /// When the first run was asked for that the ledger still has; `None` if it has none.
    pub ledger_since: Option<Timestamp>,
    /// The ledger has older runs, which were not asked for.
    pub has_older: bool,
}

/// The bill of all runs in the ledger, or of those that were asked for within that time.
pub fn bill(op: &Op, since: Option<std::time::Duration>) -> Result<BilledRuns, CommandError> {
    let since = since.and_then(|since| clock::now().checked_sub(SignedDuration::try_from(since).ok()?).ok());
    let mut runs = runs(op, RunScope::All)?;
    let ledger_since = runs.iter().map(|run| run.queued_at).min();
    let in_ledger = runs.len();
    runs.retain(|run| since.is_none_or(|since| run.queued_at >= since));
    let has_older = runs.len() < in_ledger;
    Ok(BilledRuns { bill: Bill::of(&runs), runs, ledger_since, has_older })
}

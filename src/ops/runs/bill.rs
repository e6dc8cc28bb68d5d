//! `msg runs --bill`: what runs cost.

use jiff::SignedDuration;

use crate::domain::runs::Bill;
use crate::sys::clock;

use super::list::{RunScope, runs};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// The bill of all runs, or of those that were asked for within that time.
pub fn bill(op: &Op, since: Option<std::time::Duration>) -> Result<Bill, CommandError> {
    let since = since.and_then(|since| clock::now().checked_sub(SignedDuration::try_from(since).ok()?).ok());
    let mut runs = runs(op, RunScope::All)?;
    runs.retain(|run| since.is_none_or(|since| run.queued_at >= since));
    Ok(Bill::of(&runs))
}

//! Clients as workers: `msg run` starts each without a terminal, against the scripted model.
//!
//! The smoke set is an edit with its result and what it used. With `RAVENRY_ALL_WORKERS=1` the rest is tried, too: a
//! session that is continued, and everything that can go wrong.

mod checks;
mod stage;
mod troubles;

use crate::clients::Client;
use crate::report::Report;
use crate::trial::Trial;

pub use checks::nothing_left;
pub use stage::{Stage, be_worker};

/// With this variable, everything is tried.
const ALL: &str = "RAVENRY_ALL_WORKERS";

/// Whether `msg` can start the client as a worker.
pub fn can_be_tried(client: &dyn Client) -> bool {
    let harness = ravenry::harness::parse(client.name()).and_then(ravenry::harness::support);
    harness.is_some_and(|harness| harness.worker().is_some())
}

/// Whether everything is to be tried.
pub fn is_all_wanted() -> bool {
    std::env::var_os(ALL).is_some_and(|value| !value.is_empty())
}

pub fn go(trial: &Trial<'_>, report: &mut Report) {
    let stage = Stage::new(trial);
    checks::edits(&stage, report);
    if is_all_wanted() {
        checks::is_continued(&stage, report);
        checks::only_reads(&stage, report);
        checks::asks(&stage, report);
        troubles::all(&stage, report);
    }
}

//! Clients as workers in tmux: `msg run --tmux`, `look`, `wait --for` and `tell` with the real programs, against the
//! scripted model.
//!
//! The smoke set is one worker from its launch to its end. With `RAVENRY_ALL_SCREENS=1` the rest is tried, too: a long
//! prompt, a killed worker, an account at its limit, and a folder that nobody trusts yet.

mod checks;
mod more;
mod stage;

use crate::clients::Client;
use crate::report::Report;
use crate::trial::Trial;
use crate::waking::{Tidy, seat::Seat};

/// With this variable, everything is tried.
const ALL: &str = "RAVENRY_ALL_SCREENS";

/// Whether `msg` can start the client in tmux, and read its screen.
pub fn can_be_tried(client: &dyn Client) -> bool {
    let harness = ravenry::harness::parse(client.name()).and_then(ravenry::harness::support);
    harness.is_some_and(|it| it.worker().is_some() && it.screen().is_some()) && Seat::of(client).is_some()
}

pub fn go(trial: &Trial<'_>, report: &mut Report) {
    let _tidy = Tidy(trial);
    let stage = stage::Stage::new(trial);
    checks::go(&stage, report);
    if std::env::var_os(ALL).is_some_and(|value| !value.is_empty()) {
        more::go(&stage, report);
    }
}

//! The patterns of a reservation with links resolved, as they are compared.

use std::path::Path;

use crate::domain::pattern::Pattern;
use crate::domain::{Agent, Reservation};
use crate::sys::paths;

/// The patterns of a reservation. For a foreign agent it was not recorded where links led at that time, so they are
/// resolved now.
pub fn resolved_patterns(agent: &Agent, reservation: &Reservation) -> Vec<Pattern> {
    let mut patterns = reservation.patterns(&agent.cwd);
    if agent.is_foreign()
        && !reservation.is_thing()
        && let Some(read) = patterns.first()
    {
        let head = Path::new(read.head().as_str());
        let led = paths::resolve(head);
        let read = read.clone().with_case(paths::letter_case(head));
        patterns = match led != *read.head() {
            true => vec![read.with_head(led), read],
            false => vec![read],
        };
    }
    patterns
}

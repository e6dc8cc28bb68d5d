//! The patterns of a reservation with links resolved, as they are compared.

use std::path::Path;

use crate::domain::pattern::Pattern;
use crate::domain::{Agent, Reservation, is_made_up_path};
use crate::sys::paths;

/// The patterns of a reservation as it binds in a work tree of its repository, if `seen` is how it does that.
pub fn patterns_seen(agent: &Agent, seen: Option<&Reservation>, held: &Reservation) -> Vec<Pattern> {
    match seen {
        // There it is about paths of this machine.
        Some(seen) if agent.is_remote() => seen.patterns("/"),
        seen => resolved_patterns(agent, seen.unwrap_or(held)),
    }
}

/// The patterns of a reservation. For a foreign agent it was not recorded where links led at that time, so they are
/// resolved now.
pub fn resolved_patterns(agent: &Agent, reservation: &Reservation) -> Vec<Pattern> {
    let mut patterns = reservation.patterns(&agent.cwd);
    if agent.is_remote() {
        // A path on another machine is not one on this.
        patterns.retain(|pattern| is_made_up_path(pattern.head().as_str()));
        return patterns;
    }
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

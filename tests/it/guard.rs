//! The git guard, with the real git: what another agent has reserved is not committed.

mod broken;
mod commits;
mod crashes;
mod fixture;
mod merges;
mod others;
mod places;

pub use fixture::put_program;

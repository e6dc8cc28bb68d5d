//! The git guard, with the real git: files that another agent has reserved are not committed.

mod broken;
mod commits;
mod crashes;
mod fixture;
mod merges;
mod others;
mod places;
mod things;

pub use fixture::put_program;

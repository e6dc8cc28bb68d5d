//! The git guard, with the real git: what a commit would change that another agent has reserved is not committed.

mod commits;
mod fixture;
mod merges;
mod others;
mod places;

//! The protocols on which the promises stand, as models whose every state is looked at: each interleaving of the
//! processes, and the death of any of them before any step.
//!
//! A model is a hand-made picture, so each of its steps names the function that does it in `src/`, and a test looks
//! whether there still is such a function. The same search has to find what is wrong with the protocols that one would
//! write first: a checker that finds nothing anywhere proves nothing.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail loudly, and tells how much it looked at"
)]

mod burying;
mod delivery;
mod following;
mod renaming;
mod search;
mod swarm_lock;

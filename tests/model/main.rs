//! Models of the protocols that the promises depend on, with every state checked: each interleaving of the processes,
//! and the death of any of them before any step.
//!
//! A model is written by hand, so each of its steps names the function in `src/` that does it, and a test checks that
//! the function still exists. The same search must find the fault in the obvious protocols: a checker that never finds
//! anything proves nothing.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail loudly, and tells how much it looked at"
)]

mod burying;
mod contest;
mod delivery;
mod following;
mod merge_queue;
mod renaming;
mod search;
mod swarm_lock;

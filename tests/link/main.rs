//! Machines that are linked by a real `nats-server`. `.ci/link` fetches one and runs these tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and makes the files that it needs"
)]

mod config;
mod demo;
mod engine;
#[allow(dead_code, reason = "shared with the other tests, which use more of it")]
#[path = "../it/support/environment.rs"]
mod environment;
mod machines;
mod previous;
mod support;

//! Background jobs: work that follows from a command or a hook, but takes too long for it. A detached process does it.
//!
//! An op asks for a job with `op.start_job(…)`, which is an effect: the runner starts the process once the op has
//! returned, and does not wait for it. To add a job: a [`job::JobKind`] and an arm in [`run::run`].

pub mod job;
pub mod run;
pub(super) mod start;

pub use job::{BackgroundJob, JobKind};
pub use run::run;

//! Starts the process that does a background job.

use std::io;

use crate::ops::context::Context;
use crate::sys::detached;

use super::job::BackgroundJob;

#[derive(Debug, thiserror::Error)]
#[error("the background job `{job}` could not be started: {error}")]
pub(in crate::ops) struct NotStarted {
    job: &'static str,
    error: io::Error,
}

/// Starts it and does not wait for it.
pub(in crate::ops) fn start(ctx: &Context, job: &BackgroundJob) -> Result<(), NotStarted> {
    let started = detached::start(&job.to_args(&ctx.location.to_string()));
    started.map_err(|error| NotStarted { job: job.kind.name(), error })
}

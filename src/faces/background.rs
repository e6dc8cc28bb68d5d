//! `msg --mesh MESH background JOB DIR`: what a detached process of `msg` runs. Only `msg` itself calls it, so it is
//! neither in the help nor in the completions.
//!
//! Nobody reads what it prints. Failures are recorded for `doctor`.

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use crate::ops::background::{self, BackgroundJob, JobKind};
use crate::ops::hook::log_hook_failure;
use crate::ops::{self, CommandError, Context, GlobalOptions};
use crate::sys::{detached, panics, signals};

/// Last resort: after this many seconds it ends, whatever hangs.
const LIMIT: u32 = 600;

/// A call by `msg` itself.
pub(super) struct JobCall {
    globals: GlobalOptions,
    kind: JobKind,
}

/// The job, if this is such a call.
pub(super) fn recognise(args: &[OsString]) -> Option<JobCall> {
    let (mesh, BackgroundJob { kind, dir }) = BackgroundJob::from_args(args.get(1..)?)?;
    let globals = GlobalOptions { mesh: Some(mesh), cwd: Some(dir), ..GlobalOptions::default() };
    Some(JobCall { globals, kind })
}

/// Does the job.
pub(super) fn run(call: JobCall) -> ExitCode {
    let JobCall { globals, kind } = call;
    // First of all, because it closes every descriptor.
    let detached = detached::detach();
    drop(signals::survive_file_size_limit());
    drop(signals::end_with_success_after(LIMIT));
    let mut failures: Vec<String> = detached.err().map(|error| error.to_string()).into_iter().collect();
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| work(&globals, kind)));
    match done {
        Ok(Ok(warnings)) => failures.extend(warnings),
        Ok(Err(error)) => failures.push(error.message),
        Err(panic) => failures.push(format!("a bug in msg: {}", panics::text(&*panic))),
    }
    for failure in failures {
        log_hook_failure(&globals, "background", kind.name(), &failure);
    }
    ExitCode::SUCCESS
}

fn work(globals: &GlobalOptions, kind: JobKind) -> Result<Vec<String>, CommandError> {
    let (ctx, _) = Context::tolerant(globals.clone())?;
    let (done, mut warnings) = ops::run(ctx, |op| background::run(op, kind)).into_parts();
    warnings.extend(done.err().map(|error| error.message));
    Ok(warnings)
}

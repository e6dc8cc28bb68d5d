//! `msg --mesh MESH supervise RUN DIR`: the process that owns a run. Only `msg` itself calls it, so it is neither in
//! the help nor in the completions.
//!
//! Nobody reads what it prints. What went wrong is in the ledger, and the rest is recorded for `doctor`.

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use crate::ops::hook::log_hook_failure;
use crate::ops::runs::start::SupervisorCall;
use crate::ops::runs::supervise;
use crate::ops::{self, CommandError, Context, GlobalOptions};
use crate::sys::{detached, panics, signals};

/// The call, if this is one.
pub(super) fn recognise(args: &[OsString]) -> Option<SupervisorCall> {
    SupervisorCall::from_args(args.get(1..)?)
}

/// Supervises the run.
pub(super) fn run(call: SupervisorCall) -> ExitCode {
    // First of all, because it closes every descriptor.
    let detached = detached::leave_session();
    drop(signals::survive_file_size_limit());
    let SupervisorCall { mesh, run: id, dir } = call;
    let globals = GlobalOptions { mesh: Some(mesh), cwd: Some(dir), ..GlobalOptions::default() };
    let mut failures: Vec<String> = detached.err().map(|error| error.to_string()).into_iter().collect();
    let work = || -> Result<Vec<String>, CommandError> {
        let (ctx, _) = Context::tolerant(globals.clone())?;
        let (done, mut warnings) = ops::run(ctx, |op| supervise::supervise(op, &id)).into_parts();
        warnings.extend(done.err().map(|error| error.message));
        Ok(warnings)
    };
    // After a panic this process is dead, so the run is one that was interrupted.
    match std::panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(warnings)) => failures.extend(warnings),
        Ok(Err(error)) => failures.push(error.message),
        Err(panic) => failures.push(format!("a bug in msg: {}", panics::text(&*panic))),
    }
    for failure in failures {
        log_hook_failure(&globals, "run", id.as_str(), &failure);
    }
    ExitCode::SUCCESS
}

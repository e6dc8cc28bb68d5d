//! `msg --mesh MESH run-for MACHINE REQUEST`: decides about a run that another machine of a linked mesh asked this one for,
//! and starts it; or pushes the branch of one that has ended. Only the link process calls it, so it is neither in the help
//! nor in the completions.
//!
//! Nobody reads what it prints. What it decides is written down, and the rest is recorded for `doctor`.

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::ops::hook::log_hook_failure;
use crate::ops::runs::elsewhere::starting::{self, StarterCall};
use crate::ops::{self, CommandError, Context, GlobalOptions, Op};
use crate::sys::{detached, panics, signals};

/// The call, if this is one.
pub(super) fn recognise(args: &[OsString]) -> Option<StarterCall> {
    StarterCall::from_args(args.get(1..)?)
}

/// Does what is to be done for the request.
pub(super) fn run(call: StarterCall) -> ExitCode {
    // First of all, because it closes every descriptor.
    let detached = detached::leave_session();
    drop(signals::survive_file_size_limit());
    let globals = GlobalOptions { mesh: Some(call.mesh.clone()), ..GlobalOptions::default() };
    let mut failures: Vec<String> = detached.err().map(|error| error.to_string()).into_iter().collect();
    match std::panic::catch_unwind(AssertUnwindSafe(|| work(&globals, &call))) {
        Ok(Ok(warnings)) => failures.extend(warnings),
        Ok(Err(error)) => failures.push(error.message),
        Err(panic) => failures.push(format!("a bug in msg: {}", panics::text(&*panic))),
    }
    for failure in failures {
        log_hook_failure(&globals, "run-for", call.id.as_str(), &failure);
    }
    ExitCode::SUCCESS
}

/// The directory whose settings apply is found first.
fn work(globals: &GlobalOptions, call: &StarterCall) -> Result<Vec<String>, CommandError> {
    let (found, mut warnings) = act(globals, None, |op| starting::find_checkout(op, call))?;
    if let Some(dir) = found {
        warnings.extend(act(globals, Some(dir), |op| starting::start_asked(op, call))?.1);
        return Ok(warnings);
    }
    let (found, more) = act(globals, None, |op| starting::unpushed(op, call))?;
    warnings.extend(more);
    if let Some(dir) = found {
        warnings.extend(act(globals, Some(dir), |op| starting::push_asked(op, call))?.1);
    }
    Ok(warnings)
}

fn act<T>(
    globals: &GlobalOptions,
    dir: Option<PathBuf>,
    act: impl FnOnce(&Op) -> Result<T, CommandError>,
) -> Result<(T, Vec<String>), CommandError> {
    let globals = GlobalOptions { cwd: dir.or_else(|| Some(PathBuf::from("/"))), ..globals.clone() };
    let (ctx, _) = Context::tolerant(globals)?;
    let (done, warnings) = ops::run(ctx, act).into_parts();
    Ok((done?, warnings))
}

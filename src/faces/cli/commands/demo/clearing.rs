//! Ending what a demo has started. Each of its processes has the home of its stage, which nothing else has.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{Stage, failed};
use crate::domain::Pid;
use crate::ops::{CommandError, CommandErrorKind};
use crate::sys::children::kill_other;
use crate::sys::process;
use crate::sys::signals::StopRequest;

/// How long everything that was started may take to end.
const END_LIMIT: Duration = Duration::from_secs(30);
/// How often to look whether it has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Removes everything, after all processes of the stage have ended.
pub(super) fn clear_away(stage: Stage) -> Result<(), CommandError> {
    let (never, _trigger) = StopRequest::manual();
    if !is_over(stage.home.path(), &never) {
        processes(stage.home.path()).into_iter().for_each(kill_other);
        if !is_over(stage.home.path(), &never) {
            let text = format!("processes are still at work in `{}`", stage.home.path().display());
            return Err(CommandError::new(CommandErrorKind::Io, text));
        }
    }
    stage.home.close().map_err(|error| failed(&error))
}

/// The processes whose home this is.
pub(super) fn processes(home: &Path) -> Vec<Pid> {
    process::started_with("HOME", &home.to_string_lossy())
}

/// Waits until no process has this home, or somebody wants to stop.
pub(super) fn is_over(home: &Path, stop: &StopRequest) -> bool {
    let deadline = Instant::now() + END_LIMIT;
    loop {
        if processes(home).is_empty() {
            return true;
        }
        if Instant::now() >= deadline || stop.is_requested() {
            return false;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

//! `msg selftest`: tests the promises on this disk, with real processes that are really killed, in throw-away meshes.
//!
//! There is one file per promise. A check is a function that works on a `CheckEnvironment` and returns what it counted
//! or what broke. It runs the program's own commands, so it tests the program that is installed.
//!
//! The meshes are on the disk of the real mesh, in a directory whose name contains our process; the next selftest
//! removes what a killed one left. Commands race, and about one in three is killed at an instant within the time that
//! it takes here. Long-lived children end with their standard input, so none outlives a selftest that is killed.
//! `tests/it/selftest.rs` breaks each promise in turn, with a program that does one thing wrong, and the check must see
//! it.

mod bounded_time;
mod check_environment;
mod confinement;
mod hooks;
mod liveness;
mod messages;
mod race;
mod single_owner;
mod unreadable_state;
mod worker;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::sys::files::{FileError, Scratch};
use crate::sys::filesystem;
use crate::sys::signals::StopRequest;

use crate::ops::context::{Context, GlobalOptions};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::health_check::CheckState;

use check_environment::{CheckEnvironment, PromiseBroken, PromiseKept};

pub use worker::{WorkerRole, work};

/// Options of `selftest`.
#[derive(Clone, Debug, Default)]
pub struct SelftestOptions {
    /// The directory to test in; `None`: the disk of the mesh.
    pub place: Option<PathBuf>,
    /// Only these promises; empty: all.
    pub promises: Vec<u8>,
    /// Keep the throw-away meshes if a promise broke.
    pub keeps_broken: bool,
}

/// The result of one check.
#[derive(Clone, Debug)]
pub struct PromiseCheck {
    /// The number of the promise.
    pub promise: u8,
    pub name: &'static str,
    pub state: CheckState,
    /// What was counted, or what broke.
    pub message: String,
    pub fix: Option<String>,
    pub took: Duration,
}

/// The result of a selftest.
#[derive(Clone, Debug)]
pub struct SelftestResults {
    pub directory: PathBuf,
    /// `None` if the system does not say.
    pub file_system: Option<String>,
    pub checks: Vec<PromiseCheck>,
    /// Where the throw-away meshes are, if they were kept.
    pub kept: Option<PathBuf>,
}

/// Progress, reported before each check.
#[derive(Clone, Copy, Debug)]
pub struct SelftestProgress {
    pub done: usize,
    pub of: usize,
    /// The check that runs now.
    pub name: &'static str,
}

type Play = fn(&CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken>;

/// All checks, in the order of the promises.
const CHECKS: [(u8, &str, Play); 11] = [
    (1, "messages", messages::run),
    (2, "locks", single_owner::locks),
    (2, "names", single_owner::names),
    (2, "tasks", single_owner::tasks),
    (2, "paths", single_owner::paths),
    (3, "liveness", liveness::run),
    (4, "damage", unreadable_state::run),
    (5, "answers", bounded_time::run),
    (5, "watching", bounded_time::watching),
    (6, "confinement", confinement::run),
    (7, "hooks", hooks::run),
];

/// Runs the checks. Broken promises are in the result; an error means that nothing could be tested.
pub fn selftest(
    globals: &GlobalOptions,
    options: &SelftestOptions,
    stop: &StopRequest,
    tell: &mut dyn FnMut(SelftestProgress),
) -> Result<SelftestResults, CommandError> {
    let directory = place(globals, options)?;
    let scratch = Scratch::make_in(&directory).map_err(|error| no_place(&directory, &error))?;
    let kind = filesystem::kind(scratch.path());
    let is_wanted = |promise: u8| options.promises.is_empty() || options.promises.contains(&promise);
    let wanted: Vec<_> = CHECKS.into_iter().filter(|(promise, ..)| is_wanted(*promise)).collect();
    let mut checks = Vec::new();
    for (done, &(promise, name, play)) in wanted.iter().enumerate() {
        tell(SelftestProgress { done, of: wanted.len(), name });
        let started = Instant::now();
        let played = CheckEnvironment::set(scratch.path(), name, stop).and_then(|stage| play(&stage));
        let took = started.elapsed();
        if stop.is_requested() {
            // The interruption itself may have broken the check: waits end at once, and the processes waited
            // for are killed.
            scratch.remove()?;
            return Err(CommandError::new(
                CommandErrorKind::Interrupted,
                "interrupted; nothing is left behind",
            ));
        }
        let (state, message, fix) = match played {
            Ok(PromiseKept { message, doubt: None }) => (CheckState::Ok, message, None),
            Ok(PromiseKept { message, doubt: Some(doubt) }) => (CheckState::Warn, message, Some(doubt)),
            Err(PromiseBroken(message)) => (CheckState::Fail, message, None),
        };
        checks.push(PromiseCheck { promise, name, state, message, fix, took });
    }
    let broke = checks.iter().any(|check| check.state == CheckState::Fail);
    let kept = if broke && options.keeps_broken {
        Some(scratch.keep()?)
    } else {
        scratch.remove().map(|()| None)?
    };
    Ok(SelftestResults { directory, file_system: kind.map(|kind| kind.name), checks, kept })
}

/// The error that `selftest` ends in when a promise broke.
pub fn broken_promises_error(tested: &SelftestResults) -> Option<CommandError> {
    let mut broken: Vec<String> = Vec::new();
    for check in tested.checks.iter().filter(|check| check.state == CheckState::Fail) {
        broken.push(format!("{} ({})", check.promise, check.name));
    }
    let (first, rest) = broken.split_first()?;
    let which = match rest.len() {
        0 => format!("promise {first} does"),
        _ => format!("promises {} do", broken.join(", ")),
    };
    let disk = tested.file_system.as_deref().unwrap_or("file system of an unknown kind");
    let text = format!("{which} not hold in `{}` ({disk})", tested.directory.display());
    Some(
        CommandError::new(CommandErrorKind::BrokenPromise, text)
            .hint(
                "`msg config set mesh DIR` puts the mesh on another disk; `msg selftest --in DIR` tries one",
            )
            .hint(
                "if it breaks on a local disk too, that is a bug: please report it with what is said above",
            ),
    )
}

/// The directory for the throw-away meshes: `--in`, or one on the disk of the mesh.
fn place(globals: &GlobalOptions, options: &SelftestOptions) -> Result<PathBuf, CommandError> {
    // `doctor` reports settings that can't be read.
    let (ctx, _) = Context::tolerant(globals.clone())?;
    let directory = match &options.place {
        Some(place) => std::path::absolute(ctx.cwd.join(place)).map_err(FileError::from)?,
        None => ctx.location.on_same_disk(),
    };
    if !directory.is_dir() {
        let text = format!("`{}` is not a directory", directory.display());
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("`msg selftest --in DIR` takes any other"));
    }
    Ok(directory)
}

fn no_place(directory: &Path, error: &FileError) -> CommandError {
    let kind = if error.is_full() { CommandErrorKind::DiskFull } else { CommandErrorKind::Io };
    let text = format!("nothing can be tested in `{}`: {error}", directory.display());
    CommandError::new(kind, text).hint("`msg selftest --in DIR` takes another place")
}

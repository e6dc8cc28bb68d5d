//! Takes back what `setup` did, and nothing else, the last part first. What somebody has changed since stays, and is told.

use std::path::{Path, PathBuf};

use super::apply::JOINS;
use super::record::{self, note};
use super::shell_files::{self, ShellFileRemoval};
use super::survey::install_options;
use crate::harness;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::setup::Execution;
use crate::ops::setup::guard;
use crate::ops::setup::install;
use crate::store::{ConfigUndo, SetupPlace, SetupRecord};
use crate::sys::files;
use crate::sys::git::WorkTree;

/// A file that stays, or stays in part, because somebody has changed it since.
#[derive(Debug)]
pub struct KeptFile {
    pub path: PathBuf,
    pub reason: String,
}

#[derive(Debug, Default)]
pub struct SetupUndoOutcome {
    /// Files that were restored or removed.
    pub changed: Vec<PathBuf>,
    pub kept: Vec<KeptFile>,
    pub failed: Vec<CommandError>,
}

/// Takes everything back, or only says what that would do. What fails is tried again the next time.
pub fn undo(op: &Op, execution: Execution) -> Result<SetupUndoOutcome, CommandError> {
    let record = record::recorded(op)?;
    let mut outcome = SetupUndoOutcome::default();
    remove_files(op, &record, execution, &mut outcome)?;
    for root in &record.guards {
        take_guard(op, root, execution, &mut outcome)?;
    }
    if let Err(error) = take_joining(op, &record, execution, &mut outcome) {
        outcome.failed.push(error);
    }
    for name in &record.harnesses {
        uninstall(op, &record, name, execution, &mut outcome)?;
    }
    Ok(outcome)
}

fn remove_files(
    op: &Op,
    record: &SetupRecord,
    execution: Execution,
    outcome: &mut SetupUndoOutcome,
) -> Result<(), CommandError> {
    if record.files.is_empty() && record.made.is_empty() {
        return Ok(());
    }
    if execution == Execution::Apply {
        shell_files::sweep(record.files.iter().map(|file| Path::new(&file.path)))?;
    }
    for file in &record.files {
        let removal = match execution {
            Execution::Apply => shell_files::remove(file),
            Execution::DryRun => shell_files::removal(file),
        };
        let path = PathBuf::from(&file.path);
        match removal {
            Ok(ShellFileRemoval::Removed) => outcome.changed.push(path),
            Ok(ShellFileRemoval::WasGone) => {}
            Ok(ShellFileRemoval::Changed) => {
                let reason = "it was changed since msg wrote it".to_string();
                outcome.kept.push(KeptFile { path, reason });
            }
            Err(error) => outcome.failed.push(error.into()),
        }
    }
    if execution == Execution::DryRun || !outcome.failed.is_empty() {
        return Ok(());
    }
    for dir in record.made.iter().rev() {
        // A directory that others have put something into stays.
        files::remove_dir(Path::new(dir))?;
    }
    note(op, |record| {
        record.files.clear();
        record.made.clear();
    })
}

fn take_guard(
    op: &Op,
    root: &String,
    execution: Execution,
    outcome: &mut SetupUndoOutcome,
) -> Result<(), CommandError> {
    let dir = PathBuf::from(root);
    // A directory that is no repository any more may be in another one.
    let is_there = WorkTree::containing(&dir)
        .is_some_and(|tree| shell_files::text_of(&tree.main_root().unwrap_or(tree.root)) == *root);
    if !is_there {
        let reason = "the repository is gone".to_string();
        outcome.kept.push(KeptFile { path: dir, reason });
    } else {
        match guard::uninstall_at(op, &dir, execution) {
            Ok(done) => outcome.changed.extend(done.taken_out.into_iter().map(|hook| hook.file)),
            Err(error) if error.kind == CommandErrorKind::NoRepository => {}
            Err(error) => {
                outcome.failed.push(error.hint(format!("or run `msg guard uninstall` in `{root}`")));
                return Ok(());
            }
        }
    }
    match execution {
        Execution::Apply => note(op, |record| record.guards.retain(|known| known != root)),
        Execution::DryRun => Ok(()),
    }
}

fn take_joining(
    op: &Op,
    record: &SetupRecord,
    execution: Execution,
    outcome: &mut SetupUndoOutcome,
) -> Result<(), CommandError> {
    let Some(original) = &record.joining else { return Ok(()) };
    let undo = match execution {
        Execution::Apply => original.restore(&op.home, JOINS)?,
        Execution::DryRun => original.undo(JOINS)?,
    };
    let path = PathBuf::from(&original.path);
    if matches!(undo, ConfigUndo::Restored | ConfigUndo::OnlyTheKey) {
        outcome.changed.push(path.clone());
    }
    let reason = match undo {
        ConfigUndo::Nothing | ConfigUndo::Restored => None,
        ConfigUndo::OnlyTheKey => {
            Some(format!("other settings were changed since; only {JOINS} is taken back"))
        }
        ConfigUndo::Kept => Some(format!("{JOINS} was changed since")),
    };
    outcome.kept.extend(reason.map(|reason| KeptFile { path, reason }));
    match execution {
        Execution::Apply => note(op, |record| record.joining = None),
        Execution::DryRun => Ok(()),
    }
}

fn uninstall(
    op: &Op,
    record: &SetupRecord,
    name: &String,
    execution: Execution,
    outcome: &mut SetupUndoOutcome,
) -> Result<(), CommandError> {
    let here = record::directory(op, name);
    let mut places = record::places(record, name).peekable();
    let is_here = places.peek().is_none() || places.any(|place| Some(&place.dir) == here.as_ref());
    if let Some(harness) = harness::parse(name).filter(|_| is_here) {
        match install::uninstall(install_options(harness, execution)) {
            Ok(done) => outcome.changed.extend(done.changes.into_iter().map(|change| change.path)),
            Err(error) => {
                outcome.failed.push(error);
                return Ok(());
            }
        }
    }
    let is_elsewhere = |place: &SetupPlace| {
        place.harness == *name && Some(&place.dir) != here.as_ref() && Path::new(&place.dir).is_dir()
    };
    outcome.failed.extend(record.places.iter().filter(|place| is_elsewhere(place)).map(elsewhere));
    match execution {
        Execution::Apply => note(op, |record| {
            record.places.retain(|place| place.harness != *name || is_elsewhere(place));
            if record::places(record, name).next().is_none() {
                record.harnesses.retain(|known| known != name);
            }
        }),
        Execution::DryRun => Ok(()),
    }
}

/// Which variable names a directory is the business of its harness, and more than one may.
fn elsewhere(place: &SetupPlace) -> CommandError {
    let SetupPlace { harness, dir } = place;
    let text = format!("`msg setup` installed into {harness} in `{dir}`, which is not its directory now");
    CommandError::new(CommandErrorKind::NotAllInstalled, text)
        .hint(format!("set the variable that names the directory of {harness} as it was then"))
}

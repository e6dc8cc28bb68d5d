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
    let harness = harness::parse(name);
    let here = harness.map(|harness| record::place(op, harness)).transpose()?;
    let is_here = |place: &SetupPlace| here.as_ref().is_some_and(|here| here.is_same_as(place));
    let mut places = record::places(record, name).peekable();
    let is_for_here = places.peek().is_none() || places.any(is_here);
    if let Some(harness) = harness.filter(|_| is_for_here) {
        match install::uninstall(install_options(harness, execution)) {
            Ok(done) => outcome.changed.extend(done.changes.into_iter().map(|change| change.path)),
            Err(error) => {
                outcome.failed.push(error);
                return Ok(());
            }
        }
    }
    let mut left: Vec<SetupPlace> = Vec::new();
    for place in record::places(record, name).filter(|place| harness.is_some() && !is_here(place)) {
        let (there, gone): (Vec<PathBuf>, Vec<PathBuf>) = record::recorded_files(op, place)?
            .into_iter()
            // One that can't be seen may be there.
            .partition(|file| files::exists(file).unwrap_or(true));
        if let Some(file) = there.first() {
            outcome.failed.push(elsewhere(name, file));
            left.push(place.clone());
        } else {
            let reason = "it is gone, and so is what `msg setup` put there".to_string();
            outcome.kept.extend(gone.into_iter().map(|path| KeptFile { path, reason: reason.clone() }));
        }
    }
    match execution {
        Execution::Apply => note(op, |record| {
            record.places.retain(|place| place.harness != *name || left.contains(place));
            if left.is_empty() {
                record.harnesses.retain(|known| known != name);
            }
        }),
        Execution::DryRun => Ok(()),
    }
}

/// Which variable names the files is the business of the harness.
fn elsewhere(name: &str, file: &Path) -> CommandError {
    let file = file.display();
    let text = format!(
        "`msg setup` also installed into `{file}`, which is not a file of {name} as it is called now"
    );
    CommandError::new(CommandErrorKind::NotAllInstalled, text).hint(
        "run it again with the environment as it was then: the variable that says where its settings are was another",
    )
}

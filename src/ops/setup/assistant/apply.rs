//! Sets up what was chosen, part by part. Each is recorded before it is done.

use std::path::PathBuf;

use super::part::SetupPart;
use super::record::{self, note};
use super::shell_files::{self, SetupTexts, ShellFile, ShellFileState};
use super::survey::{guarded_root, install_options};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::setup::guard::{self, GuardInstallOptions};
use crate::ops::setup::install::{self, InstallDestination, InstallOptions};
use crate::ops::setup::{Execution, config};
use crate::store::config_files::ConfigScope;
use crate::store::{InstallRecords, OriginalConfig, SetupRecord};

/// The setting that lets sessions join by themselves.
pub(super) const JOINS: &str = "autoRegister";

/// A part that was set up.
#[derive(Debug)]
pub struct SetupChange {
    pub part: SetupPart,
    /// The files that were changed; of man pages the directory.
    pub files: Vec<PathBuf>,
    /// What was left as it is.
    pub notes: Vec<String>,
}

#[derive(Debug, Default)]
pub struct SetupOutcome {
    pub changes: Vec<SetupChange>,
    pub failed: Vec<(SetupPart, CommandError)>,
}

/// Sets up these parts, which a survey found missing. One that fails is no reason to leave out the others.
pub fn apply(op: &Op, chosen: &[SetupPart], texts: &SetupTexts) -> SetupOutcome {
    let mut outcome = SetupOutcome::default();
    for part in chosen {
        match set_up(op, *part, texts) {
            Ok(change) => outcome.changes.push(change),
            Err(error) => outcome.failed.push((*part, error)),
        }
    }
    outcome
}

fn set_up(op: &Op, part: SetupPart, texts: &SetupTexts) -> Result<SetupChange, CommandError> {
    let plain = |files| SetupChange { part, files, notes: Vec::new() };
    match part {
        SetupPart::Hooks(harness) => install_into(op, part, install_options(harness, Execution::Apply)),
        SetupPart::StatusLine(harness) => {
            let options = install_options(harness, Execution::Apply);
            install_into(op, part, InstallOptions { wants_statusline: true, ..options })
        }
        SetupPart::Joining => {
            let original = OriginalConfig::of(&op.home)?;
            let file = PathBuf::from(&original.path);
            note(op, |record| note_config(record, original))?;
            config::set(op, ConfigScope::User, JOINS, "true")?;
            Ok(plain(vec![file]))
        }
        SetupPart::Guard => {
            if let Some(root) = guarded_root(op) {
                note(op, |record| {
                    if !record.guards.contains(&root) {
                        record.guards.push(root);
                    }
                })?;
            }
            Ok(plain(vec![guard::install(op, GuardInstallOptions::default())?.hook]))
        }
        SetupPart::Completions(shell) => {
            let file = shell_files::completions(shell, texts)?;
            let path = file.path.clone();
            write(op, &[file])?;
            Ok(plain(vec![path]))
        }
        SetupPart::ManPages => {
            let foreign = write(op, &shell_files::man_pages(texts)?)?;
            let note =
                |path: &PathBuf| format!("`{}` is there with another content, and stays", path.display());
            let notes = foreign.iter().map(note).collect();
            Ok(SetupChange { part, files: vec![shell_files::man_dir()?], notes })
        }
    }
}

fn install_into(op: &Op, part: SetupPart, options: InstallOptions) -> Result<SetupChange, CommandError> {
    let name = options.recipient.map(install::InstallDestination::name);
    let place = match options.recipient {
        Some(InstallDestination::Harness(harness)) => Some(record::place(op, harness)?),
        Some(InstallDestination::Tmux) | None => None,
    };
    note(op, |record| {
        let is_new = |name: &&str| !record.harnesses.iter().any(|known| known == name);
        let new = name.filter(is_new).map(str::to_string);
        record.harnesses.extend(new);
        place.into_iter().for_each(|place| record::note_place(record, place));
    })?;
    let done = install::install(options)?;
    let files = done.changes.into_iter().map(|change| change.path).collect();
    let notes = done.notes.into_iter().map(|(harness, text)| format!("{harness}: {text}")).collect();
    Ok(SetupChange { part, files, notes })
}

/// The present file is the original, because a survey found the setting missing in it. Directories may have been made
/// earlier.
fn note_config(record: &mut SetupRecord, mut original: OriginalConfig) {
    if let Some(earlier) = record.joining.take().filter(|earlier| earlier.path == original.path) {
        let more = original.made.into_iter().filter(|dir| !earlier.made.contains(dir)).collect::<Vec<_>>();
        original.made = earlier.made;
        original.made.extend(more);
    }
    record.joining = Some(original);
}

/// Writes the files that are missing. Returns those that are somebody else's.
fn write(op: &Op, all: &[ShellFile]) -> Result<Vec<PathBuf>, CommandError> {
    shell_files::sweep(all.iter().map(|file| file.path.as_path()))?;
    let record = record::recorded(op)?;
    let (mut missing, mut foreign) = (Vec::new(), Vec::new());
    for file in all {
        match file.state(&record)? {
            ShellFileState::Current => {}
            ShellFileState::Missing => missing.push(file),
            ShellFileState::Foreign => foreign.push(file.path.clone()),
        }
    }
    let lock = InstallRecords::of(&op.home).lock()?;
    let mut failure = None;
    let noted = lock.note_setup(|record| failure = missing.iter().find_map(|file| file.note(record).err()));
    noted.map_err(record::damaged)?;
    failure.map_or(Ok(()), Err)?;
    missing.iter().try_for_each(|file| file.write())?;
    Ok(foreign)
}

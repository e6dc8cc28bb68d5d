//! Finds out what is set up on this machine and in this repository. Changes nothing.

use std::path::PathBuf;

use super::part::{PartState, PartView, SetupPart};
use super::record::{self, is_own};
use super::shell_files::{self, SetupTexts, ShellFile, ShellFileState};
use crate::domain::Harness;
use crate::harness;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::setup::guard::{self, GuardInstallOptions, SharedHook};
use crate::ops::setup::install::{self, FileChange, InstallOptions, InstallState};
use crate::ops::setup::{Execution, config};
use crate::store::{OriginalConfig, SetupRecord};
use crate::sys::git::WorkTree;

/// What is on this machine.
#[derive(Debug)]
pub struct SetupSurvey {
    pub found: Vec<Harness>,
    pub not_found: Vec<Harness>,
    /// In the order in which they are set up.
    pub parts: Vec<PartView>,
}

/// Looks at everything. `errors` are the settings that cannot be used.
pub fn survey(op: &Op, texts: &SetupTexts, errors: &[CommandError]) -> Result<SetupSurvey, CommandError> {
    let record = record::recorded(op)?;
    let states = install::overview(op);
    let (found, not_found): (Vec<InstallState>, Vec<InstallState>) =
        states.into_iter().partition(|state| state.is_on_machine);
    let mut parts: Vec<PartView> = found.iter().map(|state| hooks(op, state, &record)).collect();
    parts.push(joining(op, errors));
    if WorkTree::containing(&op.cwd).is_some() {
        parts.push(commit_guard(op, &record));
    }
    parts.extend(found.iter().filter_map(|state| status_line(op, state, &record)));
    if let Some(shell) = shell_files::shell() {
        let file = shell_files::completions(shell, texts)?;
        let files = vec![file.path.clone()];
        let state = file_state(&[file], &record);
        parts.push(PartView { part: SetupPart::Completions(shell), state, files });
    }
    let files = vec![shell_files::man_dir()?];
    let state = file_state(&shell_files::man_pages(texts)?, &record);
    parts.push(PartView { part: SetupPart::ManPages, state, files });
    let names = |states: Vec<InstallState>| states.into_iter().map(|state| state.harness).collect();
    Ok(SetupSurvey { found: names(found), not_found: names(not_found), parts })
}

/// How hooks are installed here.
pub(super) fn install_options(harness: Harness, execution: Execution) -> InstallOptions {
    InstallOptions {
        recipient: Some(harness.into()),
        wants_statusline: false,
        is_for_project: false,
        execution,
        wants_mcp: true,
        wants_guide: false,
        wants_join: false,
    }
}

/// What was installed by hand is set as it is. What `setup` installed is missing again if a crash left some of it out, or if
/// this version installs more.
fn hooks(op: &Op, state: &InstallState, record: &SetupRecord) -> PartView {
    let harness = state.harness;
    let part = SetupPart::Hooks(harness);
    if state.is_installed && !is_own(op, record, harness) {
        return PartView { part, state: PartState::Set, files: Vec::new() };
    }
    match install::install(install_options(harness, Execution::DryRun)) {
        Ok(planned) if planned.changes.is_empty() => {
            PartView { part, state: PartState::Set, files: Vec::new() }
        }
        Ok(planned) => {
            let files = planned.changes.into_iter().map(|change| change.path).collect();
            PartView { part, state: PartState::Missing, files }
        }
        Err(error) => PartView { part, state: PartState::Failed(error), files: Vec::new() },
    }
}

fn joining(op: &Op, errors: &[CommandError]) -> PartView {
    let file = OriginalConfig::of(&op.home).map(|config| PathBuf::from(config.path));
    let state = match (errors.first(), &file) {
        (None, _) if config::lets_all_sessions_join(op) => PartState::Set,
        // Whoever has chosen some folders did not choose all.
        (None, _) if config::lets_sessions_join(op) => PartState::Unavailable(
            "only in the folders of `autoRegisterPaths`; `msg config set autoRegister true` is for all"
                .to_string(),
        ),
        (Some(error), _) => PartState::Failed(error.clone()),
        (None, Ok(_)) => PartState::Missing,
        (None, Err(error)) => PartState::Failed(CommandError::new(CommandErrorKind::Io, error.to_string())),
    };
    let files = if matches!(state, PartState::Missing) { file.into_iter().collect() } else { Vec::new() };
    PartView { part: SetupPart::Joining, state, files }
}

/// One that was installed by hand is set as it is, like hooks.
fn commit_guard(op: &Op, record: &SetupRecord) -> PartView {
    let is_own = guarded_root(op).is_some_and(|root| record.guards.contains(&root));
    let options = GuardInstallOptions { shared: SharedHook::Refuse, execution: Execution::DryRun };
    let (state, files) = match guard::install(op, options) {
        Ok(planned) if !planned.is_changed => (PartState::Set, Vec::new()),
        Ok(planned) if planned.was_there && !is_own => (PartState::Set, Vec::new()),
        Ok(planned) => (PartState::Missing, vec![planned.hook]),
        Err(error) => (PartState::Unavailable(error.message), Vec::new()),
    };
    PartView { part: SetupPart::Guard, state, files }
}

/// The repository that a guard here is for, as it is recorded.
pub(super) fn guarded_root(op: &Op) -> Option<String> {
    let tree = WorkTree::containing(&op.cwd)?;
    Some(shell_files::text_of(&tree.main_root().unwrap_or(tree.root)))
}

/// The status line of a harness that has one. To take it back, everything that was installed is taken back; so it is offered
/// only where `setup` installs the rest, too.
fn status_line(op: &Op, state: &InstallState, record: &SetupRecord) -> Option<PartView> {
    let harness = state.harness;
    harness::support(harness).filter(|support| support.has_status_line())?;
    let part = SetupPart::StatusLine(harness);
    let options = install_options(harness, Execution::DryRun);
    let with = install::install(InstallOptions { wants_statusline: true, ..options });
    // If the hooks can't be installed, that is told of them.
    let without = install::install(options).ok()?.changes;
    let (state, files) = match with {
        Err(error) => (PartState::Unavailable(error.message), Vec::new()),
        Ok(with) => {
            let is_more = |change: &FileChange| {
                !without.iter().any(|other| other.path == change.path && other.after == change.after)
            };
            let files: Vec<PathBuf> =
                with.changes.into_iter().filter(is_more).map(|change| change.path).collect();
            if files.is_empty() {
                (PartState::Set, files)
            } else if state.is_installed && !is_own(op, record, harness) {
                let text = format!("`msg install {harness} --statusline` adds it to what you installed");
                (PartState::Unavailable(text), Vec::new())
            } else {
                (PartState::Missing, files)
            }
        }
    };
    Some(PartView { part, state, files })
}

fn file_state(files: &[ShellFile], record: &SetupRecord) -> PartState {
    let mut is_missing = false;
    let mut foreign = None;
    for file in files {
        match file.state(record) {
            Ok(ShellFileState::Current) => {}
            Ok(ShellFileState::Missing) => is_missing = true,
            Ok(ShellFileState::Foreign) => foreign = Some(&file.path),
            Err(error) => return PartState::Failed(error.into()),
        }
    }
    match foreign {
        _ if is_missing => PartState::Missing,
        Some(path) => {
            PartState::Unavailable(format!("`{}` is there with another content, and stays", path.display()))
        }
        None => PartState::Set,
    }
}

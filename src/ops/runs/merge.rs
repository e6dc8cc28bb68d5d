//! `msg runs merge`: brings the work of a run into the tree that it worked for.

use std::path::Path;
use std::time::Duration;

use crate::domain::runs::Run;
use crate::domain::shell_word;
use crate::store::RunOrder;
use crate::sys::files::{self, Scratch};
use crate::sys::git::run_tree::{
    FileChangeKind, MergeConflict, MergePreview, PreparedMerge, TreeChange, WantedFiles,
};
use crate::sys::keeper::commands::{CommandsEnd, KeptCommands};

use super::ended_work::{EndedWork, ended_work};
use super::work::{RunWork, git_state, message};
use super::worker_call;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind, ErrorDetail};
use crate::ops::person_required;
use crate::ops::reservations::check::{check, conflict_error};
use crate::ops::tasks::GivenAwayTask;

/// How long a command that tests the merged tree may take.
const VERIFY_LIMIT: Duration = Duration::from_secs(60 * 60);

/// What is done with the merged files.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MergeTarget {
    /// They are uncommitted changes of the work tree; index and `HEAD` stay.
    WorkTree,
    /// They are committed on the branch that is checked out.
    Commit,
}

/// What a merge did.
#[derive(Debug)]
pub struct MergeReport {
    pub run: Run,
    pub end: MergeEnd,
    /// The work tree that it was merged into.
    pub root: String,
}

/// How a merge ended.
#[derive(Debug)]
pub enum MergeEnd {
    /// These files were written.
    Merged { files: Vec<(String, FileChangeKind)>, commit: Option<String> },
    /// All of it was merged before.
    Already,
    /// The tree has all of it, or the run changed nothing.
    Nothing,
}

/// Merges the work of the run that `id` names, after a test with the command `verify` if there is one.
pub fn merge(
    op: &Op,
    id: &str,
    target: MergeTarget,
    verify: Option<&str>,
    given_away: GivenAwayTask,
) -> Result<MergeReport, CommandError> {
    let unknown = || find_nothing(id);
    let mesh = op.mesh()?.ok_or_else(unknown)?;
    if given_away == GivenAwayTask::Accept {
        let commit = if target == MergeTarget::Commit { " --commit" } else { "" };
        let verify = verify.map_or_else(String::new, |command| format!(" --verify {}", shell_word(command)));
        let line = format!("msg runs merge {} --given-away{commit}{verify}", shell_word(id));
        person_required::required(|| person_required::with_mesh(op, &line))?;
    }
    let mut ended = ended_work(op, &mesh, id, "merge")?;
    given_away.check(&mesh, &ended.run, "merge")?;
    let root = ended.work.tree.repository().root().to_path_buf();
    if root != Path::new(&ended.work.record.project) && !op.cwd.starts_with(&root) {
        let text =
            format!("the tree that run {} worked for is gone: `{}`", ended.run.id, ended.work.record.project);
        let hint = "change to another work tree of the repository, and merge it there";
        return Err(CommandError::new(CommandErrorKind::NoRepository, text).hint(hint));
    }
    let preview = match target {
        MergeTarget::WorkTree => ended.work.tree.prepare_merge()?,
        MergeTarget::Commit => ended.work.tree.prepare_commit()?,
    };
    let end = match preview {
        MergePreview::AlreadyMerged => MergeEnd::Already,
        MergePreview::Nothing => {
            ended.work.tree.mark_merged()?;
            MergeEnd::Nothing
        }
        MergePreview::Conflicts(conflicts) => {
            let reserved = reserved(op, &root, &ended.work.tree.changes()?)?;
            return Err(conflict(&ended, &conflicts, reserved.as_ref()));
        }
        MergePreview::Ready(prepared) => {
            check_reserved(op, &root, &prepared)?;
            let mut is_merged_by_another = false;
            if let Some(command) = verify {
                let order = mesh.runs().order(&ended.run.id)?;
                // It may take an hour, and others want to finish what they have.
                let (run, work) = ended.unlocked();
                test_merged(op, (&run, &work), &order, &prepared, command)?;
                ended = ended_work(op, &mesh, id, "merge")?;
                given_away.check(&mesh, &ended.run, "merge")?;
                check_reserved(op, &root, &prepared)?;
                if ended.work.record.tip != work.record.tip {
                    let text = format!(
                        "the work of run {} was changed while it was tested: nothing was written",
                        run.id
                    );
                    return Err(CommandError::new(CommandErrorKind::ChangedMeanwhile, text));
                }
                is_merged_by_another = ended.work.record.is_merged && !work.record.is_merged;
            }
            match is_merged_by_another {
                true => MergeEnd::Already,
                false => write(&ended, target, &prepared)?,
            }
        }
    };
    ended.work.record.is_merged = true;
    ended.work.put()?;
    let root = root.display().to_string();
    Ok(MergeReport { run: ended.run, end, root })
}

/// Writes what was prepared. A file that changed since then stops it before the first write.
fn write(
    ended: &EndedWork<'_>,
    target: MergeTarget,
    prepared: &PreparedMerge,
) -> Result<MergeEnd, CommandError> {
    let tree = &ended.work.tree;
    let written = match target {
        MergeTarget::WorkTree => tree.write_merge(prepared)?,
        MergeTarget::Commit => tree.commit_merge(prepared, &message(&ended.run))?,
    };
    let named = |change: &TreeChange| (change.path.display().to_string(), change.kind);
    Ok(MergeEnd::Merged { files: written.changes.iter().map(named).collect(), commit: written.commit })
}

pub(super) fn find_nothing(id: &str) -> CommandError {
    CommandError::new(CommandErrorKind::UnknownRun, format!("there is no run `{}`", id.escape_debug()))
}

/// The refusal if somebody else holds what would be written.
fn reserved(op: &Op, root: &Path, changes: &[TreeChange]) -> Result<Option<CommandError>, CommandError> {
    let paths: Vec<String> =
        changes.iter().map(|change| root.join(&change.path).to_string_lossy().into_owned()).collect();
    Ok(conflict_error(&check(op, &paths)?))
}

fn check_reserved(op: &Op, root: &Path, prepared: &PreparedMerge) -> Result<(), CommandError> {
    match reserved(op, root, &prepared.changes)? {
        Some(error) => Err(error.hint("nothing was written")),
        None => Ok(()),
    }
}

fn conflict(
    ended: &EndedWork<'_>,
    conflicts: &[MergeConflict],
    reserved: Option<&CommandError>,
) -> CommandError {
    const SHOWN: usize = 5;
    let run = &ended.run;
    let mut shown: Vec<String> = conflicts
        .iter()
        .take(SHOWN)
        .map(|conflict| format!("`{}`: {}", conflict.path.display(), conflict.why))
        .collect();
    if conflicts.len() > SHOWN {
        shown.push(format!("and {} more", conflicts.len() - SHOWN));
    }
    let text =
        format!("the work of run {} can't be merged, and nothing was written: {}", run.id, shown.join("; "));
    let row = |conflict: &MergeConflict| {
        vec![
            ("path", Some(ErrorDetail::Text(conflict.path.display().to_string()))),
            ("why", Some(ErrorDetail::Text(conflict.why.clone()))),
        ]
    };
    let mut error = CommandError::new(CommandErrorKind::Conflict, text);
    error.facts.push(("conflicts", ErrorDetail::Rows(conflicts.iter().map(row).collect())));
    error = match &ended.work.record.branch {
        Some(branch) => error.hint(format!(
            "commit or move aside your own changes to these files and try again, or merge by hand: `git merge --squash {branch}`"
        )),
        None => error.hint(format!(
            "commit or move aside your own changes to these files and try again; `msg runs diff {}` shows the work",
            run.id
        )),
    };
    match reserved {
        Some(reserved) => error.hint(format!("besides: {}", reserved.message)),
        None => error,
    }
}

/// Runs a command in a directory with the merged files. An error if it fails.
fn test_merged(
    op: &Op,
    (run, work): (&Run, &RunWork<'_>),
    order: &RunOrder,
    prepared: &PreparedMerge,
    command: &str,
) -> Result<(), CommandError> {
    let tree = &work.tree;
    let above = git_state(&op.home).join("verify");
    files::create_dir(&above)?;
    let scratch = Scratch::make_in(&above)?;
    let dir = scratch.path().join("tree");
    tree.export_tree(&prepared.tree, &dir)?;
    let wanted = order.worktree.clone().unwrap_or_default();
    tree.bring_into(&dir, &WantedFiles { copy: wanted.copy, link: wanted.link })?;
    let project = &work.record.project;
    let env = worker_call::setup_environment(&run.id, None, &op.location.to_string(), project);
    let log = scratch.path().join("log");
    let commands = KeptCommands {
        dir: &dir,
        commands: &[command.to_string()],
        env: &env,
        log: &log,
        limit: VERIFY_LIMIT,
    };
    let end = commands.run(&|| false)?;
    scratch.remove()?;
    match end {
        CommandsEnd::Done { .. } | CommandsEnd::Stopped => Ok(()),
        CommandsEnd::Failed { how, tail, .. } => {
            let text = format!("`{command}` ended with {how} in the merged tree: nothing was written");
            let error = CommandError::new(CommandErrorKind::NotVerified, text).fact("output", tail.clone());
            let last: Vec<&str> = tail.lines().rev().take(10).collect();
            Err(last.into_iter().rev().fold(error, |error, line| error.hint(line.to_string())))
        }
    }
}

//! Looking after the log: packing, erasing for good, exporting and importing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::knowledge::RecordId;
use crate::domain::knowledge::page::page_path;
use crate::domain::{quote_code, shell_word, suggestions};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::store::{ImportReport, PackReport};
use crate::sys::files;
use crate::sys::git::{CommitTitle, GitError, ReadOnlyGit, WorkTree};

use super::project::KnowledgeProject;
use super::verdict_cache::VerdictCache;

/// How long git may look for a page, and the most commits that are named.
const GIT_LIMIT: Duration = Duration::from_secs(5);
const MAX_COMMITS: usize = 20;

/// What is left of an erased record.
#[derive(Clone, Debug)]
pub struct EraseReport {
    pub id: RecordId,
    pub packed: PackReport,
    /// All damaged files that were put aside, now or earlier. They may still hold it.
    pub quarantined: Vec<PathBuf>,
    /// The page of the record, if the work tree has one.
    pub page: Option<String>,
    /// Whether it is still a record, because its page is committed.
    pub is_shown: bool,
    /// The commits that have its page.
    pub commits: PageCommits,
}

/// What git says about a page.
#[derive(Clone, Debug)]
pub enum PageCommits {
    NoRepository,
    /// Up to 20, the latest first.
    Known(Vec<CommitTitle>),
    /// Why git could not tell.
    Unknown(String),
}

/// Folds the files of the log into one.
pub fn pack(op: &Op) -> Result<PackReport, CommandError> {
    let project = KnowledgeProject::of(op);
    let report = project.log.pack()?;
    // The next hook finds an index of the log as it is now.
    project.read(op)?;
    Ok(report)
}

/// Deletes all that was ever said about a record, from the log and from the caches. If it is killed, the same command
/// finishes what is left to do.
pub fn erase(op: &Op, name: &str) -> Result<EraseReport, CommandError> {
    person_required::required(|| format!("msg knowledge erase {} --for-good", shell_word(name)))?;
    let project = KnowledgeProject::of(op);
    let found = find_id(op, &project, name);
    // The caches go first. An erase that is killed after this leaves nothing that the log does not have, and one that
    // was killed before is finished even if the log has forgotten the name.
    clear_caches(op, &project)?;
    let id = found?;
    // Of what is only a page, no log is begun: git would take its files for new ones.
    let packed = match files::exists(project.log.directory())? {
        true => project.log.lock()?.erase(std::slice::from_ref(&id))?,
        false => PackReport::default(),
    };
    // Somebody may have read it meanwhile.
    clear_caches(op, &project)?;
    let is_shown = project.read(op)?.get(&id).is_some();
    let quarantined = project.log.quarantined()?;
    let page = page_path(&id);
    let commits = match &project.tree {
        None => PageCommits::NoRepository,
        Some(tree) => match commits_with(tree, &page) {
            Ok(commits) => PageCommits::Known(commits),
            Err(error) => PageCommits::Unknown(error.to_string()),
        },
    };
    let page = files::exists(&project.root.join(&page))?.then_some(page);
    Ok(EraseReport { id, packed, quarantined, page, is_shown, commits })
}

fn clear_caches(op: &Op, project: &KnowledgeProject) -> Result<(), CommandError> {
    project.cache.clear()?;
    Ok(VerdictCache::remove(&op.home, &project.root)?)
}

fn commits_with(tree: &WorkTree, page: &str) -> Result<Vec<CommitTitle>, GitError> {
    ReadOnlyGit::at(tree, GIT_LIMIT)?.commits_with(page, MAX_COMMITS)
}

/// The only record of that name in the log, also a retired one, or in the pages, or what a killed erase left of it.
fn find_id(op: &Op, project: &KnowledgeProject, name: &str) -> Result<RecordId, CommandError> {
    let cells = project.history_with_pages(op)?;
    let mut ids: BTreeSet<RecordId> = cells.into_iter().map(|cell| cell.key.record).collect();
    let pages = project.pages();
    ids.extend(pages.index.pages.iter().filter(|page| page.head.is_some()).map(|page| page.id.clone()));
    ids.extend(pages.named(name));
    let given = RecordId::parse(name);
    let is_meant = |id: &&RecordId| given.as_ref().map_or(id.name.as_str() == name, |given| given == *id);
    if !ids.iter().any(|id| is_meant(&id)) {
        ids.extend(project.log.records_in_files()?);
    }
    let found: Vec<&RecordId> = ids.iter().filter(is_meant).collect();
    match found.as_slice() {
        [only] => Ok((*only).clone()),
        [] => {
            let name_shown = name.escape_debug();
            let message =
                format!("there is no record named `{name_shown}`, neither in the log nor as a page");
            let error = CommandError::new(CommandErrorKind::UnknownRecord, message);
            let names: BTreeSet<&str> = ids.iter().map(|id| id.name.as_str()).collect();
            Err(match suggestions(name.rsplit('/').next().unwrap_or(name), names).as_slice() {
                [] => error.hint("`msg knowledge log` shows all that was recorded"),
                near => error.hint(format!("did you mean {}?", near.join(", "))),
            })
        }
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            let message = format!("`{}` is the name of {} records", name.escape_debug(), several.len());
            let hint = format!("name one of them: {}", names.join(", "));
            Err(CommandError::new(CommandErrorKind::InvalidValue, message).hint(hint))
        }
    }
}

/// The whole log as one Yjs update.
pub fn export_yjs(op: &Op) -> Result<Vec<u8>, CommandError> {
    let project = KnowledgeProject::of(op);
    // What can't be read is told.
    project.read(op)?;
    Ok(project.log.export_yjs()?)
}

/// Writes an export to a file. A model does not choose which file is replaced.
pub fn write_export(op: &Op, file: &str, content: &[u8]) -> Result<PathBuf, CommandError> {
    person_required::required(|| format!("msg knowledge export … {}", shell_word(file)))?;
    let path = op.cwd.join(Path::new(file));
    if let Some(dir) = path.parent().filter(|dir| !dir.is_dir()) {
        let message = format!("there is no directory `{}`", dir.display());
        return Err(CommandError::new(CommandErrorKind::InvalidValue, message).hint("create it first"));
    }
    if path.is_dir() {
        let message = format!("{} is a directory", quote_code(file));
        return Err(CommandError::new(CommandErrorKind::InvalidValue, message).hint("name a file in it"));
    }
    files::write_through(&path, content)?;
    Ok(path)
}

/// Adds what a Yjs update says.
pub fn import(op: &Op, update: &[u8]) -> Result<ImportReport, CommandError> {
    let project = KnowledgeProject::of(op);
    project.exclude_from_git(op)?;
    let report = project.log.import_yjs(update).map_err(|error| project.write_error(error))?;
    project.read(op)?;
    Ok(report)
}

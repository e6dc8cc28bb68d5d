//! The project that knowledge is about: one log for all work trees of a repository.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;

use crate::domain::knowledge::{
    AnchorError, AnchorPath, AnchorTarget, Cell, KnowledgeOffer, KnowledgeSnapshot, Origin, OverviewRow,
    WriterId, merge, snapshot_as_of,
};
use crate::domain::settings::{Durability, KnowledgeMode};
use crate::domain::{SessionId, sha256};
use crate::ops::agents::identity::named_or_certain_caller;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{
    KnowledgeCache, KnowledgeLog, LockedKnowledgeLog, LogContent, LogProblem, LogProblemKind, LogStamp,
    OfferIndex, OfferIndexState, SourceKey, StoreError, StoredRecords, UseLog, exclude_knowledge_from_git,
    person_id,
};
use crate::sys::clock;
use crate::sys::environment::account_name;
use crate::sys::flock::LockError;
use crate::sys::git::{ReadOnlyGit, WorkTree, user_name_outside};
use crate::sys::test_switches;

use super::anchors::AnchorJudge;
use super::pages::ProjectPages;

/// How long git may take to tell a name.
const GIT_LIMIT: Duration = Duration::from_secs(1);

pub(super) struct KnowledgeProject {
    /// The root of the asker's work tree, without links. Outside of git, the folder that has the log.
    pub(super) root: PathBuf,
    /// The root of the main work tree, or the git directory of a bare repository. It has the log.
    pub(super) main: PathBuf,
    pub(super) log: KnowledgeLog,
    pub(super) cache: KnowledgeCache,
    pub(super) index: OfferIndex,
    pub(super) uses: UseLog,
    pub(super) tree: Option<WorkTree>,
    /// As they were when the records were read.
    pages: RefCell<Rc<ProjectPages>>,
}

/// Who writes.
pub(super) struct KnowledgeAuthor {
    pub(super) writer: WriterId,
    pub(super) origin: Origin,
    /// The agent's session.
    pub(super) session: Option<SessionId>,
    /// The account and the name of a person who has not joined.
    person: Option<String>,
}

/// The directory with the records of the project that the caller is in.
pub fn log_directory(op: &Op) -> PathBuf {
    KnowledgeProject::of(op).log.directory().to_path_buf()
}

/// The log of the project that the caller is in, only to look at it.
pub(in crate::ops) fn log_here(ctx: &Context) -> KnowledgeLog {
    let tree = WorkTree::containing(&ctx.cwd);
    let main = tree.as_ref().map_or_else(|| folder_with_log(&ctx.cwd), WorkTree::shared_root);
    KnowledgeLog::at(&main, ctx.settings.durability)
}

impl KnowledgeProject {
    pub(super) fn of(op: &Op) -> Self {
        let tree = WorkTree::containing(&op.cwd);
        let root = tree.as_ref().map_or_else(|| folder_with_log(&op.cwd), |tree| tree.root.clone());
        let main = tree.as_ref().map_or_else(|| root.clone(), WorkTree::shared_root);
        let log = KnowledgeLog::at(&main, op.settings.durability);
        let cache = KnowledgeCache::of(&op.home.cache, &main);
        let root = std::fs::canonicalize(&root).unwrap_or(root);
        let head =
            tree.as_ref().filter(|_| ProjectPages::may_exist(op, &root)).and_then(WorkTree::head_commit);
        let index = OfferIndex::of(&op.home.cache, &main, head.map(|head| (root.as_path(), head)));
        let uses = UseLog::of(&op.home.state, &main);
        let pages = RefCell::new(Rc::new(ProjectPages::none(&root)));
        Self { root, main, log, cache, index, uses, tree, pages }
    }

    /// All records, with what was edited in committed pages. What could not be read is told.
    pub(super) fn read(&self, op: &Op) -> Result<KnowledgeSnapshot, CommandError> {
        let (stamp, content) = self.read_content(op)?;
        let snapshot = self.with_pages(op, content.cells)?;
        self.renew_missing_index(op, &stamp, || &snapshot);
        Ok(snapshot)
    }

    /// The records of these cells of the log, with what was edited in committed pages.
    pub(super) fn with_pages(
        &self,
        op: &Op,
        mut cells: Vec<Cell>,
    ) -> Result<KnowledgeSnapshot, CommandError> {
        self.read_pages(op, &mut cells)?;
        Ok(merge(cells))
    }

    fn read_pages(&self, op: &Op, cells: &mut Vec<Cell>) -> Result<Rc<ProjectPages>, CommandError> {
        let pages = Rc::new(ProjectPages::read(op, &self.root, self.tree.as_ref(), cells)?);
        *self.pages.borrow_mut() = Rc::clone(&pages);
        Ok(pages)
    }

    /// Hooks offer from an index; whoever has read everything writes it.
    fn renew_missing_index<S: Borrow<KnowledgeSnapshot>>(
        &self,
        op: &Op,
        stamp: &LogStamp,
        snapshot: impl FnOnce() -> S,
    ) {
        if op.settings.knowledge != KnowledgeMode::Offer {
            return;
        }
        let state = self.index.open(&self.log);
        let renewed = state.and_then(|state| match state {
            OfferIndexState::Missing => self.write_index(stamp, snapshot().borrow()),
            _ => Ok(()),
        });
        warn_of_index(op, renewed);
    }

    /// Appends cells that build on what was read, and renews what is derived from the log. Once the cells are in the log,
    /// nothing fails.
    pub(super) fn append(
        &self,
        op: &Op,
        locked: LockedKnowledgeLog<'_>,
        read: (LogStamp, LogContent),
        writer: &WriterId,
        cells: &[Cell],
    ) -> Result<(), CommandError> {
        let appended = locked.append(writer, cells).map_err(|error| self.write_error(error))?;
        drop(locked);
        let Some(appended) = appended else { return Ok(()) };
        let extended = self.cache.extend(&self.log, read, (&appended, cells));
        let renewed = extended.and_then(|now| match now {
            Some((stamp, LogContent { mut cells, .. })) => {
                self.pages().add_to(&mut cells);
                self.write_index(&stamp, &merge(cells))
            }
            // Somebody else wrote meanwhile. The next one who reads it all renews the index.
            None => Ok(()),
        });
        warn_of_index(op, renewed);
        Ok(())
    }

    fn write_index(&self, stamp: &LogStamp, snapshot: &KnowledgeSnapshot) -> Result<(), StoreError> {
        let offers: Vec<KnowledgeOffer> = snapshot.records().filter_map(KnowledgeOffer::of).collect();
        let overview: Vec<OverviewRow> = snapshot.records().filter_map(OverviewRow::of).collect();
        self.index.write(&self.log, stamp, &offers, &overview)
    }

    /// All cells, with the state of the files when they were read.
    pub(super) fn read_content(&self, op: &Op) -> Result<(LogStamp, LogContent), CommandError> {
        let (stamp, content) = self.cache.read_stamped(&self.log)?;
        content.problems.iter().for_each(|problem| op.warn(problem.to_string()));
        Ok((stamp, content))
    }

    /// All records with their search index, for a question: from the cache if it holds. What could not be read is told.
    pub(super) fn stored(&self, op: &Op) -> Result<StoredRecords, CommandError> {
        if !ProjectPages::may_exist(op, &self.root) {
            let stamp = self.log.stamp()?;
            if let Some(stored) = self.load(op, &stamp, &self.pages())? {
                stored.problems().iter().for_each(|problem| op.warn(problem.clone()));
                return Ok(stored);
            }
        }
        let (stamp, LogContent { mut cells, problems }) = self.read_content(op)?;
        let pages = self.read_pages(op, &mut cells)?;
        if let Some(stored) = self.load(op, &stamp, &pages)? {
            return Ok(stored);
        }
        // A file that can't be read now may be readable for the next one.
        let is_passing = |problem: &LogProblem| problem.kind == LogProblemKind::Unreadable;
        let is_kept = !problems.iter().any(is_passing) && pages.is_known();
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let snapshot = merge(cells);
        self.renew_missing_index(op, &stamp, || &snapshot);
        let stored = StoredRecords::of(&source_key(&stamp, &pages), &snapshot, &problems);
        let stored = stored.ok_or_else(too_large)?;
        // Without a log and pages there is nothing to keep, and after an erase nothing may be left.
        if is_kept && (!stored.is_empty() || self.cache.has_records()) {
            self.cache.keep_records(&stored)?;
        }
        Ok(stored)
    }

    /// The records from the cache, if it was made from these sources.
    fn load(
        &self,
        op: &Op,
        stamp: &LogStamp,
        pages: &ProjectPages,
    ) -> Result<Option<StoredRecords>, CommandError> {
        let Some(stored) = self.cache.load_records(&source_key(stamp, pages))? else { return Ok(None) };
        self.renew_missing_index(op, stamp, || stored.snapshot());
        Ok(Some(stored))
    }

    /// The records as they were at a moment, or now.
    pub(super) fn stored_as_of(
        &self,
        op: &Op,
        moment: Option<Timestamp>,
    ) -> Result<StoredRecords, CommandError> {
        let Some(moment) = moment else { return self.stored(op) };
        let snapshot = snapshot_as_of(self.history_with_pages(op)?, moment);
        StoredRecords::of(&source_key(&self.log.stamp()?, &self.pages()), &snapshot, &[])
            .ok_or_else(too_large)
    }

    /// All cells that are kept, and what was edited in committed pages.
    pub(super) fn history_with_pages(&self, op: &Op) -> Result<Vec<Cell>, CommandError> {
        let mut cells = self.history(op)?;
        self.read_pages(op, &mut cells)?;
        Ok(cells)
    }

    /// All cells that are kept. What could not be read is told.
    pub(super) fn history(&self, op: &Op) -> Result<Vec<Cell>, CommandError> {
        let content = self.log.history()?;
        content.problems.iter().for_each(|problem| op.warn(problem.to_string()));
        Ok(content.cells)
    }

    /// The pages, as they were when the records were read.
    pub(super) fn pages(&self) -> Rc<ProjectPages> {
        Rc::clone(&self.pages.borrow())
    }

    /// Keeps the log out of commits.
    pub(super) fn exclude_from_git(&self, op: &Op) -> Result<(), CommandError> {
        let Some(repository) = self.tree.as_ref().and_then(WorkTree::repository) else { return Ok(()) };
        match exclude_knowledge_from_git(&repository) {
            // Some sandboxes protect the git directory alone.
            Err(StoreError::File(error)) if error.is_forbidden() && self.log.exists() => {
                op.warn(format!("git does not ignore `.ravenry/knowledge/`: {error}"));
                Ok(())
            }
            excluded => excluded.map_err(|error| self.write_error(error)),
        }
    }

    /// Why the log could not be changed. Who may not write there learns another way to record something.
    pub(super) fn write_error(&self, error: StoreError) -> CommandError {
        let is_forbidden = match &error {
            StoreError::File(error) | StoreError::Lock(LockError::File(error)) => error.is_forbidden(),
            _ => false,
        };
        if !is_forbidden {
            return error.into();
        }
        let directory = self.log.directory().display().to_string();
        let message =
            format!("nothing was recorded, because this command may not write to `{directory}`: {error}");
        let tool =
            "call the MCP tool `learn` of msg with the same text: its server runs outside of the sandbox";
        CommandError::new(CommandErrorKind::ReadOnly, message)
            .hint(tool)
            .hint("without it, ask a person to run this command at a terminal")
            .fact("directory", directory)
    }

    pub(super) fn judge(&self, op: &Op) -> AnchorJudge {
        AnchorJudge::new(&self.root, &op.home)
    }

    /// The agent that calls, or the person.
    pub(super) fn author(&self, op: &Op) -> Result<KnowledgeAuthor, CommandError> {
        let agent = named_or_certain_caller(op)?;
        let (author, person) = match &agent {
            Some(agent) => (agent.name.to_string(), None),
            None => {
                let (account, name) = (account_name(), self.git_user());
                let person = [account.as_deref(), name.as_deref()].map(Option::unwrap_or_default).join("\n");
                (name.or(account).unwrap_or_else(|| "somebody".to_string()), Some(person))
            }
        };
        let session = agent.map(|agent| agent.session);
        let writer = self.writer(op, session.as_ref(), person.as_deref())?;
        let commit = self.tree.as_ref().and_then(WorkTree::head_commit);
        let origin = Origin { author, at: clock::now(), commit, branch: self.branch() };
        Ok(KnowledgeAuthor { writer, origin, session, person })
    }

    /// The id that the author writes under now that the log is there. Only a log that exists has ids of people, so that
    /// a new one at the same place has others.
    pub(super) fn writer_now(&self, op: &Op, author: &KnowledgeAuthor) -> Result<WriterId, CommandError> {
        self.writer(op, author.session.as_ref(), author.person.as_deref())
    }

    fn writer(
        &self,
        op: &Op,
        session: Option<&SessionId>,
        person: Option<&str>,
    ) -> Result<WriterId, CommandError> {
        let text = match session {
            Some(session) => {
                format!("s-{}", &sha256(format!("session {}", session.as_str()).as_bytes())[..16])
            }
            None => format!("p-{}", person_id(&op.home.state, &self.log, person.unwrap_or_default())),
        };
        WriterId::new(&text)
            .ok_or_else(|| CommandError::new(CommandErrorKind::Bug, "the id of the writer is not valid"))
    }

    /// The name that git signs the person's commits with, which pages have, too.
    fn git_user(&self) -> Option<String> {
        let limit = test_switches::or_long(GIT_LIMIT);
        match &self.tree {
            Some(tree) => ReadOnlyGit::at(tree, limit).ok()?.user_name(),
            None => user_name_outside(&self.root, limit),
        }
    }

    /// Reads an anchor as it is typed in the working directory.
    pub(super) fn parse_anchor(&self, cwd: &Path, text: &str) -> Result<AnchorTarget, AnchorError> {
        AnchorTarget::parse_with(text, |path| self.path_from(cwd, path))
    }

    /// The path of a file relative to the root, given as it is typed in the working directory.
    pub(super) fn path_from(&self, cwd: &Path, path: &str) -> Result<AnchorPath, AnchorError> {
        let cwd = std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_path_buf());
        let mut full = PathBuf::new();
        for part in cwd.join(path).components() {
            match part {
                std::path::Component::ParentDir => {
                    full.pop();
                }
                std::path::Component::CurDir => {}
                part => full.push(part),
            }
        }
        let outside = || AnchorError::Outside(path.to_string());
        if !full.starts_with(&self.root)
            && let (Some(parent), Some(name)) = (full.parent(), full.file_name())
            && let Ok(real) = std::fs::canonicalize(parent)
        {
            // The project is reached by a link.
            full = real.join(name);
        }
        let inside = full.strip_prefix(&self.root).map_err(|_| outside())?;
        AnchorPath::new(inside.to_str().ok_or_else(outside)?)
    }

    /// Like [`Self::path_from`]; `None` is the root itself.
    pub(super) fn directory_from(&self, cwd: &Path, path: &str) -> Result<Option<AnchorPath>, AnchorError> {
        let real = std::fs::canonicalize(cwd.join(path));
        if real.is_ok_and(|real| real == self.root) {
            return Ok(None);
        }
        self.path_from(cwd, path).map(Some)
    }

    pub(super) fn branch(&self) -> Option<String> {
        self.tree.as_ref().and_then(WorkTree::branch)
    }

    /// The names of all branches, here and in remote repositories as they were fetched last. `None` if git can't tell.
    pub(super) fn branches(&self, limit: Duration) -> Option<HashSet<String>> {
        let git = ReadOnlyGit::at(self.tree.as_ref()?, limit).ok()?;
        git.branches().ok()
    }
}

fn warn_of_index(op: &Op, renewed: Result<(), StoreError>) {
    if let Err(error) = renewed {
        op.warn(format!("hooks can't offer what is recorded: {error}"));
    }
}

fn too_large() -> CommandError {
    let text = "the records take more than 4 GiB";
    CommandError::new(CommandErrorKind::TooLarge, text).hint("retire or erase some of them")
}

/// Names everything that the records come from.
fn source_key(log: &LogStamp, pages: &ProjectPages) -> SourceKey {
    match pages.identity() {
        Some(identity) => SourceKey::of(log, &[identity.as_bytes()]),
        None => SourceKey::of(log, &[]),
    }
}

/// The nearest folder above that has a log, else the folder itself.
fn folder_with_log(cwd: &Path) -> PathBuf {
    let has_log = |folder: &&Path| KnowledgeLog::at(folder, Durability::default()).exists();
    cwd.ancestors().find(has_log).unwrap_or(cwd).to_path_buf()
}

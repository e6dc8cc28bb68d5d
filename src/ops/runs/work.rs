//! The worktree of a run: made before its worker starts, committed when that has ended, and then freed.
//!
//! Whoever has a [`RunWork`] is the run's supervisor, or holds the lock of `RunLedger::lock_work`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::domain::runs::{Run, RunId};
use crate::domain::{Liveness, escape_invisible_line, sha256};
use crate::store::{HeldSlot, Mesh, RunSlots, WorkRecord, WorkStage, WorktreeOrder, machine_state};
use crate::sys::environment::Home;
use crate::sys::git::WorkTree;
use crate::sys::git::run_tree::{
    BroughtHow, ClosedTree, CrewBranch, RunBranch, RunRepository, RunTree, RunTreeError, WantedFiles,
};
use crate::sys::keeper::commands::{CommandsEnd, KeptCommands};
use crate::sys::{clock, files, process};

use super::worker_call;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// How long the setup and the teardown of a worktree may take.
const SETUP_LIMIT: Duration = Duration::from_secs(30 * 60);
const TEARDOWN_LIMIT: Duration = Duration::from_secs(5 * 60);
/// How long to wait for the slot of a run that has died.
const SLOT_LIMIT: Duration = Duration::from_secs(1);
/// How many changed paths the ledger keeps.
const MOST_CHANGED: usize = 1_000;
/// How much of the output of a failing setup is told.
const MOST_OUTPUT: usize = 1_000;

/// The worktree of a run, and its record.
pub(in crate::ops) struct RunWork<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    id: RunId,
    pub(in crate::ops) tree: RunTree,
    pub(in crate::ops) record: WorkRecord,
    closed: Option<ClosedTree>,
    /// Whether the directory was there before: it is set up already.
    has_directory: bool,
}

/// Where git keeps what we need for a moment, and our locks.
pub(in crate::ops) fn git_state(home: &Home) -> PathBuf {
    machine_state(home).join("git")
}

/// The repository that a run in `dir` would work for, if it can have a worktree.
pub(super) fn repository(home: &Home, dir: &Path) -> Result<RunRepository, CommandError> {
    let repository = RunRepository::open(dir, &git_state(home))?;
    repository.head()?;
    Ok(repository)
}

impl<'a> RunWork<'a> {
    /// Makes the worktree of a run, or opens that of the run that it continues. Its record is written first.
    pub(super) fn make(
        op: &'a Op,
        mesh: &'a Mesh,
        run: &Run,
        order: &WorktreeOrder,
    ) -> Result<Self, CommandError> {
        let wanted = WantedFiles { copy: order.copy.clone(), link: order.link.clone() };
        let mut work = match &order.continues {
            None => Self::begin(op, mesh, run, order)?,
            Some(earlier) => Self::go_on(op, mesh, run, earlier)?,
        };
        work.has_directory = files::exists(&work.tree.path())?;
        let made = match work.record.stage {
            WorkStage::Making => {
                let repository = work.tree.repository();
                let snapshot = match (&order.crew, &order.commit) {
                    (Some(crew), _) => CrewBranch::of(repository, crew).and_then(|branch| branch.base()),
                    (None, Some(commit)) => repository.base_at(commit),
                    (None, None) => repository.snapshot(),
                };
                snapshot.and_then(|snapshot| work.tree.create(&snapshot, &wanted))
            }
            _ => work.tree.reopen(&wanted),
        };
        let made = match made {
            Ok(made) => made,
            Err(error) => {
                if work.record.stage == WorkStage::Making {
                    // The first error tells what is wrong. What is left is removed later.
                    drop(work.give_up());
                }
                return Err(error.into());
            }
        };
        for file in made.brought {
            let why = match file.how {
                BroughtHow::Copied | BroughtHow::Linked => continue,
                BroughtHow::InTheWay => "something else is there",
                BroughtHow::BehindLink => "it is reached through a symbolic link",
                BroughtHow::Unreadable => "it can't be read",
            };
            op.warn(format!("`{}` is not in the worktree of run {}: {why}", file.path.display(), run.id));
        }
        Ok(work)
    }

    fn begin(op: &'a Op, mesh: &'a Mesh, run: &Run, order: &WorktreeOrder) -> Result<Self, CommandError> {
        let repository = repository(&op.home, Path::new(&run.root))?;
        let text = |path: &Path| {
            let not_text = || {
                let text = format!("`{}` is not UTF-8, which a run's worktree needs", path.display());
                CommandError::new(CommandErrorKind::InvalidValue, text).hint("rename the directory")
            };
            path.to_str().map(str::to_string).ok_or_else(not_text)
        };
        let place = place(&op.home, &repository);
        let main_root = WorkTree::containing(repository.root()).and_then(|tree| tree.main_root());
        let record = WorkRecord {
            tree: run.id.to_string(),
            project: text(repository.root())?,
            repository: text(repository.common_dir())?,
            main_root: main_root.as_deref().and_then(Path::to_str).map(str::to_string),
            place: text(&place)?,
            commit: order.commit.clone(),
            ..WorkRecord::default()
        };
        let tree = tree_of(&repository, &record)?;
        mesh.runs().put_work(&run.id, &record)?;
        Ok(Self { op, mesh, id: run.id.clone(), tree, record, closed: None, has_directory: false })
    }

    fn go_on(op: &'a Op, mesh: &'a Mesh, run: &Run, earlier: &str) -> Result<Self, CommandError> {
        let gone = || {
            CommandError::new(CommandErrorKind::NoWork, format!("the worktree of run {earlier} is not known"))
        };
        let earlier = RunId::new(earlier).map_err(|_| gone())?;
        let mut work = Self::load(op, mesh, &earlier)?.ok_or_else(gone)?;
        if !work.is_there()? {
            let text = format!("the work of run {earlier} is gone: it was discarded, or merged");
            return Err(CommandError::new(CommandErrorKind::NoWork, text));
        }
        if let Some(other) = work.used_by(&run.id)? {
            let text = format!("run {other} works in the same worktree");
            return Err(
                CommandError::new(CommandErrorKind::AtWork, text).hint("wait for its end, or stop it")
            );
        }
        work.id = run.id.clone();
        work.record.stage = WorkStage::Open;
        work.put()?;
        Ok(work)
    }

    /// The worktree of a run; `None` if it never had one.
    pub(in crate::ops) fn load(op: &'a Op, mesh: &'a Mesh, id: &RunId) -> Result<Option<Self>, CommandError> {
        let Some(record) = mesh.runs().work(id)? else { return Ok(None) };
        let repository = open_repository(op, &record)?;
        let tree = tree_of(&repository, &record)?;
        Ok(Some(Self { op, mesh, id: id.clone(), tree, record, closed: None, has_directory: false }))
    }

    /// Whether there is work that another run could go on with: a worker was in it, and nobody has given it up.
    pub(in crate::ops) fn is_there(&self) -> Result<bool, CommandError> {
        let is_begun = match self.record.stage {
            WorkStage::Discarded => false,
            WorkStage::Making => self.record.tree != self.id.as_str(),
            WorkStage::Open | WorkStage::Closed | WorkStage::Freed => true,
        };
        match self.tree.tip() {
            Ok(_) => Ok(is_begun),
            Err(RunTreeError::NoRun(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn put(&self) -> Result<(), CommandError> {
        Ok(self.mesh.runs().put_work(&self.id, &self.record)?)
    }

    /// Runs the setup. `None`: it is ready for a worker. Else how it ended, in a sentence.
    pub(super) fn set_up(
        &mut self,
        run: &Run,
        order: &WorktreeOrder,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<Option<String>, CommandError> {
        let is_ready = self.has_directory && order.continues.is_some();
        let setup = if is_ready { &[][..] } else { &order.setup };
        let place = (self.tree.path(), "setup");
        let end = self.run_commands((run, run.slot), setup, place, SETUP_LIMIT, is_unwanted)?;
        let failed = match end {
            CommandsEnd::Done { .. } => None,
            CommandsEnd::Stopped => Some("setup: it was stopped".to_string()),
            CommandsEnd::Failed { command, how, tail, .. } => {
                Some(format!("setup: `{command}` ended with {how}{}", said(&tail)))
            }
        };
        if failed.is_none() {
            self.record.stage = WorkStage::Open;
            self.put()?;
        }
        Ok(failed)
    }

    /// Runs the setup in another directory with files of the run.
    pub(super) fn set_up_at(
        &self,
        run: &Run,
        dir: &Path,
        setup: &[String],
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<CommandsEnd, CommandError> {
        let place = (dir.to_path_buf(), "setup-merged");
        self.run_commands((run, run.slot), setup, place, SETUP_LIMIT, is_unwanted)
    }

    /// Undoes that setup.
    pub(super) fn tear_down_at(&self, run: &Run, dir: &Path, teardown: &[String]) {
        self.tear_down((run, run.slot), teardown, (dir.to_path_buf(), "teardown-merged"));
    }

    fn run_commands(
        &self,
        (run, slot): (&Run, Option<u32>),
        commands: &[String],
        (dir, name): (PathBuf, &str),
        limit: Duration,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<CommandsEnd, CommandError> {
        if commands.is_empty() {
            return Ok(CommandsEnd::Done { tail: String::new() });
        }
        let mesh = self.op.location.to_string();
        let env = worker_call::setup_environment(&run.id, slot, &mesh, &self.record.project);
        let log = self.mesh.runs().dir(&self.id).join(name);
        let commands = KeptCommands { dir: &dir, commands, env: &env, log: &log, limit };
        Ok(commands.run(is_unwanted)?)
    }

    /// Commits what is in the worktree, and writes down what that is. Doing it again changes nothing.
    pub(super) fn close(&mut self, run: &Run) -> Result<(), CommandError> {
        if self.record.stage == WorkStage::Making && self.record.tree == self.id.as_str() {
            // No worker was in it, so there is no work.
            return self.give_up();
        }
        let closed = self.tree.close(&message(run))?;
        self.note_closed(closed)
    }

    /// Like [`RunWork::close`], but work of a crew that was committed before stays as it is: what the commands that prove
    /// it left beside it is not its worker's.
    pub(super) fn close_after_death(&mut self, run: &Run) -> Result<(), CommandError> {
        let is_worked = run.crew.as_ref().is_some_and(|part| part.is_worked);
        if !is_worked || self.record.stage != WorkStage::Closed || self.record.kept.is_some() {
            return self.close(run);
        }
        let closed = self.tree.close_as_recorded(&message(run))?;
        self.note_closed(closed)
    }

    fn note_closed(&mut self, closed: ClosedTree) -> Result<(), CommandError> {
        let changes = self.tree.changes()?;
        let record = &mut self.record;
        (record.branch, record.branch_note) = match &closed.branch {
            RunBranch::At { .. } => (Some(self.tree.refs().branch_name()), None),
            RunBranch::Nothing => (None, None),
            RunBranch::Moved(_) => (
                Some(self.tree.refs().branch_name()),
                Some("somebody moved the branch or has it checked out, so it stays where it is".to_string()),
            ),
            RunBranch::Conflicts(_) => {
                (None, Some("no branch: its changes need what you have not committed".to_string()))
            }
            RunBranch::OldGit => (None, Some("no branch: that needs git 2.40 or newer".to_string())),
        };
        let path = |change: &crate::sys::git::run_tree::TreeChange| change.path.display().to_string();
        record.changed = changes.iter().take(MOST_CHANGED).map(path).collect();
        record.changed_count = changes.len();
        record.tip = Some(closed.tip.clone());
        record.is_merged = self.tree.is_merged()?;
        if closed.has_directory && !closed.is_as_recorded {
            record.saved = closed
                .saved
                .iter()
                .map(|file| format!("{} ({})", file.path.display(), file.reason))
                .collect();
        }
        if record.stage == WorkStage::Open || record.stage == WorkStage::Making {
            record.stage = WorkStage::Closed;
        }
        self.closed = Some(closed);
        self.put()
    }

    /// Whether something was changed; `None` before it is closed.
    pub(super) fn is_changed(&self) -> Option<bool> {
        self.closed.as_ref().map(|closed| closed.is_changed)
    }

    /// What of the work no merge brings anywhere, and what to do about it, in a sentence.
    pub(super) fn why_unmergeable(&self) -> Result<Option<String>, CommandError> {
        let Some(closed) = &self.closed else { return Ok(None) };
        let left = self.tree.unmergeable(closed)?;
        let Some(first) = left.first() else { return Ok(None) };
        let more = left.len() - 1;
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        Ok(Some(format!(
            "`{}` can't be merged: {}{more}. It is only in `{}`: save it from there or remove it, then start the crew again",
            escape_invisible_line(&first.path.to_string_lossy()),
            first.reason,
            self.tree.path().display()
        )))
    }

    /// Makes the worktree of a run that has ended again, for a person. Returns the directory.
    pub(super) fn reopen(&mut self, order: &WorktreeOrder) -> Result<PathBuf, CommandError> {
        if !matches!(self.record.stage, WorkStage::Closed | WorkStage::Freed) {
            let text = format!("the work of run {} is gone, or was never begun", self.id);
            return Err(CommandError::new(CommandErrorKind::NoWork, text));
        }
        // Written first: the directory is then found again.
        self.record.stage = WorkStage::Closed;
        self.record.kept = Some("somebody opened it".to_string());
        self.put()?;
        let wanted = WantedFiles { copy: order.copy.clone(), link: order.link.clone() };
        Ok(self.tree.reopen(&wanted)?.path)
    }

    /// Gives up a worktree that no worker was in.
    pub(super) fn give_up(&mut self) -> Result<(), CommandError> {
        match self.tree.discard() {
            Ok(_) => {}
            // It was never begun.
            Err(RunTreeError::NoRun(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.record.stage = WorkStage::Discarded;
        self.record.kept = None;
        self.put()
    }

    /// Removes the directory of a worktree that is closed, unless something keeps it; the record then says what.
    /// `slot` is the number that the run had, if nobody else has it now.
    pub(super) fn free(
        &mut self,
        run: &Run,
        teardown: &[String],
        slot: Option<u32>,
    ) -> Result<(), CommandError> {
        if self.record.stage != WorkStage::Closed {
            return Ok(());
        }
        let Some(closed) = self.closed.clone() else { return Ok(()) };
        self.record.kept = self.why_kept(&closed)?;
        if self.record.kept.is_some() {
            return self.put();
        }
        if closed.has_directory {
            self.tear_down((run, slot), teardown, (self.tree.path(), "teardown"));
        }
        self.tree.free(&closed)?;
        self.record.stage = WorkStage::Freed;
        self.put()
    }

    fn tear_down(&self, run: (&Run, Option<u32>), teardown: &[String], place: (PathBuf, &str)) {
        let end = self.run_commands(run, teardown, place, TEARDOWN_LIMIT, &|| false);
        let why = match end {
            Ok(CommandsEnd::Done { .. } | CommandsEnd::Stopped) => return,
            Ok(CommandsEnd::Failed { command, how, tail, .. }) => {
                format!("`{command}` ended with {how}{}", said(&tail))
            }
            Err(error) => error.message,
        };
        self.op.warn(format!("the teardown of run {} failed: {why}", self.id));
    }

    /// Like [`RunWork::free`] for a run whose supervisor is dead: its slot may have gone to another, whose ports and
    /// databases a teardown must not touch.
    pub(super) fn free_after_death(&mut self, run: &Run, teardown: &[String]) -> Result<(), CommandError> {
        let slots = RunSlots::of(&self.op.home);
        let held = match run.slot {
            Some(number) if !teardown.is_empty() => take_slot(&slots, number)?,
            _ => None,
        };
        if held.is_none() && run.slot.is_some() && !teardown.is_empty() {
            let text = format!("the teardown of run {} was not run: another run has its slot now", run.id);
            self.op.warn(text);
            return self.free(run, &[], None);
        }
        self.free(run, teardown, run.slot)
    }

    /// Why the directory can't go yet.
    fn why_kept(&self, closed: &ClosedTree) -> Result<Option<String>, CommandError> {
        if let Some(file) = closed.unsaved.first() {
            let more = closed.unsaved.len() - 1;
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            return Ok(Some(format!("`{}` is only there: {}{more}", file.path.display(), file.reason)));
        }
        if let Some(name) = self.agent_inside()? {
            return Ok(Some(format!("{name} is in it")));
        }
        if let Some((pid, name)) = process::program_inside(&self.tree.path()) {
            return Ok(Some(format!("process {pid} (`{name}`) is in it")));
        }
        let user = self.used_by(&self.id)?;
        Ok(user.map(|run| format!("run {run} needs it")))
    }

    /// A live agent whose working directory is in the worktree.
    pub(super) fn agent_inside(&self) -> Result<Option<String>, CommandError> {
        let path = self.tree.path();
        let census = self.mesh.registry().local_census()?;
        let found = census
            .records
            .iter()
            .find(|record| record.is_live() && Path::new(&record.agent.cwd).starts_with(&path));
        Ok(found.map(|record| record.agent.name.to_string()))
    }

    /// Another run that goes on in this worktree, or works for it.
    pub(super) fn used_by(&self, own: &RunId) -> Result<Option<RunId>, CommandError> {
        let path = self.tree.path();
        let is_here = |place: &str| Path::new(place).starts_with(&path);
        let ledger = self.mesh.runs();
        let found = ledger.list()?.runs.into_iter().find(|run| {
            run.id != *own
                && !run.state.is_final()
                && (is_here(&run.root) || run.project.as_deref().is_some_and(is_here))
                && ledger.owner_liveness(run) != Liveness::Gone
        });
        Ok(found.map(|run| run.id))
    }
}

/// The slot with that number, if nobody has it. A process that is dying may hold it for another moment.
fn take_slot(slots: &RunSlots, number: u32) -> Result<Option<HeldSlot>, CommandError> {
    let until = Instant::now() + SLOT_LIMIT;
    loop {
        let held = slots.try_number(number)?;
        if held.is_some() || Instant::now() >= until {
            return Ok(held);
        }
        clock::pause(Duration::from_millis(5));
    }
}

/// The repository of a record. Its project may be gone: it may have been a worktree of a run too.
fn open_repository(op: &Op, record: &WorkRecord) -> Result<RunRepository, CommandError> {
    let dirs = [Some(record.project.as_str()), op.cwd.to_str(), record.main_root.as_deref()];
    for dir in dirs.into_iter().flatten() {
        // What is wrong with one of them does not matter if another does.
        if let Ok(repository) = RunRepository::open(Path::new(dir), &git_state(&op.home))
            && repository.common_dir() == Path::new(&record.repository)
        {
            return Ok(repository);
        }
    }
    let text = format!("the repository of the run is gone: `{}`", record.project);
    let hint = format!("the directory of its worktree is in `{}`, if there is one", record.place);
    Err(CommandError::new(CommandErrorKind::NoRepository, text).hint(hint))
}

/// The work tree of a record.
fn tree_of(repository: &RunRepository, record: &WorkRecord) -> Result<RunTree, CommandError> {
    let tree = RunTree::new(repository, &record.tree, Path::new(&record.place))?;
    Ok(if record.commit.is_some() { tree.on_its_start() } else { tree })
}

/// The directory for worktrees of that repository: its name, so that people recognise it, and a mark of its path.
fn place(home: &Home, repository: &RunRepository) -> PathBuf {
    let name = repository.root().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let name: String = name.chars().map(plain).take(40).collect();
    let mark = sha256(repository.common_dir().as_os_str().as_encoded_bytes());
    machine_state(home).join("worktrees").join(format!("{name}-{}", &mark[..8]))
}

/// The message of the commit with a run's work.
pub(super) fn message(run: &Run) -> String {
    format!("{}\n\nThe work of run {} ({}).\n", run.title(72), run.id, run.profile)
}

/// The end of an output, to be put behind a sentence.
fn said(tail: &str) -> String {
    let tail = tail.trim();
    let start = tail.len().saturating_sub(MOST_OUTPUT);
    let start = (start..=tail.len()).find(|start| tail.is_char_boundary(*start)).unwrap_or(tail.len());
    if tail.is_empty() { String::new() } else { format!(":\n{}", &tail[start..]) }
}

//! Decides the state of each task of a spec: open, blocked, claimed or done.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

use crate::domain::TaskProof;
use crate::domain::settings::DependencyPolicy;
use crate::domain::spec::{self, Spec, Task};
use crate::ops::error::CommandError;
use crate::store::{Census, Claim, Claims, Completion, Completions, Reopening, SpecCompletions};
use crate::sys::files;

use super::elsewhere::SpecElsewhere;
use super::spec_key::Spellings;
use super::spec_ref::SpecRef;
use super::stale_claims::is_stale;

/// The state of a task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TaskState {
    Open,
    /// These have to be done first.
    Blocked(Vec<String>),
    Claimed,
    Done,
}

impl TaskState {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Blocked(_) => "blocked",
            Self::Claimed => "claimed",
            Self::Done => "done",
        }
    }
}

/// A task with its state.
#[derive(Clone, Debug)]
pub struct TaskView {
    pub id: String,
    pub title: String,
    pub state: TaskState,
    pub claim: Option<Claim>,
    pub completion: Option<Completion>,
    pub depends_on: Vec<String>,
    /// `None`: it is not in the spec.
    pub line: Option<usize>,
    /// Why the last run that had it ended without completing it, while nobody has it.
    pub came_back: Option<String>,
    /// How well it is proven that it is done; `None`: it is not done.
    pub proof: Option<TaskProof>,
    /// Completions of it that were taken back, oldest first.
    pub reopened: Vec<Reopening>,
}

/// The progress of a spec: how many tasks are in each state.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SpecProgress {
    pub done: usize,
    pub claimed: usize,
    pub open: usize,
    pub blocked: usize,
}

impl SpecProgress {
    pub(super) fn of<'a>(states: impl IntoIterator<Item = &'a TaskState>) -> Self {
        let mut progress = Self::default();
        for state in states {
            *match state {
                TaskState::Done => &mut progress.done,
                TaskState::Claimed => &mut progress.claimed,
                TaskState::Open => &mut progress.open,
                TaskState::Blocked(_) => &mut progress.blocked,
            } += 1;
        }
        progress
    }

    pub fn total(&self) -> usize {
        self.done + self.claimed + self.open + self.blocked
    }
}

thread_local! {
    /// The spec that was read last. A process that goes on, a screen or a server, reads the same one again and again,
    /// and most of the work is in parsing it.
    static LAST: RefCell<Option<Rc<ParsedSpec>>> = const { RefCell::new(None) };
}

/// A spec as it was read.
#[derive(Debug)]
pub(super) struct ParsedSpec {
    pub(super) place: SpecRef,
    pub(super) spec: Spec,
    /// Needed to tick a box.
    pub(super) text: String,
    /// What `stat` reported of the file before it was last read.
    mark: Cell<Option<FileMark>>,
    /// The index of each task in the spec.
    numbers: HashMap<String, usize>,
}

impl ParsedSpec {
    /// Reads the file. The same text of the same spec is parsed only once.
    pub(super) fn read(place: SpecRef) -> Result<Rc<Self>, CommandError> {
        let mark = place.file.as_deref().and_then(file_mark);
        let text = place.text()?;
        let is_same = |parsed_spec: &&Rc<Self>| parsed_spec.place == place && parsed_spec.text == text;
        if let Some(parsed_spec) = LAST.with_borrow(|last| last.as_ref().filter(is_same).cloned()) {
            parsed_spec.mark.set(mark);
            return Ok(parsed_spec);
        }
        let spec = spec::read(&text);
        let numbers = spec.tasks.iter().enumerate().map(|(number, task)| (task.id.clone(), number)).collect();
        let parsed_spec = Rc::new(Self { place, spec, text, mark: Cell::new(mark), numbers });
        LAST.set(Some(Rc::clone(&parsed_spec)));
        Ok(parsed_spec)
    }

    /// The same spec as it is now, for use after waiting for a lock: it is read again only if the file has changed.
    pub(super) fn refreshed(self: Rc<Self>) -> Result<Rc<Self>, CommandError> {
        match self.place.file.as_deref().and_then(file_mark) == self.mark.get() {
            true => Ok(self),
            false => Self::read(self.place.clone()),
        }
    }

    pub(super) fn task(&self, id: &str) -> Option<&Task> {
        self.numbers.get(id).map(|number| &self.spec.tasks[*number])
    }
}

/// Identifies a version of a file: device, inode, length, modification and change time.
type FileMark = (u64, u64, u64, i64, i64, i64, i64);

fn file_mark(path: &Path) -> Option<FileMark> {
    let there = files::metadata(path).ok().flatten()?;
    let (modified, changed) = ((there.mtime(), there.mtime_nsec()), (there.ctime(), there.ctime_nsec()));
    Some((there.dev(), there.ino(), there.len(), modified.0, modified.1, changed.0, changed.1))
}

/// A spec, with all that is known of its tasks.
pub(super) struct TaskBoard<'t> {
    pub(super) parsed_spec: &'t ParsedSpec,
    claims: HashMap<String, Claim>,
    completions: &'t Completions,
    /// The completions of this spec, under any spelling.
    finished: Vec<&'t SpecCompletions>,
    /// What other machines completed.
    done_elsewhere: HashMap<String, Completion>,
}

impl<'t> TaskBoard<'t> {
    pub(super) fn new(
        parsed_spec: &'t ParsedSpec,
        claims: &Claims,
        completions: &'t Completions,
        census: &Census,
        spellings: &Spellings,
        elsewhere: &SpecElsewhere,
    ) -> Self {
        let place = &parsed_spec.place;
        let is_it = |spec: &str| place.is_meant_by(spec, spellings);
        let finished = completions.specs().filter(|done| is_it(done.spec())).collect();
        let done_elsewhere = HashMap::new();
        let mut board = Self { parsed_spec, claims: HashMap::new(), completions, finished, done_elsewhere };
        for claim in claims.iter().filter(|claim| is_it(&claim.spec)) {
            // A finished task is no longer worked on: completing it was cut short.
            if !board.is_finished(&claim.task) && !is_stale(&claim, census) {
                board.claims.insert(claim.task.clone(), claim);
            }
        }
        // What this machine knows of its own agents comes first.
        let is_ours = |board: &Self, id: &str| board.is_finished(id) || board.claims.contains_key(id);
        for done in elsewhere.completions().filter(|done| !is_ours(&board, &done.task)).collect::<Vec<_>>() {
            board.done_elsewhere.insert(done.task.clone(), done.clone());
        }
        for claim in elsewhere.claims().filter(|claim| !is_ours(&board, &claim.task)).collect::<Vec<_>>() {
            board.claims.insert(claim.task.clone(), claim.clone());
        }
        board
    }

    /// The id that was typed, as it is written in the spec or in a claim.
    pub(super) fn meant(&self, typed: &str) -> String {
        let ids = self.parsed_spec.spec.tasks.iter().map(|task| task.id.as_str());
        let meant = spec::resolve_id(typed, ids.chain(self.claims.keys().map(String::as_str)));
        meant.unwrap_or(typed).to_string()
    }

    pub(super) fn claim(&self, id: &str) -> Option<&Claim> {
        self.claims.get(id)
    }

    pub(super) fn completion(&self, id: &str) -> Option<Completion> {
        let here = self.finished.iter().find_map(|finished| self.completions.find(finished, id));
        here.or_else(|| self.done_elsewhere.get(id).cloned())
    }

    /// Its completions on this machine, under all spellings of the spec.
    pub(super) fn all_completions(&self, id: &str) -> Vec<Completion> {
        self.finished.iter().filter_map(|finished| self.completions.find(finished, id)).collect()
    }

    /// Whether somebody completed it.
    pub(super) fn is_finished(&self, id: &str) -> bool {
        self.finished.iter().any(|finished| finished.has(id)) || self.done_elsewhere.contains_key(id)
    }

    /// Whether somebody completed it or its box is ticked.
    pub(super) fn is_done(&self, id: &str) -> bool {
        self.is_finished(id) || self.parsed_spec.task(id).is_some_and(|task| task.is_done)
    }

    /// Its dependencies that are not done. One that does not exist is never done: that is reported, and the setting
    /// `dependencies = advisory` ignores it.
    pub(super) fn missing(&self, task: &Task) -> Vec<String> {
        task.depends_on.iter().filter(|id| !self.is_done(id)).cloned().collect()
    }

    /// Tasks that wait only for this one, and can be started once it is done.
    pub(super) fn unblocked_by(&self, id: &str) -> Vec<String> {
        let waits = |task: &&Task| {
            task.depends_on.iter().any(|dependency| dependency == id)
                && self.missing(task).iter().all(|missing| missing == id)
                && !self.missing(task).is_empty()
        };
        let is_free =
            |task: &&Task| task.id != id && !self.is_done(&task.id) && self.claim(&task.id).is_none();
        let tasks = self.parsed_spec.spec.tasks.iter().filter(waits).filter(is_free);
        tasks.map(|task| task.id.clone()).collect()
    }

    pub(super) fn state(&self, task: &Task) -> TaskState {
        if self.is_done(&task.id) {
            return TaskState::Done;
        }
        if self.claims.contains_key(&task.id) {
            return TaskState::Claimed;
        }
        match self.missing(task) {
            missing if missing.is_empty() => TaskState::Open,
            missing => TaskState::Blocked(missing),
        }
    }

    /// The first task that can be started now. If dependencies are advisory, a task whose dependencies are not done is
    /// better than none.
    pub(super) fn next(&self, dependencies: DependencyPolicy) -> Option<&Task> {
        let open = |task: &&Task| self.state(task) == TaskState::Open;
        let blocked = |task: &&Task| matches!(self.state(task), TaskState::Blocked(_));
        let first = self.parsed_spec.spec.tasks.iter().find(open);
        let is_advisory = dependencies == DependencyPolicy::Advisory;
        first.or_else(|| self.parsed_spec.spec.tasks.iter().find(|task| is_advisory && blocked(task)))
    }

    /// The progress of the spec, without tasks that are not in it.
    pub(super) fn progress(&self) -> SpecProgress {
        let states: Vec<TaskState> =
            self.parsed_spec.spec.tasks.iter().map(|task| self.state(task)).collect();
        SpecProgress::of(&states)
    }

    /// The tasks in the spec, in its order, then the others by id.
    pub(super) fn views(&self) -> Vec<TaskView> {
        let done = self.finished.iter().flat_map(|finished| self.completions.of(finished));
        let done = done.chain(self.done_elsewhere.values().cloned());
        let done: HashMap<String, Completion> = done.map(|done| (done.task.clone(), done)).collect();
        let parsed_spec = self.parsed_spec;
        let mut views: Vec<TaskView> =
            parsed_spec.spec.tasks.iter().map(|task| self.view(task, &done)).collect();
        let mut others: Vec<&String> =
            self.claims.keys().chain(done.keys()).filter(|id| parsed_spec.task(id).is_none()).collect();
        others.sort_unstable();
        others.dedup();
        views.extend(others.into_iter().map(|id| TaskView {
            id: id.clone(),
            title: String::new(),
            state: if done.contains_key(id) { TaskState::Done } else { TaskState::Claimed },
            claim: self.claims.get(id).cloned(),
            completion: done.get(id).cloned(),
            depends_on: Vec::new(),
            line: None,
            came_back: None,
            proof: None,
            reopened: Vec::new(),
        }));
        views
    }

    fn view(&self, task: &Task, done: &HashMap<String, Completion>) -> TaskView {
        TaskView {
            id: task.id.clone(),
            title: task.title.clone(),
            state: self.state(task),
            claim: self.claims.get(&task.id).cloned(),
            completion: done.get(&task.id).cloned(),
            depends_on: task.depends_on.clone(),
            line: Some(task.line),
            came_back: None,
            proof: None,
            reopened: Vec::new(),
        }
    }
}

//! What the supervisor of a run has in hand, and how it writes the end of the run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::domain::awareness::counters::AgentId;
use crate::domain::runs::{Cost, MicroUsd, Run, RunId, RunState, Usage};
use crate::domain::{Agent, MAX_TEXT, Pid};
use crate::harness::worker::{CountedSpan, WorkerAdapter};
use crate::store::{HeldSlot, Mesh, RunOrder};
use crate::sys::git::run_tree::{ParentChange, TreeFingerprint};
use crate::sys::keeper::descendants::{own_descendants, signal_one};
use crate::sys::{clock, process};

use super::RUN_VARIABLE;
use super::grants::{grant_tree, is_over_with_others};
use super::run_events::{self, Notifier};
use super::session_spending::SessionSpending;
use super::work::RunWork;
use super::worker_call::adapter;
use crate::ops::awareness::reported_changes;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// How much of a worker's last words the ledger keeps.
const MOST_RESULT: usize = 256 * 1024;
/// How much of them is kept at all. A longer text can't be the task of the next run.
pub(super) const MOST_WHOLE_RESULT: usize = 2 * MAX_TEXT;
/// How many files outside of its tree the ledger keeps.
const MOST_OUTSIDE: usize = 100;
/// How long leftovers of a worker may take to end after SIGKILL, and its output to be closed.
pub(super) const END_LIMIT: Duration = Duration::from_secs(10);

/// How a run ended.
#[derive(Debug, Default)]
pub(super) struct RunFinish {
    pub(super) state: Option<RunState>,
    pub(super) reason: Option<String>,
    pub(super) result: Option<String>,
    pub(super) usage: Option<(Usage, Cost)>,
}

impl RunFinish {
    pub(super) fn new(state: RunState, reason: impl Into<String>) -> Self {
        Self { state: Some(state), reason: Some(reason.into()), ..Self::default() }
    }

    pub(super) fn failed(reason: impl Into<String>) -> Self {
        Self::new(RunState::Failed, reason)
    }
}

/// The supervisor of one run.
pub(super) struct Supervisor<'a> {
    pub(super) op: &'a Op,
    pub(super) mesh: &'a Mesh,
    pub(super) run: Run,
    pub(super) order: RunOrder,
    /// What earlier runs of the session used, if its harness counts that, too.
    pub(super) spent: SessionSpending,
    pub(super) slot: Option<HeldSlot>,
    /// What was used before the account was at its limit.
    pub(super) used_before: (Usage, Cost),
    /// The worker as an agent, if we registered it ourselves. Its own hooks may have taken that place over.
    pub(super) worker: Option<Agent>,
    /// The tree that the run works for, as it was when the worker started.
    pub(super) parent_tree: Option<TreeFingerprint>,
    /// Its own worktree.
    pub(super) work: Option<RunWork<'a>>,
    /// Tells the person's own command of each change.
    pub(super) notifier: Option<Notifier>,
    /// When it began, with the time that it waits for its turn.
    pub(super) began: Instant,
}

impl Supervisor<'_> {
    pub(super) fn set_state(&mut self, state: RunState) -> Result<(), CommandError> {
        debug_assert!(self.run.state.may_become(state), "{:?} → {state:?}", self.run.state);
        let before = std::mem::replace(&mut self.run.state, state);
        self.mesh.runs().put(&self.run)?;
        run_events::tell_feed(self.op, &self.run, before);
        if let Some(notifier) = &self.notifier {
            notifier.tell(state);
        }
        Ok(())
    }

    /// When the time of a worker is over that starts now, if that is limited. The time of a review begins when it is asked
    /// for.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let since = if self.run.reviews.is_some() { self.began } else { Instant::now() };
        since.checked_add(Duration::from_secs(self.order.timeout_seconds?))
    }

    /// What the run used in all, if its worker says this now. One that goes on in its session may count from its start.
    pub(super) fn used_in_all(&self, usage: Usage, cost: Cost) -> (Usage, Cost) {
        let counts = self.run.harness.as_deref().and_then(adapter).map(WorkerAdapter::counts);
        let is_session =
            |span: Option<CountedSpan>| self.order.resumes.is_some() && span == Some(CountedSpan::Session);
        let (before, paid) = self.used_before;
        let all = if is_session(counts.map(|counts| counts.usage)) { usage } else { before.plus(usage) };
        let sum = if is_session(counts.map(|counts| counts.cost)) { cost } else { paid.plus(cost) };
        (all, self.priced(all, sum))
    }

    /// What was reported that it cost, or else what it costs by the configured price of its model.
    fn priced(&self, usage: Usage, cost: Cost) -> Cost {
        let price = self.run.model.as_deref().and_then(|model| self.op.settings.price_of(model));
        match (cost, price, usage.input, usage.output) {
            // A part of the price would be taken for the whole.
            (Cost::Unknown, Some(price), Some(input), Some(output)) => {
                let (read, written) = (usage.cache_read.unwrap_or(0), usage.cache_write.unwrap_or(0));
                Cost::Computed(MicroUsd::from_micros(price.micros([input, output, read, written])))
            }
            _ => cost,
        }
    }

    /// Whether it and the runs that its worker started take more than it was granted. If the ledger can't be read, that
    /// is looked at again later.
    pub(super) fn is_over_with_others(&self) -> bool {
        if self.run.grant.is_unlimited() {
            return false;
        }
        grant_tree(self.mesh).is_ok_and(|tree| is_over_with_others(&tree, &self.run))
    }

    /// Writes the final state, once, and tells the parent.
    pub(super) fn end(mut self, mut finish: RunFinish) -> Result<(), CommandError> {
        // The commands of `notify` are our children, and everything of that kind is ended next.
        self.notifier.iter().for_each(Notifier::wait);
        end_leftovers(&self.run.id);
        // Work for a crew has further to go, and its task stays claimed until then.
        let crew = self.order.crew.clone().filter(|_| finish.state == Some(RunState::Done));
        match &crew {
            Some(_) => {
                self.mark_worked();
                // Its hooks had taken its place over, and it is dead.
                self.keep_again();
            }
            None => {
                self.give_task_back(&finish);
                self.let_worker_leave();
            }
        }
        self.save_work(&mut finish);
        let RunFinish { mut state, mut reason, result, usage } = finish;
        if let Some((usage, cost)) = usage {
            (self.run.usage, self.run.cost) = (usage, cost);
        }
        // A name that can't be read must not keep the run from its end.
        self.run.agent = self.mesh.runs().worker(&self.run.id).ok().flatten().or(self.run.agent.take());
        self.run.reason = reason.clone();
        if let Some(whole) = result.as_deref().filter(|text| text.len() > MOST_RESULT) {
            let whole = cut(whole.to_string(), MOST_WHOLE_RESULT);
            if let Err(error) = self.mesh.runs().write(&self.run.id, "result", whole.as_bytes()) {
                self.op.warn(format!("only the beginning of the result is kept: {error}"));
            }
        }
        self.run.result = result.map(|text| cut(text, MOST_RESULT));
        match &crew {
            _ if state != Some(RunState::Done) => {}
            None => self.review(),
            Some(crew) => {
                let is_stopped = self.finish_for_crew(crew).is_none();
                if is_stopped {
                    (state, reason) = (Some(RunState::Stopped), self.stopped_by());
                    self.run.reason.clone_from(&reason);
                }
            }
        }
        if crew.is_some() {
            self.give_task_back(&RunFinish { state, reason, ..RunFinish::default() });
            self.let_worker_leave();
        }
        self.free_work();
        self.run.ended_at = Some(clock::now());
        self.run.doing = None;
        self.run.until = None;
        (self.run.question, self.run.dialog) = (None, None);
        self.note_outside();
        self.set_state(state.unwrap_or(RunState::Failed))?;
        // The slot is free before the parent is told: it may want the next one.
        self.slot = None;
        let told = self.tell_of_end();
        // Nobody waits for the command of `notify` to hear of the end.
        self.notifier.take().map(Notifier::finish).into_iter().flatten().for_each(|text| self.op.warn(text));
        told
    }
}

impl Supervisor<'_> {
    /// Takes over which files changed in the tree that the run works for: what the worker's hooks saw, and what differs
    /// from the beginning. No hook sees what a worker leaves running, or what a tool without a command does.
    fn note_outside(&mut self) {
        let mut files: Vec<String> = match self.mesh.runs().outside_changes(&self.run.id) {
            Ok(changes) => changes.into_iter().flat_map(|change| change.files).collect(),
            Err(error) => {
                self.op.warn(format!("what run {} changed outside can't be read: {error}", self.run.id));
                Vec::new()
            }
        };
        if let (Some(before), Some(project)) = (&self.parent_tree, &self.run.project) {
            let known = self.reported_by_others(Path::new(project)).unwrap_or_else(|error| {
                self.op.warn(format!("what others changed in `{project}` can't be read: {error}"));
                Vec::new()
            });
            match TreeFingerprint::of(Path::new(project)) {
                Ok(now) => {
                    files.extend(now.changes_since(before).into_iter().filter_map(|change| match change {
                        ParentChange::Head => Some("HEAD".to_string()),
                        ParentChange::File(path) => {
                            (!known.contains(&path)).then(|| path.to_string_lossy().into_owned())
                        }
                    }));
                }
                Err(error) => self.op.warn(format!("`{project}` can't be compared: {error}")),
            }
        }
        files.sort();
        files.dedup();
        files.truncate(MOST_OUTSIDE);
        self.run.outside = files;
    }

    /// What hooks of other agents reported as theirs while the run went on.
    fn reported_by_others(&self, project: &Path) -> Result<Vec<PathBuf>, CommandError> {
        let Some(since) = self.run.started_at else { return Ok(Vec::new()) };
        let is_own = |agent: &Agent| Some(&agent.name) == self.run.agent.as_ref();
        let sessions = self.mesh.sessions().all()?.records.into_iter().map(|known| known.last.agent);
        let own = sessions.filter(is_own).map(|agent| agent.session).chain(self.run.session.clone());
        let own: Vec<AgentId> = own.map(|session| AgentId::of(&session)).collect();
        reported_changes(self.mesh, project, since, |agent| !own.contains(agent))
    }

    /// Remembers what the tree that the run works for looks like, if it is another than its own.
    pub(super) fn remember_parent_tree(&mut self) {
        let Some(project) = &self.run.project else { return };
        match TreeFingerprint::of(Path::new(project)) {
            Ok(print) => self.parent_tree = Some(print),
            Err(error) => self.op.warn(format!("`{project}` can't be compared at the end: {error}")),
        }
    }
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let left_out = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[… {left_out} bytes were left out here …]"));
    }
    text
}

/// Ends whatever still carries the id of the run, and what its keeper left to us. After an orderly end there is nothing.
/// What can't be ended in time is named by nobody but the system.
pub(super) fn end_leftovers(id: &RunId) {
    let until = Instant::now() + END_LIMIT;
    while Instant::now() < until {
        let own = process::own_pid();
        let mut left: Vec<Pid> = process::started_with(RUN_VARIABLE, id.as_str());
        left.extend(own_descendants());
        let left: Vec<Pid> =
            left.into_iter().filter(|pid| *pid != own && process::identify(*pid).is_some()).collect();
        if left.is_empty() {
            return;
        }
        for pid in left {
            signal_one(pid, Signal::SIGKILL);
        }
        clock::pause(Duration::from_millis(2));
    }
}

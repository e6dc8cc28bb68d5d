//! What runs cost, by task, outcome and harness, with what was paid for attempts that came to nothing.

use std::collections::BTreeMap;

use super::id::RunId;
use super::money::MicroUsd;
use super::run::Run;
use super::state::RunState;
use super::usage::Cost;

/// A sum over runs. Only what is known is in it, and of how many runs it is not known.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BillSum {
    pub runs: usize,
    pub tokens: u64,
    /// Runs whose tokens nobody knows.
    pub unknown_tokens: usize,
    pub reported: MicroUsd,
    pub computed: MicroUsd,
    /// Runs whose cost was reported, was computed, and is unknown.
    pub reported_runs: usize,
    pub computed_runs: usize,
    pub unknown_runs: usize,
}

impl BillSum {
    /// The sum over these runs.
    pub fn of(runs: &[Run]) -> Self {
        let mut sum = Self::default();
        runs.iter().for_each(|run| sum.add(run));
        sum
    }

    fn add(&mut self, run: &Run) {
        self.runs += 1;
        match run.usage.tokens() {
            Some(tokens) => self.tokens = self.tokens.saturating_add(tokens),
            None => self.unknown_tokens += 1,
        }
        match run.cost {
            Cost::Reported(amount) => {
                self.reported = self.reported.saturating_add(amount);
                self.reported_runs += 1;
            }
            Cost::Computed(amount) => {
                self.computed = self.computed.saturating_add(amount);
                self.computed_runs += 1;
            }
            Cost::Unknown => self.unknown_runs += 1,
        }
    }

    /// What is known to have been paid; `None` if that is known of no run.
    pub fn known(&self) -> Option<MicroUsd> {
        (self.unknown_runs < self.runs).then(|| self.reported.saturating_add(self.computed))
    }
}

/// A task with all attempts at it.
#[derive(Clone, Debug)]
pub struct BilledTask {
    /// The first line of it.
    pub title: String,
    pub profile: String,
    /// That of the last attempt; `None` for a command.
    pub harness: Option<String>,
    /// How the last attempt ended, or that it goes on.
    pub outcome: RunState,
    /// The attempts, the first one first.
    pub attempts: Vec<RunId>,
    pub all: BillSum,
    /// Attempts after the first.
    pub rework: BillSum,
    /// Attempts that ended without being done.
    pub lost: BillSum,
    /// The hash of the task and the profile of the first attempt.
    prompt: String,
}

/// What runs cost.
#[derive(Clone, Debug, Default)]
pub struct Bill {
    /// The task with the latest attempt first.
    pub tasks: Vec<BilledTask>,
    /// By how runs ended.
    pub outcomes: BTreeMap<&'static str, BillSum>,
    /// `command` for those without a harness.
    pub harnesses: BTreeMap<String, BillSum>,
    pub all: BillSum,
    pub rework: BillSum,
    pub lost: BillSum,
}

/// The name of what has no harness.
const COMMAND: &str = "command";

impl Bill {
    /// The bill of these runs, the newest first. A run belongs to the task of the run that it repeats or continues, and to
    /// that of an earlier run with the same task and profile, as long as that did not get done.
    pub fn of(runs: &[Run]) -> Self {
        let mut bill = Self::default();
        // The oldest first, so that the first attempt is known.
        for run in runs.iter().rev() {
            let place = bill.task_of(run);
            bill.add(run, place);
        }
        bill.tasks.reverse();
        bill
    }

    /// The place of the task of a run.
    fn task_of(&mut self, run: &Run) -> usize {
        let earlier = run.earlier.as_ref().map(|earlier| earlier.id());
        let continues = |task: &BilledTask| earlier.is_some_and(|id| task.attempts.contains(id));
        let repeats = |task: &BilledTask| task.prompt == run.prompt && is_lost(task.outcome);
        let found = self.tasks.iter().rposition(continues);
        let found = found.or_else(|| self.tasks.iter().rposition(repeats).filter(|_| earlier.is_none()));
        let task = match found {
            // The one with the latest attempt is the last.
            Some(place) => self.tasks.remove(place),
            None => BilledTask {
                title: run.title(60),
                profile: run.profile.clone(),
                harness: run.harness.clone(),
                outcome: run.state,
                attempts: Vec::new(),
                all: BillSum::default(),
                rework: BillSum::default(),
                lost: BillSum::default(),
                prompt: run.prompt.clone(),
            },
        };
        self.tasks.push(task);
        self.tasks.len() - 1
    }

    fn add(&mut self, run: &Run, place: usize) {
        let harness = run.harness.clone().unwrap_or_else(|| COMMAND.to_string());
        let task = &mut self.tasks[place];
        let is_again = !task.attempts.is_empty();
        (task.outcome, task.harness) = (run.state, run.harness.clone());
        task.attempts.push(run.id.clone());
        let sums = [
            &mut task.all,
            &mut self.all,
            self.harnesses.entry(harness).or_default(),
            self.outcomes.entry(run.state.name()).or_default(),
        ];
        sums.into_iter().for_each(|sum| sum.add(run));
        if is_again {
            task.rework.add(run);
            self.rework.add(run);
        }
        if is_lost(run.state) {
            task.lost.add(run);
            self.lost.add(run);
        }
    }
}

/// Whether an attempt came to nothing.
fn is_lost(state: RunState) -> bool {
    state.is_final() && state != RunState::Done
}

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

    /// This sum and another one.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            tokens: self.tokens.saturating_add(other.tokens),
            unknown_tokens: self.unknown_tokens + other.unknown_tokens,
            reported: self.reported.saturating_add(other.reported),
            computed: self.computed.saturating_add(other.computed),
            reported_runs: self.reported_runs + other.reported_runs,
            computed_runs: self.computed_runs + other.computed_runs,
            unknown_runs: self.unknown_runs + other.unknown_runs,
        }
    }

    /// The tokens that are known; `None` if those of no run are.
    pub fn known_tokens(&self) -> Option<u64> {
        (self.unknown_tokens < self.runs).then_some(self.tokens)
    }

    /// What is known to have been paid; `None` if that is known of no run.
    pub fn known(&self) -> Option<MicroUsd> {
        (self.unknown_runs < self.runs).then(|| self.reported.saturating_add(self.computed))
    }
}

/// What work cost, and what it cost to review it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ReviewedBill {
    pub builders: BillSum,
    pub reviewers: BillSum,
}

impl ReviewedBill {
    /// The sums over these runs and their reviews.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Self {
        let mut bill = Self::default();
        runs.into_iter().for_each(|run| bill.add(run));
        bill
    }

    fn add(&mut self, run: &Run) {
        let sum = if run.reviews.is_some() { &mut self.reviewers } else { &mut self.builders };
        sum.add(run);
    }

    /// Both together.
    pub fn all(&self) -> BillSum {
        self.builders.plus(&self.reviewers)
    }
}

/// A task with all attempts at it, and their reviews.
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
    pub bill: ReviewedBill,
    /// Attempts after the first, and their reviews.
    pub rework: BillSum,
    /// Attempts and reviews that ended without being done.
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
    /// Reviews, which are in the other sums, too.
    pub reviewers: BillSum,
    pub rework: BillSum,
    pub lost: BillSum,
}

/// The name of what has no harness.
const COMMAND: &str = "command";

impl Bill {
    /// The bill of these runs, the newest first. A run belongs to the task of the run that it repeats or continues, and to
    /// that of an earlier run with the same task and profile, as long as that did not get done. A review belongs to the task
    /// of the run that it reviews.
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
        let earlier = run.reviews.as_ref().or(run.earlier.as_ref().map(|earlier| earlier.id()));
        let continues = |task: &BilledTask| earlier.is_some_and(|id| task.attempts.contains(id));
        let repeats = |task: &BilledTask| task.prompt == run.prompt && is_lost(task.outcome);
        let found = self.tasks.iter().rposition(continues);
        let found = found.or_else(|| self.tasks.iter().rposition(repeats).filter(|_| run.earlier.is_none()));
        let task = match found {
            // The one with the latest attempt is the last.
            Some(place) => self.tasks.remove(place),
            None => BilledTask {
                title: run.title(60),
                profile: run.profile.clone(),
                harness: run.harness.clone(),
                outcome: run.state,
                attempts: Vec::new(),
                bill: ReviewedBill::default(),
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
        let reviewed = run.reviews.as_ref().and_then(|id| task.attempts.iter().position(|other| other == id));
        let is_again = reviewed.unwrap_or(task.attempts.len()) > 0;
        if reviewed.is_none() {
            (task.outcome, task.harness) = (run.state, run.harness.clone());
            task.attempts.push(run.id.clone());
        }
        task.bill.add(run);
        let sums = [
            &mut self.all,
            self.harnesses.entry(harness).or_default(),
            self.outcomes.entry(run.state.name()).or_default(),
        ];
        sums.into_iter().for_each(|sum| sum.add(run));
        if run.reviews.is_some() {
            self.reviewers.add(run);
        }
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

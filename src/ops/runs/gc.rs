//! `msg runs gc`: saves what is not saved, frees what nobody needs, and says why. No work is lost by it.

use std::collections::{HashMap, HashSet};

use crate::domain::runs::{GrantTree, Run, RunId};
use crate::store::{Mesh, StoreError, WorkStage};
use crate::sys::git::run_tree::RunTreeError;

use super::ended_work::Asker;
use super::list::as_it_is;
use super::settle::settle;
use super::work::RunWork;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::tasks::is_open;

/// How many runs the ledger keeps, besides those with work that is not merged.
const MOST_RUNS: usize = 500;

/// Whether something is done, or only said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GcMode {
    Do,
    DryRun,
}

/// What became of something of a run, or would.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GcStep {
    pub run: RunId,
    pub action: GcAction,
    pub why: String,
}

/// What is done about a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GcAction {
    /// Its work is committed.
    Save,
    /// The directory of its worktree is removed.
    Free,
    /// Its directory stays.
    Keep,
    /// Its branch and refs stay, although its work is merged.
    KeepRefs,
    /// Its branch and refs are removed.
    Unbranch,
    /// The ledger forgets it.
    Forget,
}

impl GcAction {
    pub fn name(self) -> &'static str {
        match self {
            Self::Save => "save",
            Self::Free => "free",
            Self::Keep | Self::KeepRefs => "keep",
            Self::Unbranch => "unbranch",
            Self::Forget => "forget",
        }
    }
}

/// Frees what nobody needs: for an agent of the runs that it asked for, for a person of all.
pub fn gc(op: &Op, mode: GcMode) -> Result<Vec<GcStep>, CommandError> {
    let Some(mesh) = op.mesh()? else {
        op.note_absent_mesh();
        return Ok(Vec::new());
    };
    let mut collector = Collector {
        op,
        mesh: &mesh,
        mode,
        steps: Vec::new(),
        budgeted: HashSet::new(),
        in_crews: HashMap::new(),
    };
    let asker = Asker::find(op, &mesh)?;
    let unsaved = collector.unsaved()?;
    if mode == GcMode::Do {
        settle(op, &mesh)?;
    }
    for (id, what) in unsaved {
        collector.tell(&id, GcAction::Save, what);
    }
    let _lock = if mode == GcMode::Do { Some(mesh.runs().lock_work()?) } else { None };
    let runs: Vec<Run> = mesh.runs().list()?.runs.into_iter().map(|run| as_it_is(&mesh, run)).collect();
    collector.budgeted = budgeted(op, &mesh, &runs)?;
    collector.in_crews = in_crews(&mesh, &runs)?;
    for (place, run) in runs.iter().enumerate().filter(|(_, run)| run.state.is_final()) {
        if !asker.is_parent_of(&mesh, &run.id, &run.parent)? {
            continue;
        }
        if let Err(error) = collector.one(run, place) {
            op.warn(format!("run {}: {}", run.id, error.message));
        }
    }
    Ok(collector.steps)
}

/// The runs that count in a budget, or in what a run was granted that goes on. If one can't be read, all that were granted something may.
fn budgeted(op: &Op, mesh: &Mesh, runs: &[Run]) -> Result<HashSet<RunId>, CommandError> {
    let budgets = match mesh.runs().budgets() {
        Err(error @ StoreError::Corrupt { .. }) => {
            op.warn(format!("a budget can't be read, so runs that may count in it are kept: {error}"));
            None
        }
        budgets => Some(budgets?),
    };
    let tree = GrantTree::new(runs.iter().cloned());
    let counts = |run: &&Run| match &budgets {
        Some(budgets) => budgets.iter().any(|set| tree.counts_in(&run.id, &set.id, &set.carried)),
        None => !run.grant.is_unlimited(),
    };
    let is_needed = |run: &&Run| counts(run) || tree.has_live_granter(&run.id);
    Ok(runs.iter().filter(is_needed).map(|run| run.id.clone()).collect())
}

/// The runs that a task of a crew would go on with, or by which it is known what comes next, each with that task. All
/// attempts at a task share one work.
fn in_crews(mesh: &Mesh, runs: &[Run]) -> Result<HashMap<RunId, String>, CommandError> {
    let mut known: HashMap<(&str, &str), bool> = HashMap::new();
    let mut found = HashMap::new();
    for run in runs.iter().filter(|run| run.crew.is_some()) {
        let Some(claim) = &run.claim else { continue };
        let task = (claim.spec.as_str(), claim.task.as_str());
        let is_wanted = match known.get(&task) {
            Some(is_wanted) => *is_wanted,
            None => *known.entry(task).or_insert(is_open(mesh, claim)?),
        };
        if is_wanted {
            found.insert(run.id.clone(), claim.task.clone());
        }
    }
    let of_reviewed = |run: &Run| Some((run.id.clone(), found.get(run.reviews.as_ref()?)?.clone()));
    let reviews: Vec<(RunId, String)> = runs.iter().filter_map(of_reviewed).collect();
    found.extend(reviews);
    Ok(found)
}

struct Collector<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    mode: GcMode,
    steps: Vec<GcStep>,
    /// Runs that count in a budget or a grant: without them, more would be left of it.
    budgeted: HashSet<RunId>,
    /// Runs of crews whose task is not done, and that task.
    in_crews: HashMap<RunId, String>,
}

impl Collector<'_> {
    fn tell(&mut self, run: &RunId, action: GcAction, why: impl Into<String>) {
        self.steps.push(GcStep { run: run.clone(), action, why: why.into() });
    }

    /// The interrupted runs whose work is only in their directories.
    fn unsaved(&self) -> Result<Vec<(RunId, &'static str)>, CommandError> {
        let ledger = self.mesh.runs();
        let mut found = Vec::new();
        for run in ledger.list()?.runs {
            let run = as_it_is(self.mesh, run);
            // A record that can't be read is told when it is worked on.
            let stage = ledger.work(&run.id).ok().flatten().map(|work| work.stage);
            if run.state.is_final() && stage == Some(WorkStage::Open) {
                found.push((run.id, "its supervisor died before its work was committed"));
            }
        }
        Ok(found)
    }

    fn one(&mut self, run: &Run, place: usize) -> Result<(), CommandError> {
        let Some(record) = self.mesh.runs().work(&run.id)? else { return self.forget(run, place) };
        if record.stage == WorkStage::Discarded {
            return self.forget(run, place);
        }
        let Some(mut work) = RunWork::load(self.op, self.mesh, &run.id)? else { return Ok(()) };
        if record.stage == WorkStage::Freed {
            // A run that continued this one may have been merged or discarded.
            match work.tree.is_merged() {
                Ok(is_merged) => work.record.is_merged |= is_merged,
                Err(RunTreeError::NoRun(_)) => return self.forget(run, place),
                Err(error) => return Err(error.into()),
            }
        }
        if work.record.stage == WorkStage::Freed && work.used_by(&run.id)?.is_some() {
            return Ok(());
        }
        if matches!(record.stage, WorkStage::Making | WorkStage::Open | WorkStage::Closed) {
            self.free(run, &mut work)?;
        }
        if work.record.stage != WorkStage::Freed {
            return Ok(());
        }
        let why = match (work.record.changed_count, work.record.is_merged) {
            (_, true) => "its work is merged",
            (0, _) => "it changed nothing",
            _ => return Ok(()),
        };
        if work.record.is_merged || place >= MOST_RUNS {
            if let Some(task) = self.in_crews.get(&run.id) {
                let why = format!(
                    "`{task}` of its crew is not done; `msg runs discard {}` lets it begin anew",
                    run.id
                );
                self.tell(&run.id, GcAction::KeepRefs, why);
                return Ok(());
            }
            // A merge brings these nowhere, so they are only there.
            if work.tree.has_saved_files()? {
                let name = work.tree.refs().saved();
                let why = format!(
                    "files that are never merged are only in `{name}`; `msg runs discard {}` gives them up",
                    run.id
                );
                self.tell(&run.id, GcAction::KeepRefs, why);
                return Ok(());
            }
            if self.mode == GcMode::Do {
                work.give_up()?;
            }
            self.tell(&run.id, GcAction::Unbranch, why);
            return self.forget(run, place);
        }
        Ok(())
    }

    fn free(&mut self, run: &Run, work: &mut RunWork<'_>) -> Result<(), CommandError> {
        if self.mode == GcMode::DryRun {
            match work.record.kept.clone() {
                Some(why) => self.tell(&run.id, GcAction::Keep, why),
                None => self.tell(&run.id, GcAction::Free, "it has ended, and its work is committed"),
            }
            return Ok(());
        }
        work.close(run)?;
        let teardown = self.mesh.runs().order(&run.id)?.worktree.unwrap_or_default().teardown;
        work.free_after_death(run, &teardown)?;
        match (work.record.stage, work.record.kept.clone()) {
            (WorkStage::Closed, Some(why)) => self.tell(&run.id, GcAction::Keep, why),
            _ => self.tell(&run.id, GcAction::Free, "it has ended, and its work is committed"),
        }
        Ok(())
    }

    fn forget(&mut self, run: &Run, place: usize) -> Result<(), CommandError> {
        let is_needed = self.budgeted.contains(&run.id) || self.in_crews.contains_key(&run.id);
        if place < MOST_RUNS || is_needed {
            return Ok(());
        }
        if self.mode == GcMode::Do {
            self.mesh.runs().remove(&run.id)?;
        }
        self.tell(&run.id, GcAction::Forget, format!("{MOST_RUNS} runs are newer"));
        Ok(())
    }
}

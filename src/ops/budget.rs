//! `msg budget`: what all runs of a repository together may use up, set by people and held by the gate of runs.

use std::path::Path;

use crate::domain::runs::{BudgetUse, GrantKind, GrantTree, Run, RunId};
use crate::domain::shell_word;
use crate::domain::workers::Budget;
use crate::store::{Mesh, RecordedBudget, StoreError};
use crate::sys::{clock, paths, random};

use super::effects::Op;
use super::error::CommandError;
use super::person_required;
use super::runs::grants::{allowed, grant_tree};
use super::runs::own_run;

/// What became of one kind of a budget.
#[derive(Clone, Debug)]
pub struct BudgetPart {
    pub kind: GrantKind,
    pub set: u64,
    pub taken: BudgetUse,
    pub left: u64,
}

/// The budget that a person set.
#[derive(Clone, Debug)]
pub struct CurrentBudget {
    pub record: RecordedBudget,
    pub parts: Vec<BudgetPart>,
}

/// What the run whose worker asks was granted.
#[derive(Clone, Debug)]
pub struct OwnGrant {
    pub run: Run,
    pub parts: Vec<OwnGrantPart>,
}

/// One kind of it.
#[derive(Clone, Copy, Debug)]
pub struct OwnGrantPart {
    pub kind: GrantKind,
    pub granted: u64,
    /// By its worker itself; `None` if that is not known.
    pub used: Option<u64>,
    /// By the runs that its worker started.
    pub passed_on: u64,
    pub left: u64,
}

/// Budgets as they apply in the working directory, and to whoever asks.
#[derive(Clone, Debug, Default)]
pub struct BudgetView {
    pub set: Option<CurrentBudget>,
    /// Why the budget can't be read. Then no run is started.
    pub problem: Option<String>,
    pub own: Option<OwnGrant>,
}

/// The budget here.
pub fn budget(op: &Op) -> Result<BudgetView, CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(BudgetView::default()) };
    let mut view = BudgetView::default();
    let record = match mesh.runs().budget_at(&paths::follow(&op.cwd)) {
        Err(error @ StoreError::Corrupt { .. }) => {
            op.warn(format!(
                "the budget can't be read, so no run is started: {error}; a person can set it again with `msg budget set`"
            ));
            view.problem = Some(error.to_string());
            None
        }
        record => record?.filter(|record| !record.amounts.is_unlimited()),
    };
    let own = own_run::worker_run(&mesh)?;
    if record.is_none() && own.is_none() {
        return Ok(view);
    }
    for (path, reason) in mesh.runs().list()?.damaged {
        op.warn(format!(
            "a run can't be read, so what it used does not count: `{}`: {reason}",
            path.display()
        ));
    }
    let tree = grant_tree(&mesh)?;
    view.set = record.map(|record| current(&tree, record));
    view.own = own.filter(|run| !run.grant.is_unlimited()).map(|run| own_grant(&tree, run));
    Ok(view)
}

fn current(tree: &GrantTree, record: RecordedBudget) -> CurrentBudget {
    let part = |kind: GrantKind| {
        let set = allowed(&record.amounts, kind)?;
        let taken = tree.use_of(&record.id, &record.carried, kind);
        let left = set.saturating_sub(taken.taken());
        Some(BudgetPart { kind, set, taken, left })
    };
    CurrentBudget { parts: GrantKind::ALL.into_iter().filter_map(part).collect(), record }
}

fn own_grant(tree: &GrantTree, run: Run) -> OwnGrant {
    let part = |kind: GrantKind| {
        Some(OwnGrantPart {
            kind,
            granted: run.grant.amount(kind)?,
            used: kind.used(run.usage, run.cost),
            passed_on: tree.taken_below(&run.id, kind),
            left: tree.left(&run, kind)?,
        })
    };
    OwnGrant { parts: GrantKind::ALL.into_iter().filter_map(part).collect(), run }
}

/// Sets what all runs of this repository may use up together from now on; without limits, there is no budget any more.
/// Needs a person.
pub fn set_budget(op: &Op, amounts: Budget, typed: &str) -> Result<BudgetView, CommandError> {
    let line = || person_required::with_mesh(op, &format!("msg budget set {}", shell_word(typed)));
    person_required::required(line)?;
    let mesh = op.create_mesh()?;
    {
        // Whoever is being admitted counts in the one or in the other.
        let lock = mesh.runs().lock_admission()?;
        let here = paths::follow(&op.cwd);
        let carried = live_here(&mesh, &here)?;
        let record = RecordedBudget {
            id: random::uuid().to_string(),
            amounts,
            since: clock::now(),
            carried,
            directory: String::new(),
            is_folder: false,
        };
        mesh.runs().set_budget(&here, record, &lock)?;
    }
    budget(op)
}

/// The runs that go on and that a budget which is set here applies to.
fn live_here(mesh: &Mesh, here: &Path) -> Result<Vec<RunId>, CommandError> {
    let tree = grant_tree(mesh)?;
    let mut found = Vec::new();
    for id in tree.live() {
        let place =
            tree.get(&id).map(|run| paths::follow(run.project.as_ref().unwrap_or(&run.root).as_ref()));
        if let Some(place) = place
            && mesh.runs().is_budget_for(here, &place)?
        {
            found.push(id);
        }
    }
    Ok(found)
}

//! The gate of the budget: a run is granted what it names, in full and at its start, by the nearest run above that has a
//! budget and goes on, or else by the budget that a person set for the repository. Where that run is no part of the
//! repository's budget, it is granted by both. So it is where nobody can tell whether the run above is only named.

use std::path::Path;

use crate::domain::RecordedProcess;
use crate::domain::runs::{
    Grant, GrantKind, GrantShare, GrantTree, Granter, MicroUsd, Run, RunId, RunParent,
};
use crate::domain::workers::Budget;
use crate::store::{BudgetRefusal, LedgerList, Mesh, RecordedBudget, RunOrder, StoreError};
use crate::sys::{paths, process};

use super::gate::Gate;
use super::list::as_it_is;
use crate::ops::error::CommandError;

/// How many of those that hold something are named.
const MOST_HOLDERS: usize = 5;

/// What the gate says.
#[derive(Debug)]
pub(super) enum GrantAnswer {
    /// What is granted, and a sentence about it, unless nothing is limited.
    Granted(Grant, Option<String>),
    Refused(BudgetRefusal),
}

/// Every run as it is now, with what it was granted.
pub(in crate::ops) fn grant_tree(mesh: &Mesh) -> Result<GrantTree, CommandError> {
    grant_tree_again(mesh, &LedgerList::default())
}

fn grant_tree_again(mesh: &Mesh, before: &LedgerList) -> Result<GrantTree, CommandError> {
    // Of one that has ended, nothing else has to be looked at.
    let as_it_is = |run: Run| if run.state.is_final() { run } else { as_it_is(mesh, run) };
    Ok(GrantTree::new(mesh.runs().list_again(before)?.runs.into_iter().map(as_it_is)))
}

/// An amount as it is typed: `2.50usd`, `200ktok`.
pub fn amount_text(kind: GrantKind, amount: u64) -> String {
    let budget = match kind {
        GrantKind::Usd => Budget { usd: Some(MicroUsd::from_micros(amount)), tokens: None },
        GrantKind::Tokens if amount == 0 => return "0tok".to_string(),
        GrantKind::Tokens => Budget { usd: None, tokens: Some(amount) },
    };
    budget.to_string()
}

/// What a budget is set for.
pub fn place_text(set: &RecordedBudget) -> String {
    match set.is_folder {
        true => format!("the folder `{}`", set.directory),
        false => "this repository".to_string(),
    }
}

/// What a budget allows of that kind.
pub(in crate::ops) fn allowed(budget: &Budget, kind: GrantKind) -> Option<u64> {
    match kind {
        GrantKind::Usd => budget.usd.map(MicroUsd::micros),
        GrantKind::Tokens => budget.tokens,
    }
}

/// What limits a run from above.
struct Source {
    granter: Granter,
    /// In words.
    name: String,
    left: u64,
    held: Vec<(RunId, u64)>,
}

/// What whoever admits the run can read of the ledger before it takes the lock for that: nothing if no gate needs it.
pub(super) fn read_before(mesh: &Mesh, run: &Run) -> Result<LedgerList, CommandError> {
    match run.parent.run.is_some() || !matches!(budget_of(mesh, run), Ok(None)) {
        true => Ok(mesh.runs().list()?),
        false => Ok(LedgerList::default()),
    }
}

fn budget_of(mesh: &Mesh, run: &Run) -> Result<Option<RecordedBudget>, StoreError> {
    mesh.runs().budget_at(&paths::follow(Path::new(&run.root)))
}

/// What the run is granted that its order asks for. Whoever admits it holds the lock for that. `before` is what was read
/// of the ledger before.
pub(super) fn decide(
    mesh: &Mesh,
    run: &Run,
    order: &RunOrder,
    before: &LedgerList,
) -> Result<GrantAnswer, CommandError> {
    let set = match budget_of(mesh, run) {
        // A limit that somebody set must not disappear.
        Err(error @ StoreError::Corrupt { .. }) => return Ok(GrantAnswer::Refused(unreadable(&error))),
        set => set?,
    };
    // Without either, nothing above limits it.
    let tree = match run.parent.run.is_some() || set.is_some() {
        true => grant_tree_again(mesh, before)?,
        false => GrantTree::default(),
    };
    let wanted = Budget { usd: order.most_micros.map(MicroUsd::from_micros), tokens: order.most_tokens };
    let (mut grant, mut said) = (Grant::default(), Vec::new());
    for kind in GrantKind::ALL {
        let sources = sources(&tree, &run.parent, set.as_ref(), kind);
        let amount = match (sources.iter().min_by_key(|source| source.left), allowed(&wanted, kind)) {
            (Some(source), None) => return Ok(GrantAnswer::Refused(unnamed(source, kind))),
            (Some(source), Some(amount)) if amount > source.left => {
                return Ok(GrantAnswer::Refused(too_little(source, kind, amount)));
            }
            (_, None) => continue,
            (_, Some(amount)) => amount,
        };
        for source in &sources {
            let (amount_said, left) = (amount_text(kind, amount), amount_text(kind, source.left));
            said.push(format!("{amount_said} out of {left} that is left of {}", source.name));
        }
        grant.set(kind, Some(share(amount, sources)));
    }
    Ok(GrantAnswer::Granted(grant, Some(said.join(", ")).filter(|said| !said.is_empty())))
}

/// An amount that all of these grant: a run before a budget.
fn share(amount: u64, sources: Vec<Source>) -> GrantShare {
    let mut granters = sources.into_iter().map(|source| source.granter);
    let by = granters.next();
    let also = granters.find_map(|granter| match granter {
        Granter::Budget(id) => Some(id),
        Granter::Run(_) => None,
    });
    GrantShare { amount, by, also }
}

/// Who has to grant something of that kind to a run of this parent; nobody if nothing is limited. A run that was granted
/// its own elsewhere, or may be only named, grants nothing here that the budget here does not grant, too.
fn sources(
    tree: &GrantTree,
    parent: &RunParent,
    set: Option<&RecordedBudget>,
    kind: GrantKind,
) -> Vec<Source> {
    let is_above = |id: &&RunId| parent.is_run_proven || !tree.get(id).is_some_and(is_seen_above_its_worker);
    let above = parent.run.as_ref().filter(is_above).and_then(|id| tree.granter(id, kind));
    let of_run = |above: &Run| {
        Some(Source {
            granter: Granter::Run(above.id.clone()),
            name: format!("the budget of run {}", above.id),
            left: tree.left(above, kind)?,
            held: tree.held_below(&above.id, kind),
        })
    };
    let of_set = |set: &RecordedBudget| {
        let allowed = allowed(&set.amounts, kind)?;
        let used = tree.use_of(&set.id, &set.carried, kind);
        Some(Source {
            granter: Granter::Budget(set.id.clone()),
            name: format!("the budget of {}", place_text(set)),
            left: allowed.saturating_sub(used.taken()),
            held: used.held,
        })
    };
    let is_beyond = |set: &&RecordedBudget| {
        let is_part = |above: &Run| tree.is_part_of(&above.id, kind, &set.id, &set.carried);
        !parent.is_run_proven || !above.is_some_and(is_part)
    };
    above.and_then(of_run).into_iter().chain(set.filter(is_beyond).and_then(of_set)).collect()
}

/// Whether its worker could prove here that it is: on Linux a supervisor is above all that its worker starts, because it
/// adopts what leaves it. From a pid namespace of its own, a worker does not see it.
fn is_seen_above_its_worker(run: &Run) -> bool {
    let is_here = |owner: &RecordedProcess| match owner {
        RecordedProcess::Pinned(owner) => owner.place == *process::pid_scope(),
        RecordedProcess::Bare { .. } => false,
    };
    cfg!(target_os = "linux") && is_here(&run.owner)
}

fn unreadable(error: &StoreError) -> BudgetRefusal {
    BudgetRefusal {
        text: format!("the budget that applies here can't be read, so no run is started: {error}"),
        hints: vec![
            "a person can set it again: `msg budget set 20usd`, or `msg budget set none`".to_string(),
        ],
        left: None,
        held_by: Vec::new(),
    }
}

fn unnamed(source: &Source, kind: GrantKind) -> BudgetRefusal {
    let left = amount_text(kind, source.left);
    let example = match kind {
        GrantKind::Usd => "--budget 0.50usd",
        GrantKind::Tokens => "--budget 50ktok",
    };
    let what = match kind {
        GrantKind::Usd => "dollars",
        GrantKind::Tokens => "tokens",
    };
    BudgetRefusal {
        text: format!(
            "{} limits {what}, so this run has to say how much it may use at most; {left} is left",
            source.name
        ),
        hints: vec![format!("add for example `{example}`, or give its profile a `budget` in `workers.toml`")],
        left: Some(left),
        held_by: holders(source),
    }
}

fn too_little(source: &Source, kind: GrantKind, wanted: u64) -> BudgetRefusal {
    let left = amount_text(kind, source.left);
    let mut text =
        format!("it asks for {}, and of {} only {left} is left", amount_text(kind, wanted), source.name);
    let named = source.held.iter().take(MOST_HOLDERS);
    let named: Vec<String> =
        named.map(|(id, amount)| format!("run {id} ({})", amount_text(kind, *amount))).collect();
    if !named.is_empty() {
        let more = match source.held.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text.push_str(&format!("; held by {}{more}", named.join(", ")));
    }
    let mut hints = Vec::new();
    if source.left > 0 {
        hints.push(format!("ask for less: `--budget {left}`"));
    }
    if !source.held.is_empty() {
        hints.push(
            "wait until a run that holds some has ended: what it did not use is given back".to_string(),
        );
    }
    if matches!(source.granter, Granter::Budget(_)) {
        hints.push("a person can set another budget: `msg budget set 20usd`".to_string());
    }
    BudgetRefusal { text, hints, left: Some(left), held_by: holders(source) }
}

fn holders(source: &Source) -> Vec<String> {
    source.held.iter().map(|(id, _)| id.to_string()).collect()
}

/// The error of a run that the gate refuses.
pub(super) fn refusal_error(refusal: BudgetRefusal) -> CommandError {
    let mut error = Gate::Budget.refuse(refusal.text).facts("heldBy", refusal.held_by);
    if let Some(left) = refusal.left {
        error = error.fact("left", left);
    }
    refusal.hints.into_iter().fold(error, CommandError::hint)
}

/// Whether a run, and what it granted to others, takes more than it was granted.
pub(super) fn is_over_with_others(tree: &GrantTree, run: &Run) -> bool {
    GrantKind::ALL.into_iter().any(|kind| {
        let below = tree.taken_below(&run.id, kind);
        let taken = kind.used(run.usage, run.cost).unwrap_or(0).saturating_add(below);
        below > 0 && run.grant.amount(kind).is_some_and(|grant| taken > grant)
    })
}

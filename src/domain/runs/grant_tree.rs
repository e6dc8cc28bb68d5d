//! The tree of grants: what each run takes out of the budget above it, and what is left.
//!
//! A run that goes on takes all that it was granted. One that has ended takes what it used, and what the runs take that it
//! granted something to; where nobody knows what it used, all that it was granted.

use std::collections::HashMap;

use super::grant::{GrantKind, GrantShare, Granter};
use super::id::RunId;
use super::run::Run;

/// Runs as they are now, by who granted them something.
#[derive(Debug, Default)]
pub struct GrantTree {
    runs: HashMap<RunId, Run>,
    below: HashMap<(GrantKind, RunId), Vec<RunId>>,
}

/// Deeper than runs can be nested. It keeps a ledger that leads in a circle from being followed for ever.
const MOST_DEPTH: usize = 16;

/// What became of a budget that a person set.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BudgetUse {
    /// What runs hold that go on, each with its whole grant.
    pub held: Vec<(RunId, u64)>,
    /// What runs used that have ended.
    pub used: u64,
    /// Ended runs of which nobody knows what they used, so that their whole grant counts.
    pub unknown: usize,
    /// Ended runs in all.
    pub ended: usize,
}

impl BudgetUse {
    pub fn granted(&self) -> u64 {
        self.held.iter().map(|(_, amount)| *amount).fold(0, u64::saturating_add)
    }

    pub fn taken(&self) -> u64 {
        self.granted().saturating_add(self.used)
    }
}

impl GrantTree {
    pub fn new(runs: impl IntoIterator<Item = Run>) -> Self {
        let mut tree = Self::default();
        for run in runs {
            for kind in GrantKind::ALL {
                if let Some(Granter::Run(above)) = run.grant.by(kind) {
                    tree.below.entry((kind, above.clone())).or_default().push(run.id.clone());
                }
            }
            tree.runs.insert(run.id.clone(), run);
        }
        tree
    }

    pub fn get(&self, id: &RunId) -> Option<&Run> {
        self.runs.get(id)
    }

    /// The ids of the runs that go on.
    pub fn live(&self) -> Vec<RunId> {
        let live = self.runs.values().filter(|run| !run.state.is_final());
        let mut ids: Vec<RunId> = live.map(|run| run.id.clone()).collect();
        ids.sort();
        ids
    }

    /// The nearest run that goes on and can grant something of that kind, from `id` on upwards. One that has ended grants
    /// nothing: its rest is given back. Nor does one that is above only because somebody named it.
    pub fn granter(&self, id: &RunId, kind: GrantKind) -> Option<&Run> {
        let mut next = self.get(id);
        for _ in 0..MOST_DEPTH {
            let run = next?;
            if !run.state.is_final() && run.grant.of(kind).is_some() {
                return Some(run);
            }
            next = run.parent.proven_run().and_then(|id| self.get(id));
        }
        None
    }

    fn children(&self, id: &RunId, kind: GrantKind) -> impl Iterator<Item = &Run> {
        let ids = self.below.get(&(kind, id.clone()));
        ids.into_iter().flatten().filter_map(|id| self.get(id))
    }

    /// What the runs take that this one granted something to.
    pub fn taken_below(&self, id: &RunId, kind: GrantKind) -> u64 {
        self.sum_below(id, kind, MOST_DEPTH)
    }

    fn sum_below(&self, id: &RunId, kind: GrantKind, depth: usize) -> u64 {
        match depth.checked_sub(1) {
            Some(depth) => {
                self.children(id, kind).map(|run| self.taken(run, kind, depth)).fold(0, u64::saturating_add)
            }
            None => 0,
        }
    }

    /// What a run takes out of the budget above.
    fn taken(&self, run: &Run, kind: GrantKind, depth: usize) -> u64 {
        let (grant, own) = (run.grant.amount(kind), used(run, kind));
        let below = self.sum_below(&run.id, kind, depth);
        let sum = own.unwrap_or(0).saturating_add(below);
        match grant {
            Some(grant) if !run.state.is_final() || own.is_none() => grant.max(sum),
            _ => sum,
        }
    }

    /// What a run can still use itself or grant to others; `None` if it has no limit of that kind.
    pub fn left(&self, run: &Run, kind: GrantKind) -> Option<u64> {
        let taken = used(run, kind).unwrap_or(0).saturating_add(self.taken_below(&run.id, kind));
        Some(run.grant.amount(kind)?.saturating_sub(taken))
    }

    /// The runs that go on and hold something that `id` granted them, with how much.
    pub fn held_below(&self, id: &RunId, kind: GrantKind) -> Vec<(RunId, u64)> {
        let live = self.children(id, kind).filter(|run| !run.state.is_final());
        live.map(|run| (run.id.clone(), self.taken(run, kind, MOST_DEPTH))).collect()
    }

    /// Whether the run counts in the budget with this id, of which `carried` went on when it was set: by itself, not as a
    /// part of what another run was granted.
    fn is_directly_of(&self, run: &Run, kind: GrantKind, budget: &str, carried: &[RunId]) -> bool {
        match run.grant.of(kind) {
            Some(share) if share.is_out_of(budget) => true,
            Some(GrantShare { by: Some(Granter::Run(above)), .. })
                if self.is_counted(above, kind, budget, carried, MOST_DEPTH) =>
            {
                false
            }
            _ => carried.contains(&run.id),
        }
    }

    fn is_counted(&self, id: &RunId, kind: GrantKind, budget: &str, carried: &[RunId], depth: usize) -> bool {
        let Some((run, depth)) = self.get(id).zip(depth.checked_sub(1)) else { return false };
        match run.grant.of(kind) {
            Some(share) if share.is_out_of(budget) => true,
            Some(GrantShare { by: Some(Granter::Run(above)), .. })
                if self.is_counted(above, kind, budget, carried, depth) =>
            {
                true
            }
            _ => carried.contains(id),
        }
    }

    /// Whether what the run was granted of that kind counts in the budget with this id, also as a part of what another
    /// run was granted.
    pub fn is_part_of(&self, id: &RunId, kind: GrantKind, budget: &str, carried: &[RunId]) -> bool {
        self.is_counted(id, kind, budget, carried, MOST_DEPTH)
    }

    /// Whether something of the run counts in the budget with this id.
    pub fn counts_in(&self, id: &RunId, budget: &str, carried: &[RunId]) -> bool {
        GrantKind::ALL.into_iter().any(|kind| self.is_part_of(id, kind, budget, carried))
    }

    /// Whether a run that goes on granted something to this one, or to one above that granted it.
    pub fn has_live_granter(&self, id: &RunId) -> bool {
        let above = |id: &RunId, kind: GrantKind| match self.get(id)?.grant.by(kind)? {
            Granter::Run(above) => self.get(above),
            Granter::Budget(_) => None,
        };
        GrantKind::ALL.into_iter().any(|kind| {
            let granters = std::iter::successors(above(id, kind), |run| above(&run.id, kind));
            granters.take(MOST_DEPTH).any(|run| !run.state.is_final())
        })
    }

    /// What became of the budget with this id.
    pub fn use_of(&self, budget: &str, carried: &[RunId], kind: GrantKind) -> BudgetUse {
        let mut all = BudgetUse::default();
        for run in self.runs.values().filter(|run| self.is_directly_of(run, kind, budget, carried)) {
            let taken = self.taken(run, kind, MOST_DEPTH);
            if !run.state.is_final() {
                all.held.push((run.id.clone(), taken));
                continue;
            }
            all.used = all.used.saturating_add(taken);
            all.ended += 1;
            all.unknown += usize::from(used(run, kind).is_none());
        }
        all.held.sort();
        all
    }
}

/// What a run used of it by itself, if that is known. One that ended before it was started used nothing.
fn used(run: &Run, kind: GrantKind) -> Option<u64> {
    let has_never_started = run.state.is_final() && run.started_at.is_none();
    kind.used(run.usage, run.cost).or(has_never_started.then_some(0))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::super::grant::Grant;
    use super::super::money::MicroUsd;
    use super::super::run::RunParent;
    use super::super::state::RunState;
    use super::super::usage::Cost;
    use super::*;

    fn id(number: u32) -> RunId {
        RunId::from_random(number)
    }

    /// A run that was granted so many millionths of a dollar.
    fn run(number: u32, amount: Option<u64>, by: Option<Granter>, used: Option<u64>, state: RunState) -> Run {
        let parent = match &by {
            Some(Granter::Run(above)) => Some(above.clone()),
            _ => None,
        };
        Run {
            state,
            parent: RunParent { run: parent, is_run_proven: true, ..RunParent::default() },
            started_at: Some(Timestamp::UNIX_EPOCH),
            cost: used.map_or(Cost::Unknown, |used| Cost::Reported(MicroUsd::from_micros(used))),
            grant: Grant { usd: amount.map(|amount| GrantShare { amount, by, also: None }), tokens: None },
            ..Run::queued(id(number))
        }
    }

    fn of_root() -> Option<Granter> {
        Some(Granter::Run(id(1)))
    }

    const USD: GrantKind = GrantKind::Usd;
    const LIVE: RunState = RunState::Running;
    const ENDED: RunState = RunState::Failed;

    #[test]
    fn what_is_granted_is_taken_until_the_end_and_the_rest_is_given_back() {
        let left = |more: Vec<Run>| {
            let root = run(1, Some(100), None, Some(10), LIVE);
            let tree = GrantTree::new(more.into_iter().chain([root.clone()]));
            tree.left(&root, USD)
        };
        assert_eq!(left(vec![]), Some(90));
        assert_eq!(left(vec![run(2, Some(40), of_root(), None, LIVE)]), Some(50));
        assert_eq!(left(vec![run(2, Some(40), of_root(), Some(7), LIVE)]), Some(50), "while it goes on");
        assert_eq!(left(vec![run(2, Some(40), of_root(), Some(7), ENDED)]), Some(83));
        assert_eq!(left(vec![run(2, Some(40), of_root(), None, ENDED)]), Some(50), "nobody knows");
        let never = Run { started_at: None, ..run(2, Some(40), of_root(), None, ENDED) };
        assert_eq!(left(vec![never]), Some(90), "it never started");
        let below = run(3, Some(30), Some(Granter::Run(id(2))), Some(1), LIVE);
        assert_eq!(left(vec![run(2, Some(40), of_root(), Some(7), ENDED), below]), Some(53), "it goes on");
        let unlimited = run(4, None, None, None, LIVE);
        assert_eq!(GrantTree::default().left(&unlimited, USD), None);
    }

    #[test]
    fn what_went_on_when_a_budget_was_set_counts_in_it() {
        let old = || Some(Granter::Budget("old".to_string()));
        let new = || Some(Granter::Budget("new".to_string()));
        let tree = GrantTree::new([
            run(1, Some(10), old(), Some(3), ENDED),
            run(2, Some(20), old(), None, LIVE),
            run(3, Some(5), Some(Granter::Run(id(2))), None, LIVE),
            run(4, Some(40), new(), Some(8), ENDED),
            run(5, None, None, Some(1), LIVE),
        ]);
        let carried = [id(2), id(3), id(5)];
        let all = tree.use_of("new", &carried, USD);
        let mut held = vec![(id(2), 20), (id(5), 1)];
        held.sort();
        assert_eq!(all, BudgetUse { held, used: 8, unknown: 0, ended: 1 });
        assert_eq!(all.taken(), 29);
        assert!(tree.counts_in(&id(3), "new", &carried) && !tree.counts_in(&id(1), "new", &carried));
    }

    #[test]
    fn what_a_run_from_elsewhere_granted_counts_once_where_it_is_used() {
        let of = |above: u32| Some(Granter::Run(id(above)));
        let mut entering = run(2, Some(40), of(1), Some(7), ENDED);
        if let Some(share) = &mut entering.grant.usd {
            share.also = Some("here".to_string());
        }
        let below = run(3, Some(30), of(2), None, LIVE);
        let tree = GrantTree::new([run(1, Some(100), None, None, LIVE), entering, below]);
        assert_eq!(tree.use_of("here", &[], USD), BudgetUse { used: 37, ended: 1, ..BudgetUse::default() });
        assert!(tree.is_part_of(&id(3), USD, "here", &[]) && !tree.is_part_of(&id(1), USD, "here", &[]));
        assert_eq!(tree.taken_below(&id(1), USD), 37);
    }

    #[test]
    fn whoever_has_ended_grants_nothing_and_circles_end() {
        let tree = GrantTree::new([
            run(1, Some(100), None, None, LIVE),
            run(2, Some(50), of_root(), None, ENDED),
            run(7, Some(1), Some(Granter::Run(id(8))), None, LIVE),
            run(8, Some(1), Some(Granter::Run(id(7))), None, ENDED),
        ]);
        assert_eq!(tree.granter(&id(2), USD).map(|run| &run.id), Some(&id(1)));
        assert_eq!(tree.granter(&id(2), GrantKind::Tokens).map(|run| &run.id), None);
        let mut named = run(3, None, None, None, LIVE);
        named.parent = RunParent { run: Some(id(1)), ..RunParent::default() };
        let tree_with_named = GrantTree::new([run(1, Some(100), None, None, LIVE), named]);
        assert!(tree_with_named.granter(&id(3), USD).is_none(), "it is only named");
        assert!(tree.taken_below(&id(7), USD) >= 1);
        assert!(tree.has_live_granter(&id(2)) && !tree.has_live_granter(&id(1)));
        let below = run(3, Some(1), Some(Granter::Run(id(2))), None, ENDED);
        let live = |state| {
            GrantTree::new([
                run(1, Some(100), None, None, state),
                run(2, Some(50), of_root(), None, ENDED),
                below.clone(),
            ])
            .has_live_granter(&id(3))
        };
        assert!(live(LIVE) && !live(ENDED));
    }

    proptest! {
        /// Whatever is asked for, used and ended, in whatever order: if nothing is granted beyond what is left, a tree
        /// never takes more than its root was granted.
        #[test]
        fn a_tree_never_takes_more_than_its_root_has(
            steps in prop::collection::vec((0u32..8, 0u64..60, any::<bool>()), 0..60),
        ) {
            let mut runs = vec![run(1, Some(100), None, Some(0), LIVE)];
            for (which, amount, ends) in steps {
                let tree = GrantTree::new(runs.clone());
                let target = which as usize % runs.len();
                let left = tree.left(&runs[target], USD).unwrap_or(0);
                if ends && runs[target].state.is_final() {
                    // It has ended already, and uses nothing more.
                    continue;
                }
                if ends && target > 0 {
                    // It uses at most what is left to it, and has ended.
                    let before = used(&runs[target], USD).unwrap_or(0);
                    runs[target].cost = Cost::Reported(MicroUsd::from_micros(before + amount.min(left)));
                    runs[target].state = ENDED;
                } else if let Some(granter) = tree.granter(&runs[target].id, USD)
                    && amount <= tree.left(granter, USD).unwrap_or(0)
                {
                    let number = u32::try_from(runs.len()).unwrap() + 1;
                    runs.push(run(number, Some(amount), Some(Granter::Run(granter.id.clone())), None, LIVE));
                }
                let tree = GrantTree::new(runs.clone());
                prop_assert!(tree.taken_below(&runs[0].id, USD) <= 100, "{runs:?}");
            }
        }
    }
}

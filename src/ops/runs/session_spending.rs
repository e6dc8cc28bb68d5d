//! What the earlier runs of a session used. Some harnesses count the whole session when one is continued, so that has to
//! be taken off.

use crate::domain::runs::{Cost, MicroUsd, Run, Usage};
use crate::harness::worker::{CountedSpan, WorkerCounts};
use crate::store::{Mesh, RunOrder};

use super::worker_call;
use crate::ops::error::CommandError;

/// What has to be taken off from what a worker reports.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct SessionSpending {
    usage: Usage,
    cost: MicroUsd,
}

impl SessionSpending {
    /// What the runs used that had the session of this one before it, as far as its harness counts it again.
    pub(super) fn before(mesh: &Mesh, run: &Run, order: &RunOrder) -> Result<Self, CommandError> {
        let adapter = run.harness.as_deref().and_then(worker_call::adapter);
        let (Some(session), Some(adapter)) = (&order.resumes, adapter) else { return Ok(Self::default()) };
        let runs = mesh.runs().list()?.runs;
        let is_earlier = |other: &&Run| {
            other.id != run.id && other.session.as_ref().is_some_and(|id| id.as_str() == session)
        };
        Ok(runs.iter().filter(is_earlier).fold(Self::default(), |sum, run| sum.plus(run, adapter.counts())))
    }

    fn plus(self, run: &Run, counts: WorkerCounts) -> Self {
        let cost = run.cost.amount().unwrap_or_default();
        Self {
            usage: match counts.usage {
                CountedSpan::Session => self.usage.plus(run.usage),
                CountedSpan::Run => self.usage,
            },
            cost: match counts.cost {
                CountedSpan::Session => self.cost.saturating_add(cost),
                CountedSpan::Run => self.cost,
            },
        }
    }

    /// The order with a limit that its harness compares with what the whole session costs.
    pub(super) fn raised(self, order: &RunOrder) -> RunOrder {
        let most_micros = order.most_micros.map(|most| most.saturating_add(self.cost.micros()));
        RunOrder { most_micros, ..order.clone() }
    }

    /// What this run used, of what its worker reported.
    pub(super) fn taken_off(self, usage: Usage, cost: Cost) -> (Usage, Cost) {
        (usage.since(self.usage), cost.since(self.cost))
    }
}

//! Whether a worker used more than its budget.

use crate::domain::runs::{Cost, Usage};
use crate::harness::worker::{WorkerEnd, WorkerFailure};
use crate::store::RunOrder;

/// What is said of a run that used too much.
pub(super) const OVER_BUDGET: &str = "it used more than its budget";

/// What is said of a run that used too much together with the runs that its worker started.
pub(super) const OVER_WITH_OTHERS: &str =
    "it used more of its budget than was left after what the runs of its worker were granted";

/// Whether that is more than the order allows. What is not reported can't be checked.
pub(super) fn is_over(order: &RunOrder, usage: Usage, cost: Cost) -> bool {
    let is_more = |used: Option<u64>, most: Option<u64>| matches!((used, most), (Some(used), Some(most)) if used > most);
    is_more(cost.amount().map(|amount| amount.micros()), order.most_micros)
        || is_more(usage.tokens(), order.most_tokens)
}

/// Why a worker that has ended used too much, if it did: it says so itself, or what it used is more.
pub(super) fn over_budget(order: &RunOrder, end: &WorkerEnd) -> Option<String> {
    match &end.failure {
        Some(failure @ WorkerFailure::OverBudget(_)) => Some(failure.to_string()),
        _ => is_over(order, end.usage, end.cost).then(|| OVER_BUDGET.to_string()),
    }
}

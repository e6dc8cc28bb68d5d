//! What runs cost, in JSON.

use serde_json::{Value, json};

use crate::domain::runs::BillSum;

/// A sum. An amount is null if it is known of no run.
pub(in crate::faces) fn sum(sum: &BillSum) -> Value {
    let part = |runs: usize, amount: f64| if runs == 0 { Value::Null } else { amount.into() };
    json!({
        "runs": sum.runs,
        "tokens": sum.known_tokens(),
        "tokensUnknown": sum.unknown_tokens,
        "costUsd": sum.known().map(|amount| amount.dollars()),
        "reportedUsd": part(sum.reported_runs, sum.reported.dollars()),
        "computedUsd": part(sum.computed_runs, sum.computed.dollars()),
        "costUnknown": sum.unknown_runs,
    })
}

//! What makes a run wait in the queue until a certain time: the limit of its account, or failures in a row.

use jiff::{SignedDuration, Timestamp};

use crate::domain::format_duration;
use crate::domain::runs::{Run, RunState, back_off};
use crate::store::{HarnessLimit, HarnessLimits, Mesh};
use crate::sys::clock;

use super::gate::Gate;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// How long a harness is left alone that did not say when its limit is reset.
const UNNAMED_LIMIT: SignedDuration = SignedDuration::from_mins(1);

/// Why a run waits, and until when.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) gate: Gate,
    pub(super) until: Timestamp,
    pub(super) reason: String,
}

/// What holds the run back now.
pub(super) fn hold_of(op: &Op, mesh: &Mesh, run: &Run) -> Result<Option<Hold>, CommandError> {
    let now = clock::now();
    let hold = match limit_of(op, run)? {
        Some(hold) => Some(hold),
        None => rest_of(op, mesh, run)?,
    };
    Ok(hold.filter(|hold| hold.until > now))
}

fn limit_of(op: &Op, run: &Run) -> Result<Option<Hold>, CommandError> {
    let Some(harness) = &run.harness else { return Ok(None) };
    let own = run.until.filter(|_| run.state == RunState::Limited);
    let known = HarnessLimits::of(&op.home).get(harness)?.map(|limit| limit.until);
    let Some(until) = own.into_iter().chain(known).max() else { return Ok(None) };
    let left = format_duration(until.duration_since(clock::now()));
    let reason = format!("{harness} is at its limit, which is reset in {left}: the run waits for that");
    Ok(Some(Hold { gate: Gate::Limit, until, reason }))
}

fn rest_of(op: &Op, mesh: &Mesh, run: &Run) -> Result<Option<Hold>, CommandError> {
    let first = op.settings.back_off();
    if first.is_zero() {
        return Ok(None);
    }
    let mut ends: Vec<(RunState, Timestamp)> = mesh
        .runs()
        .list()?
        .runs
        .into_iter()
        .filter(|other| other.profile == run.profile && other.harness == run.harness)
        .filter_map(|other| Some((other.state, other.ended_at?)))
        .collect();
    ends.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
    Ok(back_off(ends, first).map(|rest| {
        let reason = format!(
            "the last {} runs of `{}` failed, so it waits {} before the next",
            rest.failures,
            run.profile,
            format_duration(rest.rest)
        );
        Hold { gate: Gate::BackOff, until: rest.until, reason }
    }))
}

/// Records that a harness is at its limit. Returns until when.
pub(super) fn record_limit(op: &Op, run: &Run, until: Option<Timestamp>) -> Timestamp {
    let until = until.unwrap_or_else(|| clock::now() + UNNAMED_LIMIT);
    if let Some(harness) = &run.harness {
        let limit = HarnessLimit { until, run: run.id.to_string() };
        if let Err(error) = HarnessLimits::of(&op.home).put(harness, &limit) {
            op.warn(format!("the limit of {harness} could not be recorded: {error}"));
        }
    }
    until
}

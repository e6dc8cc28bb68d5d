//! What a review comes to whose run has ended.

use crate::domain::runs::{ReviewOutcome, Run};
use crate::store::{Mesh, review_in};

use crate::ops::error::CommandError;

/// What the run of a reviewer, which has ended, says about the work that it reviewed.
pub(in crate::ops) fn review_outcome(mesh: &Mesh, ended: &Run) -> Result<ReviewOutcome, CommandError> {
    let words = mesh.runs().whole_result(ended)?.unwrap_or_default();
    Ok(ReviewOutcome::of_end(ended.state, ended.reason.as_deref(), review_in(&words)))
}

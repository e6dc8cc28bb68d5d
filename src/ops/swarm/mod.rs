//! Tasks of a spec: who works on which, and what is done.
//!
//! Every decision is made under both locks, after claims of the dead were dropped. What is written last decides: a claim
//! is made by one replacement of `claims.json`, a completion counts from the moment it stands in `completions.json`.

mod board;
mod claim;
mod complete;
mod give;
mod place;
mod stale;
mod table;

pub use board::{Progress, TaskState, TaskView, Tasks, WorkedOn, tasks};
pub use claim::{Choice, ClaimRequest, Claimed, claim};
pub use complete::{CompleteRequest, Completed, complete};
pub use give::{HandedOff, handoff, unclaim};
pub use place::{SpecInUse, spec};

pub(super) use board::{Sheet, boards};
pub(super) use place::{Spellings, problems};
pub(super) use stale::is_stale;

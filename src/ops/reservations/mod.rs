//! Reservations: who may change which paths or use which things, and who waits for one.

pub(super) mod check;
pub(super) mod conflicts;
pub(super) mod contest;
pub(super) mod contest_answers;
pub(super) mod contest_target;
pub(super) mod covering;
pub(super) mod expired;
mod hard_links;
pub(super) mod holdings;
mod linked_paths;
pub(super) mod list;
pub(super) mod passed;
mod refusal;
pub(super) mod release;
pub(super) mod repository_reach;
pub(super) mod reserve;
pub(super) mod rules;
pub(super) mod run_paths;
mod settle_contests;
pub(super) mod take_over;
pub(super) mod things;
pub(super) mod waiting;

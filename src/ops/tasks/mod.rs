//! Tasks of a spec: who works on which, and what is done.
//!
//! Every decision is made under both locks, after claims of the dead were dropped. One write decides: a claim is
//! made by one replacement of `claims.json`, and a completion counts from the moment it is in `completions.json`.
//!
//! A command stages everything that it changes and commits it in one call (`LockedTasks::commit`), in this order.
//! `completions.json` is written first, so a claim of a task that is done counts as given up. Paths that are reserved
//! with a task are written before the claim, and bind only while their holder has that claim (`Registry::census` leaves
//! out the others). So one write decides about a task and its paths, and handing a task over moves both at once. What
//! comes after it only tidies up.
//!
//! A completion is taken back (`reopen`) by the write that removes it from `completions.json`. The history of the task is
//! written before; it does not count while the completion is there.

mod begun;
mod checkbox;
mod claim;
pub(super) mod claim_upkeep;
mod complete;
mod complete_with_lessons;
mod crew_spec;
mod deciding;
mod elsewhere;
mod fencing;
mod handoff;
mod list;
mod listed_task;
mod locked_tasks;
mod named_task;
mod open_task;
mod proof;
mod reopen;
mod run_task;
mod spec;
mod spec_key;
mod spec_ref;
mod stale_claims;
mod task_args;
mod task_board;
mod unclaim;
mod verify;
mod verify_trust;

pub use claim::{ClaimOutcome, ClaimRequest, TaskChoice, claim};
pub use complete::{CompleteOutcome, CompleteRequest, complete};
pub use complete_with_lessons::{LessonOutcome, TaskLessons, complete_with_lessons};
pub use crew_spec::{CrewSpec, CrewSpecTask};
pub use fencing::GivenAwayTask;
pub use handoff::{HandoffNotes, HandoffOutcome, handoff};
pub use list::{ActiveSpec, TaskList, tasks};
pub use reopen::{ReopenOutcome, reopen};
pub use spec::{SpecInUse, spec};
pub use task_board::{SpecProgress, TaskState, TaskView};
pub use unclaim::unclaim;
pub use verify_trust::{UntrustedVerify, VerifyTrust, revoke_verify_trust, trust_verify, verify_trust};

pub(super) use begun::begun_tasks;
pub(super) use crew_spec::crew_spec;
#[cfg(feature = "link")]
pub(super) use elsewhere::SharedSpec;
pub(super) use elsewhere::TasksElsewhere;
pub(super) use list::{boards, boards_and};
pub(super) use listed_task::{ListedTask, SpecSource, known_specs, listed_tasks};
pub(super) use named_task::{NamedTask, named_task};
pub(super) use open_task::is_open;
#[cfg(feature = "link")]
pub(super) use reopen::take_back;
pub(super) use run_task::{
    RunTask, claim_for_run, complete_for_run, confirm_for_run, look_for_run, release_after_run,
    shared_spec_path, withdraw_claim,
};
pub(super) use spec::problems;
pub(super) use spec_key::Spellings;
pub(super) use stale_claims::is_stale;
pub(super) use verify_trust::{check_crew_trust, trusted_commands};

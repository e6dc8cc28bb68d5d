//! Runs: starting workers, watching over them, and telling how they end.
//!
//! `start` checks the gates, writes the run into the ledger and starts its supervisor, a process of its own. The
//! supervisor (`supervise`) waits for a slot, starts the worker behind a keeper, reads what it prints, and judges how
//! it ended. `follow` only watches the ledger: whoever follows a run may be killed without harm to it.

mod admission;
pub mod again;
pub mod ask;
pub mod batch;
pub mod bill;
mod budget;
mod command_end;
mod count_gates;
mod crew_finish;
mod crew_review;
pub mod diff;
pub mod discard;
pub mod elsewhere;
mod ended_work;
mod ending;
pub mod follow;
pub mod follow_all;
pub mod gate;
pub mod gc;
pub mod grants;
mod hold;
mod kept_place;
mod kept_screen;
pub mod list;
pub mod log;
pub mod merge;
mod mode_gate;
mod name_gate;
pub mod open;
pub(in crate::ops) mod own_run;
mod own_worktree;
mod pane_end;
mod pane_turns;
mod parent_access;
pub mod plan;
pub mod pr;
mod progress_watch;
mod reserved_gate;
mod review;
pub(in crate::ops) mod review_outcome;
pub(in crate::ops) mod review_task;
mod run_events;
mod session_spending;
pub(in crate::ops) mod settle;
pub mod start;
mod start_in_pane;
pub mod stop;
pub mod supervise;
mod supervisor;
pub mod tell;
mod tell_authors;
pub(in crate::ops) mod telling;
pub mod terminal_wish;
mod tree_error;
mod turn;
mod watch_pane;
mod watch_question;
mod watch_worker;
pub(in crate::ops) mod work;
mod worker_call;
mod worker_output;

use crate::harness::SUPPORTED;
use crate::harness::worker::WorkerAdapter;

/// The variable that tells a worker which run it is.
pub const RUN_VARIABLE: &str = "MSG_RUN";
/// The variable with the number of the slot.
const SLOT_VARIABLE: &str = "RAVENRY_SLOT";
/// The variable with the tree that a run works for, if it works in a worktree of its own.
const PROJECT_VARIABLE: &str = "RAVENRY_PROJECT";
/// The variables by which a run's own processes are known. They must not reach what is started for others.
fn own_variables() -> [&'static str; 7] {
    [
        RUN_VARIABLE,
        SLOT_VARIABLE,
        PROJECT_VARIABLE,
        USAGE_VARIABLE,
        "MSG_AGENT",
        "PI_AGENT_NAME",
        crate::sys::detached::SUPERVISOR_VARIABLE,
    ]
}

/// Variables that must not reach what is started for somebody else: which run this is, and what the harness around us set
/// for its own commands.
pub(in crate::ops) fn foreign_variables() -> impl Iterator<Item = &'static str> {
    let sessions = SUPPORTED.iter().flat_map(|harness| harness.session_variables());
    let foreign =
        SUPPORTED.iter().filter_map(|harness| harness.worker()).flat_map(WorkerAdapter::foreign_variables);
    own_variables().into_iter().chain(sessions.chain(foreign).copied())
}

/// The variable with the file to which a command may write what it used.
const USAGE_VARIABLE: &str = "MSG_USAGE";

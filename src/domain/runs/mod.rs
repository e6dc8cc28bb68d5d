//! Runs: one life of one worker on one task, what it used, and how it ended.

mod back_off;
mod batch;
mod bill;
mod crew_part;
mod grant;
mod grant_tree;
mod id;
mod line_cutter;
mod money;
mod outcome;
mod pane;
mod question;
mod review;
mod run;
mod state;
mod summary;
mod usage;

pub use back_off::{BackOff, back_off};
pub use batch::{BatchKind, BatchLine, BatchPlan, TaskLineProblem};
pub use bill::{Bill, BillSum, BilledTask, ReviewedBill};
pub use crew_part::{CrewEnd, CrewPart, CrewTest, ProvenTree};
pub use grant::{Grant, GrantKind, GrantShare, Granter};
pub use grant_tree::{BudgetUse, GrantTree};
pub use id::{RunId, RunIdError};
pub use line_cutter::LineCutter;
pub use money::{MicroUsd, MoneyError};
pub use outcome::{RunEvidence, judge_end};
pub use pane::{RunDialog, RunPane};
pub use question::{QuestionOutcome, RunQuestion};
pub use review::{Review, ReviewFinding, ReviewOutcome, ReviewVerdict, RunReview};
pub use run::{EarlierRun, Run, RunClaim, RunElsewhere, RunParent};
pub use state::RunState;
pub use usage::{Cost, Usage};

//! `msg crew`: work that several workers do, task by task.

mod plan;
mod plan_page;
mod report_page;
mod review;
mod status;
mod task_lines;
mod work;

use clap::{Args, Subcommand};

use crate::faces::cli::output::{CommandOutput, Ui};
use crate::ops::{CommandError, Op};

/// Plan work for several workers, and let them do it, task by task
///
/// A plan is a spec: a Markdown file with tasks, what each needs, which paths it will change, and a command that proves it.
/// The work becomes a branch, on which each commit is one task that was built, proven, reviewed and merged.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg crew plan 'Add a login form'
  msg crew work add-a-login-form.plan.md --workers 3
  msg crew review main..HEAD
  msg crew status
  msg crew report --markdown")]
pub(in crate::faces::cli) struct CrewArgs {
    #[command(subcommand)]
    action: CrewAction,
}

#[derive(Debug, Subcommand)]
enum CrewAction {
    Plan(plan::PlanArgs),
    Work(work::WorkArgs),
    Review(review::ReviewArgs),
    Status(status::StatusArgs),
    Report(status::ReportArgs),
}

pub(super) fn run(op: &Op, args: CrewArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    match args.action {
        CrewAction::Plan(args) => plan::run(op, args, ui),
        CrewAction::Work(args) => work::run(op, args, ui),
        CrewAction::Review(args) => review::run(op, args, ui),
        CrewAction::Status(args) => status::run(op, args),
        CrewAction::Report(args) => status::run_report(op, args),
    }
}

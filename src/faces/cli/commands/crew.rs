//! `msg crew`: work that several workers do, task by task.

mod plan;
mod plan_page;

use clap::{Args, Subcommand};

use crate::faces::cli::output::{CommandOutput, Ui};
use crate::ops::{CommandError, Op};

/// Plan work that several workers are to do, task by task
///
/// A plan is a spec: a Markdown file with tasks, what each needs, which paths it will change, and a command that proves it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg crew plan docs/login.md
  msg crew plan 'Add a login form'")]
pub(in crate::faces::cli) struct CrewArgs {
    #[command(subcommand)]
    action: CrewAction,
}

#[derive(Debug, Subcommand)]
enum CrewAction {
    Plan(plan::PlanArgs),
}

pub(super) fn run(op: &Op, args: CrewArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    match args.action {
        CrewAction::Plan(args) => plan::run(op, args, ui),
    }
}

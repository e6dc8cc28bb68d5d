//! `msg unclaim`: gives a task back.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::escape_invisible;
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::tasks;
use crate::ops::{CommandError, Op};
use crate::store::Claim;

/// Give a task back, and release the paths reserved with it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg unclaim              the one that you have
  msg unclaim TASK-03")]
pub(in crate::faces::cli) struct UnclaimArgs {
    /// The id of the task (default: the one you have)
    task: Option<String>,
    /// A spec other than yours
    #[arg(long, value_name = "PATH")]
    spec: Option<String>,
}

pub(super) fn run(op: &Op, args: UnclaimArgs) -> Result<CommandOutput, CommandError> {
    Ok(UnclaimReport(tasks::unclaim(op, args.task.as_deref(), args.spec.as_deref())?).into())
}

struct UnclaimReport(Claim);

impl Report for UnclaimReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("claim".to_string(), agent_text::claim_json(&self.0, &[]))])
    }

    fn text(&self, page: &mut Page) {
        page.line(format!("{} is free again.", style::bold(&escape_invisible(&self.0.task))));
    }

    fn is_answer(&self) -> bool {
        false
    }
}

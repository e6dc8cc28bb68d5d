//! `msg complete`: marks a task as done.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::json::completion;
use crate::ops::tasks::{self, CompleteOutcome, CompleteRequest};
use crate::ops::{CommandError, Op};

/// Mark your task as done
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg complete                     the task that you have
  msg complete TASK-03
  msg complete TASK-03 --notes \"JWT, with refresh; see src/auth/\"
  msg complete TASK-03 --tick      and tick its box in the spec")]
pub(in crate::faces::cli) struct CompleteArgs {
    /// The id of the task (default: the one you have)
    task: Option<String>,
    /// Notes for others
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Also tick its box in the spec
    #[arg(long)]
    tick: bool,
    /// A spec other than yours
    #[arg(long, value_name = "PATH")]
    spec: Option<String>,
}

pub(super) fn run(op: &Op, args: CompleteArgs) -> Result<CommandOutput, CommandError> {
    let request = CompleteRequest { task: args.task, spec: args.spec, notes: args.notes, ticks: args.tick };
    Ok(CompleteReport(tasks::complete(op, &request)?).into())
}

struct CompleteReport(CompleteOutcome);

impl Report for CompleteReport {
    fn json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("completion".to_string(), completion(&self.0.completion));
        object.insert("unblocked".to_string(), json!(self.0.unblocked));
        object.insert("ticked".to_string(), json!(self.0.is_ticked));
        object.insert("already".to_string(), json!(self.0.was_complete));
        object
    }

    fn text(&self, page: &mut Page) {
        let ready = match self.0.unblocked.as_slice() {
            [] => String::new(),
            unblocked => format!(" Ready now: {}.", escape_invisible(&unblocked.join(", "))),
        };
        let already = if self.0.was_complete { "already " } else { "" };
        page.line(format!(
            "{} is {already}done.{ready}",
            style::bold(&escape_invisible(&self.0.completion.task))
        ));
    }

    fn is_answer(&self) -> bool {
        false
    }
}

//! `msg handoff`: passes a task and its paths to another agent.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::{AgentName, escape_invisible};
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::tasks::{self, HandoffNotes, HandoffOutcome};
use crate::ops::{CommandError, Op};

/// Pass your task, and the paths reserved with it, to another agent
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg handoff TASK-03 GoldFalcon
  msg handoff TASK-03 GoldFalcon --notes \"the tests are missing\"
  msg handoff TASK-03 GoldFalcon --brief")]
pub(in crate::faces::cli) struct HandoffArgs {
    /// The id of the task
    task: String,
    /// The agent that gets it
    name: String,
    /// Notes for that agent
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Add your brief, as `msg brief` shows it
    #[arg(long)]
    brief: bool,
    /// A spec other than yours
    #[arg(long, value_name = "PATH")]
    spec: Option<String>,
}

pub(super) fn run(op: &Op, args: HandoffArgs) -> Result<CommandOutput, CommandError> {
    let to = AgentName::new(args.name)?;
    let notes = HandoffNotes { notes: args.notes.as_deref(), has_brief: args.brief };
    Ok(HandoffReport(tasks::handoff(op, &args.task, &to, args.spec.as_deref(), notes)?).into())
}

struct HandoffReport(HandoffOutcome);

impl Report for HandoffReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("claim".to_string(), agent_text::claim_json(&self.0.claim, &self.0.reservations))])
    }

    fn text(&self, page: &mut Page) {
        page.line(format!(
            "{} is {}'s now.",
            style::bold(&escape_invisible(&self.0.claim.task)),
            self.0.claim.agent
        ));
    }

    fn is_answer(&self) -> bool {
        false
    }
}

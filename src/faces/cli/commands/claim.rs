//! `msg claim`: claims a task.

use clap::{ArgGroup, Args};
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::tasks::{self, ClaimOutcome, ClaimRequest, TaskChoice};
use crate::ops::{BroadPatterns, CommandError, Op};

/// Claim a task of your spec: it is yours alone until you complete it, give it back, or end
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("which").required(true).args(["task", "next"]), after_help = "\
Examples:
  msg claim --next                          the first that is ready
  msg claim TASK-03
  msg claim TASK-03 --reserve src/auth/     with the paths that it needs, or neither
  msg claim cleanup --adhoc                 a task that is not in the spec")]
pub(in crate::faces::cli) struct ClaimArgs {
    /// The id of the task
    task: Option<String>,
    /// The first task in the spec that is ready
    #[arg(long)]
    next: bool,
    /// A spec other than yours
    #[arg(long, value_name = "PATH")]
    spec: Option<String>,
    /// Why; shown to agents that are refused
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Paths to reserve with it
    #[arg(long, value_name = "PATTERN")]
    reserve: Vec<String>,
    /// With --reserve: allow paths outside this work tree
    #[arg(long)]
    force_broad: bool,
    /// Claim a task that is not in the spec
    #[arg(long, conflicts_with = "next")]
    adhoc: bool,
}

pub(super) fn run(op: &Op, args: ClaimArgs) -> Result<CommandOutput, CommandError> {
    let request = ClaimRequest {
        choice: args.task.map_or(TaskChoice::Next, TaskChoice::This),
        spec: args.spec,
        reason: args.reason,
        reserve: args.reserve,
        broad: if args.force_broad { BroadPatterns::Accept } else { BroadPatterns::Refuse },
        is_adhoc: args.adhoc,
    };
    Ok(ClaimReport(tasks::claim(op, &request)?).into())
}

struct ClaimReport(ClaimOutcome);

impl Report for ClaimReport {
    fn json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("claim".to_string(), agent_text::claim_json(&self.0.claim, &self.0.reservations));
        object.insert("title".to_string(), json!(self.0.title));
        object
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            page.line(escape_invisible(&self.0.claim.task));
            return;
        }
        let ClaimOutcome { claim, title, reservations, was_held: again } = &self.0;
        let already = if *again { " already" } else { "" };
        let title = if title.is_empty() { String::new() } else { format!(" {}", escape_invisible(title)) };
        page.line(format!("{} is yours{already}.{title}", style::bold(&escape_invisible(&claim.task))));
        for reservation in reservations {
            page.line(format!("{} is yours with it.", style::bold(&escape_invisible(&reservation.typed()))));
        }
    }
}

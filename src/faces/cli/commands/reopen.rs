//! `msg reopen`: takes a completion back.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{escape_invisible, quote_name};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::json::reopening;
use crate::ops::tasks::{self, ReopenOutcome};
use crate::ops::{CommandError, Op};

/// Take a completion back, so that the task is open again
///
/// Who completed it is told why. What was completed and what proved it stays in the history of the task (`msg tasks --json`).
/// Tasks that need it wait again, unless somebody has begun them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg reopen TASK-03 --reason \"the form is lost on reload\"
  msg reopen TASK-03 --reason \"tests fail on main\" --spec docs/spec.md
  msg tasks --json | jq '.tasks[] | select(.reopened != []) | .reopened[].reason'")]
pub(in crate::faces::cli) struct ReopenArgs {
    /// The id of the task
    task: String,
    /// Why; who completed it reads that
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// A spec other than yours
    #[arg(long, value_name = "PATH")]
    spec: Option<String>,
}

pub(super) fn run(op: &Op, args: ReopenArgs) -> Result<CommandOutput, CommandError> {
    Ok(ReopenReport(tasks::reopen(op, &args.task, args.spec.as_deref(), &args.reason)?).into())
}

struct ReopenReport(ReopenOutcome);

impl Report for ReopenReport {
    fn json(&self) -> Map<String, Value> {
        let ReopenOutcome { reopening: taken_back, waiting, begun, done, is_cleared, is_told } = &self.0;
        let begun: Vec<Value> =
            begun.iter().map(|claim| json!({ "task": claim.task, "agent": claim.agent })).collect();
        Map::from_iter([
            ("reopened".to_string(), reopening(taken_back)),
            ("blocked".to_string(), json!(waiting)),
            ("begun".to_string(), json!(begun)),
            ("done".to_string(), json!(done)),
            ("unticked".to_string(), json!(is_cleared)),
            ("told".to_string(), json!(is_told)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let ReopenOutcome { reopening, waiting, begun, done, is_told, .. } = &self.0;
        let who = quote_name(&reopening.completion.by);
        let told = if *is_told { format!(" {who} is told.") } else { String::new() };
        page.line(format!(
            "{} is open again; {who} had completed it.{told}",
            style::bold(&escape_invisible(&reopening.completion.task))
        ));
        if !waiting.is_empty() {
            page.line(format!("Waiting for it again: {}.", escape_invisible(&waiting.join(", "))));
        }
        for claim in begun {
            let task = escape_invisible(&claim.task);
            page.line(format!("{task} needs it, and {} goes on with it.", quote_name(&claim.agent)));
        }
        if !done.is_empty() {
            page.line(format!("Done all the same: {}.", escape_invisible(&done.join(", "))));
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}

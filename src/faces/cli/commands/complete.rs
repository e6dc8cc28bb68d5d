//! `msg complete`: marks a task as done.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{escape_invisible, quote_code};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::json::completion;
use crate::ops::tasks::{self, CompleteOutcome, CompleteRequest, LessonOutcome, TaskLessons};
use crate::ops::{CommandError, Op};

use super::knowledge::Receipts;

/// Said once to a session that has recorded nothing.
const ASK: &str = "To tell the next session what you learned: msg learn \"…\" --at PATH. Next time: msg complete --learned \"…\" --tried \"…\"";

/// Mark your task as done
///
/// What proves it is recorded with it, and `msg tasks` shows it: what you say, a run of the commands that its spec names in
/// indented lines `verify: COMMAND`, and the last test run and the last edit that your hooks saw. `--verify` runs those
/// commands in the root of your work tree (without git: in your folder), for at most `verifyTimeout` seconds, after a person
/// trusted them with `msg workers trust --spec PATH`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg complete                     the task that you have
  msg complete TASK-03
  msg complete TASK-03 --notes \"JWT, with refresh; see src/auth/\"
  msg complete TASK-03 --tick      and tick its box in the spec
  msg complete TASK-03 --verify    only if the commands of its `verify:` lines succeed
  msg complete TASK-03 --evidence \"CI run 812 is green\"
  msg complete --learned \"Tokens are checked twice\" --at src/auth.rs")]
pub(in crate::faces::cli) struct CompleteArgs {
    /// The id of the task (default: the one you have)
    task: Option<String>,
    /// Notes for others
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Also tick its box in the spec
    #[arg(long)]
    tick: bool,
    /// What proves that it is done, in your words
    #[arg(long, value_name = "TEXT")]
    evidence: Option<String>,
    /// Run the commands of its `verify:` lines first, and complete it only if they succeed
    #[arg(long)]
    verify: bool,
    /// What you learned with it, to be recorded as knowledge; can be repeated
    #[arg(long, value_name = "TEXT")]
    learned: Vec<String>,
    /// What you tried and what did not work, to be recorded as knowledge; can be repeated
    #[arg(long, value_name = "TEXT")]
    tried: Vec<String>,
    /// Why it is so, or if you only give --tried, why it failed
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// What that is about: a path, path#symbol, path:line, path:from-to, "$ command" or "! error text"; can be repeated
    #[arg(long, value_name = "PLACE")]
    at: Vec<String>,
    /// A spec other than yours
    #[arg(long, value_name = "PATH")]
    spec: Option<String>,
}

pub(super) fn run(op: &Op, args: CompleteArgs) -> Result<CommandOutput, CommandError> {
    let request = CompleteRequest {
        task: args.task,
        spec: args.spec,
        notes: args.notes,
        ticks: args.tick,
        evidence: args.evidence,
        verifies: args.verify,
    };
    let lessons = TaskLessons { learned: args.learned, tried: args.tried, why: args.why, places: args.at };
    let LessonOutcome { completed, records, is_worth_asking } =
        tasks::complete_with_lessons(op, &request, &lessons)?;
    Ok(CompleteReport { completed, recorded: Receipts::of(op, records), is_worth_asking }.into())
}

struct CompleteReport {
    completed: CompleteOutcome,
    recorded: Receipts,
    is_worth_asking: bool,
}

impl Report for CompleteReport {
    fn json(&self) -> Map<String, Value> {
        let done = &self.completed;
        let mut object = Map::new();
        object.insert("completion".to_string(), completion(&done.completion));
        object.insert("unblocked".to_string(), json!(done.unblocked));
        object.insert("ticked".to_string(), json!(done.is_ticked));
        object.insert("already".to_string(), json!(done.was_complete));
        if !self.recorded.is_empty() {
            object.insert("recorded".to_string(), self.recorded.rows());
        }
        object
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            return self.recorded.text(page);
        }
        let done = &self.completed;
        let ready = match done.unblocked.as_slice() {
            [] => String::new(),
            unblocked => format!(" Ready now: {}.", escape_invisible(&unblocked.join(", "))),
        };
        let already = if done.was_complete { "already " } else { "" };
        let verified = done.completion.evidence.as_ref().and_then(|known| known.verified.as_ref());
        let verified = match verified.filter(|_| !done.was_complete) {
            Some(run) => format!(" and verified by {}", quote_code(&run.command)),
            None => String::new(),
        };
        page.line(format!(
            "{} is {already}done{verified}.{ready}",
            style::bold(&escape_invisible(&done.completion.task))
        ));
        self.recorded.text(page);
        if self.is_worth_asking {
            page.line(ASK);
        }
    }
}

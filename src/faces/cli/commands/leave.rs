//! `msg leave`: unregisters the caller.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::{self, CommandError, LeaveOutcome, Op};

/// Leave the mesh: tasks and paths become free, unread mail is kept
///
/// If the same session joins again, it gets its name and its mail back.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg leave
  msg leave --as GoldFalcon    let another of your agents leave")]
pub(in crate::faces::cli) struct LeaveArgs {}

pub(super) fn run(op: &Op, _: LeaveArgs) -> Result<CommandOutput, CommandError> {
    Ok(LeaveReport(ops::leave(op)?).into())
}

struct LeaveReport(LeaveOutcome);

impl Report for LeaveReport {
    fn json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("name".to_string(), json!(self.0.name.as_str()));
        object.insert(
            "unclaimed".to_string(),
            self.0.unclaimed.iter().map(|claim| agent_text::claim_json(claim, &[])).collect(),
        );
        object.insert("released".to_string(), json!(self.0.released));
        object.insert("unread".to_string(), json!(self.0.unread));
        object
    }

    fn text(&self, page: &mut Page) {
        let LeaveOutcome { name, unclaimed, released, unread } = &self.0;
        let mut line = format!("{} has left.", style::bold(name.as_str()));
        for claim in unclaimed {
            line.push_str(&format!(" {} is free again.", escape_invisible(&claim.task)));
        }
        match released {
            0 => {}
            1 => line.push_str(" One path is free again."),
            paths => line.push_str(&format!(" {paths} paths are free again.")),
        }
        match unread {
            0 => {}
            1 => line.push_str(" One unread message is kept."),
            messages => line.push_str(&format!(" {messages} unread messages are kept.")),
        }
        page.line(line);
    }

    fn is_answer(&self) -> bool {
        false
    }
}

//! `msg set-status`: sets the status shown next to the caller's name.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::escape_invisible;
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::text_arg::TextArgs;
use crate::ops::{self, AgentProfile, AgentRelation, CommandError, Op};

/// Set the status shown next to your name (no text clears it)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg set-status \"reviewing the login flow\"
  msg set-status                 clears it")]
pub(in crate::faces::cli) struct SetStatusArgs {
    #[command(flatten)]
    text: TextArgs,
}

pub(super) fn run(op: &Op, args: SetStatusArgs) -> Result<CommandOutput, CommandError> {
    let text = args.text.read()?;
    Ok(StatusReport(ops::set_status(op, text.as_deref())?).into())
}

struct StatusReport(AgentProfile);

impl Report for StatusReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("agent".to_string(), agent_text::json(&self.0, AgentRelation::Caller))])
    }

    fn text(&self, page: &mut Page) {
        let name = style::bold(self.0.agent.name.as_str());
        page.line(match &self.0.agent.status {
            Some(status) => format!("{name}: “{}”", escape_invisible(status)),
            None => format!("{name}: no status"),
        });
    }

    fn is_answer(&self) -> bool {
        false
    }
}

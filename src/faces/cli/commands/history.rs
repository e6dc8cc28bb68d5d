//! `msg history`: shows a conversation, oldest first.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::AgentName;
use crate::faces::cli::messages;
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::faces::cli::value_parsers::count;
use crate::ops::{self, AnswerState, CommandError, HistoryEntry, Op};
use crate::store::MessageLocation;
use crate::sys::clock;

/// Show a conversation, oldest first
///
/// Messages you sent and messages you received, with one agent or with everyone. They are kept for 30 days.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg history
  msg history GoldFalcon --limit 50")]
pub(in crate::faces::cli) struct HistoryArgs {
    /// Only messages with this agent
    name: Option<String>,
    /// Show at most N messages
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = count, allow_negative_numbers = true)]
    limit: usize,
}

pub(super) fn run(op: &Op, args: HistoryArgs) -> Result<CommandOutput, CommandError> {
    let peer = args.name.map(AgentName::new).transpose()?;
    Ok(HistoryReport(ops::history(op, peer.as_ref(), args.limit)?).into())
}

struct HistoryReport(Vec<HistoryEntry>);

impl Report for HistoryReport {
    fn json(&self) -> Map<String, Value> {
        let listed = self.0.iter().map(|HistoryEntry { filed, answer }| {
            let mut value = messages::json(&filed.message, filed.stem.short_id());
            if let Some(answer) = answer {
                value["answer"] = answer.name().into();
            }
            value
        });
        let listed = listed.collect();
        Map::from_iter([("messages".to_string(), listed)])
    }

    fn text(&self, page: &mut Page) {
        let now = clock::now();
        for HistoryEntry { filed, answer } in &self.0 {
            let note = match (answer, &filed.place) {
                (Some(AnswerState::Given), _) => "answered",
                (Some(AnswerState::Owed), MessageLocation::Sent(_)) => "no answer yet",
                (Some(AnswerState::Owed), _) => "wants an answer",
                (None, MessageLocation::Seen(seen)) if seen.acked.is_some() => "acked",
                (None, _) => "",
            };
            match page.is_quiet {
                true => page.line(filed.stem.short_id()),
                false => messages::show(page, &filed.message, filed.stem.short_id(), note, now),
            }
        }
        if self.0.is_empty() && !page.is_quiet {
            page.line("Nothing yet.");
        }
    }
}

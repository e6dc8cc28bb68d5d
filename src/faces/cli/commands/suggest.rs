//! `msg suggest`: who could take which task, and who could tell whom what it knows.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{escape_invisible, quote_code, quote_sentence};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::awareness::delegate::{self, Suggestions};
use crate::ops::{CommandError, Op};

use super::delegate::{candidate_json, why};

/// Show who could take which task, and who could pass knowledge on
///
/// A task that is ready is suggested to an agent whose topics or files fit it and who has room. Knowledge could be passed
/// on where a topic fades from one agent's prompts and is new in another's.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg suggest
  msg suggest --json")]
pub(in crate::faces::cli) struct SuggestArgs {}

pub(super) fn run(op: &Op, _args: SuggestArgs) -> Result<CommandOutput, CommandError> {
    Ok(SuggestReport(delegate::suggest(op)?).into())
}

struct SuggestReport(Suggestions);

impl Report for SuggestReport {
    fn json(&self) -> Map<String, Value> {
        let task = |found: &delegate::TaskSuggestion| json!({ "kind": "task", "task": found.task, "title": found.title, "to": candidate_json(&found.to) });
        let transfer = |found: &delegate::TransferSuggestion| {
            let topics: Vec<&str> = found.topics.iter().map(|topic| topic.as_str()).collect();
            json!({ "kind": "transfer", "topics": topics, "from": found.from.as_str(), "to": found.to.as_str() })
        };
        let suggestions = self.0.tasks.iter().map(task).chain(self.0.transfers.iter().map(transfer));
        Map::from_iter([("suggestions".to_string(), suggestions.collect())])
    }

    fn text(&self, page: &mut Page) {
        let Suggestions { tasks, transfers } = &self.0;
        if page.is_quiet {
            return tasks.iter().for_each(|found| page.line(escape_invisible(&found.task)));
        }
        for found in tasks {
            let (task, title) = (quote_code(&found.task), quote_sentence(&found.title));
            page.line(format!("{task} {title} fits {}", style::bold(found.to.name.as_str())));
            page.line(format!("  {}", why(&found.to)));
        }
        for found in transfers {
            let topics: Vec<String> =
                found.topics.iter().map(|topic| escape_invisible(topic.as_str()).into_owned()).collect();
            let (from, to) = (style::bold(found.from.as_str()), style::bold(found.to.as_str()));
            page.line(format!("{from} is leaving what {to} is coming to: {}", topics.join(", ")));
            page.line(format!("  to tell {} what is known: msg brief {}", found.to, found.from));
        }
        if tasks.is_empty() && transfers.is_empty() {
            page.nothing(
                "Nothing to suggest.",
                "`msg topics` shows what agents work on, `msg tasks` what is to do.",
            );
        }
    }
}

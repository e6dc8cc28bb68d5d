//! `msg history`: shows a conversation, oldest first.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{AgentName, PeerText, escape_invisible};
use crate::faces::cli::messages;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::cli::value_parsers::count;
use crate::ops::export::parse_since;
use crate::ops::{
    self, AnswerState, CommandError, HistoryEntry, HistoryFilter, Op, ThreadSummary, format_age,
};
use crate::store::{MessageLocation, iso};
use crate::sys::clock;

/// The most characters of a thread's subject.
const SUBJECT: usize = 60;
/// The most names of a thread that are listed.
const MOST_NAMES: usize = 4;

/// Show a conversation, oldest first
///
/// Messages you sent and messages you received, with one agent or with everyone. They are kept for 30 days. A thread is a
/// message with all answers to it, or what was sent with the same `--thread`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg history
  msg history GoldFalcon --limit 50
  msg history --grep login --since 2d
  msg history --threads
  msg history --thread k3x9ab")]
pub(in crate::faces::cli) struct HistoryArgs {
    /// Only messages with this agent
    name: Option<String>,
    /// Only messages of this thread: its name, or the six letters of a message
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Only messages that were sent since then, such as 90m, 7d or 2026-11-17
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only messages that have all these words
    #[arg(long, value_name = "WORDS")]
    grep: Option<String>,
    /// List the threads instead of the messages
    #[arg(long, conflicts_with_all = ["thread", "grep"])]
    threads: bool,
    /// Show at most N messages or threads
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = count, allow_negative_numbers = true)]
    limit: usize,
}

pub(super) fn run(op: &Op, args: HistoryArgs) -> Result<CommandOutput, CommandError> {
    let since = args.since.as_deref().map(parse_since).transpose()?;
    let filter = HistoryFilter {
        peer: args.name.map(AgentName::new).transpose()?,
        thread: args.thread,
        since,
        words: args.grep,
    };
    if args.threads {
        return Ok(ThreadsReport(ops::threads(op, &filter, args.limit)?).into());
    }
    let is_filtered = filter.since.is_some() || filter.words.is_some();
    Ok(HistoryReport { entries: ops::history(op, &filter, args.limit)?, is_filtered }.into())
}

struct HistoryReport {
    entries: Vec<HistoryEntry>,
    is_filtered: bool,
}

impl Report for HistoryReport {
    fn json(&self) -> Map<String, Value> {
        let listed = self.entries.iter().map(|HistoryEntry { filed, answer }| {
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
        for HistoryEntry { filed, answer } in &self.entries {
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
        match (self.entries.is_empty(), self.is_filtered) {
            (true, true) => page.nothing(
                "No message of yours fits.",
                "Try it without `--grep` or `--since`, or use `msg search`.",
            ),
            (true, false) => page.nothing("No messages yet.", "`msg send NAME TEXT` sends one."),
            (false, _) => {}
        }
    }
}

struct ThreadsReport(Vec<ThreadSummary>);

impl Report for ThreadsReport {
    fn json(&self) -> Map<String, Value> {
        let threads = self.0.iter().map(|thread| {
            json!({
                "id": thread.id,
                "subject": begin(thread.subject.trim()),
                "agents": thread.who,
                "messages": thread.messages,
                "last": iso(thread.last),
            })
        });
        Map::from_iter([("threads".to_string(), threads.collect())])
    }

    fn text(&self, page: &mut Page) {
        let now = clock::now();
        let mut table = Table::default();
        for thread in &self.0 {
            let id = escape_invisible(&thread.id);
            if page.is_quiet {
                table.row(vec![TableCell::plain(&id)]);
                continue;
            }
            let count = thread.messages;
            let subject = match thread.id == thread.subject {
                true => String::new(),
                false => PeerText::new(thread.subject.trim()).quoted_within(SUBJECT),
            };
            table.row(vec![
                TableCell::styled(&id, style::bold),
                TableCell::plain(&names(&thread.who)),
                TableCell::plain(&format!("{count} {}", if count == 1 { "message" } else { "messages" })),
                TableCell::styled(&format!("{} ago", format_age(thread.last, now)), style::dim),
                TableCell::plain(&subject),
            ]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
        if self.0.is_empty() {
            page.nothing("No threads yet.", "`msg reply` and `msg send --thread NAME` make them.");
        }
    }
}

/// The beginning of a subject: it may be a whole message.
fn begin(subject: &str) -> String {
    match subject.char_indices().nth(SUBJECT) {
        Some((end, _)) => format!("{}…", &subject[..end]),
        None => subject.to_string(),
    }
}

fn names(who: &[String]) -> String {
    let shown: Vec<String> =
        who.iter().take(MOST_NAMES).map(|name| escape_invisible(name).into_owned()).collect();
    match who.len() - shown.len() {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

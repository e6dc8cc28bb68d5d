//! `msg knowledge log`: what was recorded, by whom and when.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::knowledge::{KnowledgeEvent, KnowledgeEventKind};
use crate::domain::{quote_name, quote_sentence};
use crate::faces::cli::local_time::LocalTime;
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::faces::cli::value_parsers::count;
use crate::ops::knowledge::{self, RecordLog, RecordLogQuestion};
use crate::ops::{self, CommandError, Op};
use crate::store::iso;
use crate::sys::clock;

/// Show what was recorded, by whom and when, the latest first
///
/// Also what was retired, and texts that were replaced later, as far as they are kept: `msg knowledge pack` leaves out
/// texts that their own author has replaced.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg knowledge log
  msg knowledge log one-lock-guards-all-names
  msg knowledge log --since 7d --limit 100 --json")]
pub(super) struct LogArgs {
    /// Only this record: its name, or kind/name; it may be retired
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Only what happened in this time, such as 7d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// The most lines
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = count)]
    limit: usize,
}

pub(super) fn run(op: &Op, args: LogArgs) -> Result<CommandOutput, CommandError> {
    let since = args.since.as_deref().map(|text| ops::parse_duration(text, "--since")).transpose()?;
    let question = RecordLogQuestion {
        name: args.name,
        since: since.and_then(|since| clock::now().checked_sub(since).ok()),
        limit: args.limit,
    };
    Ok(LogReport(knowledge::record_log(op, &question)?).into())
}

struct LogReport(RecordLog);

impl Report for LogReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([
            ("events".to_string(), self.0.events.iter().map(event).collect()),
            ("total".to_string(), json!(self.0.total)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let RecordLog { events, total } = &self.0;
        if page.is_quiet {
            return events.iter().for_each(|event| page.line(event.id.to_string()));
        }
        if events.is_empty() {
            page.nothing("Nothing was recorded.", super::RECORD_SOMETHING);
        }
        events.iter().for_each(|event| page.line(line(event)));
        if *total > events.len() {
            page.line(format!("{} more; --limit {total} shows all.", total - events.len()));
        }
    }
}

fn event(event: &KnowledgeEvent) -> Value {
    let said = event.statement.as_ref();
    json!({
        "at": iso(event.at),
        "event": event.kind.as_str(),
        "kind": event.id.kind.as_str(),
        "name": event.id.name.as_str(),
        "author": event.author,
        "text": said.map(|said| said.words()),
        "rationale": said.map(|said| said.rationale.as_str()).filter(|text| !text.is_empty()),
        "commit": said.and_then(|said| said.origin.commit.as_deref()),
        "branch": said.and_then(|said| said.origin.branch.as_deref()),
        "fields": event.fields.iter().map(|field| field.as_str()).collect::<Vec<_>>(),
    })
}

/// `12:00 ann recorded note/one-lock “One lock guards all names”`.
fn line(event: &KnowledgeEvent) -> String {
    let time = LocalTime::of_user().moment(event.at, clock::now());
    let start = format!("{time} {} {} {}", quote_name(&event.author), event.kind.as_str(), event.id);
    match &event.statement {
        Some(said) if said.rationale.is_empty() => format!("{start} {}", quote_sentence(&said.words())),
        Some(said) => {
            format!("{start} {}, why: {}", quote_sentence(&said.words()), quote_sentence(&said.rationale))
        }
        None if event.kind != KnowledgeEventKind::Changed => start,
        None => {
            let fields: Vec<&str> = event.fields.iter().map(|field| field.as_str()).collect();
            format!("{start}: {}", fields.join(", "))
        }
    }
}

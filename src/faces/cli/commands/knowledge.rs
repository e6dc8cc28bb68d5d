//! `msg knowledge`: lists, shows, confirms, retires and publishes records, and looks after the log.

mod erase;
mod export;
mod import;
mod init;
mod log;
pub(super) mod markdown;
mod pack;
mod publish;
mod stats;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::domain::knowledge::{
    ActionOutcome, ActionReceipt, KnowledgeAction, RecordKind, full_text, index_row,
};
use crate::domain::quote_code;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::value_parsers::record_kind;
use crate::faces::json;
use crate::ops::knowledge::{self, KnowledgeQuestion, KnowledgeRequest, PlaceBase, ShownRecord};
use crate::ops::{self, CommandError, Op};
use crate::sys::time_zone;

/// Where records are, as people know it.
const LOG: &str = "`.ravenry/knowledge`";

/// List, show, confirm, retire and publish what was recorded, and look after it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg knowledge list --kind decision
  msg knowledge show one-lock-guards-all-names
  msg knowledge confirm one-lock-guards-all-names
  msg knowledge retire note/old-remark
  msg knowledge publish --all
  msg knowledge stats
  msg knowledge log --since 7d
  msg knowledge export --markdown")]
pub(in crate::faces::cli) struct KnowledgeArgs {
    #[command(subcommand)]
    action: KnowledgeCommand,
}

#[derive(Debug, Subcommand)]
enum KnowledgeCommand {
    /// List all records, the latest first
    #[command(after_help = "\
Examples:
  msg knowledge list
  msg knowledge list --kind decision
  msg knowledge list --as-of 2026-11-17 --json")]
    List {
        /// Only records of this kind
        #[arg(long, value_name = "KIND", value_parser = record_kind)]
        kind: Option<RecordKind>,
        /// As it was recorded by then, such as 2026-11-17 (the end of that day)
        #[arg(long, value_name = "DATE")]
        as_of: Option<String>,
    },
    /// Show a record in full, with what changed in the code since
    #[command(after_help = "\
Examples:
  msg knowledge show one-lock-guards-all-names
  msg knowledge show decision/one-lock-guards-all-names --json
  msg knowledge show one-lock-guards-all-names --as-of 2026-11-17")]
    Show {
        /// Its name, or kind/name
        #[arg(value_name = "NAME")]
        name: String,
        /// As it was recorded by then, such as 2026-11-17 (the end of that day)
        #[arg(long, value_name = "DATE")]
        as_of: Option<String>,
    },
    /// Say that a record is right
    #[command(after_help = "\
Examples:
  msg knowledge confirm one-lock-guards-all-names
  msg knowledge confirm note/run-the-tests-with-locked")]
    Confirm {
        /// Its name, or kind/name
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Retire a record: it is no longer shown, until somebody records it again
    #[command(after_help = "\
Examples:
  msg knowledge retire note/old-remark
  msg knowledge retire old-remark --json")]
    Retire {
        /// Its name, or kind/name
        #[arg(value_name = "NAME")]
        name: String,
    },
    Publish(publish::PublishArgs),
    /// Show how many records there are, who wrote them, and how often they were offered and opened on this machine
    #[command(after_help = "\
Examples:
  msg knowledge stats
  msg knowledge stats --json")]
    Stats,
    Log(log::LogArgs),
    Init(init::InitArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Pack(pack::PackArgs),
    Erase(erase::EraseArgs),
}

pub(super) fn run(op: &Op, args: KnowledgeArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let tell = |action: KnowledgeAction| {
        let request = KnowledgeRequest { action, places: Vec::new() };
        knowledge::tell(op, vec![request.into()], PlaceBase::WorkingDirectory)
    };
    match args.action {
        KnowledgeCommand::List { kind, as_of } => {
            let question = KnowledgeQuestion {
                kind,
                as_of: moment(as_of.as_deref())?,
                limit: usize::MAX,
                ..KnowledgeQuestion::default()
            };
            let answer = knowledge::know(op, &question)?;
            Ok(RecordList { records: answer.records, as_of }.into())
        }
        KnowledgeCommand::Show { name, as_of } => {
            Ok(RecordPages(knowledge::show_as_of(op, &name, moment(as_of.as_deref())?)?).into())
        }
        KnowledgeCommand::Confirm { name } => {
            Ok(Receipts::of(op, tell(KnowledgeAction::Confirm { kind: None, name })?).into())
        }
        KnowledgeCommand::Publish(args) => publish::run(op, args),
        KnowledgeCommand::Stats => stats::run(op),
        KnowledgeCommand::Retire { name } => {
            let retired = tell(KnowledgeAction::Delete { kind: None, name })?;
            knowledge::left_pages(op, &retired).into_iter().for_each(|text| op.warn(text));
            Ok(Receipts::of(op, retired).into())
        }
        KnowledgeCommand::Log(args) => log::run(op, args),
        KnowledgeCommand::Init(args) => init::run(op, args),
        KnowledgeCommand::Export(args) => export::run(op, args, ui),
        KnowledgeCommand::Import(args) => import::run(op, args),
        KnowledgeCommand::Pack(args) => pack::run(op, args),
        KnowledgeCommand::Erase(args) => erase::run(op, args),
    }
}

/// The value of `--as-of`.
pub(super) fn moment(text: Option<&str>) -> Result<Option<Timestamp>, CommandError> {
    text.map(|text| ops::parse_moment(text, "--as-of")).transpose()
}

/// What to do if nothing is recorded.
pub(super) const RECORD_SOMETHING: &str = "`msg learn TEXT --at PATH` records something.";

/// What became of the actions of a batch.
pub(super) struct Receipts {
    receipts: Vec<ActionReceipt>,
    log: PathBuf,
    /// How to record something although a record says nearly the same.
    insisting: &'static str,
}

impl Receipts {
    pub(super) fn of(op: &Op, receipts: Vec<ActionReceipt>) -> Self {
        Self { receipts, log: knowledge::log_directory(op), insisting: "use msg learn --new" }
    }

    /// For commands with a way of their own to insist.
    pub(super) fn insisting(self, insisting: &'static str) -> Self {
        Self { insisting, ..self }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.receipts.is_empty()
    }

    pub(super) fn rows(&self) -> Value {
        json::record::receipts(&self.receipts, &self.log)
    }
}

impl Report for Receipts {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("recorded".to_string(), self.rows())])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            let is_said = |receipt: &&ActionReceipt| {
                matches!(receipt.outcome, ActionOutcome::Added | ActionOutcome::Updated)
            };
            let said = self.receipts.iter().filter(is_said);
            return said.for_each(|receipt| page.line(receipt.id.to_string()));
        }
        for receipt in &self.receipts {
            let name = style::bold(&receipt.id.to_string());
            let show = format!("msg knowledge show {}", receipt.id);
            page.line(match receipt.outcome {
                ActionOutcome::Added => format!("Recorded {name} in {LOG}. To see it: {show}"),
                ActionOutcome::Updated => format!("Updated {name} in {LOG}. To see it: {show}"),
                ActionOutcome::AlreadyThere => {
                    let insisting = self.insisting;
                    format!("{name} says nearly the same, so nothing was recorded. To see it: {show}. To record yours nevertheless, {insisting}.")
                }
                ActionOutcome::Retired => format!("Retired {name}. It is no longer shown."),
                ActionOutcome::Confirmed => format!("Confirmed {name}."),
            });
            receipt.remarks.iter().for_each(|remark| page.line(format!("  {remark}")));
        }
    }
}

/// Said if nothing was recorded by a moment, which is as it was typed.
pub(super) fn nothing_by(moment: &str) -> String {
    format!("Nothing was recorded by {}.", quote_code(moment))
}

struct RecordList {
    records: Vec<ShownRecord>,
    /// As it was typed.
    as_of: Option<String>,
}

impl Report for RecordList {
    fn json(&self) -> Map<String, Value> {
        let records: Vec<Value> = self.records.iter().map(json::record::record).collect();
        Map::from_iter([("total".to_string(), json!(records.len())), ("records".to_string(), json!(records))])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            return bare_names(&self.records, page);
        }
        if self.records.is_empty() {
            match self.as_of.as_deref() {
                Some(moment) => page.nothing(&nothing_by(moment), "`msg knowledge list` shows all."),
                None => page.nothing("Nothing is recorded.", RECORD_SOMETHING),
            }
        }
        self.records.iter().for_each(|shown| page.line(row(shown)));
    }
}

struct RecordPages(Vec<ShownRecord>);

impl Report for RecordPages {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("records".to_string(), self.0.iter().map(json::record::record).collect())])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            return bare_names(&self.0, page);
        }
        for shown in &self.0 {
            full_lines(shown).into_iter().for_each(|line| page.line(line));
        }
    }
}

/// What `--quiet` leaves of records.
pub(super) fn bare_names(records: &[ShownRecord], page: &mut Page) {
    records.iter().for_each(|shown| page.line(shown.record.id.to_string()));
}

/// The words of a whole record.
const MOST_WORDS: usize = 400;

/// One line.
pub(super) fn row(shown: &ShownRecord) -> String {
    index_row(&shown.record, &shown.state())
}

/// All of a record, and what changed in the code since.
pub(super) fn full_lines(shown: &ShownRecord) -> Vec<String> {
    let text = full_text(&shown.record, &shown.state(), MOST_WORDS, time_zone::user_zone());
    let mut lines = text.lines();
    let heading = style::bold(lines.next().unwrap_or_default());
    let rest = lines.map(str::to_string).chain(shown.changes()).map(|line| format!("  {line}"));
    std::iter::once(heading).chain(rest).collect()
}

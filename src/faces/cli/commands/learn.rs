//! `msg learn`: records what somebody found out about the project.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::knowledge::{
    ActionOutcome, ActionReceipt, Basis, DuplicatePolicy, RecordDraft, RecordKind, RecordName,
    RecordNameError,
};
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::faces::cli::text_arg::TextArgs;
use crate::faces::cli::value_parsers::{basis, learnable_kind};
use crate::ops::knowledge::{self, Lesson, PlaceBase};
use crate::ops::{CommandError, CommandErrorKind, Op};

use super::knowledge::Receipts;

/// Record what you found out about this project
///
/// Record what the code does not say: why something is as it is, what was tried and failed, which command really works.
/// The next session that reads the file, or asks with `msg know`, gets it. If a record says nearly the same, you get
/// that one instead. Keys, tokens and passwords are refused.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg learn \"One lock guards all names\" --at src/sys/flock.rs:12 --why \"two locks deadlocked\" --kind decision
  msg learn --tried \"caching the registry in memory\" --why \"other processes change it\" --at src/store/mesh.rs
  msg learn \"Run the tests with --locked\" --at \"$ cargo test\" --known tested
  msg learn --name one-lock --why \"two locks deadlocked\" --at src/sys/flock.rs:20
  msg learn \"Two locks, in a fixed order\" --kind decision --supersedes one-lock-guards-all-names")]
pub(in crate::faces::cli) struct LearnArgs {
    #[command(flatten)]
    text: TextArgs,
    /// What it is about: a path, path#symbol, path:line, path:from-to, "$ command" or "! error text"; can be repeated
    #[arg(long, value_name = "PLACE")]
    at: Vec<String>,
    /// Why it is so, or why it failed
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// note (the default), tried, decision, principle, pattern or file; of a name that exists, the kind it has
    #[arg(long, value_name = "KIND", value_parser = learnable_kind)]
    kind: Option<RecordKind>,
    /// Its name, in kebab-case; otherwise the first words of the text. Of a record that exists, what you give is changed
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What was tried and did not work; it becomes a record of its own
    #[arg(long, value_name = "TEXT")]
    tried: Option<String>,
    /// The record that this one replaces; can be repeated
    #[arg(long, value_name = "NAME")]
    supersedes: Vec<String>,
    /// Another word that one might search for; can be repeated
    #[arg(long, value_name = "WORD")]
    also: Vec<String>,
    /// A tag, with a value or without; can be repeated
    #[arg(long = "tag", value_name = "KEY=VALUE")]
    tags: Vec<String>,
    /// How you know it: tested, read, told or guessed
    #[arg(long, value_name = "HOW", value_parser = basis)]
    known: Option<Basis>,
    /// Add it although a record says nearly the same
    #[arg(long)]
    new: bool,
}

pub(super) fn run(op: &Op, args: LearnArgs) -> Result<CommandOutput, CommandError> {
    let name = args.name.as_deref().map(RecordName::new).transpose().map_err(invalid_name)?;
    let text = args.text.read()?.map(|text| text.trim_end().to_string());
    let kind = match (&text, &args.tried, &name) {
        (None, None, None) => {
            let hint = "give TEXT in one sentence, --tried, or the --name of a record that exists";
            return Err(CommandError::new(CommandErrorKind::Usage, "say what you found out").hint(hint));
        }
        (None, None, Some(name)) => {
            args.require_change()?;
            knowledge::kind_to_update(op, name.as_str(), args.kind)?
        }
        (None, Some(_), _) => tried_kind(args.kind)?,
        (Some(_), _, Some(name)) if args.kind.is_none() => {
            knowledge::kind_of(op, name.as_str())?.unwrap_or(RecordKind::Note)
        }
        _ => args.kind.unwrap_or(RecordKind::Note),
    };
    let duplicates = if args.new { DuplicatePolicy::AddAnyway } else { DuplicatePolicy::Answer };
    let tags = args.tags.iter().map(|tag| match tag.split_once('=') {
        Some((key, value)) => (key.to_string(), value.to_string()),
        None => (tag.clone(), "yes".to_string()),
    });
    let draft = RecordDraft {
        name,
        basis: args.known,
        tags: tags.collect(),
        also: args.also,
        supersedes: args.supersedes,
        duplicates,
        ..RecordDraft::new(kind)
    };
    let lesson = Lesson { text, tried: args.tried, why: args.why, places: args.at, draft };
    let steps = lesson.into_requests().into_iter().map(Into::into).collect();
    Ok(told(op, knowledge::tell(op, steps, PlaceBase::WorkingDirectory)?))
}

/// That all of it is there already is an error, with the records that are there.
fn told(op: &Op, receipts: Vec<ActionReceipt>) -> CommandOutput {
    if receipts.iter().any(|receipt| receipt.outcome != ActionOutcome::AlreadyThere) {
        return Receipts::of(op, receipts).insisting("add --new").into();
    }
    let ids: Vec<String> = receipts.iter().map(|receipt| receipt.id.to_string()).collect();
    let message = format!("nothing was recorded: {} says nearly the same", ids.join(" and "));
    let mut error = CommandError::new(CommandErrorKind::Duplicate, message);
    for id in &ids {
        error = error.hint(format!("to see it: msg knowledge show {id}"));
    }
    let error = error.hint("to record yours nevertheless, add --new").facts("existing", ids);
    CommandOutput { report: Some(Box::new(DuplicateReport(Receipts::of(op, receipts)))), error: Some(error) }
}

/// The error says it all.
struct DuplicateReport(Receipts);

impl Report for DuplicateReport {
    fn json(&self) -> Map<String, Value> {
        self.0.json()
    }

    fn text(&self, _: &mut Page) {}
}

impl LearnArgs {
    /// Something must be given besides the name.
    fn require_change(&self) -> Result<(), CommandError> {
        let lists = [&self.at, &self.supersedes, &self.also, &self.tags];
        if self.why.is_some() || self.known.is_some() || lists.into_iter().any(|list| !list.is_empty()) {
            return Ok(());
        }
        let message = "nothing was recorded: say what to change about the record";
        let hint = "give TEXT, --why, --at, --known, --also, --tag or --supersedes";
        Err(CommandError::new(CommandErrorKind::Usage, message).hint(hint))
    }
}

/// What was tried is of the kind `tried`, and of no other.
fn tried_kind(given: Option<RecordKind>) -> Result<RecordKind, CommandError> {
    match given {
        None | Some(RecordKind::Tried) => Ok(RecordKind::Tried),
        Some(kind) => {
            let message = format!("--tried records a `tried`, not a `{kind}`");
            let hint = format!("leave --kind out, or give the {kind} as TEXT");
            Err(CommandError::new(CommandErrorKind::Usage, message).hint(hint))
        }
    }
}

fn invalid_name(error: RecordNameError) -> CommandError {
    CommandError::new(CommandErrorKind::InvalidName, error.to_string())
}

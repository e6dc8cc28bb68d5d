//! `msg learn`: records what somebody found out about the project.

use clap::Args;

use crate::domain::knowledge::{
    Basis, DuplicatePolicy, RecordDraft, RecordKind, RecordName, RecordNameError,
};
use crate::faces::cli::output::CommandOutput;
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
  msg learn \"Two locks, in a fixed order\" --kind decision --supersedes one-lock-guards-all-names")]
pub(in crate::faces::cli) struct LearnArgs {
    /// What you found out, in one sentence
    #[arg(value_name = "TEXT", required_unless_present = "tried")]
    text: Option<String>,
    /// What it is about: a path, path#symbol, path:line, path:from-to, or "$ command"; can be repeated
    #[arg(long, value_name = "PLACE")]
    at: Vec<String>,
    /// Why it is so, or why it failed
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// note (the default), tried, decision, principle, pattern or file; of a name that exists, the kind it has
    #[arg(long, value_name = "KIND", value_parser = learnable_kind)]
    kind: Option<RecordKind>,
    /// Its name, in kebab-case; otherwise the first words of the text. A name that exists is updated
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
    let is_tried_alone = args.text.is_none();
    let kind = match (args.kind, &name) {
        (Some(kind), _) => kind,
        (None, Some(name)) if !is_tried_alone => kind_of_name(op, name)?,
        (None, _) => RecordKind::Note,
    };
    let duplicates = if args.new { DuplicatePolicy::AddAnyway } else { DuplicatePolicy::Answer };
    let tags = args.tags.iter().map(|tag| match tag.split_once('=') {
        Some((key, value)) => (key.to_string(), value.to_string()),
        None => (tag.clone(), "yes".to_string()),
    });
    let name = args.name.as_deref().map(RecordName::new).transpose().map_err(invalid_name)?;
    let draft = RecordDraft {
        name,
        basis: args.known,
        tags: tags.collect(),
        also: args.also,
        supersedes: args.supersedes,
        duplicates,
        ..RecordDraft::new(kind)
    };
    let lesson = Lesson { text: args.text, tried: args.tried, why: args.why, places: args.at, draft };
    let steps = lesson.into_requests().into_iter().map(Ok).collect();
    Ok(Receipts(knowledge::tell(op, steps, PlaceBase::WorkingDirectory)?).into())
}

/// The kind of the record that has this name, or that of a new one.
fn kind_of_name(op: &Op, name: &RecordName) -> Result<RecordKind, CommandError> {
    match knowledge::kind_of(op, name.as_str())? {
        Some(RecordKind::Relationship) => {
            let message = format!("`{name}` is a relationship, which `learn` can't change");
            let hint = "change it with `msg record`, or choose another name";
            Err(CommandError::new(CommandErrorKind::InvalidValue, message).hint(hint))
        }
        Some(kind) => Ok(kind),
        None => Ok(RecordKind::Note),
    }
}

fn invalid_name(error: RecordNameError) -> CommandError {
    CommandError::new(CommandErrorKind::InvalidName, error.to_string())
}

//! `msg record`: records a batch.

use std::io::Read;

use clap::Args;

use crate::faces::cli::output::CommandOutput;
use crate::faces::json;
use crate::ops::knowledge;
use crate::ops::{CommandError, CommandErrorKind, Op, readable_text_file};

use super::knowledge::Receipts;

/// The largest batch that is read, in bytes.
const MAX_BATCH: u64 = 4 * 1024 * 1024;

/// Record a batch of knowledge from a JSON file
///
/// A batch is `{"actions": [["record-decision", {…}], ["confirm", {…}]]}`. All of it is checked first: either everything
/// is recorded, or nothing, and you get a list of all that is wrong. An action that says nearly what a record says already,
/// or exactly what an earlier action says, is not wrong: it is answered with that record, and the rest is recorded;
/// `"new": true` in the action records it nevertheless. Paths count from the root of the project. A `projectId`
/// must be the name or the first commit of this project, as `msg knowledge init` prints them.
#[derive(Args, Debug)]
#[command(after_help = "\
Actions:
  record-note, record-tried, record-decision, record-principle, record-pattern, record-file-understanding,
  link-entities, unlink-entities, delete-decision, delete-principle, delete-pattern, delete-file-understanding,
  update-confidence, add-evidence, supersede-decision, confirm

Examples:
  msg record learned.json
  echo '{\"actions\": [[\"confirm\", {\"name\": \"one-lock\"}]]}' | msg record -")]
pub(in crate::faces::cli) struct RecordArgs {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: String,
}

pub(super) fn run(op: &Op, args: RecordArgs) -> Result<CommandOutput, CommandError> {
    let unreadable = |error: std::io::Error| {
        let message = format!("`{}` can't be read as text: {error}", args.file.escape_debug());
        CommandError::new(CommandErrorKind::InvalidValue, message)
    };
    let mut text = String::new();
    if args.file == "-" {
        std::io::stdin().lock().take(MAX_BATCH + 1).read_to_string(&mut text).map_err(unreadable)?;
    } else {
        let file = fs_err::File::open(readable_text_file(&args.file)?).map_err(unreadable)?;
        file.take(MAX_BATCH + 1).read_to_string(&mut text).map_err(unreadable)?;
    }
    if text.len() as u64 > MAX_BATCH {
        let message = format!("the batch has more than {} MiB", MAX_BATCH / 1024 / 1024);
        return Err(knowledge::batch_refusal(message, "split it"));
    }
    let receipts = knowledge::tell_batch(op, json::batch::parse(&text)?)?;
    Ok(Receipts::of(op, receipts).insisting("give its action `\"new\": true`").into())
}

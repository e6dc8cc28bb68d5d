//! `msg knowledge import`: adds what a Yjs update says.

use std::io::Read;

use clap::Args;
use serde_json::{Map, Value, json};

use super::pack::counted;
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::ops::knowledge;
use crate::ops::{CommandError, CommandErrorKind, Op, readable_text_file};
use crate::store::ImportReport;

/// The largest update that is read, in bytes. The store refuses a little less.
const MAX_UPDATE: u64 = 64 * 1024 * 1024;

/// Add what a Yjs update says
///
/// The update (format v1) must be a whole document, as `msg knowledge export --yjs` and `Y.encodeStateAsUpdate` write it.
/// If anything is wrong with it, nothing is imported. What is here already is not doubled, and what was erased here does
/// not come back. A batch in JSON is read by `msg record`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg knowledge import knowledge.yjs
  cat knowledge.yjs | msg knowledge import -")]
pub(super) struct ImportArgs {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: String,
}

pub(super) fn run(op: &Op, args: ImportArgs) -> Result<CommandOutput, CommandError> {
    let unreadable = |error: std::io::Error| {
        let message = format!("`{}` can't be read: {error}", args.file.escape_debug());
        CommandError::new(CommandErrorKind::InvalidValue, message)
    };
    let mut update = Vec::new();
    if args.file == "-" {
        std::io::stdin().lock().take(MAX_UPDATE).read_to_end(&mut update).map_err(unreadable)?;
    } else {
        let file = fs_err::File::open(readable_text_file(&args.file)?).map_err(unreadable)?;
        file.take(MAX_UPDATE).read_to_end(&mut update).map_err(unreadable)?;
    }
    if update.trim_ascii_start().starts_with(b"{") {
        let message = "that is JSON and not a Yjs update: nothing was imported";
        let hint = format!("a batch is recorded with `msg record {}`", args.file);
        return Err(CommandError::new(CommandErrorKind::InvalidValue, message).hint(hint));
    }
    Ok(Imported(knowledge::import(op, &update)?).into())
}

struct Imported(ImportReport);

impl Report for Imported {
    fn json(&self) -> Map<String, Value> {
        let ImportReport { added, removed, newer } = self.0;
        Map::from_iter([
            ("added".to_string(), json!(added)),
            ("removed".to_string(), json!(removed)),
            ("newer".to_string(), json!(newer)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let ImportReport { added, removed, newer } = self.0;
        page.line(match (added, removed) {
            (0, 0) => "All of it was here already.".to_string(),
            (added, 0) => format!("Imported {}.", counted(added, "entry", "entries")),
            (added, removed) => {
                let added = counted(added, "entry", "entries");
                let removed = counted(removed, "that was", "that were");
                format!("Imported {added}, and removed {removed} erased there.")
            }
        });
        if newer > 0 {
            let newer =
                counted(newer, "entry of a newer version of msg is", "entries of a newer version of msg are");
            page.line(format!("{newer} kept and not shown."));
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}

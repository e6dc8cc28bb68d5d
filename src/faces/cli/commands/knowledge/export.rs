//! `msg knowledge export`: writes all records as a Yjs update or as a Markdown document.

use clap::{ArgGroup, Args};
use serde_json::{Map, Value, json};

use super::markdown;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui};
use crate::ops::knowledge::{self, KnowledgeQuestion};
use crate::ops::{CommandError, CommandErrorKind, Op};

/// Write all records as a Yjs update or as a Markdown document
///
/// `--yjs` writes the whole log as one update in format v1, for `Y.applyUpdate`: the root map `knowledge` has one plain
/// object per entry. `--markdown` writes one document for people, grouped by kind. `-` is standard output. Inside a
/// harness only that is allowed: writing a file needs a person.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("form").required(true).args(["yjs", "markdown"]), after_help = "\
Examples:
  msg knowledge export --yjs knowledge.yjs
  msg knowledge export --yjs - | ssh other 'cd project && msg knowledge import -'
  msg knowledge export --markdown
  msg knowledge export --markdown docs")]
pub(super) struct ExportArgs {
    /// Write a Yjs update to this file, or to standard output (`-`)
    #[arg(long, value_name = "FILE")]
    yjs: Option<String>,
    /// Write a Markdown document to this file, to knowledge.md in this directory, or to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    markdown: Option<String>,
}

pub(super) fn run(op: &Op, args: ExportArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    if let Some(file) = args.yjs {
        return export_yjs(op, &file, ui);
    }
    let file = args.markdown.unwrap_or_else(|| "-".to_string());
    let question = KnowledgeQuestion { limit: usize::MAX, ..KnowledgeQuestion::default() };
    let mut records = knowledge::know(op, &question)?.records;
    records.sort_by(|one, two| one.record.id.cmp(&two.record.id));
    let text = markdown::document(&records);
    if file == "-" {
        return Ok(MarkdownText(text).into());
    }
    let is_dir = op.cwd.join(&file).is_dir();
    let file = if is_dir { format!("{}/knowledge.md", file.trim_end_matches('/')) } else { file };
    write(op, &file, text.as_bytes())
}

fn export_yjs(op: &Op, file: &str, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let refuse = |message: &str| {
        Err(CommandError::new(CommandErrorKind::InvalidValue, message)
            .hint("for example --yjs knowledge.yjs"))
    };
    if file == "-" && ui.is_json() {
        return refuse("an update is not JSON: with `--json`, name a file");
    }
    if file == "-" && ui.is_terminal() {
        return refuse("an update is not text: name a file, or pass it on to a program");
    }
    let update = knowledge::export_yjs(op)?;
    if file == "-" {
        // A reader that is gone is told by the exit code, or is no error.
        let _ = ui.pass_on(&update);
        return Ok(CommandOutput::said(None));
    }
    write(op, file, &update)
}

fn write(op: &Op, file: &str, content: &[u8]) -> Result<CommandOutput, CommandError> {
    let path = knowledge::write_export(op, file, content)?;
    Ok(Exported { file: path.display().to_string(), bytes: content.len() }.into())
}

struct Exported {
    file: String,
    bytes: usize,
}

impl Report for Exported {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("file".to_string(), json!(self.file)), ("bytes".to_string(), json!(self.bytes))])
    }

    fn text(&self, page: &mut Page) {
        page.line(format!("Wrote {} bytes to {}.", self.bytes, self.file));
    }

    fn is_answer(&self) -> bool {
        false
    }
}

/// A document on standard output.
pub(super) struct MarkdownText(pub(super) String);

impl Report for MarkdownText {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("markdown".to_string(), json!(self.0))])
    }

    fn text(&self, page: &mut Page) {
        self.0.lines().for_each(|line| page.line(line));
    }
}

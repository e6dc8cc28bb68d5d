//! `msg export`: writes a page of what happened.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{escape_invisible, shell_word};
use crate::faces::cli::export_page::{PageFormat, count, written};
use crate::faces::cli::local_time::LocalTime;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::value_parsers;
use crate::faces::json;
use crate::ops::export::{self, ExportPage, ExportRequest, parse_since};
use crate::ops::{CommandError, CommandErrorKind, HandoverOutcome, Op};
use crate::store::iso;
use crate::sys::files::{self, Published};
use crate::sys::time_zone;

/// What the user alone may read and write.
const PRIVATE: u32 = 0o600;

/// Write a page of what happened, to look at or to share
///
/// One file with everything: a timeline of who was there and who held what, agents, reservations, tasks, runs, messages and
/// events. It needs nothing else, neither a network nor a script. Lines that look like keys or passwords are left out, but
/// everyone's messages are in it: read it before you share it. For a person; inside a harness it is refused.
///
/// On a terminal it goes to a new file in this directory, in a pipe to standard output.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg export
  msg export --since 2h --output today.html
  msg export --markdown --since 2026-11-17 | less
  msg export --json | jq '.messages[].text'")]
pub(in crate::faces::cli) struct ExportPageArgs {
    /// Write HTML: the default
    #[arg(long, conflicts_with = "markdown")]
    html: bool,
    /// Write Markdown; the default for a FILE that ends in `.md`
    #[arg(long)]
    markdown: bool,
    /// Leave out what is older: 30m, 2h, 7d, 2026-11-17 or 2026-11-17T09:00
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Replace the file if there is one
    #[arg(long)]
    force: bool,
    /// Show at most N messages, and as many events, reservations and runs: the newest
    #[arg(short = 'n', long, value_name = "N", default_value = "2000", value_parser = value_parsers::count, allow_negative_numbers = true)]
    limit: usize,
}

impl ExportPageArgs {
    fn format(&self) -> PageFormat {
        let told = match (self.html, self.markdown) {
            (true, _) => Some(PageFormat::Html),
            (_, true) => Some(PageFormat::Markdown),
            _ => None,
        };
        told.or_else(|| PageFormat::of_file(self.output.as_deref()?)).unwrap_or(PageFormat::Html)
    }

    /// What a person would have to type.
    fn line(&self) -> String {
        let mut line = "msg export".to_string();
        line.push_str(if self.markdown { " --markdown" } else { "" });
        for (option, value) in [("--since", &self.since), ("--output", &self.output)] {
            line.extend(value.as_deref().map(|value| format!(" {option} {}", shell_word(value))));
        }
        line
    }
}

/// Where the page goes.
enum Destination {
    Stdout,
    File(PathBuf),
    /// Its content is in the JSON.
    Json,
}

pub(super) fn run(op: &Op, args: ExportPageArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let since = args.since.as_deref().map(parse_since).transpose()?;
    let format = args.format();
    let request = ExportRequest { since, limit: args.limit };
    let page = export::export(op, request, &args.line())?;
    let destination = match args.output.as_deref() {
        Some("-") if ui.is_json() => {
            let text = "`--output -` and `--json` both want standard output";
            return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint("`msg export --json` alone prints what is on the page"));
        }
        Some("-") => Destination::Stdout,
        Some("") => {
            let text = "`--output` needs the name of a file";
            return Err(
                CommandError::new(CommandErrorKind::InvalidValue, text).hint("`-` is standard output")
            );
        }
        Some(file) => Destination::File(op.cwd.join(file)),
        None if ui.is_json() => Destination::Json,
        None if ui.is_terminal() => {
            let at = LocalTime::of_user().in_file_name(page.made_at);
            Destination::File(op.cwd.join(format!("msg-export-{at}.{}", format.ending())))
        }
        None => Destination::Stdout,
    };
    let content = || written(&page, format, time_zone::user_zone());
    match destination {
        Destination::Json => Ok(ExportReport { page, written: None }.into()),
        Destination::File(path) => {
            let content = content();
            write(&path, content.as_bytes(), args.force)?;
            let shown = args.output.unwrap_or_else(|| file_name(&path));
            Ok(ExportReport {
                page,
                written: Some(WrittenPage { path, shown, format, bytes: content.len() }),
            }
            .into())
        }
        Destination::Stdout => {
            // What was left out is told on the page. A reader that has enough is no error.
            match ui.pass_on(content().as_bytes()) {
                HandoverOutcome::Delivered | HandoverOutcome::ReaderGone => Ok(CommandOutput::said(None)),
            }
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes the whole file or nothing.
fn write(path: &Path, content: &[u8], replaces: bool) -> Result<(), CommandError> {
    let shown = path.display();
    if files::metadata(path)?.is_some_and(|metadata| metadata.is_dir()) {
        let text = format!("`{shown}` is a directory");
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint(format!("name a file in it: --output {}", shell_word(&format!("{}/page.html", shown)))));
    }
    let missing = path.parent().filter(|dir| !dir.is_dir());
    if let Some(dir) = missing {
        let text = format!("there is no directory `{}`", dir.display());
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("make it with `mkdir -p`, or name another file with `--output FILE`"));
    }
    if replaces {
        files::replace_beside(path, content, PRIVATE)?;
        return Ok(());
    }
    match files::publish_beside(path, content, PRIVATE)? {
        Published::Done => Ok(()),
        Published::Exists => {
            let text = format!("`{shown}` exists already");
            Err(CommandError::new(CommandErrorKind::FileExists, text)
                .hint("name another file with `--output FILE`, or replace it with `--force`")
                .fact("file", shown.to_string()))
        }
    }
}

/// A page in a file.
struct WrittenPage {
    path: PathBuf,
    /// As the user named it.
    shown: String,
    format: PageFormat,
    bytes: usize,
}

struct ExportReport {
    page: ExportPage,
    /// `None`: what is on the page is printed as JSON instead.
    written: Option<WrittenPage>,
}

impl ExportReport {
    fn counts(&self) -> Value {
        let page = &self.page;
        json!({
            "agents": page.agents.len(),
            "reservations": page.holds.total,
            "specs": page.specs.total,
            "messages": page.messages.total,
            "runs": page.runs.total,
            "events": page.events.total,
        })
    }
}

impl Report for ExportReport {
    fn json(&self) -> Map<String, Value> {
        let page = &self.page;
        let mut object = match &self.written {
            Some(file) => Map::from_iter([
                ("file".to_string(), json!(file.path.display().to_string())),
                ("format".to_string(), json!(file.format.name())),
                ("bytes".to_string(), json!(file.bytes)),
            ]),
            None => json::export::content(page),
        };
        object.insert("totals".to_string(), self.counts());
        object.insert("since".to_string(), json!(page.since.map(iso)));
        object.insert("masked".to_string(), json!(page.masked));
        object.insert("unreadable".to_string(), json!(page.unreadable));
        object
    }

    fn text(&self, page: &mut Page) {
        let Some(file) = &self.written else { return };
        let shown = escape_invisible(&file.shown);
        if page.is_quiet {
            page.line(shown);
            return;
        }
        let ExportPage { messages, events, masked, .. } = &self.page;
        let newest = |shown: usize, total: usize, one: &str, many: &str| match shown == total {
            true => count(total, one, many),
            false => format!("the newest {shown} of {}", count(total, one, many)),
        };
        page.line(format!(
            "Wrote {} ({}): {}, {}.",
            style::bold(&shown),
            size(file.bytes),
            newest(messages.shown.len(), messages.total, "message", "messages"),
            newest(events.shown.len(), events.total, "event", "events"),
        ));
        if *masked > 0 {
            page.line(format!(
                "{} that may have a key or a password left out.",
                count(*masked, "line", "lines")
            ));
        }
        page.line(style::dim("It has everyone's messages: read it before you share it."));
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_048_576 => format!("{} KB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

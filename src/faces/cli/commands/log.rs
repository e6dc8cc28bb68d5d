//! `msg log`: who did what with a file, or what an agent did.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::awareness::quote_path;
use crate::domain::escape_invisible;
use crate::domain::pattern::has_wildcard;
use crate::faces::cli::local_time::LocalTime;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::cli::value_parsers::count;
use crate::faces::json::event as event_json;
use crate::ops::export::parse_since;
use crate::ops::find::{self, LogDeed, LogEntry, LogRequest, LogSubject, WorkLog};
use crate::ops::{CommandError, Op};
use crate::store::iso;
use crate::sys::clock;

/// Show who changed, reserved or committed a file, or what an agent did
///
/// Oldest first, in your local time. What hooks saw agents change is kept for a week or longer, and events as long as they
/// are in the feed (`feedRetention`). A commit is shown if an agent made it and its hooks reported it. For a directory you
/// get everything in it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg log src/auth/login.rs
  msg log src/ --since 1d
  msg log GoldFalcon
  msg log --agent build          an agent that is called like a path
  msg log src/auth/login.rs --json")]
pub(in crate::faces::cli) struct WorkLogArgs {
    /// A file, a directory, or an agent if there is no such path
    #[arg(value_name = "PATH|AGENT")]
    subject: String,
    /// It is an agent, not a path
    #[arg(long)]
    agent: bool,
    /// Only what happened since then, such as 90m, 7d or 2026-11-17
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Show at most N entries
    #[arg(short = 'n', long, value_name = "N", default_value = "30", value_parser = count, allow_negative_numbers = true)]
    limit: usize,
}

pub(super) fn run(op: &Op, args: WorkLogArgs) -> Result<CommandOutput, CommandError> {
    let since = args.since.as_deref().map(parse_since).transpose()?;
    let request = LogRequest { typed: &args.subject, is_agent: args.agent, since, limit: args.limit };
    let log = find::work_log(op, request)?;
    let is_missing = !op.cwd.join(op.home.expand(&args.subject)).exists();
    Ok(LogReport { log, is_limited_in_time: since.is_some(), is_missing }.into())
}

struct LogReport {
    log: WorkLog,
    is_limited_in_time: bool,
    /// There is no such path.
    is_missing: bool,
}

impl Report for LogReport {
    fn json(&self) -> Map<String, Value> {
        let subject = match &self.log.subject {
            LogSubject::Path { shown } => json!({ "path": shown }),
            LogSubject::Agent(name) => json!({ "agent": name.as_str() }),
        };
        Map::from_iter([
            ("subject".to_string(), subject),
            ("entries".to_string(), self.log.entries.iter().map(entry_json).collect()),
            ("leftOut".to_string(), json!(self.log.left_out)),
        ])
    }

    fn text(&self, page: &mut Page) {
        if self.log.left_out > 0 && !page.is_quiet {
            page.line(style::dim(&format!("{} older entries are left out: use --limit.", self.log.left_out)));
        }
        let (now, time) = (clock::now(), LocalTime::of_user());
        let mut table = Table::default();
        for LogEntry { at, who, deed } in &self.log.entries {
            let phrase = match deed {
                LogDeed::Changed { file, times, is_elsewhere } => {
                    let times = if *times > 1 { format!(" ×{times}") } else { String::new() };
                    let elsewhere = if *is_elsewhere { " in another worktree" } else { "" };
                    format!("changed {}{elsewhere}{times}", quote_path(file))
                }
                LogDeed::Event(event) => event.phrase(),
            };
            table.row(vec![
                TableCell::styled(&time.moment(*at, now), style::dim),
                TableCell::styled(&escape_invisible(who), style::bold),
                TableCell::plain(&phrase),
            ]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
        if self.log.entries.is_empty() && !page.is_quiet {
            self.explain_nothing(page);
        }
    }
}

impl LogReport {
    fn explain_nothing(&self, page: &mut Page) {
        match &self.log.subject {
            LogSubject::Path { shown } if shown.is_empty() => {
                page.line("Nothing is known of this work tree.");
            }
            LogSubject::Path { shown } if self.is_missing => {
                page.line(format!("There is no {} here, and nothing is known of it.", quote_path(shown)));
                return page.line(match has_wildcard(shown) {
                    true => "  Name a file or a directory: patterns are not looked for.",
                    false => "  `msg agents` and `msg agents --gone` list the agents.",
                });
            }
            LogSubject::Path { shown } => page.line(format!("Nothing is known of {}.", quote_path(shown))),
            LogSubject::Agent(name) => page.line(format!("Nothing is known of {name}.")),
        }
        page.line(match self.is_limited_in_time {
            true => "  Try it without `--since`.",
            false => {
                "  Changes are recorded by the hooks of agents: see `msg install`. `git log` has all commits."
            }
        });
    }
}

fn entry_json(entry: &LogEntry) -> Value {
    match &entry.deed {
        LogDeed::Changed { file, times, is_elsewhere } => json!({
            "at": iso(entry.at),
            "agent": entry.who,
            "kind": "changed",
            "path": file,
            "times": times,
            "elsewhere": is_elsewhere,
        }),
        LogDeed::Event(event) => json!({
            "at": iso(entry.at),
            "agent": entry.who,
            "kind": event.what.name(),
            "event": event_json(event),
        }),
    }
}

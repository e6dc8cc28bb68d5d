//! `msg knowledge publish`: writes records as pages that people review and commit.

use clap::{ArgGroup, Args};
use serde_json::{Map, Value, json};

use crate::domain::quote_code;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::knowledge::{self, PageOutcome, PageReport, PublishChoice, PublishMode, PublishOutcome};
use crate::ops::{CommandError, CommandErrorKind, Op};

/// Write records as pages in docs/knowledge, for people to review and commit
///
/// Pages are written into your work tree. A page that was edited and is not committed, or that can't be read, is never
/// overwritten. Commit an edited page, and the edit becomes a part of the record.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("which").required(true).args(["names", "all"]), after_help = "\
Examples:
  msg knowledge publish one-lock-guards-all-names
  msg knowledge publish --all
  msg knowledge publish --all --dry-run --json")]
pub(super) struct PublishArgs {
    /// Names of records, or kind/name
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Publish all records
    #[arg(long)]
    all: bool,
    /// Say what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(op: &Op, args: PublishArgs) -> Result<CommandOutput, CommandError> {
    let choice = if args.all { PublishChoice::All } else { PublishChoice::Named(args.names) };
    let mode = if args.dry_run { PublishMode::DryRun } else { PublishMode::Write };
    let PublishOutcome { pages, is_in_git } = knowledge::publish(op, &choice, mode)?;
    let is_missing = |page: &&PageReport| match page.outcome {
        PageOutcome::Refused(_) => true,
        // Somebody asked for that page.
        PageOutcome::Retired => matches!(choice, PublishChoice::Named(_)),
        PageOutcome::Written | PageOutcome::Unchanged => false,
    };
    let refused = pages.iter().filter(is_missing).count();
    let error = (refused > 0).then(|| {
        let message = match pages.len() {
            1 => "the page was not written".to_string(),
            all => format!("{refused} of {all} pages were not written"),
        };
        CommandError::new(CommandErrorKind::NotAllPublished, message)
    });
    Ok(CommandOutput { report: Some(Box::new(PublishReport { pages, mode, is_in_git })), error })
}

struct PublishReport {
    pages: Vec<PageReport>,
    mode: PublishMode,
    is_in_git: bool,
}

impl Report for PublishReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("pages".to_string(), self.pages.iter().map(page_json).collect())])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            let written = self.pages.iter().filter(|page| page.outcome == PageOutcome::Written);
            return written.for_each(|written| page.line(&written.path));
        }
        if self.pages.is_empty() {
            page.nothing("Nothing is recorded.", super::RECORD_SOMETHING);
        }
        let written = match self.mode {
            PublishMode::Write => "written",
            PublishMode::DryRun => "would be written",
        };
        for PageReport { path, outcome, .. } in &self.pages {
            page.line(match outcome {
                PageOutcome::Written => format!("{}: {}", style::bold(path), style::good(written)),
                PageOutcome::Unchanged => format!("{path}: unchanged"),
                PageOutcome::Retired => format!("{path}: its record is retired, remove the page"),
                PageOutcome::Refused(refusal) => {
                    let place =
                        refusal.place.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
                    let reason = crate::domain::escape_invisible(&refusal.reason).into_owned();
                    format!("{}: {}: {reason}", style::bold(&format!("{path}{place}")), style::bad("refused"))
                }
            });
        }
        if self.mode == PublishMode::Write
            && self.is_in_git
            && self.pages.iter().any(|page| page.outcome == PageOutcome::Written)
        {
            let (add, diff) = (quote_code("git add -N :/docs/knowledge"), quote_code("git diff"));
            page.line(format!("Review them with {add} and {diff}, and commit them."));
        }
    }
}

fn page_json(page: &PageReport) -> Value {
    let (outcome, refusal) = match &page.outcome {
        PageOutcome::Written => ("written", None),
        PageOutcome::Unchanged => ("unchanged", None),
        PageOutcome::Retired => ("retired", None),
        PageOutcome::Refused(refusal) => ("refused", Some(refusal)),
    };
    let place = refusal.and_then(|refusal| refusal.place);
    json!({
        "kind": page.id.kind.as_str(),
        "name": page.id.name.as_str(),
        "path": page.path,
        "outcome": outcome,
        "line": place.map(|(line, _)| line),
        "column": place.map(|(_, column)| column),
        "problem": refusal.map(|refusal| &refusal.reason),
    })
}

//! `msg workers trust`: lets what a project's `workers.toml` says about programs count.

use std::io::IsTerminal;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::json;
use crate::ops::workers::{self, ProbeMode, TrustOutcome, TrustSubject, WorkersReport};
use crate::ops::{CommandError, CommandErrorKind, HandoverOutcome, Op};
use crate::store::worker_files::{PROJECT_FILE, UntrustedFile};

/// Let the project's `workers.toml` name programs and permissions
///
/// A clone brings its own `.ravenry/workers.toml`. What it says about programs, arguments, variables, tools, dialogs
/// and the setup of worktrees counts only after a person has read and trusted it, and only until it changes. It needs a
/// person: inside a harness it is refused.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg workers trust             shows what would count, and asks
  msg workers trust --yes       for scripts
  msg workers trust --revoke    take it back")]
pub(super) struct TrustArgs {
    /// Trust it without a question
    #[arg(long)]
    yes: bool,
    /// Take back what was trusted in this project
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
}

pub(super) fn run(op: &Op, args: &TrustArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let outcome = match args.revoke {
        true => workers::revoke_trust(op)?,
        false => match workers::trust_subject(op)? {
            TrustSubject::Nothing => TrustOutcome::NotNeeded,
            TrustSubject::AlreadyTrusted => TrustOutcome::AlreadyTrusted,
            TrustSubject::File(file) => {
                if !args.yes {
                    ask(&file, ui)?;
                }
                workers::trust(op, &file)?;
                TrustOutcome::Trusted
            }
        },
    };
    let report = workers::workers(op, ProbeMode::Cached)?;
    Ok(TrustAnswer { outcome, report }.into())
}

/// Shows the file to the person at the terminal and asks.
fn ask(file: &UntrustedFile, ui: &Ui) -> Result<(), CommandError> {
    if ui.is_json() || !ui.is_terminal() || !std::io::stdin().is_terminal() {
        let text = "a person must read the file first, and there is no terminal to ask at";
        let hint = format!("read `{}`, then add `--yes`", file.path.display());
        return Err(CommandError::new(CommandErrorKind::NoTerminal, text)
            .hint(hint)
            .fact("file", file.path.display().to_string())
            .facts("keys", file.keys.iter().map(ToString::to_string).collect())
            .fact("diff", file.diff.clone()));
    }
    let declined =
        || CommandError::new(CommandErrorKind::Untrusted, "it was not trusted; nothing was changed");
    if ui.say(&question(file)) == HandoverOutcome::ReaderGone {
        return Err(declined());
    }
    let mut answer = String::new();
    let is_read = std::io::stdin().read_line(&mut answer).is_ok_and(|length| length > 0);
    let is_yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    if is_read && is_yes { Ok(()) } else { Err(declined()) }
}

/// The difference to what was trusted, the keys that would count, and the question.
fn question(file: &UntrustedFile) -> String {
    let mut text = String::new();
    for line in file.diff.lines() {
        let shown = escape_invisible(line);
        let shown = match line.chars().next() {
            Some('+') => style::good(&shown),
            Some('-') => style::bad(&shown),
            Some('@') => style::dim(&shown),
            _ => shown.into_owned(),
        };
        text.push_str(&format!("{shown}\n"));
    }
    text.push_str("\nThese keys decide what is run on this machine, and would count:\n");
    for key in &file.keys {
        text.push_str(&format!("  {}\n", style::bold(&escape_invisible(&key.to_string()))));
    }
    let project = file.path.to_string_lossy();
    text.push_str(&format!("Trust {}? [y/N] ", escape_invisible(&project)));
    text
}

struct TrustAnswer {
    outcome: TrustOutcome,
    report: WorkersReport,
}

impl Report for TrustAnswer {
    fn json(&self) -> Map<String, Value> {
        let changed = matches!(self.outcome, TrustOutcome::Trusted | TrustOutcome::Revoked);
        let mut members = json::worker::workers(&self.report);
        members.insert("changed".to_string(), json!(changed));
        members
    }

    fn text(&self, page: &mut Page) {
        page.line(match self.outcome {
            TrustOutcome::NotNeeded => format!("`{PROJECT_FILE}` has no key that needs trust."),
            TrustOutcome::AlreadyTrusted => format!("`{PROJECT_FILE}` is trusted as it is."),
            TrustOutcome::Trusted => format!("Trusted `{PROJECT_FILE}`, until it changes."),
            TrustOutcome::Revoked => format!("`{PROJECT_FILE}` is not trusted any more."),
            TrustOutcome::WasNotTrusted => "Nothing was trusted in this project.".to_string(),
        });
    }

    fn is_answer(&self) -> bool {
        false
    }
}

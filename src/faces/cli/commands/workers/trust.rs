//! `msg workers trust`: lets what a project's `workers.toml` says about programs count, or the `verify:` lines of a spec.

use std::io::IsTerminal;
use std::path::Path;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::json;
use crate::ops::tasks::{self, VerifyTrust};
use crate::ops::workers::{self, ProbeMode, TrustOutcome, TrustSubject, WorkersReport};
use crate::ops::{CommandError, CommandErrorKind, HandoverOutcome, Op};
use crate::store::worker_files::PROJECT_FILE;

/// Let the project's `workers.toml` name programs and permissions
///
/// A clone brings its own `.ravenry/workers.toml`. What it says about programs, arguments, variables, tools, dialogs
/// and the setup of worktrees counts only after a person has read and trusted it, and only until it changes. It needs a
/// person: inside a harness it is refused. With `--spec` it is about the `verify:` lines of that spec, which
/// `msg complete --verify` and `msg crew work` run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg workers trust             shows what would count, and asks
  msg workers trust --yes       for scripts
  msg workers trust --revoke    take it back
  msg workers trust --spec docs/spec.md")]
pub(super) struct TrustArgs {
    /// Trust it without a question
    #[arg(long)]
    yes: bool,
    /// Take back what was trusted in this project
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// Trust the `verify:` lines of this spec instead
    #[arg(long, value_name = "PATH")]
    spec: Option<String>,
}

/// What is shown to the person before it counts.
struct ShownText<'a> {
    file: &'a Path,
    /// What decides what is run.
    keys: Vec<String>,
    /// What `keys` are.
    about: &'static str,
    diff: &'a str,
}

pub(super) fn run(op: &Op, args: &TrustArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let outcome = match &args.spec {
        Some(spec) => of_spec(op, args, spec, ui)?,
        None => of_workers(op, args, ui)?,
    };
    let report = workers::workers(op, ProbeMode::Cached)?;
    Ok(TrustAnswer { outcome, report, spec: args.spec.clone() }.into())
}

fn of_workers(op: &Op, args: &TrustArgs, ui: &Ui) -> Result<TrustOutcome, CommandError> {
    if args.revoke {
        return workers::revoke_trust(op);
    }
    Ok(match workers::trust_subject(op)? {
        TrustSubject::Nothing => TrustOutcome::NotNeeded,
        TrustSubject::AlreadyTrusted => TrustOutcome::AlreadyTrusted,
        TrustSubject::File(file) => {
            if !args.yes {
                let keys = file.keys.iter().map(ToString::to_string).collect();
                let about = "These keys decide what is run on this machine, and would count:";
                ask(&ShownText { file: &file.path, keys, about, diff: &file.diff }, ui)?;
            }
            workers::trust(op, &file)?;
            TrustOutcome::Trusted
        }
    })
}

fn of_spec(op: &Op, args: &TrustArgs, spec: &str, ui: &Ui) -> Result<TrustOutcome, CommandError> {
    if args.revoke {
        return Ok(match tasks::revoke_verify_trust(op, spec)? {
            Some(_) => TrustOutcome::Revoked,
            None => TrustOutcome::WasNotTrusted,
        });
    }
    Ok(match tasks::verify_trust(op, spec)? {
        VerifyTrust::NotNeeded => TrustOutcome::NotNeeded,
        VerifyTrust::Trusted => TrustOutcome::AlreadyTrusted,
        VerifyTrust::Untrusted(lines) => {
            if !args.yes {
                let keys = lines.lines.lines().map(str::to_string).collect();
                let about =
                    "`msg complete --verify` and `msg crew work` would run these commands on this machine:";
                ask(&ShownText { file: &lines.file, keys, about, diff: &lines.diff }, ui)?;
            }
            tasks::trust_verify(op, spec, &lines)?;
            TrustOutcome::Trusted
        }
    })
}

/// Shows the text to the person at the terminal and asks.
fn ask(shown: &ShownText<'_>, ui: &Ui) -> Result<(), CommandError> {
    if ui.is_json() || !ui.is_terminal() || !std::io::stdin().is_terminal() {
        let text = "a person must read the file first, and there is no terminal to ask at";
        let file = shown.file.display().to_string();
        let hint = format!("read `{file}`, then add `--yes`");
        return Err(CommandError::new(CommandErrorKind::NoTerminal, text)
            .hint(hint)
            .fact("file", file)
            .facts("keys", shown.keys.clone())
            .fact("diff", shown.diff));
    }
    let declined =
        || CommandError::new(CommandErrorKind::Untrusted, "it was not trusted; nothing was changed");
    if ui.say(&question(shown)) == HandoverOutcome::ReaderGone {
        return Err(declined());
    }
    let mut answer = String::new();
    let is_read = std::io::stdin().read_line(&mut answer).is_ok_and(|length| length > 0);
    let is_yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    if is_read && is_yes { Ok(()) } else { Err(declined()) }
}

/// The difference to what was trusted, the keys that would count, and the question.
fn question(asked: &ShownText<'_>) -> String {
    let mut text = String::new();
    for line in asked.diff.lines() {
        let shown = escape_invisible(line);
        let shown = match line.chars().next() {
            Some('+') => style::good(&shown),
            Some('-') => style::bad(&shown),
            Some('@') => style::dim(&shown),
            _ => shown.into_owned(),
        };
        text.push_str(&format!("{shown}\n"));
    }
    text.push_str(&format!("\n{}\n", asked.about));
    for key in &asked.keys {
        text.push_str(&format!("  {}\n", style::bold(&escape_invisible(key))));
    }
    let file = asked.file.to_string_lossy();
    text.push_str(&format!("Trust {}? [y/N] ", escape_invisible(&file)));
    text
}

struct TrustAnswer {
    outcome: TrustOutcome,
    report: WorkersReport,
    spec: Option<String>,
}

impl Report for TrustAnswer {
    fn json(&self) -> Map<String, Value> {
        let changed = matches!(self.outcome, TrustOutcome::Trusted | TrustOutcome::Revoked);
        let mut members = json::worker::workers(&self.report);
        members.insert("changed".to_string(), json!(changed));
        members
    }

    fn text(&self, page: &mut Page) {
        if let Some(spec) = &self.spec {
            let spec = escape_invisible(spec);
            return page.line(match self.outcome {
                TrustOutcome::NotNeeded => format!("`{spec}` has no `verify:` lines."),
                TrustOutcome::AlreadyTrusted => {
                    format!("The `verify:` lines of `{spec}` are trusted as they are.")
                }
                TrustOutcome::Trusted => {
                    format!("Trusted the `verify:` lines of `{spec}`, until they change.")
                }
                TrustOutcome::Revoked => format!("The `verify:` lines of `{spec}` are not trusted any more."),
                TrustOutcome::WasNotTrusted => format!("The `verify:` lines of `{spec}` were not trusted."),
            });
        }
        page.line(match self.outcome {
            TrustOutcome::NotNeeded => format!("`{PROJECT_FILE}` has no key that needs trust."),
            TrustOutcome::AlreadyTrusted => format!("`{PROJECT_FILE}` is trusted as it is."),
            TrustOutcome::Trusted => format!("Trusted `{PROJECT_FILE}`, until it changes."),
            TrustOutcome::Revoked => format!("`{PROJECT_FILE}` is not trusted any more."),
            TrustOutcome::WasNotTrusted => {
                "Nothing was trusted in this project. `msg workers` shows the profiles.".to_string()
            }
        });
    }

    fn is_answer(&self) -> bool {
        false
    }
}

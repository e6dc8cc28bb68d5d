//! `msg guard`: installs, removes and runs the git guard.

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::domain::{escape_invisible, quote_code, quote_sentence};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::json;
use crate::ops::setup::Execution;
use crate::ops::setup::guard::{
    self, CleanedHookFile, CommitCheck, GuardInstallOptions, GuardInstallOutcome, GuardUninstallOutcome,
    SharedHook,
};
use crate::ops::{CommandError, Holding, Op, PathVerdict};

/// Maximum number of paths that are listed; the rest are counted.
const MOST: usize = 20;

/// Make git refuse to commit what others have reserved
///
/// `install` adds the check to the pre-commit hook of this repository, for all of its work trees; an existing hook
/// runs first. A commit is refused if it changes, adds, renames or deletes what another live agent has reserved.
/// If msg is missing, or cannot check, git commits as usual, unless `strict` is set.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg guard install
  msg guard check             would a commit of what is staged be refused?
  msg guard uninstall         the hook is what it was before
  git commit --no-verify      commit all the same")]
pub(in crate::faces::cli) struct GuardArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add the check to the pre-commit hook; an existing hook runs first
    Install {
        /// Also where others get the hook: one that is committed, or that is for all your repositories
        #[arg(long)]
        shared: bool,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove it and restore the hook from before
    Uninstall {
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Check what is staged. Exit code 1: another agent holds some of it
    Check,
}

/// `errors` are the files and variables that cannot be used; the check runs nevertheless.
pub(super) fn run(
    op: &Op,
    args: GuardArgs,
    errors: Vec<CommandError>,
) -> Result<CommandOutput, CommandError> {
    errors.into_iter().for_each(|error| op.warn(error.message));
    match args.action {
        Action::Install { shared, dry_run } => {
            let shared = if shared { SharedHook::Accept } else { SharedHook::Refuse };
            let order = GuardInstallOptions { shared, execution: execution(dry_run) };
            Ok(InstallReport { installed: guard::install(op, order)?, dry_run }.into())
        }
        Action::Uninstall { dry_run } => {
            Ok(UninstallReport { uninstalled: guard::uninstall(op, execution(dry_run))?, dry_run }.into())
        }
        Action::Check => {
            let mut commit = guard::check(op)?;
            let error = commit.refusal.take();
            let is_refused = error.is_some();
            Ok(CommandOutput { report: Some(Box::new(CheckReport { commit, is_refused })), error })
        }
    }
}

struct CheckReport {
    commit: CommitCheck,
    is_refused: bool,
}

impl Report for CheckReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("paths".to_string(), self.commit.verdicts.iter().map(json::verdict).collect())])
    }

    /// The git hook recognises a refusal by the first word; if the commit is allowed, nothing is printed.
    fn text(&self, page: &mut Page) {
        if !self.is_refused {
            return;
        }
        let held: Vec<(&PathVerdict, &Holding)> = self
            .commit
            .verdicts
            .iter()
            .filter_map(|verdict| Some((verdict, verdict.holding.as_ref()?)))
            .collect();
        let is_thing = |(_, holding): &&(&PathVerdict, &Holding)| holding.reservation.is_thing();
        let things = held.iter().filter(is_thing).count();
        page.line(match (held.len() - things, self.commit.verdicts.len() - things) {
            (0, _) if things > 0 => "refused: what a commit needs is reserved".to_string(),
            (0, _) => "refused: cannot check who has reserved what".to_string(),
            (1, 1) => "refused: the only file in this commit is reserved".to_string(),
            (1, all) => format!("refused: one of {all} files in this commit is reserved"),
            (held, all) => format!("refused: {held} of {all} files in this commit are reserved"),
        });
        // For a single path, the error says everything.
        if held.len() < 2 {
            return;
        }
        let mut table = Table::default();
        for (verdict, holding) in held.iter().take(MOST) {
            let reason = holding.reservation.reason.as_deref().map_or(String::new(), quote_sentence);
            table.row(vec![
                TableCell::styled("held", style::bad),
                TableCell::plain(&escape_invisible(&verdict.path)),
                TableCell::styled(&holding.holder.name_and_machine(), style::bold),
                TableCell::plain(&quote_code(&holding.reservation.typed())),
                TableCell::plain(&reason),
            ]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
        if held.len() > MOST {
            page.line(style::dim(&format!("and {} more", held.len() - MOST)));
        }
    }
}

struct InstallReport {
    installed: GuardInstallOutcome,
    dry_run: bool,
}

impl Report for InstallReport {
    fn json(&self) -> Map<String, Value> {
        let GuardInstallOutcome { hook, is_changed, is_chained, .. } = &self.installed;
        let mut object = changed(hook, is_changed.then_some(hook.as_path()).into_iter(), self.dry_run);
        object.insert("chained".to_string(), json!(is_chained));
        object
    }

    fn text(&self, page: &mut Page) {
        let GuardInstallOutcome { shown, is_changed, is_chained, .. } = &self.installed;
        let shown = escape_invisible(shown);
        let first = if *is_chained { " The hook that is there runs first." } else { "" };
        page.line(match (is_changed, self.dry_run) {
            (true, true) => format!("The guard would be installed in `{shown}`.{first}"),
            (true, false) => {
                format!("The guard is in `{shown}`: git refuses to commit what others have reserved.{first}")
            }
            (false, _) => format!("The guard is in `{shown}` already."),
        });
    }

    fn is_answer(&self) -> bool {
        self.dry_run
    }
}

struct UninstallReport {
    uninstalled: GuardUninstallOutcome,
    dry_run: bool,
}

impl Report for UninstallReport {
    fn json(&self) -> Map<String, Value> {
        let GuardUninstallOutcome { hook, taken_out, .. } = &self.uninstalled;
        changed(hook, taken_out.iter().map(|taken| taken.file.as_path()), self.dry_run)
    }

    fn text(&self, page: &mut Page) {
        let GuardUninstallOutcome { shown, taken_out, .. } = &self.uninstalled;
        if taken_out.is_empty() {
            page.line(format!("The guard is not in `{}`.", escape_invisible(shown)));
        }
        for CleanedHookFile { shown, is_left, .. } in taken_out {
            let shown = escape_invisible(shown);
            page.line(match (self.dry_run, is_left) {
                (true, _) => format!("The guard would be removed from `{shown}`."),
                (false, true) => {
                    format!("Removed the guard from `{shown}`; the rest of the file is unchanged.")
                }
                (false, false) => {
                    format!("Removed the guard; nothing else was in `{shown}`, so the file is deleted.")
                }
            });
        }
    }

    fn is_answer(&self) -> bool {
        self.dry_run
    }
}

fn execution(dry_run: bool) -> Execution {
    if dry_run { Execution::DryRun } else { Execution::Apply }
}

fn changed<'a>(hook: &Path, changed: impl Iterator<Item = &'a Path>, dry_run: bool) -> Map<String, Value> {
    let changed: Vec<_> = changed.map(Path::to_string_lossy).collect();
    let mut object = Map::from_iter([
        ("hook".to_string(), json!(hook.to_string_lossy())),
        ("changed".to_string(), json!(changed)),
    ]);
    if dry_run {
        object.insert("dryRun".to_string(), json!(true));
    }
    object
}

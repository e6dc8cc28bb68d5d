//! `msg uninstall`: removes what `install` added.

use clap::Args;

use super::install::{InstallScopeArgs, InstallTexts, Which, outcome, which};
use crate::faces::cli::output::CommandOutput;
use crate::harness::texts;
use crate::ops::CommandError;
use crate::ops::setup::install;

/// Remove msg from a harness
///
/// A file that has not changed since gets its old content back, or is removed if there was none; from other files only
/// the entries of msg are removed.
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  msg uninstall {name}
  msg uninstall all --dry-run     the changes as a diff; nothing is written
  msg uninstall {name} --project", name = texts::example()))]
pub(in crate::faces::cli) struct UninstallArgs {
    /// The harness, `all`, or tmux
    #[arg(value_name = "HARNESS", value_parser = which())]
    harness: Which,
    #[command(flatten)]
    options: InstallScopeArgs,
}

pub(super) fn run(args: &UninstallArgs) -> Result<CommandOutput, CommandError> {
    let options = args.options.wish(args.harness);
    Ok(outcome(install::uninstall(options)?, options, &WORDS))
}

const WORDS: InstallTexts = InstallTexts {
    unchanged: "has nothing of msg in it.",
    last: "Running sessions keep the old hooks until you restart them.",
    last_of_tmux: "A running tmux keeps it until you reload its configuration.",
};

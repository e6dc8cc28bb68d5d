use clap::Args;

use super::install::{Which, WishArgs, Words, outcome, which};
use crate::faces::cli::output::Outcome;
use crate::ops::CommandError;
use crate::ops::setup::install;

/// Take msg out of a harness again
///
/// A file that nobody has changed since gets its old content back, or goes if there was none; from others our entries
/// alone are taken.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg uninstall claude
  msg uninstall all --dry-run     the changes as a diff; nothing is written
  msg uninstall claude --project")]
pub(in crate::faces::cli) struct UninstallArgs {
    /// Which harness, or all; or tmux
    #[arg(value_name = "HARNESS", value_parser = which())]
    harness: Which,
    #[command(flatten)]
    wish: WishArgs,
}

pub(super) fn run(args: &UninstallArgs) -> Result<Outcome, CommandError> {
    let wish = args.wish.wish(args.harness);
    Ok(outcome(install::uninstall(wish)?, wish, &WORDS))
}

const WORDS: Words = Words {
    unchanged: "has nothing of msg in it.",
    last: "Sessions that run already go on as they are.",
    last_of_tmux: "A tmux that runs already goes on as it is.",
};

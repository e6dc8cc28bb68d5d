use clap::Args;

use crate::faces::cli::output::Outcome;
use crate::ops::{CommandError, Kind};

/// What a harness keeps running while its agent rests, to be woken by mail
///
/// `msg install` puts it where it belongs. It is given what the harness tells when a turn ends, and only looks: it takes no
/// mail, ends with its session, and steps back when a turn begins or another waits in its place. When mail comes that is
/// not of low importance, and `mailTurns` allows one more turn, it ends: with exit code 2 for Claude Code, with a word on
/// standard output for the plugins of OpenCode and pi.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg waiter claude < payload.json")]
pub(in crate::faces::cli) struct WaiterArgs {
    /// claude, opencode or pi
    #[arg(value_name = "HARNESS")]
    harness: Option<String>,
}

/// Not reached by real waiters: they are started before the command line is parsed. This file is for the help.
pub(super) fn run(_: WaiterArgs) -> Result<Outcome, CommandError> {
    Err(CommandError::new(Kind::Usage, "`waiter` was called in a way that is not understood")
        .hint("`msg waiter HARNESS`, with the hook's JSON on standard input"))
}

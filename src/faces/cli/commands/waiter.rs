//! `msg waiter`: help text only; the real waiter runs in `faces::hook::waiter`.

use clap::Args;

use crate::faces::cli::output::CommandOutput;
use crate::harness::texts;
use crate::ops::{CommandError, CommandErrorKind};

/// The process a harness keeps running while its agent is idle, so that mail can wake it
///
/// `msg install` sets it up. It reads what the harness reports when a turn ends, and only watches: it takes no mail,
/// ends with its session, and stops when a turn begins or another waiter replaces it. When mail arrives that is not of
/// low importance, and `mailTurns` allows one more turn, it ends in the way that the harness understands: with
/// exit code 2, or with a word on standard output for our own plugins.
#[derive(Args, Debug)]
#[command(after_help = format!("Examples:\n  msg waiter {} < payload.json", texts::example()))]
pub(in crate::faces::cli) struct WaiterArgs {
    #[arg(value_name = "HARNESS", help = texts::names_with_waiter())]
    harness: Option<String>,
}

/// Not reached by real waiters: they are started before the command line is parsed. This file is for the help.
pub(super) fn run(_: WaiterArgs) -> Result<CommandOutput, CommandError> {
    Err(CommandError::new(
        CommandErrorKind::Usage,
        "`waiter` was called with arguments it does not understand",
    )
    .hint("`msg waiter HARNESS`, with the hook's JSON on standard input"))
}

//! `msg hook`: help text only; real hooks are answered in `faces::hook` before arguments are parsed.

use clap::Args;

use crate::faces::cli::output::CommandOutput;
use crate::harness::{self, texts};
use crate::ops::{CommandError, CommandErrorKind};

/// The command a harness runs as its hook: JSON in, JSON out
///
/// EVENT is the harness's own name for the event. Edits and shell commands that would change what another agent
/// reserved are refused; waiting mail is handed over; sessions join and leave. The exit code is always 0, so that a
/// broken hook never blocks: on failure the tool call is allowed and `msg doctor` shows the reason, unless `strict` is
/// set.
#[derive(Args, Debug)]
#[command(after_help = format!("Examples:\n  {}", texts::hook_examples().join("\n  ")))]
pub(in crate::faces::cli) struct HookArgs {
    #[arg(value_name = "HARNESS", help = texts::names(harness::supported()))]
    harness: Option<String>,
    /// PreToolUse, BeforeTool, preToolUse, …
    #[arg(value_name = "EVENT")]
    event: Option<String>,
}

/// Not reached by real hooks: they are answered before the command line is parsed. This file is for the help.
pub(super) fn run(args: HookArgs) -> Result<CommandOutput, CommandError> {
    let HookArgs { harness, event } = args;
    let called = [harness, event].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let text = format!("`hook {}` was called with arguments it does not understand", called.escape_debug());
    Err(CommandError::new(CommandErrorKind::Usage, text)
        .hint("`msg hook HARNESS EVENT`, with the hook's JSON on standard input"))
}

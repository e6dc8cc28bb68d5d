use clap::Args;

use crate::faces::cli::output::Outcome;
use crate::ops::{CommandError, Kind};

/// What a harness calls at its hooks: its JSON in, its JSON out
///
/// EVENT is the harness's own name for it. Edits and shell commands that would change what another agent has reserved are
/// refused; waiting mail is handed over; sessions join and leave. The exit code is 0 whatever happens, so that a broken
/// hook is never in the way: what fails lets the tool through and leaves a line for `msg doctor`, unless `strict` is set.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg hook claude PreToolUse < payload.json
  msg hook codex Stop
  msg hook gemini BeforeTool
  msg hook copilot preToolUse
  msg hook opencode tool.execute.before
  msg hook pi tool_call")]
pub(in crate::faces::cli) struct HookArgs {
    /// claude, codex, gemini, opencode, pi or copilot
    #[arg(value_name = "HARNESS")]
    harness: Option<String>,
    /// PreToolUse, BeforeTool, preToolUse, …
    #[arg(value_name = "EVENT")]
    event: Option<String>,
}

/// Not reached by real hooks: they are answered before the command line is parsed. This file is for the help.
pub(super) fn run(args: HookArgs) -> Result<Outcome, CommandError> {
    let HookArgs { harness, event } = args;
    let called = [harness, event].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let text = format!("`hook {}` was called in a way that is not understood", called.escape_debug());
    Err(CommandError::new(Kind::Usage, text)
        .hint("`msg hook HARNESS EVENT`, with the hook's JSON on standard input"))
}

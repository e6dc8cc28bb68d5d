//! `msg mcp`: help text only; the real server starts in `faces::mcp`.

use clap::Args;

use crate::faces::cli::output::CommandOutput;
use crate::harness::texts;
use crate::ops::{CommandError, CommandErrorKind};

/// Serve models that have tools instead of a shell: MCP on standard input and output
///
/// `msg install` registers it with a harness. It has eight tools, takes mail only after the answer was written, and ends
/// with its client.
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  msg mcp
  {} mcp add -s user ravenry -- msg mcp
  msg mcp --as GoldFalcon        speaks for that agent, whoever calls", texts::example()))]
pub(in crate::faces::cli) struct McpArgs {}

/// Not reached by a real server: it is started before the command line is parsed. This is for the help and for
/// arguments that the server does not accept.
pub(super) fn run(_: McpArgs) -> Result<CommandOutput, CommandError> {
    Err(CommandError::new(CommandErrorKind::Usage, "`mcp` takes no more than `--mesh` and `--as`")
        .hint("it speaks JSON-RPC on standard input and output; see `msg mcp --help`"))
}

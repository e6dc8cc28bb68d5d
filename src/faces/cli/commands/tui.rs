//! `msg tui`: starts the terminal chat.

use clap::Args;

use crate::domain::AgentName;
use crate::faces::cli::output::CommandOutput;
use crate::ops::{CommandError, CommandErrorKind};

use super::Invocation;

/// See who is here and talk to them, in the terminal
///
/// Tabs for the agents, each conversation, tasks, reservations and the feed, updated live. `?` shows the keys. If you
/// have not joined, you join as a person until you close it. Messages shown on screen count as surfaced.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg tui
  msg tui Robin
  NO_COLOR=1 msg tui")]
pub(in crate::faces::cli) struct TuiArgs {
    /// The name to join under (default: a generated one)
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(super) fn run(call: &Invocation<'_>, args: TuiArgs) -> Result<CommandOutput, CommandError> {
    if call.ui.is_json() {
        return Err(CommandError::new(
            CommandErrorKind::Usage,
            "`tui` draws on a terminal and has no JSON output",
        )
        .hint("use `msg agents --json` or `msg watch --json`"));
    }
    let name = args.name.map(AgentName::new).transpose()?;
    let mut warnings = Vec::new();
    let shown = (call.screen)(call.globals.clone(), name, call.ui.color(), &mut warnings);
    call.warnings.borrow_mut().extend(warnings);
    shown?;
    Ok(CommandOutput::said(None))
}

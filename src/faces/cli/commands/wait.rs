//! `msg wait`: blocks until there is mail, then takes it.

use clap::Args;

use crate::domain::AgentName;
use crate::faces::cli::messages::hand_over;
use crate::faces::cli::output::{CommandOutput, Ui};
use crate::ops::{self, CommandError, CommandErrorKind, Op};
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

/// Block until there is mail, then take it like `read`
///
/// Exit code 5 if none arrives in time.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg wait --timeout 10m
  msg wait --from GoldFalcon")]
pub(in crate::faces::cli) struct WaitArgs {
    /// Give up after this long: 90 (seconds), 90s, 10m, 2h
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    timeout: Option<String>,
    /// Only mail from this agent
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
}

pub(super) fn run(op: &Op, args: WaitArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let timeout = args.timeout.as_deref().map(|text| ops::parse_duration(text, "--timeout")).transpose()?;
    let from = args.from.map(AgentName::new).transpose()?;
    let stop = StopRequest::listen().map_err(FileError::from)?;
    let selection = ops::from_sender(from);
    let found =
        ops::wait(op, ui.reader(), &stop, &selection, timeout, &mut |messages| hand_over(ui, messages))?;
    match found {
        Some(_) => Ok(CommandOutput::said(None)),
        None => Err(CommandError::new(CommandErrorKind::TimedOut, "timed out: no mail")),
    }
}

use std::time::Duration;

use clap::Args;

use crate::domain::AgentName;
use crate::faces::cli::messages::Letters;
use crate::faces::cli::output::{Outcome, Ui};
use crate::ops::{self, CommandError, Context, Kind};
use crate::sys::clock;
use crate::sys::files::FileError;
use crate::sys::signals::Stop;

/// Block until there is mail, then take it like `read`
///
/// Exit code 5 when there is none in time.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg wait --timeout 60
  msg wait --from GoldFalcon")]
pub(in crate::faces::cli) struct WaitArgs {
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    timeout: Option<f64>,
    /// Only for mail from this agent
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
}

pub(super) fn run(ctx: &Context, args: WaitArgs, ui: &Ui) -> Result<Outcome, CommandError> {
    let timeout = args.timeout.map(|seconds| {
        Duration::try_from_secs_f64(seconds).map_err(|_| {
            CommandError::new(Kind::InvalidValue, format!("{seconds} s is no time to wait"))
                .hint("for example `--timeout 60`")
        })
    });
    let from = args.from.map(AgentName::new).transpose()?;
    let stop = Stop::listen().map_err(FileError::from)?;
    let selection = ops::from_sender(from);
    let found = ops::wait(ctx, ui.reader(), &stop, &selection, timeout.transpose()?, &mut |letters| {
        ui.say_report(&Letters { letters, for_person: ui.is_terminal(), now: clock::now() })
    })?;
    match found {
        Some(_) => Ok(Outcome::said(None)),
        None => Err(CommandError::new(Kind::TimedOut, "no mail came in time")),
    }
}

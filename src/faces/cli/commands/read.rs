//! `msg read`: takes unread mail and prints it.

use clap::Args;

use crate::faces::cli::messages::hand_over;
use crate::faces::cli::output::{CommandOutput, Ui};
use crate::faces::cli::value_parsers::count;
use crate::ops::{self, CommandError, Op, ReadOptions};
use crate::store::Acknowledge;

/// Take your unread mail
///
/// Printed messages count as `surfaced`, which their senders can see. If the output can't be written, they stay unread.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg read
  msg read --limit 5
  msg read --ack           and confirm what was read
  msg read --json | jq -r '.messages[].text'")]
pub(in crate::faces::cli) struct ReadArgs {
    /// Take at most N messages
    #[arg(short = 'n', long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    limit: Option<usize>,
    /// Also acknowledge them
    #[arg(long)]
    ack: bool,
}

pub(super) fn run(op: &Op, args: ReadArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let ack = if args.ack { Acknowledge::Now } else { Acknowledge::Later };
    let selection = ReadOptions { limit: args.limit, ack, includes_parked: true, ..ReadOptions::default() };
    ops::read(op, ui.reader(), &selection, &mut |messages| hand_over(ui, messages))?;
    Ok(CommandOutput::said(None))
}

use clap::Args;

use crate::faces::cli::output::{Outcome, Ui};
use crate::faces::cli::values::count;
use crate::ops::{self, CommandError, Op, Selection};

/// Take what waits for you
///
/// What is printed counts as surfaced: the sender can see that. If the output can't be written, it stays where it is.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg read
  msg read --limit 5
  msg read --ack           and confirm what was read
  msg read --json | jq -r '.messages[].text'")]
pub(in crate::faces::cli) struct ReadArgs {
    /// At most so many; the rest waits
    #[arg(short = 'n', long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    limit: Option<usize>,
    /// Confirm them too
    #[arg(long)]
    ack: bool,
}

pub(super) fn run(op: &Op, args: ReadArgs, ui: &Ui) -> Result<Outcome, CommandError> {
    let selection = Selection { limit: args.limit, ack: args.ack, parked: true, ..Selection::default() };
    ops::read(op, ui.reader(), &selection, &mut |letters| ui.hand_over_letters(letters))?;
    Ok(Outcome::said(None))
}

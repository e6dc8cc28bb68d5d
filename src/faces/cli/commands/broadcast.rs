use clap::Args;

use crate::faces::cli::messages::{self, DraftArgs};
use crate::faces::cli::output::Outcome;
use crate::faces::cli::text::TextArgs;
use crate::ops::{self, CommandError, Op};

/// Send a message to everyone
///
/// To every live agent but yourself, one copy each. What can't be sent to one doesn't stop the rest.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg broadcast \"main is green again\"
  msg broadcast --here \"I am rebasing this branch\"")]
pub(in crate::faces::cli) struct BroadcastArgs {
    #[command(flatten)]
    text: TextArgs,
    /// Only to those in this git work tree; without git, in this folder, above or below it
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    draft: DraftArgs,
}

pub(super) fn run(op: &Op, args: BroadcastArgs) -> Result<Outcome, CommandError> {
    let draft = args.draft.draft(args.text.read()?)?;
    Ok(messages::sent(ops::broadcast(op, &draft, args.here)?))
}

//! `msg reply`: answers a message in its thread.

use clap::Args;

use crate::faces::cli::messages::{self, DraftArgs};
use crate::faces::cli::output::CommandOutput;
use crate::faces::cli::text_arg::TextArgs;
use crate::ops::{self, CommandError, Op};

/// Answer a message
///
/// The answer goes to the sender, in the same thread.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg reply k3x9ab \"looks good\"")]
pub(in crate::faces::cli) struct ReplyArgs {
    /// The message: its six letters, or the start of its id
    id: String,
    #[command(flatten)]
    text: TextArgs,
    /// If the recipient is gone, keep the message until that session comes back
    #[arg(long)]
    hold: bool,
    #[command(flatten)]
    draft: DraftArgs,
}

pub(super) fn run(op: &Op, args: ReplyArgs) -> Result<CommandOutput, CommandError> {
    let mut draft = args.draft.draft(args.text.read()?)?;
    draft.may_be_held = args.hold;
    Ok(messages::sent(ops::reply(op, &args.id, &draft)?))
}

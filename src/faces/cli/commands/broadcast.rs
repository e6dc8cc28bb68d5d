//! `msg broadcast`: sends a message to every agent.

use clap::Args;

use crate::faces::cli::messages::{self, DraftArgs};
use crate::faces::cli::output::CommandOutput;
use crate::faces::cli::text_arg::TextArgs;
use crate::ops::{self, CommandError, FolderScope, Op};

/// Send a message to everyone
///
/// Every live agent except you gets a copy. A copy that cannot be sent does not stop the others.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg broadcast \"main is green again\"
  msg broadcast --here \"I am rebasing this branch\"")]
pub(in crate::faces::cli) struct BroadcastArgs {
    #[command(flatten)]
    text: TextArgs,
    /// Only to agents in this git work tree; without git, in this folder, above or below it
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    draft: DraftArgs,
}

pub(super) fn run(op: &Op, args: BroadcastArgs) -> Result<CommandOutput, CommandError> {
    let draft = args.draft.draft(args.text.read()?)?;
    let folder = if args.here { FolderScope::ThisFolder } else { FolderScope::AllFolders };
    Ok(messages::sent(ops::broadcast(op, &draft, folder)?))
}

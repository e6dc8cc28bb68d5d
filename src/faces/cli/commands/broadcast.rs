//! `msg broadcast`: sends a message to every agent of this project, or of the machine.

use clap::Args;

use crate::domain::settings::BroadcastScope;
use crate::faces::cli::messages::{self, DraftArgs};
use crate::faces::cli::output::CommandOutput;
use crate::faces::cli::text_arg::TextArgs;
use crate::ops::{self, CommandError, Op};

/// Send a message to all agents of this project
///
/// Every live agent of this git repository except you gets a copy, in whichever work tree it is; without git, every
/// agent in this folder, above or below it. Without `--here` or `--everywhere`, the setting `broadcastScope` decides. A
/// copy that cannot be sent does not stop the others.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg broadcast \"main is green again\"
  msg broadcast --everywhere \"the network is down\"
  msg send @branch \"I am rebasing this branch\"     only some of them")]
pub(in crate::faces::cli) struct BroadcastArgs {
    #[command(flatten)]
    text: TextArgs,
    /// Only to agents of this project
    #[arg(long, conflicts_with = "everywhere")]
    here: bool,
    /// To all agents on this machine, also of other projects
    #[arg(long)]
    everywhere: bool,
    #[command(flatten)]
    draft: DraftArgs,
}

pub(super) fn run(op: &Op, args: BroadcastArgs) -> Result<CommandOutput, CommandError> {
    let draft = args.draft.draft(args.text.read()?)?;
    let scope = match (args.here, args.everywhere) {
        (true, _) => Some(BroadcastScope::Project),
        (_, true) => Some(BroadcastScope::Everywhere),
        (false, false) => None,
    };
    Ok(messages::sent(ops::broadcast(op, &draft, scope)?))
}

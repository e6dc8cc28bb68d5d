//! `msg send`: sends a message to one or more agents.

use clap::Args;

use crate::faces::cli::messages::{self, DraftArgs};
use crate::faces::cli::output::CommandOutput;
use crate::faces::cli::text_arg::TextArgs;
use crate::ops::{self, CommandError, Op};

/// Send a message to one agent, or to several
///
/// When this returns, the message is in the recipient's inbox. `msg receipt` shows whether it was handed over since.
///
/// TO may name groups: `@all` (whom `msg broadcast` reaches), `@spec` (who works with your spec), `@branch` (who is on
/// your branch of this project), `@harness:NAME` (who of `@all` runs in that harness), and those of the setting
/// `groups`. A group never includes you. `@Name` is an agent if no group is called so.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg send GoldFalcon \"auth is ready for review\"
  msg send GoldFalcon,Robin \"sync at noon?\" --want-ack
  git diff | msg send GoldFalcon -
  msg send GoldFalcon --file notes.md --importance high
  msg send @spec \"TASK-04 needs a new field, see docs/plan.md\"
  msg send GoldFalcon --kind question \"may I change the login route?\"")]
pub(in crate::faces::cli) struct SendArgs {
    /// Names and groups, separated by commas
    #[arg(value_name = "TO[,TO…]")]
    to: String,
    #[command(flatten)]
    text: TextArgs,
    /// The message this answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// If the recipient is gone, keep the message until that session comes back
    #[arg(long)]
    hold: bool,
    #[command(flatten)]
    draft: DraftArgs,
}

pub(super) fn run(op: &Op, args: SendArgs) -> Result<CommandOutput, CommandError> {
    let mut draft = args.draft.draft(args.text.read()?)?;
    draft.reply_to = args.reply_to;
    draft.may_be_held = args.hold;
    let to: Vec<String> = args.to.split(',').map(|name| name.trim().to_string()).collect();
    Ok(messages::sent(ops::send(op, &to, &draft)?))
}

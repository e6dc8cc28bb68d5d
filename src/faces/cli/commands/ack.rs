//! `msg ack`: acknowledges received messages, or lists those that need it.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{Message, escape_invisible};
use crate::faces::cli::messages;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::{self, CommandError, Op};
use crate::store::StoredMessage;
use crate::sys::clock;

/// Acknowledge messages; their senders can see it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg ack                  list the messages that wait for it
  msg ack k3x9ab
  msg ack k3x9ab 0f2m7c")]
pub(in crate::faces::cli) struct AckArgs {
    /// The six letters of each, or the start of its id; without one, messages that still need an ack are listed
    #[arg(value_name = "ID")]
    ids: Vec<String>,
}

pub(super) fn run(op: &Op, args: AckArgs) -> Result<CommandOutput, CommandError> {
    if args.ids.is_empty() {
        return Ok(Owed(ops::owed_acks(op)?).into());
    }
    Ok(Acked(ops::ack(op, &args.ids)?).into())
}

/// The messages that wait for an ack.
struct Owed(Vec<StoredMessage>);

impl Report for Owed {
    fn json(&self) -> Map<String, Value> {
        let owed = self.0.iter().map(|filed| messages::json(&filed.message, filed.stem.short_id())).collect();
        Map::from_iter([("acked".to_string(), json!([])), ("oweAck".to_string(), owed)])
    }

    fn text(&self, page: &mut Page) {
        for filed in &self.0 {
            match page.is_quiet {
                true => page.line(filed.stem.short_id()),
                false => messages::show(page, &filed.message, filed.stem.short_id(), "", clock::now()),
            }
        }
        if self.0.is_empty() {
            page.nothing("No message needs an ack.", "`msg inbox` shows what is unread.");
        }
    }
}

struct Acked(Vec<Message>);

impl Report for Acked {
    fn json(&self) -> Map<String, Value> {
        let ids = self.0.iter().map(|message| json!(message.id.as_str())).collect();
        Map::from_iter([("acked".to_string(), ids)])
    }

    fn text(&self, page: &mut Page) {
        for message in &self.0 {
            page.line(format!("Acknowledged; {} can see it.", style::bold(&escape_invisible(&message.from))));
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}

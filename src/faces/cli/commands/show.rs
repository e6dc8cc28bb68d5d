//! `msg show`: prints one message in full.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::faces::cli::messages;
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::ops::{self, CommandError, Op};
use crate::store::{MessageLocation, StoredMessage};
use crate::sys::clock;

/// Show one message in full, sent or received
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg show k3x9ab
  msg show k3x9ab --all    somebody else's, found by `msg search --all`")]
pub(in crate::faces::cli) struct ShowArgs {
    /// Its six letters, or the start of its id
    id: String,
    /// Look among everybody's messages; for a person outside of a harness
    #[arg(long)]
    all: bool,
}

pub(super) fn run(op: &Op, args: ShowArgs) -> Result<CommandOutput, CommandError> {
    let shown = if args.all { ops::show_of_everybody(op, &args.id)? } else { ops::show(op, &args.id)? };
    Ok(Shown(shown).into())
}

struct Shown(StoredMessage);

impl Report for Shown {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([
            ("message".to_string(), messages::json(&self.0.message, self.0.stem.short_id())),
            ("place".to_string(), json!(place(&self.0.place))),
        ])
    }

    fn text(&self, page: &mut Page) {
        messages::show(page, &self.0.message, self.0.stem.short_id(), place(&self.0.place), clock::now());
    }
}

fn place(place: &MessageLocation) -> &'static str {
    match place {
        MessageLocation::Inbox | MessageLocation::InHand => "unread",
        MessageLocation::Seen(seen) if seen.acked.is_some() => "acked",
        MessageLocation::Seen(_) => "read",
        MessageLocation::Sent(_) => "sent",
    }
}

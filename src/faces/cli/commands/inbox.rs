//! `msg inbox`: shows unread mail without taking it.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::escape_invisible;
use crate::faces::cli::messages;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::{self, CommandError, InboxReport, Op};
use crate::store::StoredMessage;
use crate::sys::clock;

/// Show your unread mail without taking it
///
/// Also lists messages that still need your ack or your answer, and messages that could not be handed over.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg inbox
  msg inbox --json | jq '.messages | length'")]
pub(in crate::faces::cli) struct InboxArgs {}

pub(super) fn run(op: &Op, _: InboxArgs) -> Result<CommandOutput, CommandError> {
    Ok(Look(ops::inbox(op)?).into())
}

struct Look(InboxReport);

impl Report for Look {
    fn json(&self) -> Map<String, Value> {
        let InboxReport { scan, owe_ack, owe_answer } = &self.0;
        let owed = |owed: &[StoredMessage]| -> Value {
            owed.iter().map(|filed| messages::json(&filed.message, filed.stem.short_id())).collect()
        };
        Map::from_iter([
            (
                "messages".to_string(),
                scan.waiting
                    .iter()
                    .map(|waiting| messages::json(&waiting.message, waiting.stem.short_id()))
                    .collect(),
            ),
            (
                "parked".to_string(),
                scan.parked
                    .iter()
                    .map(|waiting| messages::json(&waiting.message, waiting.stem.short_id()))
                    .collect(),
            ),
            ("oweAck".to_string(), owed(owe_ack)),
            ("oweAnswer".to_string(), owed(owe_answer)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let InboxReport { scan, owe_ack, owe_answer } = &self.0;
        if page.is_quiet {
            let waiting = scan.waiting.iter().chain(&scan.parked).map(|waiting| &waiting.stem);
            waiting.for_each(|stem| page.line(stem.short_id()));
            return;
        }
        let now = clock::now();
        for waiting in &scan.waiting {
            messages::show(page, &waiting.message, waiting.stem.short_id(), "", now);
        }
        for waiting in &scan.parked {
            messages::show(page, &waiting.message, waiting.stem.short_id(), "parked", now);
        }
        for filed in owe_ack {
            let short_id = filed.stem.short_id();
            page.line(style::dim(&format!(
                "{short_id} from {} needs an ack: `msg ack {short_id}`",
                escape_invisible(&filed.message.from)
            )));
        }
        for filed in owe_answer {
            let short_id = filed.stem.short_id();
            page.line(style::dim(&format!(
                "{short_id} from {} wants an answer: `msg reply {short_id} TEXT`",
                escape_invisible(&filed.message.from)
            )));
        }
        if scan.waiting.is_empty() && scan.parked.is_empty() && owe_ack.is_empty() && owe_answer.is_empty() {
            page.nothing("No mail.", "`msg wait` waits for it, `msg history` shows what you have read.");
        }
    }
}

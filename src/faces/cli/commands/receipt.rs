//! `msg receipt`: shows the delivery status of a sent message.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::wake::WakeRoute;
use crate::ops::{self, AnswerState, CommandError, Op, Receipt, format_age};
use crate::store::iso;
use crate::sys::clock;

/// Show what became of a message you sent
///
/// `stored`: in the inbox. `surfaced`: handed over, and by what. `acked`: acknowledged. `expired`: nobody read it in
/// time. `taken`: left the inbox of a peer that keeps no record. `gone`: the reason says why.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg receipt k3x9ab")]
pub(in crate::faces::cli) struct ReceiptArgs {
    /// Its six letters, or the start of its id
    id: String,
}

pub(super) fn run(op: &Op, args: ReceiptArgs) -> Result<CommandOutput, CommandError> {
    Ok(ReceiptReport(ops::receipt(op, &args.id)?).into())
}

struct ReceiptReport(Receipt);

impl Report for ReceiptReport {
    fn json(&self) -> Map<String, Value> {
        let Receipt { message, state, at, via, reason, wake, answer, .. } = &self.0;
        let answer = answer.map(|answer| ("answer".to_string(), json!(answer.name())));
        let keys = [
            ("id".to_string(), json!(message.id.as_str())),
            ("to".to_string(), json!(message.to)),
            ("state".to_string(), json!(state)),
            ("at".to_string(), json!(at.map(iso))),
            ("via".to_string(), json!(via)),
            ("reason".to_string(), json!(reason)),
            ("wake".to_string(), json!(wake.as_deref().unwrap_or("none"))),
        ];
        keys.into_iter().chain(answer).collect()
    }

    fn text(&self, page: &mut Page) {
        let Receipt { message, stem, state, at, via, reason, wake, answer } = &self.0;
        if page.is_quiet {
            page.line(state);
            return;
        }
        let at = at.map_or(String::new(), |at| format!(" {} ago", format_age(at, clock::now())));
        // The wake route is of interest only while the message is waiting.
        let wake = wake.as_deref().filter(|_| via.is_none() && *state == "stored" && reason.is_none());
        let via = via.as_deref().filter(|_| *state != "expired").map_or(String::new(), |via| {
            format!(
                "{} {}",
                if *state == "acked" { ", handed over by" } else { " by" },
                escape_invisible(via)
            )
        });
        let reason =
            reason.as_deref().map_or(String::new(), |reason| format!(": {}", escape_invisible(reason)));
        let wake = wake.and_then(WakeRoute::parse).and_then(WakeRoute::explained);
        let wake = wake.map_or(String::new(), |how| format!("; {how}"));
        let answer = match answer {
            Some(AnswerState::Owed) => "; no answer yet",
            Some(AnswerState::Given) => "; answered",
            None => "",
        };
        page.line(format!(
            "{} to {}: {}{at}{via}{reason}{wake}{answer}",
            stem.short_id(),
            escape_invisible(&message.to),
            style::bold(state)
        ));
    }
}

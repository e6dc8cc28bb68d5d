//! Prints messages and the results of sending, for several commands; also the arguments that they share.

use clap::Args;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::domain::{Importance, Message, escape_invisible};
use crate::faces::json::{self, failed};
use crate::ops::{
    AcceptedCopy, CommandError, HandoverOutcome, MessageDraft, RenderedMessage, SendReport, format_age,
    parse_importance, parse_kind, parse_time_to_live,
};
use crate::sys::clock;

use super::output::{CommandOutput, Page, Report, Ui, style};

/// The flags of every command that sends a message.
#[derive(Args, Debug)]
pub(super) struct DraftArgs {
    /// The conversation it belongs to
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// low, normal (the default), high or urgent: `low` never wakes anyone, `high` and `urgent` come first
    #[arg(long, value_name = "LEVEL")]
    importance: Option<String>,
    /// Ask the recipient to confirm it with `msg ack`
    #[arg(long)]
    want_ack: bool,
    /// question, block, delegate, handoff, claim, release, ack or info: a `question` and a `block` are owed an answer, a
    /// `block` is urgent, a `release` expires after 5 minutes
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Do not hand it over any more if it is unread for this long: 45s, 30m, 2h
    #[arg(long, value_name = "TIME")]
    ttl: Option<String>,
}

impl DraftArgs {
    pub(super) fn draft(self, text: Option<String>) -> Result<MessageDraft, CommandError> {
        let importance = self.importance.as_deref().map(parse_importance).transpose()?;
        let kind = self.kind.as_deref().map(parse_kind).transpose()?;
        let ttl = self.ttl.as_deref().map(parse_time_to_live).transpose()?;
        let text = text.unwrap_or_default();
        Ok(MessageDraft {
            text,
            thread: self.thread,
            importance,
            wants_ack: self.want_ack,
            kind,
            ttl,
            ..MessageDraft::default()
        })
    }
}

/// A message for programs, with its short id.
pub(super) fn json(message: &Message, short_id: &str) -> Value {
    with_letters(json::message(message), short_id)
}

fn accepted(accepted: &AcceptedCopy) -> Value {
    with_letters(json::sent(accepted), accepted.stem.short_id())
}

fn with_letters(mut value: Value, short_id: &str) -> Value {
    if let Value::Object(members) = &mut value {
        let after_id = members.keys().position(|key| key == "id").map_or(0, |at| at + 1);
        members.shift_insert(after_id, "short".to_string(), short_id.into());
    }
    value
}

/// A message for a person at a terminal.
pub(super) fn show(page: &mut Page, message: &Message, short_id: &str, note: &str, now: Timestamp) {
    let mut about = format!("{} ago  {short_id}", format_age(message.timestamp, now));
    if message.importance != Importance::Normal {
        about.push_str(&format!("  {}", message.importance.name()));
    }
    if let Some(kind) = message.kind {
        about.push_str(&format!("  {}", kind.name()));
    }
    if message.needs_ack {
        about.push_str("  wants an ack");
    }
    if message.is_notice() {
        about.push_str("  notice");
    }
    if !note.is_empty() {
        about.push_str(&format!("  {note}"));
    }
    let to = if message.is_broadcast { "all" } else { &message.to };
    let from = match message.notice_machine() {
        Some(machine) => format!("msg on {machine}").into(),
        None if message.is_notice() => "msg".into(),
        None => escape_invisible(&message.from),
    };
    page.line(format!("{} → {}  {}", style::bold(&from), escape_invisible(to), style::dim(&about)));
    for line in message.text.trim_end().split('\n') {
        page.line(format!("  {}", escape_invisible(&line.trim_end_matches('\r').replace('\t', "    "))));
    }
}

/// [`Ui::hand_over`] of messages. If there are none, the output may go nowhere.
pub(super) fn hand_over(ui: &Ui, messages: &[RenderedMessage]) -> HandoverOutcome {
    let report = DeliveredMessages { messages, is_for_person: ui.is_terminal(), now: clock::now() };
    let text = ui.rendered(&report);
    if messages.is_empty() { ui.say(&text) } else { ui.hand_over(&text) }
}

/// Messages that `read` or `wait` delivered.
struct DeliveredMessages<'a> {
    messages: &'a [RenderedMessage],
    is_for_person: bool,
    now: Timestamp,
}

impl Report for DeliveredMessages<'_> {
    fn json(&self) -> Map<String, Value> {
        let messages =
            self.messages.iter().map(|rendered| json(&rendered.message, &rendered.short_id)).collect();
        Map::from_iter([("messages".to_string(), messages)])
    }

    fn text(&self, page: &mut Page) {
        for rendered in self.messages {
            if self.is_for_person {
                let note = rendered
                    .introduction
                    .as_deref()
                    .map_or(String::new(), |text| escape_invisible(text).into_owned());
                show(page, &rendered.message, &rendered.short_id, &note, self.now);
            } else {
                page.line(rendered.for_model());
            }
        }
        if self.messages.is_empty() && self.is_for_person {
            page.nothing("No mail.", "`msg wait` waits for it, `msg history` shows what you have read.");
        }
    }
}

/// The output of `send`, `broadcast` and `reply`.
pub(super) fn sent(report: SendReport) -> CommandOutput {
    let error = report.error();
    CommandOutput { report: Some(Box::new(SentReport(report))), error }
}

struct SentReport(SendReport);

impl Report for SentReport {
    fn json(&self) -> Map<String, Value> {
        let copies = [
            ("sent".to_string(), self.0.sent.iter().map(accepted).collect()),
            ("failed".to_string(), self.0.failed.iter().map(failed).collect()),
        ];
        copies.into_iter().chain(json::addressees(&self.0)).collect()
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            return self.0.sent.iter().for_each(|accepted| page.line(accepted.stem.short_id()));
        }
        for accepted in &self.0.sent {
            let done = if accepted.is_held { "Kept for" } else { "Sent to" };
            if let Some((to, why)) = accepted.to_elsewhere() {
                let why = why.map_or(String::new(), |why| format!(": {why}"));
                page.line(format!("Sent to {} as {}{why}.", style::bold(&to), accepted.stem.short_id()));
                continue;
            }
            let how = accepted.route.explained().map_or(String::new(), |how| format!(": {how}"));
            page.line(format!(
                "{done} {} as {}{how}.",
                style::bold(accepted.to.as_str()),
                accepted.stem.short_id()
            ));
        }
        if let Some(nobody) = self.0.nobody() {
            page.line(format!("N{}.", &nobody[1..]));
        }
    }
}

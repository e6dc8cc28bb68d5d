//! What both formats say in the same words.

use jiff::Timestamp;

use super::LocalTime;
use crate::domain::{Event, Importance};
use crate::ops::export::{ExportAgent, ExportMessage, ExportPage, HeldPath, HeldUntil, Newest, Span};
use crate::store::{GoneReason, MessageProgress};

/// `1 message`, `2 messages`, `10,412 messages`.
pub(in crate::faces::cli) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// With a comma after each three digits.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

pub(super) const TITLE: &str = "What the agents did";

/// What the page is about and what it does not show, each in a sentence.
pub(super) struct Remarks {
    pub(super) about: String,
    pub(super) left_out: Vec<String>,
}

impl Remarks {
    pub(super) fn of(page: &ExportPage, time: &LocalTime) -> Self {
        let asked = match page.since {
            Some(since) => format!("since {}", time.date_time(since)),
            None => "as far as it is kept".to_string(),
        };
        let about = format!(
            "Made by msg {} at {}, of the mesh {}, {asked}. All times are {}.",
            env!("CARGO_PKG_VERSION"),
            time.date_time(page.made_at),
            page.mesh,
            time.zone(page.made_at),
        );
        let left_out = [
            newest(&page.messages, "message", "messages"),
            newest(&page.events, "event", "events"),
            newest(&page.runs, "run", "runs"),
            newest(&page.holds, "reservation", "reservations"),
            first(&page.specs, "spec", "specs"),
            (page.masked > 0).then(|| {
                let lines = count(page.masked, "line", "lines");
                format!(
                    "{lines} with what looks like a key, a token or a password {} left out.",
                    was(page.masked)
                )
            }),
            (page.unreadable > 0).then(|| {
                let lines = count(page.unreadable, "line or message", "lines and messages");
                format!("{lines} could not be read.")
            }),
        ];
        Self { about, left_out: left_out.into_iter().flatten().collect() }
    }
}

fn was(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

fn newest<T>(list: &Newest<T>, one: &str, many: &str) -> Option<String> {
    let shown = || grouped(list.shown.len());
    (!list.is_complete())
        .then(|| format!("The page has the newest {} of {}.", shown(), count(list.total, one, many)))
}

fn first<T>(list: &Newest<T>, one: &str, many: &str) -> Option<String> {
    let shown = || grouped(list.shown.len());
    (!list.is_complete()).then(|| format!("The page has {} of {}.", shown(), count(list.total, one, many)))
}

/// The heading of a list: how much is shown of how much.
pub(super) fn share<T>(list: &Newest<T>) -> String {
    match list.is_complete() {
        true => grouped(list.total),
        false => format!("newest {} of {}", grouped(list.shown.len()), grouped(list.total)),
    }
}

/// When the page begins and ends.
pub(super) fn period(page: &ExportPage, time: &LocalTime) -> String {
    let (from, to) = (page.shown.from, page.shown.to);
    if time.day(from) == time.day(to) {
        let (from, to) = (time.format(from, "%H:%M"), time.format(to, "%H:%M"));
        let day = time.long_day(page.shown.to);
        return if from == to { format!("{day}, {from}") } else { format!("{day}, {from} to {to}") };
    }
    format!("{} to {}", time.date_time(from), time.date_time(to))
}

/// The figures at the top.
pub(super) fn figures(page: &ExportPage) -> Vec<(usize, &'static str)> {
    let agents = page.agents.iter().filter(|agent| agent.is_agent).count();
    let sum = |of: fn(&ExportAgent) -> usize| page.agents.iter().map(of).sum::<usize>();
    let done: usize = page.specs.shown.iter().map(|spec| spec.done).sum();
    let word =
        |number: usize, one: &'static str, many: &'static str| (number, if number == 1 { one } else { many });
    let figures = [
        word(agents, "agent", "agents"),
        word(page.messages.total, "message", "messages"),
        word(page.holds.total, "reservation", "reservations"),
        word(sum(|agent| agent.refused), "refusal", "refusals"),
        word(done, "task done", "tasks done"),
        word(page.runs.total, "run", "runs"),
    ];
    figures
        .into_iter()
        .filter(|(number, name)| *number > 0 || matches!(*name, "agents" | "messages"))
        .collect()
}

/// Whom a message is for.
pub(super) fn recipients(message: &ExportMessage) -> String {
    match message.to.as_slice() {
        [one] if !message.is_broadcast => one.clone(),
        all if message.is_broadcast => format!("everyone ({})", all.len()),
        several => several.join(", "),
    }
}

/// What is special about a message, in a word each.
pub(super) fn badges(message: &ExportMessage) -> Vec<(&'static str, String)> {
    let mut badges: Vec<(&'static str, String)> = Vec::new();
    badges.extend(message.kind.map(|kind| ("kind", kind.to_string())));
    if message.importance != Importance::Normal {
        badges.push((message.importance.name(), message.importance.name().to_string()));
    }
    badges.extend(message.thread.as_ref().map(|thread| ("thread", format!("thread {thread}"))));
    badges.extend(match message.progress {
        MessageProgress::Unread => Some(("unread", "not read yet".to_string())),
        MessageProgress::Acked => Some(("acked", "confirmed".to_string())),
        MessageProgress::Expired => Some(("unread", "expired unread".to_string())),
        MessageProgress::Read | MessageProgress::Sent => None,
    });
    badges
}

/// What was left out of a long message.
pub(super) fn cut(message: &ExportMessage) -> Option<String> {
    let left_out = || format!("{} more characters were left out", grouped(message.cut));
    (message.cut > 0).then(|| format!("… {}: msg show {}", left_out(), message.short_id))
}

/// When an agent was there: `09:00 to 09:40, since 10:00`.
pub(super) fn there(spans: &[Span], page: &ExportPage, time: &LocalTime) -> String {
    const MOST: usize = 3;
    let near = page.shown.to;
    let short = |at: Timestamp| time.moment(at, near);
    let span = |span: &Span| match span.to {
        Some(to) => format!("{} to {}", short(span.from), short(to)),
        None => format!("since {}", short(span.from)),
    };
    let mut shown: Vec<String> = spans.iter().rev().take(MOST).rev().map(span).collect();
    if spans.len() > MOST {
        shown.insert(0, format!("{} earlier", count(spans.len() - MOST, "time", "times")));
    }
    shown.join(", ")
}

/// How an agent is now.
pub(super) fn presence(agent: &ExportAgent) -> &'static str {
    match (agent.presence, agent.gone) {
        (Some(presence), _) => presence,
        (None, Some((GoneReason::Died, _))) => "ended",
        (None, Some((GoneReason::Left, _))) => "left",
        (None, Some((GoneReason::Evicted, _))) => "evicted",
        (None, _) if agent.is_agent => "gone",
        (None, _) => "not an agent here",
    }
}

/// What an agent is: `HARNESS, opus · main · ~/shop`.
pub(super) fn kind_of(agent: &ExportAgent) -> String {
    let who = if agent.is_human { Some("a person".to_string()) } else { agent.harness.clone() };
    let who = [who, agent.model.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ");
    [Some(who), agent.branch.clone(), agent.cwd.clone()]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" · ")
}

/// How a reservation ended.
pub(super) fn end(hold: &HeldPath, page: &ExportPage, time: &LocalTime) -> String {
    match hold.end {
        HeldUntil::Held => "held now".to_string(),
        HeldUntil::At(at) => time.moment(at, page.shown.to),
        HeldUntil::Before(at) => format!("by {}", time.moment(at, page.shown.to)),
    }
}

/// When an agent held a path: `since 09:10`, `09:10 to 09:40`.
pub(super) fn held(hold: &HeldPath, page: &ExportPage, time: &LocalTime) -> String {
    let short = |at: Timestamp| time.moment(at, page.shown.to);
    match hold.end {
        HeldUntil::Held => format!("since {}", short(hold.from)),
        HeldUntil::At(at) => format!("{} to {}", short(hold.from), short(at)),
        HeldUntil::Before(at) => format!("{} to {} at the latest", short(hold.from), short(at)),
    }
}

/// Repeated events, as often as they occurred.
pub(super) fn repeated(event: &Event, times: usize) -> String {
    let phrase = event.phrase();
    if times > 1 { format!("{phrase} ×{times}") } else { phrase }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, shown) in [(0, "0"), (12, "12"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(grouped(number), shown);
        }
        assert_eq!(
            (count(1, "run", "runs"), count(2000, "run", "runs")),
            ("1 run".into(), "2,000 runs".into())
        );
    }
}

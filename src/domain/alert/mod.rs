//! Alerts: what a person is told outside of the text that they read, by a bell, by the desktop or by a command.
//!
//! An alert is made from a message to the person ([`Alert::of_message`]) or from an event of the feed
//! ([`Alert::of_event`]). It has one line, in which the words of others are quoted, bounded and escaped.

mod quiet_hours;
mod terminal_signal;

use jiff::Timestamp;

use super::notice_words;
use super::{
    AnyEventKind, Event, EventKind, Importance, Message, escape_invisible, quote_name, quote_sentence,
};
use crate::domain::awareness::PredictionEnd;

pub use quiet_hours::{QuietHours, QuietHoursError};
pub use terminal_signal::{TerminalHost, bell, osc9, osc777};

/// The longest line, in characters.
const MOST_LINE: usize = 240;

/// What an alert is about.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AlertKind {
    /// A message to the person.
    Mail,
    /// A message of high or urgent importance.
    Urgent,
    /// Somebody waits for an answer: a message, or a worker with a dialog.
    Questions,
    /// A run has ended.
    Runs,
    /// An agent needs help.
    Stuck,
    /// Two agents are in each other's way.
    Conflicts,
}

impl AlertKind {
    pub const ALL: [Self; 6] =
        [Self::Mail, Self::Urgent, Self::Questions, Self::Runs, Self::Stuck, Self::Conflicts];

    pub fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Urgent => "urgent",
            Self::Questions => "questions",
            Self::Runs => "runs",
            Self::Stuck => "stuck",
            Self::Conflicts => "conflicts",
        }
    }

    /// What it stands for, for a person.
    pub fn about(self) -> &'static str {
        match self {
            Self::Mail => "a message to you",
            Self::Urgent => "a message to you of high or urgent importance",
            Self::Questions => "a question that waits for your answer, by mail or from a run",
            Self::Runs => "a run that has ended or failed",
            Self::Stuck => "an agent that seems to be stuck",
            Self::Conflicts => "a contested or taken path, and changes that collide",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// How a person is told.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AlertWay {
    /// The bell of the terminal.
    Bell,
    /// A notification of the desktop, by the sequence of iTerm2.
    Osc9,
    /// A notification of the desktop, by the sequence of urxvt.
    Osc777,
    /// A line in tmux.
    Tmux,
    /// The command of the setting `notifyCommand`.
    Command,
}

impl AlertWay {
    pub const ALL: [Self; 5] = [Self::Bell, Self::Osc9, Self::Osc777, Self::Tmux, Self::Command];

    pub fn name(self) -> &'static str {
        match self {
            Self::Bell => "bell",
            Self::Osc9 => "osc9",
            Self::Osc777 => "osc777",
            Self::Tmux => "tmux",
            Self::Command => "command",
        }
    }

    /// The way with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.name() == name)
    }
}

/// Where the settings look up how an alert is told: for its first kind that is set.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Alert {
    /// The most specific kind first.
    pub kinds: Vec<AlertKind>,
    /// The same for everybody who learns of it. It is hashed, not shown.
    pub key: String,
    pub at: Timestamp,
    /// Who caused it, in quotation marks if it is not a name.
    pub from: String,
    /// The short id of the message, or the id of the run.
    pub id: Option<String>,
    /// One line, without control characters.
    pub line: String,
    /// The kind that an event of the feed has told already, if this is the notice about the same.
    pub told_by_feed: Option<AlertKind>,
}

impl Alert {
    /// The alert of a message to a person.
    pub fn of_message(message: &Message, short_id: &str) -> Self {
        let noticed = notice_kind(message);
        let mut kinds: Vec<AlertKind> = noticed.iter().map(|(kind, _)| *kind).collect();
        kinds.extend(message.importance.goes_first().then_some(AlertKind::Urgent));
        kinds.extend(message.kind.is_some_and(|kind| kind.wants_answer()).then_some(AlertKind::Questions));
        kinds.push(AlertKind::Mail);
        kinds.dedup();
        let from = quote_name(&message.from);
        let text = quote_sentence(&message.text);
        let line = match (message.is_notice(), kinds.first()) {
            (true, _) => match message.notice_machine() {
                Some(machine) => format!("msg on {machine}: {}", message.text),
                None => message.text.clone(),
            },
            (_, Some(AlertKind::Urgent)) => {
                format!("{} mail from {from}: {text}", urgency(message.importance))
            }
            (_, Some(AlertKind::Questions)) => format!("{from} asks: {text}"),
            _ => format!("{from}: {text}"),
        };
        Self {
            kinds,
            key: format!("mail/{}/{}/{}/{}", message.to, message.from, message.id, message.timestamp),
            at: message.timestamp,
            from,
            id: Some(short_id.to_string()),
            line: one_line(&line),
            told_by_feed: noticed.and_then(|(kind, is_in_feed)| is_in_feed.then_some(kind)),
        }
    }

    /// The alert of an event; `None` if a person need not know of it at once.
    pub fn of_event(event: &Event) -> Option<Self> {
        let AnyEventKind::Ours(what) = event.what else { return None };
        let kind = event_kind(what)?;
        let [target, preview] =
            [&event.target, &event.preview].map(|text| text.as_deref().unwrap_or_default());
        let is_run = matches!(kind, AlertKind::Runs | AlertKind::Questions);
        let line = match kind {
            AlertKind::Runs => format!("run {} has ended: {}", quote_name(target), quote_sentence(preview)),
            AlertKind::Questions => {
                format!("run {} waits for an answer: {}", quote_name(target), quote_sentence(preview))
            }
            _ => format!("{} {}", event.subject(), event.phrase()),
        };
        Some(Self {
            kinds: vec![kind],
            key: format!("event/{}/{}/{}/{target}/{preview}", event.at, what.name(), event.agent),
            at: event.at,
            from: quote_name(&event.agent),
            id: event.target.clone().filter(|_| is_run).map(|id| one_line(&id)),
            line: one_line(&line),
            told_by_feed: None,
        })
    }

    /// The kind by which it is known.
    pub fn kind(&self) -> AlertKind {
        self.kinds.first().copied().unwrap_or(AlertKind::Mail)
    }
}

fn urgency(importance: Importance) -> &'static str {
    if importance == Importance::Urgent { "urgent" } else { "important" }
}

fn event_kind(what: EventKind) -> Option<AlertKind> {
    match what {
        EventKind::RunEnded => Some(AlertKind::Runs),
        EventKind::RunWaiting => Some(AlertKind::Questions),
        EventKind::Stuck => Some(AlertKind::Stuck),
        EventKind::Contest | EventKind::Take | EventKind::HeadsUpEnded(PredictionEnd::Occurred) => {
            Some(AlertKind::Conflicts)
        }
        _ => None,
    }
}

/// The kind of a notice that `msg` itself has sent, and whether the feed has an event of the same.
fn notice_kind(message: &Message) -> Option<(AlertKind, bool)> {
    const WORDS: [(&str, AlertKind, bool); 11] = [
        (notice_words::RUN_HAS_ENDED, AlertKind::Runs, true),
        (notice_words::RUN_WAITS_FOR_ANSWER, AlertKind::Questions, true),
        (notice_words::RUN_SHOWS_DIALOG, AlertKind::Questions, true),
        (notice_words::AGENT_IS_QUIET, AlertKind::Stuck, true),
        (notice_words::WORKER_IS_STUCK, AlertKind::Stuck, false),
        (notice_words::WORKER_REPEATS_ITSELF, AlertKind::Stuck, false),
        (notice_words::WORKER_HAS_NO_PROGRESS, AlertKind::Stuck, false),
        (notice_words::PATH_IS_CONTESTED, AlertKind::Conflicts, true),
        (notice_words::PATH_WAS_TAKEN, AlertKind::Conflicts, true),
        (notice_words::FILES_CONFLICT, AlertKind::Conflicts, false),
        (notice_words::RESERVED_PATH_CHANGED, AlertKind::Conflicts, false),
    ];
    // What another machine says is mail, whatever its words are.
    if !message.is_notice() || message.notice_machine().is_some() {
        return None;
    }
    let found = WORDS.into_iter().find(|(words, ..)| message.text.contains(words));
    found.map(|(_, kind, is_in_feed)| (kind, is_in_feed))
}

/// One line of limited length, without anything that a terminal obeys.
fn one_line(text: &str) -> String {
    // A text may be a mebibyte long.
    let start: String = text.chars().take(8 * MOST_LINE).collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = escape_invisible(&line);
    match line.char_indices().nth(MOST_LINE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.into_owned(),
    }
}

/// The line for several alerts at once.
pub fn summary(lines: &[&str]) -> String {
    match lines {
        [] => String::new(),
        [one] => (*one).to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

#[cfg(test)]
mod tests;

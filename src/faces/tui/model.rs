//! What there is to show, as plain values. The desk makes them of the mesh; state and views know nothing else.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::domain::{AgentName, Importance, Presence, visible};

/// The mesh at one moment, but for its messages and its timeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct World {
    /// Where the mesh is, as a person would write it.
    pub(super) mesh: String,
    pub(super) me: String,
    /// Everyone else who is there, by name.
    pub(super) peers: Vec<Peer>,
    pub(super) boards: Vec<Board>,
    pub(super) holds: Vec<Hold>,
}

impl World {
    pub(super) fn peer(&self, name: &str) -> Option<&Peer> {
        self.peers.iter().find(|peer| peer.name.eq_ignore_ascii_case(name))
    }
}

/// Another agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) presence: Presence,
    pub(super) last_sign: Timestamp,
    pub(super) harness: String,
    pub(super) model: String,
    pub(super) branch: Option<String>,
    /// The spec that it works through, as a person here would write it.
    pub(super) spec: Option<String>,
    /// The task that it has, and why it took it.
    pub(super) task: Option<(String, Option<String>)>,
    /// What it says of itself, or what can be told of it.
    pub(super) status: Option<String>,
}

/// A spec and its tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Board {
    pub(super) spec: String,
    pub(super) tasks: Vec<Task>,
    /// Why nothing is known of them.
    pub(super) trouble: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) state: Progress,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Progress {
    Open,
    Blocked(Vec<String>),
    Claimed { by: String, since: Timestamp },
    Done { by: Option<String> },
}

/// A reservation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hold {
    pub(super) pattern: String,
    pub(super) holder: String,
    pub(super) since: Timestamp,
    pub(super) reason: Option<String>,
    /// The task that it goes with.
    pub(super) task: Option<String>,
    /// Who was refused, and waits for it.
    pub(super) refused: Vec<String>,
}

/// A line of the timeline.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Happening {
    pub(super) at: Timestamp,
    pub(super) who: String,
    /// What it did, in words.
    pub(super) what: String,
    pub(super) tone: Tone,
    /// How often in a row.
    pub(super) times: usize,
}

impl Happening {
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        (&self.who, &self.what) == (&other.who, &other.what)
    }
}

/// How a line of the timeline is meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
}

/// A message, sent or received.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Note {
    /// Sorts by time, and names the message.
    pub(super) key: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) text: String,
    pub(super) at: Timestamp,
    pub(super) importance: Importance,
    /// It wants an ack, and has none yet.
    pub(super) wants_ack: bool,
    pub(super) broadcast: bool,
    pub(super) standing: Standing,
}

impl Note {
    pub(super) fn is_unread(&self) -> bool {
        self.standing == Standing::Unread
    }

    /// By what commands name it.
    pub(super) fn letters(&self) -> &str {
        self.key.rsplit('-').next().unwrap_or(&self.key)
    }

    pub(super) fn is_mine(&self) -> bool {
        matches!(self.standing, Standing::Mine(_))
    }
}

/// The other side of a conversation, as it is shown. Notices of the program are no peer's.
pub(super) fn shown_name(name: &str) -> Cow<'_, str> {
    if AgentName::is_program(name) { "msg".into() } else { visible(name) }
}

/// Where a message stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Standing {
    /// Received, and not yet on the screen.
    Unread,
    Read,
    /// Sent by me: one copy for each recipient.
    Mine(Vec<Copy>),
}

/// One recipient's copy of a message of mine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Copy {
    pub(super) key: String,
    pub(super) to: String,
    pub(super) receipt: Receipt,
}

/// What became of a message of mine.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Receipt {
    Stored,
    /// It left the inbox of a peer that keeps no record.
    Taken,
    Surfaced,
    Acked,
    Gone,
}

impl Receipt {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Taken => "taken",
            Self::Surfaced => "surfaced",
            Self::Acked => "acked",
            Self::Gone => "gone",
        }
    }
}

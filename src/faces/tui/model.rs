//! The values that the chat shows, as plain data. `to_model` makes them from what ops return; state and views know
//! nothing else.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::domain::awareness::PredictionEnd;
use crate::domain::{
    AgentName, Importance, MessageKind, MessageStamp, Presence, escape_invisible, machine_of_notice,
};

/// The mesh at one moment, except messages and feed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MeshSnapshot {
    /// The path of the mesh, shortened for display.
    pub(super) mesh: String,
    pub(super) me: String,
    /// All other agents that are present, by name.
    pub(super) peers: Vec<PeerItem>,
    pub(super) boards: Vec<SpecView>,
    pub(super) holds: Vec<ReservationItem>,
    /// The names of the configured groups.
    pub(super) groups: Vec<String>,
}

impl MeshSnapshot {
    pub(super) fn peer(&self, name: &str) -> Option<&PeerItem> {
        self.peers.iter().find(|peer| peer.name.eq_ignore_ascii_case(name))
    }

    pub(super) fn is_me(&self, name: &str) -> bool {
        self.me.eq_ignore_ascii_case(name)
    }

    /// What this agent holds.
    pub(super) fn held_by(&self, name: &str) -> impl Iterator<Item = &ReservationItem> {
        self.holds.iter().filter(move |hold| hold.holder.eq_ignore_ascii_case(name))
    }

    /// The reservations because of which this agent was refused, and waits.
    pub(super) fn awaited_by(&self, name: &str) -> impl Iterator<Item = &ReservationItem> {
        let waits = move |hold: &&ReservationItem| {
            hold.refused.iter().any(|refused| refused.eq_ignore_ascii_case(name))
        };
        self.holds.iter().filter(waits)
    }

    /// Whether somebody should look at this agent: it seems stuck, or waits for what another one holds.
    pub(super) fn is_in_trouble(&self, peer: &PeerItem) -> bool {
        peer.presence == Presence::Stuck || self.awaited_by(&peer.name).next().is_some()
    }

    /// Tasks that this agent has claimed, with their specs.
    pub(super) fn claimed_by(&self, name: &str) -> impl Iterator<Item = (&SpecView, &TaskItem)> {
        let tasks = self.boards.iter().flat_map(|board| board.tasks.iter().map(move |task| (board, task)));
        tasks.filter(move |(_, task)| {
            matches!(&task.state, TaskStateView::Claimed { by, .. } if by.eq_ignore_ascii_case(name))
        })
    }
}

/// Another agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PeerItem {
    pub(super) name: String,
    pub(super) presence: Presence,
    pub(super) last_sign: Timestamp,
    /// The machine that it is on, if that is not this one.
    pub(super) machine: Option<String>,
    pub(super) harness: String,
    pub(super) model: String,
    pub(super) branch: Option<String>,
    /// The spec it works on, shortened for display.
    pub(super) spec: Option<String>,
    /// The full path of that spec.
    pub(super) spec_path: Option<String>,
    /// The task it has claimed, and the reason it gave.
    pub(super) task: Option<(String, Option<String>)>,
    /// What it is doing and its own status text, or else its automatic status.
    pub(super) status: Option<String>,
}

/// A spec and its tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SpecView {
    pub(super) spec: String,
    /// The full path.
    pub(super) path: String,
    pub(super) tasks: Vec<TaskItem>,
    /// Why its tasks cannot be shown.
    pub(super) trouble: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TaskItem {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) state: TaskStateView,
}

/// The state of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TaskStateView {
    Open,
    Blocked(Vec<String>),
    Claimed { by: String, since: Timestamp },
    Done { by: Option<String> },
}

/// A reservation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReservationItem {
    pub(super) pattern: String,
    /// The directory that the pattern starts from.
    pub(super) root: Option<String>,
    /// What to add to the pattern if it binds in more than one work tree.
    pub(super) reach_note: &'static str,
    pub(super) holder: String,
    pub(super) since: Timestamp,
    pub(super) reason: Option<String>,
    /// The task that it belongs to.
    pub(super) task: Option<String>,
    /// Agents that were refused and are waiting for it.
    pub(super) refused: Vec<String>,
    /// Agents that contest it, the first one first.
    pub(super) contested: Vec<String>,
    /// The pattern with the directory that it starts from, as commands take it from any folder.
    pub(super) target: String,
    /// Whether it names one path, which an editor can open.
    pub(super) is_one_path: bool,
}

/// What agents of one repository may have to do with each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OverlapsView {
    /// The root of the repository, shortened for display.
    pub(super) place: String,
    /// Nothing is recorded, because the settings say so.
    pub(super) is_off: bool,
    /// How many agents work there.
    pub(super) agents: usize,
    /// Files that can't be merged.
    pub(super) conflicts: Vec<ConflictItem>,
    /// The likeliest first.
    pub(super) pairs: Vec<OverlapItem>,
    /// Heads-ups, the latest first.
    pub(super) told: Vec<HeadsUpItem>,
}

/// A file that two agents changed in different worktrees, with what each one changed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ConflictItem {
    pub(super) file: String,
    pub(super) sides: Vec<(String, String)>,
}

/// A pair of agents that may meet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OverlapItem {
    /// The one that may come, and the one that is there; of a file that both have changed, the two in any order.
    pub(super) who: String,
    pub(super) with: String,
    /// Stands between the two.
    pub(super) arrow: &'static str,
    pub(super) percent: u8,
    pub(super) file: Option<String>,
    pub(super) why: Option<String>,
    /// What they have in common.
    pub(super) signals: Vec<String>,
}

/// A heads-up, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeadsUpItem {
    pub(super) id: String,
    pub(super) at: Timestamp,
    pub(super) who: String,
    pub(super) with: String,
    pub(super) percent: u8,
    pub(super) file: String,
    /// `None` while it is open.
    pub(super) end: Option<PredictionEnd>,
}

/// What an agent is working on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HeadingsView {
    pub(super) name: String,
    /// When it was last asked for something.
    pub(super) asked: Option<Timestamp>,
    /// A label and its words: topics by how they develop, and files.
    pub(super) rows: Vec<(&'static str, Vec<String>)>,
}

/// The records that match, the best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KnowledgeList {
    /// What was searched for.
    pub(super) words: String,
    pub(super) items: Vec<KnowledgeItem>,
    /// How many records the project has.
    pub(super) total: usize,
}

/// A record in a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnowledgeItem {
    /// `decision/one-lock`.
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) name: String,
    /// What a reader must know before believing it, such as `stale`.
    pub(super) marks: Vec<String>,
    /// The code that it is about was changed or is gone.
    pub(super) is_outdated: bool,
    pub(super) sentence: String,
    pub(super) place: Option<String>,
}

/// A record in full.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KnowledgePage {
    pub(super) heading: String,
    pub(super) lines: Vec<String>,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunItem {
    pub(super) id: String,
    /// How it stands, in a word or two.
    pub(super) state: String,
    /// [`Tone::Bad`]: somebody has something to do.
    pub(super) tone: Tone,
    pub(super) is_live: bool,
    pub(super) profile: String,
    pub(super) title: String,
    /// What it does now, or why it ended as it did.
    pub(super) doing: Option<String>,
    pub(super) took: String,
    /// Tokens and cost, as far as they are known.
    pub(super) used: String,
}

/// A run in full.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunDetail {
    pub(super) heading: String,
    /// How it stands.
    pub(super) lines: Vec<String>,
    /// What its worker does in tmux; `None` without a terminal.
    pub(super) sight: Option<SightView>,
    /// Its task and its result.
    pub(super) texts: Vec<String>,
    pub(super) is_live: bool,
    /// Whether its worker is in a tmux pane.
    pub(super) has_pane: bool,
}

/// Where an agent's terminal is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct PlaceView {
    /// `shop:2.0, top-left`.
    pub(super) text: String,
    /// Whether it is a tmux pane.
    pub(super) is_pane: bool,
}

/// What an agent in tmux does, and the end of its screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SightView {
    pub(super) name: String,
    /// With what it rests on: `working (by its hooks)`.
    pub(super) state: String,
    pub(super) place: Option<String>,
    /// What the dialog on its screen asks, and the choices.
    pub(super) question: Option<(String, Vec<String>)>,
    /// The command that answers it.
    pub(super) answer: Option<String>,
    /// The last lines of its screen. Others wrote them.
    pub(super) screen: Vec<String>,
    /// Why there is no screen to look at.
    pub(super) no_screen: Option<String>,
}

impl SightView {
    /// That of an agent at whose screen nobody can look now.
    pub(super) fn without_screen(name: String, why: String) -> Self {
        Self { name, state: "unknown".to_string(), no_screen: Some(why), ..Self::default() }
    }
}

/// A line of the feed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FeedLine {
    pub(super) at: Timestamp,
    pub(super) who: String,
    /// What the agent did, as text.
    pub(super) what: String,
    pub(super) tone: Tone,
    /// How many times in a row.
    pub(super) times: usize,
}

impl FeedLine {
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        (&self.who, &self.what) == (&other.who, &other.what)
    }
}

/// How a line of the feed is coloured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
}

/// A message, sent or received.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChatMessage {
    /// Sorts by time, and identifies the message.
    pub(super) key: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) text: String,
    pub(super) at: Timestamp,
    pub(super) importance: Importance,
    /// It asks for an ack and has none yet.
    pub(super) wants_ack: bool,
    pub(super) is_broadcast: bool,
    pub(super) kind: Option<MessageKind>,
    /// It was received, wants an answer and has none yet.
    pub(super) wants_answer: bool,
    pub(super) standing: MessageStatus,
}

impl ChatMessage {
    pub(super) fn is_unread(&self) -> bool {
        self.standing == MessageStatus::Unread
    }

    /// The short id that commands take.
    pub(super) fn short_id(&self) -> &str {
        MessageStamp::short_id_of(&self.key)
    }

    pub(super) fn is_mine(&self) -> bool {
        matches!(self.standing, MessageStatus::Mine(_))
    }
}

/// The displayed name of the other side. Notices come from `msg` itself, not from a peer.
pub(super) fn shown_name(name: &str) -> Cow<'_, str> {
    match machine_of_notice(name) {
        Some(machine) => format!("msg on {machine}").into(),
        None if AgentName::is_program(name) => "msg".into(),
        None => escape_invisible(name),
    }
}

/// Whether a message was received or sent, and what became of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum MessageStatus {
    /// Received, and not yet shown.
    Unread,
    Read,
    /// Sent by me: one copy for each recipient.
    Mine(Vec<SentCopy>),
}

/// One recipient's copy of a message of mine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SentCopy {
    pub(super) key: String,
    pub(super) to: String,
    pub(super) receipt: ReceiptView,
}

/// What became of a message of mine.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum ReceiptView {
    /// Nobody read it in time.
    Expired,
    /// On this machine, on its way to another one.
    Queued,
    Stored,
    /// In the inbox on the recipient's machine.
    Delivered,
    /// It left the inbox of a peer that keeps no record.
    Taken,
    Surfaced,
    Acked,
    Gone,
}

impl ReceiptView {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Queued => "queued",
            Self::Stored => "stored",
            Self::Delivered => "delivered",
            Self::Taken => "taken",
            Self::Surfaced => "surfaced",
            Self::Acked => "acked",
            Self::Gone => "gone",
        }
    }
}

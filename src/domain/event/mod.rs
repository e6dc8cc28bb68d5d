//! Events of the feed: what happened on the mesh.

mod sentence;

use jiff::Timestamp;

use super::MessageKind;
use super::awareness::PredictionEnd;
use super::link::MachineName;

/// One event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Event {
    pub at: Timestamp,
    pub what: AnyEventKind,
    /// The agent that caused it, by its name at that time. Not an [`AgentName`](super::AgentName): others write
    /// events too.
    pub agent: String,
    pub target: Option<String>,
    pub preview: Option<String>,
    /// The kind of the message that it is about.
    pub message_kind: Option<MessageKind>,
    /// The machine that it happened on, if that is not this one.
    pub machine: Option<MachineName>,
}

impl Event {
    /// Merges consecutive equal events into the last of them, with their count.
    pub fn folded(events: &[Self]) -> Vec<(&Self, usize)> {
        let mut folded: Vec<(&Self, usize)> = Vec::new();
        for event in events {
            match folded.last_mut() {
                Some((last, count)) if last.says_the_same(event) => (*last, *count) = (event, *count + 1),
                _ => folded.push((event, 1)),
            }
        }
        folded
    }

    fn says_the_same(&self, other: &Self) -> bool {
        (&self.what, &self.agent, &self.machine, &self.target, &self.preview, self.message_kind)
            == (&other.what, &other.agent, &other.machine, &other.target, &other.preview, other.message_kind)
    }
}

/// The kind of an event: one of ours, or one that only another program knows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AnyEventKind {
    Ours(EventKind),
    Other(String),
}

impl AnyEventKind {
    pub fn named(name: &str) -> Self {
        EventKind::named(name).map_or_else(|| Self::Other(name.to_string()), Self::Ours)
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Ours(kind) => kind.name(),
            Self::Other(name) => name,
        }
    }
}

/// The kinds of events that we write. Names are pi-messenger's where it has one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum EventKind {
    Join,
    Leave,
    Rename,
    Evict,
    Message,
    Reserve,
    Release,
    /// An edit or a reservation was refused because another agent has the path.
    Refused,
    /// An agent asked the holder of a path to let go of it.
    Contest,
    /// The holder of a contested path answered.
    Answer,
    /// A path was taken from an agent that held it.
    Take,
    Claim,
    Complete,
    /// A completion was taken back.
    Reopen,
    Unclaim,
    Handoff,
    /// A claim was dropped because its owner is gone.
    Stale,
    /// An agent that holds something has given no sign of life for a long time.
    Stuck,
    Edit,
    Commit,
    /// A test run, with its outcome.
    Test,
    /// An agent was told that it may collide with another.
    HeadsUp,
    /// What became of it.
    HeadsUpEnded(PredictionEnd),
    /// The worker of a run works.
    RunStarted,
    /// A run waits for the answer to a question.
    RunWaiting,
    /// The account of a run is at its limit.
    RunLimited,
    RunEnded,
    /// Events of other machines are missing: they were removed before this machine could have them.
    Gap,
}

impl EventKind {
    pub const ALL: [Self; 32] = [
        Self::Join,
        Self::Leave,
        Self::Rename,
        Self::Evict,
        Self::Message,
        Self::Reserve,
        Self::Release,
        Self::Refused,
        Self::Contest,
        Self::Answer,
        Self::Take,
        Self::Claim,
        Self::Complete,
        Self::Reopen,
        Self::Unclaim,
        Self::Handoff,
        Self::Stale,
        Self::Stuck,
        Self::Edit,
        Self::Commit,
        Self::Test,
        Self::HeadsUp,
        Self::HeadsUpEnded(PredictionEnd::Occurred),
        Self::HeadsUpEnded(PredictionEnd::Prevented),
        Self::HeadsUpEnded(PredictionEnd::FalseAlarm),
        Self::HeadsUpEnded(PredictionEnd::Expired),
        Self::HeadsUpEnded(PredictionEnd::Dismissed),
        Self::RunStarted,
        Self::RunWaiting,
        Self::RunLimited,
        Self::RunEnded,
        Self::Gap,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Leave => "leave",
            Self::Rename => "rename",
            Self::Evict => "evict",
            Self::Message => "message",
            Self::Reserve => "reserve",
            Self::Release => "release",
            Self::Refused => "refused",
            Self::Contest => "contest",
            Self::Answer => "answer",
            Self::Take => "take",
            Self::Claim => "claim",
            Self::Complete => "complete",
            Self::Reopen => "reopen",
            Self::Unclaim => "unclaim",
            Self::Handoff => "handoff",
            Self::Stale => "stale",
            Self::Stuck => "stuck",
            Self::Edit => "edit",
            Self::Commit => "commit",
            Self::Test => "test",
            Self::HeadsUp => "heads-up",
            Self::HeadsUpEnded(PredictionEnd::Occurred) => "heads-up-occurred",
            Self::HeadsUpEnded(PredictionEnd::Prevented) => "heads-up-prevented",
            Self::HeadsUpEnded(PredictionEnd::FalseAlarm) => "heads-up-false-alarm",
            Self::HeadsUpEnded(PredictionEnd::Expired) => "heads-up-expired",
            Self::HeadsUpEnded(PredictionEnd::Dismissed) => "heads-up-dismissed",
            Self::RunStarted => "run-started",
            Self::RunWaiting => "run-waiting",
            Self::RunLimited => "run-limited",
            Self::RunEnded => "run-ended",
            Self::Gap => "gap",
        }
    }

    /// Whether it involves two agents, so that its target or preview may be an agent's name.
    pub fn is_about_agents(self) -> bool {
        matches!(
            self,
            Self::Message
                | Self::Rename
                | Self::Evict
                | Self::Handoff
                | Self::Contest
                | Self::Answer
                | Self::Take
                | Self::HeadsUp
                | Self::HeadsUpEnded(_)
        )
    }

    /// The kind with this name, if we know it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::named(kind.name()), Some(kind));
        }
        for end in PredictionEnd::ALL {
            assert!(EventKind::ALL.contains(&EventKind::HeadsUpEnded(end)), "{end:?}");
        }
        assert_eq!(EventKind::named("task.start"), None);
    }
}

//! A brief: what somebody needs to go on with an agent's work.

use jiff::Timestamp;

use super::trajectory::TopicTrend;
use crate::domain::{AgentName, Presence, Reservation};

/// How a file differs from the last commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UncommittedChange {
    Added,
    Modified,
    Deleted,
    /// A merge left it in conflict.
    Conflicted,
    Untracked,
}

impl UncommittedChange {
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Conflicted => "conflicted",
            Self::Untracked => "untracked",
        }
    }
}

/// Who made a change in a directory that several agents may share.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ChangeMaker {
    /// The agent, as its hooks reported.
    Own,
    /// These agents and not this one, as their hooks reported.
    Others(Vec<String>),
    /// No hook reported it.
    Unknown,
}

/// How an agent went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Departure {
    Left,
    Evicted,
    /// Its process had ended by then.
    Ended,
    /// Its process has ended; that was its last sign of life.
    LastSign,
}

impl Departure {
    pub fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Evicted => "evicted",
            Self::Ended | Self::LastSign => "ended",
        }
    }
}

/// Whether the agent is here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BriefState {
    Here(Presence),
    Gone { how: Departure, at: Timestamp },
}

impl BriefState {
    pub fn is_gone(self) -> bool {
        matches!(self, Self::Gone { .. })
    }
}

/// A task that the agent works on, or worked on when it went.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BriefTask {
    pub id: String,
    pub spec: Option<String>,
    pub since: Option<Timestamp>,
    pub reason: Option<String>,
}

/// A commit that was made where the agent works.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BriefCommit {
    pub id: String,
    pub at: Timestamp,
    pub subject: String,
    /// The other branch that it is on; `None` if it is on the branch that is checked out.
    pub branch: Option<String>,
    pub maker: ChangeMaker,
    /// Relative to the root of the work tree.
    pub files: Vec<String>,
}

/// How the commits were found.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CommitEvidence {
    /// Git's log of `HEAD` shows that they were made in this work tree.
    HeadLog,
    /// They are on the branch, and were committed since the agent joined. They may have been made elsewhere.
    Dates,
    #[default]
    None,
}

/// A file that is not committed as it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BriefFile {
    /// Relative to the root of the work tree.
    pub path: String,
    pub change: UncommittedChange,
    pub maker: ChangeMaker,
}

/// A message that somebody waits for an answer to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenQuestion {
    /// The six letters of the message.
    pub id: String,
    pub from: String,
    pub to: String,
    pub at: Timestamp,
    /// `None`: it is not for the reader.
    pub text: Option<String>,
    /// Whether the agent asked it. Otherwise it was asked.
    pub is_own: bool,
}

/// What somebody needs to go on with an agent's work. Everything that peers wrote is raw here.
#[derive(Clone, Debug)]
pub struct Brief {
    pub name: AgentName,
    /// `None` if it is not one that `msg` knows.
    pub harness: Option<&'static str>,
    pub state: BriefState,
    pub joined_at: Timestamp,
    pub written_at: Timestamp,
    pub cwd: String,
    /// The root of its work tree.
    pub root: Option<String>,
    /// The root of the main work tree, if its own is a linked one.
    pub main_root: Option<String>,
    /// The branch that is checked out there now.
    pub branch: Option<String>,
    /// The branch when it joined.
    pub joined_branch: Option<String>,
    pub spec: Option<String>,
    /// The topics of its last prompts, the most frequent first, each with its trend.
    pub topics: Vec<TopicTrend>,
    pub status: Option<String>,
    /// What it is doing now.
    pub activity: Option<String>,
    pub last_action: Option<String>,
    pub tasks: Vec<BriefTask>,
    pub completed: Vec<String>,
    pub reservations: Vec<Reservation>,
    pub commits: Vec<BriefCommit>,
    pub evidence: CommitEvidence,
    pub files: Vec<BriefFile>,
    /// Files that its hooks reported and that are neither in `commits` nor in `files`.
    pub also_edited: Vec<String>,
    pub questions: Vec<OpenQuestion>,
    /// What is not known, and why.
    pub remarks: Vec<String>,
}

//! What is on an exported page, as plain values: masked, shortened, and in the order in which it is shown. Escaping is up
//! to whoever writes the page, because it depends on the format.

use jiff::Timestamp;

use crate::domain::{Event, Importance};
use crate::store::{GoneReason, MessageProgress};

/// Everything on the page.
#[derive(Clone, Debug)]
pub struct ExportPage {
    pub made_at: Timestamp,
    /// What was asked for; `None`: everything that is kept.
    pub since: Option<Timestamp>,
    /// What the timeline shows.
    pub shown: Period,
    /// The directory of the mesh.
    pub mesh: String,
    /// Everybody who did something, first who is there.
    pub agents: Vec<ExportAgent>,
    pub holds: Newest<HeldPath>,
    pub specs: Newest<ExportSpec>,
    pub messages: Newest<ExportMessage>,
    pub runs: Newest<ExportRun>,
    pub events: Newest<Event>,
    /// How many lines were left out because they have a key or a password.
    pub masked: usize,
    /// How many lines of the feed and messages can't be read.
    pub unreadable: usize,
}

/// From a moment to a later one, or the same.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Period {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// What is shown of something, oldest first, and how much of it there is.
#[derive(Clone, Debug)]
pub struct Newest<T> {
    pub shown: Vec<T>,
    pub total: usize,
}

impl<T> Default for Newest<T> {
    fn default() -> Self {
        Self { shown: Vec::new(), total: 0 }
    }
}

impl<T> Newest<T> {
    /// The last `most`.
    pub(super) fn last(mut all: Vec<T>, most: usize) -> Self {
        let total = all.len();
        all.drain(..total.saturating_sub(most));
        Self { shown: all, total }
    }

    pub fn is_complete(&self) -> bool {
        self.shown.len() == self.total
    }
}

/// Somebody, by one name.
#[derive(Clone, Debug)]
pub struct ExportAgent {
    pub name: String,
    /// Whether it has been an agent, and not only the name of somebody who wrote.
    pub is_agent: bool,
    pub is_human: bool,
    pub harness: Option<String>,
    pub model: Option<String>,
    pub branch: Option<String>,
    pub cwd: Option<String>,
    pub spec: Option<String>,
    pub status: Option<String>,
    /// `active`, `idle` … of an agent that is there.
    pub presence: Option<&'static str>,
    pub gone: Option<(GoneReason, Timestamp)>,
    /// When it was there, oldest first.
    pub there: Vec<Span>,
    pub sent: usize,
    pub received: usize,
    pub refused: usize,
    pub completed: usize,
}

/// A time in which an agent was there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span {
    pub from: Timestamp,
    /// `None`: it is there.
    pub to: Option<Timestamp>,
}

/// A path that an agent reserved.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeldPath {
    pub agent: String,
    pub pattern: String,
    pub reason: Option<String>,
    pub from: Timestamp,
    pub end: HeldUntil,
}

/// When a reservation ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HeldUntil {
    /// It has not.
    Held,
    At(Timestamp),
    /// At that time at the latest: it expired, or ended together with something else.
    Before(Timestamp),
}

/// A spec and its tasks.
#[derive(Clone, Debug)]
pub struct ExportSpec {
    pub spec: String,
    pub tasks: Newest<ExportTask>,
    pub done: usize,
    pub claimed: usize,
    pub open: usize,
    pub blocked: usize,
    /// Why the file can't be read; then only its finished tasks are there.
    pub problem: Option<String>,
}

/// A task.
#[derive(Clone, Debug)]
pub struct ExportTask {
    pub id: String,
    pub title: String,
    /// `open`, `blocked`, `claimed` or `done`.
    pub state: &'static str,
    pub agent: Option<String>,
    /// When it was claimed or completed.
    pub at: Option<Timestamp>,
    pub notes: Option<String>,
    pub blocked_by: Vec<String>,
    /// How well it is proven that it is done.
    pub proof: Option<&'static str>,
    /// What proves it, each in a sentence.
    pub evidence: Vec<String>,
    pub reopened: usize,
}

/// A message, or the copies of one to several agents.
#[derive(Clone, Debug)]
pub struct ExportMessage {
    pub from: String,
    pub to: Vec<String>,
    pub at: Timestamp,
    pub text: String,
    /// How many characters of the text were left out.
    pub cut: usize,
    pub thread: Option<String>,
    pub kind: Option<&'static str>,
    pub importance: Importance,
    pub short_id: String,
    /// The place of the message that it answers among those that are shown.
    pub replies_to: Option<usize>,
    /// Of the copy that is least far.
    pub progress: MessageProgress,
    pub is_broadcast: bool,
}

/// A run of a worker.
#[derive(Clone, Debug)]
pub struct ExportRun {
    pub id: String,
    pub title: String,
    pub agent: Option<String>,
    pub parent: Option<String>,
    pub profile: String,
    /// Harness and model.
    pub worker: String,
    pub outcome: String,
    pub is_failure: bool,
    pub is_done: bool,
    pub at: Timestamp,
    pub took: String,
    pub used: Vec<String>,
    pub remark: Option<String>,
    pub review: Option<String>,
    /// The crew that it worked for.
    pub crew: Option<String>,
}

//! What happened, as the participants recorded it: a file for each life of an agent, one for the nemesis, one for what
//! the server's records said, and where every message was at the end. A line is written before something is tried, and
//! another when it is answered.
//!
//! An operation that was killed has no second line, or one that says so: it may or may not have taken effect.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::journal;
pub use crate::journal::Time;

/// A line of the history. It is of a life of an agent, such as `7.2`: the second process in slot 7. Or of the `nemesis`,
/// or of the `server`.
pub type Line = journal::Line<Event>;
/// A history that is being written.
pub type Journal = journal::Journal<Event>;

/// All lines, ordered by time.
pub fn read(dir: &Path) -> Vec<Line> {
    journal::read(dir)
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// A life begins, on this machine and with this session.
    Born {
        machine: String,
        session: String,
        pid: u32,
    },
    /// It has read its mail, and does nothing more. Its process lives on.
    Rests,
    Invoke {
        op: u64,
        intent: Intent,
        fate: Fate,
    },
    /// It succeeded.
    Ok {
        op: u64,
        answer: Answer,
    },
    /// It failed with an error.
    No {
        op: u64,
        code: i32,
        kind: String,
        answer: Answer,
    },
    /// The command was killed, after this much output.
    Killed {
        op: u64,
        answer: Answer,
    },
    /// Its agent died first; this is the command's output.
    Orphaned {
        op: u64,
        answer: Answer,
    },
    /// What no command may do: give an unknown answer, or none.
    Odd {
        op: u64,
        text: String,
    },
    Disturbance {
        number: u64,
        deed: Disturbance,
    },
    /// The nemesis has finished it.
    Did {
        number: u64,
    },
    /// The server has changed a record.
    Record(Record),
    /// At the end, a message was there: `laptop/inbox/A01`, `server/dead`.
    Lies {
        place: String,
        stem: String,
    },
    /// What did not come to rest at the end, although nothing prevented it any more.
    Unsettled {
        what: String,
    },
}

/// What an agent tries to do.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Intent {
    Join {
        name: String,
    },
    Leave,
    WhoAmI,
    Rename {
        to: String,
    },
    Send {
        to: String,
        token: String,
        wants_ack: bool,
    },
    Broadcast {
        token: String,
    },
    Read,
    Ack {
        id: String,
    },
    Claim {
        task: String,
    },
    Complete {
        task: String,
    },
    Unclaim {
        task: String,
    },
    Reopen {
        task: String,
    },
    Reserve {
        path: String,
    },
    Release {
        path: String,
    },
    /// A command that only reads.
    Look {
        command: String,
    },
}

/// A disturbance of the process of a command.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    Lives,
    /// Killed before this change to the file system.
    Step(u64),
    /// Killed after this many microseconds.
    After(u64),
    /// Stopped after this many microseconds, for that many.
    Stopped(u64, u64),
}

/// The parts of an answer that the promises are about.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Accepted>,
    /// In the order in which they were handed over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handed: Vec<Handed>,
    /// Ids of messages that can be acknowledged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// A task, and the session that owns it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// It was done before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
}

/// A message that was accepted for a recipient.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Accepted {
    pub to: String,
    /// The stem of its file name.
    pub stem: String,
}

/// A message that was handed over: its text, and the last letters of its file's name.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Handed {
    pub token: String,
    pub letters: String,
}

impl Handed {
    pub fn of(token: &str, stem: &str) -> Self {
        let letters = stem.rsplit('-').next().unwrap_or(stem).to_string();
        Self { token: token.to_string(), letters }
    }
}

/// What the nemesis does.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Disturbance {
    KillAgent {
        who: String,
    },
    KillLink {
        machine: String,
    },
    /// A link is started that dies before that change to the file system.
    DoomLink {
        machine: String,
        step: u64,
    },
    StopLink {
        machine: String,
        millis: u64,
    },
    /// The connections of a machine end, and new ones are refused.
    Cut {
        machine: String,
        millis: u64,
    },
    /// Nothing arrives in one direction.
    HalfCut {
        machine: String,
        to_server: bool,
        millis: u64,
    },
    Delay {
        machine: String,
        by_millis: u64,
        millis: u64,
    },
    KillServer {
        server: String,
        millis: u64,
    },
    FillDisk {
        machine: String,
        millis: u64,
    },
    /// The time of day is off by this many milliseconds from now on.
    Clock {
        machine: String,
        millis: i64,
    },
    /// By the clock of its lease, the machine has slept this long.
    Sleep {
        machine: String,
        millis: u64,
    },
}

/// A change of a record on the server.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The order of the server.
    pub sequence: u64,
    /// When it took effect, by the monotonic clock.
    pub effect: Time,
    pub key: String,
    /// The sequence of the value that it replaced; 0 for none. `None`: the server did it by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<u64>,
    pub state: RecordState,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordState {
    /// The lease of a machine.
    Lease {
        epoch: String,
    },
    /// A name or a task.
    Owned {
        thing: String,
        owner: Owner,
        is_done: bool,
    },
    /// The paths of a repository.
    Paths {
        held: Vec<(Owner, String)>,
    },
    Gone,
    Unreadable,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Owner {
    pub machine: String,
    pub epoch: String,
    pub session: String,
}

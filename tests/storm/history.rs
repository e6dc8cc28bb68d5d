//! What happened, as the participants recorded it: a file for each life of an agent, one for the nemesis, and where
//! every message was at the end. A line is written before something is tried, and another when it is answered. Times
//! are from the machine's monotonic clock, which all processes share and which does not jump with the time of day.
//!
//! An operation that was killed has no second line, or one that says so: it may or may not have taken effect.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::journal;
pub use crate::journal::{Time, now};

/// A line of the history. It is of a life of an agent, such as `7.2`: the second process in slot 7. Or of the `nemesis`.
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
    /// A life begins, with this session.
    Born {
        session: String,
        pid: u32,
    },
    /// It is about to end by itself.
    Ends,
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
    /// At the end, a message was there.
    Lies {
        place: String,
        stem: String,
    },
}

/// What an agent tries to do.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Intent {
    Join {
        name: Option<String>,
    },
    Leave,
    WhoAmI,
    Rename {
        to: String,
    },
    Evict {
        name: String,
        force: bool,
    },
    Send {
        to: String,
        token: String,
        /// After so many seconds it expires, if nobody has read it.
        ttl: Option<u64>,
    },
    Broadcast {
        token: String,
    },
    Read {
        limit: Option<u64>,
    },
    Watch,
    Reserve {
        paths: Vec<String>,
    },
    Release {
        paths: Vec<String>,
    },
    Contest {
        path: String,
    },
    /// `release PATH --from NAME`
    TakeOver {
        path: String,
        from: String,
    },
    Check {
        path: String,
    },
    Claim {
        task: Option<String>,
        paths: Vec<String>,
    },
    Complete {
        task: String,
    },
    Unclaim,
    Handoff {
        task: String,
        to: String,
    },
    Hook {
        event: String,
        path: Option<String>,
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
    /// No file that it writes may exceed a few hundred bytes.
    Starved,
}

impl Fate {
    pub fn is_death(self) -> bool {
        matches!(self, Self::Step(_) | Self::After(_))
    }
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
    /// A task, and the session that owns it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<bool>,
    /// What was contested or taken: its holder, and what that held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contested: Option<(String, String)>,
    /// Whether this command made the contest, and none before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
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
    StopAgent {
        who: String,
        millis: u64,
    },
    FillDisk {
        millis: u64,
    },
    /// Half a message of a foreign writer, which is completed or left.
    HalfMessage {
        name: String,
        token: String,
        stem: String,
        completed: bool,
    },
    /// A stored message is truncated.
    CutMessage {
        name: String,
        stem: String,
    },
    /// A registration is half written by a foreign writer for this long.
    CutRegistration {
        name: String,
        millis: u64,
    },
    /// `claims.json` cannot be read for this long, and is then restored.
    CutClaims {
        millis: u64,
    },
    /// Whether it was untouched all that time.
    ClaimsKept {
        kept: bool,
    },
    CutFeed,
    CutIndex,
    /// An inbox is moved away with its content, and perhaps created again.
    MoveInbox {
        name: String,
        made_anew: bool,
    },
    /// Moves a directory that holds nothing the promises are about.
    MoveDirectory {
        name: String,
    },
    /// A registration of pi-messenger in the place of this name's.
    Foreign {
        name: String,
        alive: bool,
    },
    Unregister {
        name: String,
    },
    /// The time of day is off by this many milliseconds from now on.
    Clock {
        millis: i64,
    },
}

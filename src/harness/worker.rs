//! What differs between harnesses when one is started as a worker: its command line, what it prints, and the ways in
//! which it fails.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use nix::sys::signal::Signal;

use crate::domain::SessionId;
use crate::domain::runs::{Cost, MicroUsd, Usage};
use crate::domain::workers::version_in;
use crate::sys::environment::Home;

use super::MsgProgram;

/// How a harness is started as a worker and understood.
pub trait WorkerAdapter: Sync {
    /// Whether output of this version was recorded and is understood. Others are tried, and it is said.
    fn is_known(&self, version: &str) -> bool;

    /// The version in what `PROGRAM --version` prints.
    fn version_in(&self, printed: &str) -> Option<String> {
        version_in(printed)
    }

    /// Whether its user seems to be logged in, by files and variables alone: nothing is started and nobody is asked.
    fn login(&self, home: &Home, variable: &dyn Fn(&str) -> Option<String>) -> LoginState;

    /// How a worker gets our hooks.
    fn hooks(&self) -> WorkerHooks;

    /// How its permission questions are answered.
    fn questions(&self) -> PermissionQuestions;

    /// The command line and all that belongs to it.
    fn call(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder>;

    /// The command line and all that belongs to it for a worker at a terminal. The task is not on it: it is typed.
    fn call_at_terminal(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder>;

    /// Arguments before all others, for a worker at a terminal whose starter accepts that the folder is trusted, if the
    /// program would otherwise heed the answer to its dialog only at its next start.
    fn trusting_args(&self) -> &'static [&'static str] {
        &[]
    }

    /// The command line, without the program, that continues the session for a person at a terminal.
    fn interactive(&self, session: &str) -> Vec<OsString>;

    /// Reads what one worker prints that works in this directory.
    fn reader(&self, root: &Path) -> Box<dyn WorkerReader>;

    /// Variables that it sets for its children. They must not reach a worker that one of its agents starts, because they
    /// would be taken for the worker's own.
    fn foreign_variables(&self) -> &'static [&'static str];

    /// Variables with general names that it sets for its children, such as `GIT_CONFIG_GLOBAL`. They are to be removed only
    /// if this harness is the parent's: others have them from their user.
    fn replaced_variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the model does not get again what it was told first when its session is continued.
    fn forgets_first_prompt(&self) -> bool {
        false
    }

    /// What the usage and the cost of a resumed session count.
    fn counts(&self) -> WorkerCounts {
        WorkerCounts { usage: CountedSpan::Run, cost: CountedSpan::Run }
    }
}

/// What the numbers count that a worker reports about a resumed session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WorkerCounts {
    pub usage: CountedSpan,
    pub cost: CountedSpan,
}

/// What a number counts. That of a whole session includes its earlier runs, so what they reported has to be
/// subtracted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CountedSpan {
    Run,
    Session,
}

/// Whether the user of a harness is logged in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LoginState {
    LoggedIn,
    LoggedOut,
    Unknown,
}

/// How a worker gets our hooks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkerHooks {
    /// By its command line or environment, for this run alone.
    Given,
    /// By `msg install`.
    Installed,
}

/// How permission questions of a worker are answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PermissionQuestions {
    /// A hook of ours asks the parent of the run, and waits for the answer.
    Asked,
    /// The policy is fixed at the start, and anything else is refused.
    Fixed,
}

/// What a worker is to do, and how.
#[derive(Clone, Debug)]
pub struct WorkerOrder<'a> {
    pub task: &'a str,
    /// Added to its system text.
    pub instructions: Option<&'a str>,
    pub model: Option<&'a str>,
    pub access: WorkerAccess,
    /// Tools that its profile allows, by the harness's names; empty: those that the access implies.
    pub tools: &'a [String],
    /// Further arguments of the profile.
    pub args: &'a [String],
    pub session: WorkerSession<'a>,
    /// Where it works.
    pub root: &'a Path,
    /// The person's tree that it works for, also if it works in a worktree of that. What the person trusts is trusted by
    /// this path.
    pub project: &'a Path,
    pub home: &'a Home,
    /// A private directory of the run, for files that belong to the call.
    pub scratch: &'a Path,
    pub hooks: &'a MsgProgram,
    pub budget: Option<MicroUsd>,
}

/// What a worker may do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkerAccess {
    Reads,
    /// Reads, edits files and runs commands.
    Edits,
}

/// The session of a worker.
#[derive(Clone, Copy, Debug)]
pub enum WorkerSession<'a> {
    /// A new one, with this id if the harness lets us choose it.
    New(&'a SessionId),
    /// The one with this id is continued.
    Resumed(&'a SessionId),
}

/// How the program is called.
#[derive(Clone, Debug, Default)]
pub struct WorkerCall {
    /// The command line without the program.
    pub args: Vec<OsString>,
    /// Variables to set.
    pub env: Vec<(String, OsString)>,
    /// Files to write before, with mode 600; all in the run's private directory.
    pub files: Vec<(PathBuf, String)>,
    /// The session, if we chose it.
    pub session: Option<SessionId>,
    /// The permission mode in the harness's own words.
    pub permission_mode: String,
    /// Dialogs that may come up nevertheless, a sentence each.
    pub dialogs: Vec<&'static str>,
    /// What is to be typed at a terminal, so that it is taken as text.
    pub prompt: String,
    /// The one of these files that is its standard input; `None`: that is empty.
    pub input: Option<PathBuf>,
}

/// Why a harness can't do what its profile promises.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct UnsupportedOrder(pub String);

/// Reads the output of one worker, line by line.
pub trait WorkerReader: std::fmt::Debug + Send {
    /// A line of standard output. A line that was too long is passed without its middle, so it may be no JSON.
    fn line(&mut self, line: &str) -> Vec<WorkerEvent>;

    /// How it ended. `scratch` is the run's private directory, `errors` the end of its standard error.
    fn end(self: Box<Self>, exit: WorkerExit, errors: &str, scratch: &Path) -> WorkerEnd;
}

/// How the process ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkerExit {
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// `exit code 3`, `SIGKILL`.
impl fmt::Display for WorkerExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => match Signal::try_from(*signal) {
                Ok(signal) => f.write_str(signal.as_str()),
                Err(_) => write!(f, "signal {signal}"),
            },
        }
    }
}

/// What a line of output says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WorkerEvent {
    /// The session has this id.
    Session(SessionId),
    Model(String),
    /// What it does now, in a few words: `edits src/a.rs`, `runs cargo test`.
    Doing(String),
    /// What it has used so far in all.
    Used(Usage, Cost),
    /// A tool call was refused for want of an answer.
    Denied(String),
    /// The account is at its limit, until then if it said so.
    Limited(Option<Timestamp>),
}

/// How a worker ended, by what it printed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WorkerEnd {
    /// Its last words.
    pub result: Option<String>,
    pub usage: Usage,
    pub cost: Cost,
    pub failure: Option<WorkerFailure>,
    /// Its last tool call was refused for want of an answer: what it was.
    pub denied: Option<String>,
}

/// Why a worker failed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum WorkerFailure {
    #[error("it is not logged in: {0}")]
    NotLoggedIn(String),
    #[error("the account is at its limit: {text}")]
    Limited { until: Option<Timestamp>, text: String },
    #[error("the adapter does not know this version: it refuses {0}")]
    RefusedFlag(String),
    #[error("it has used up its budget: {0}")]
    OverBudget(String),
    #[error("the model did not answer: {0}")]
    NoAnswer(String),
    #[error("{0}")]
    Other(String),
}

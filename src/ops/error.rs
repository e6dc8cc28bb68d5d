//! The error that every face reports: a kind for programs, a sentence for people, and hints.

use crate::domain::{NameError, SessionIdError, settings::SettingError};
use crate::harness::{SUPPORTED, SandboxSupport};
use crate::store::StoreError;
use crate::sys::environment::{NoHome, variable};
use crate::sys::files::FileError;
use crate::sys::flock::LockError;

/// Declares the kinds with their names, so that no list of them can miss one.
macro_rules! kinds {
    ($($kind:ident = $name:literal,)+) => {
        /// The kinds of errors. Their names are part of the contract.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum CommandErrorKind {
            $($kind,)+
        }

        impl CommandErrorKind {
            pub const ALL: &'static [Self] = &[$(Self::$kind,)+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

kinds! {
    AllDone = "all_done",
    AlreadyClaimed = "already_claimed",
    AlreadyCompleted = "already_completed",
    AlreadyHaveClaim = "already_have_claim",
    AlreadyJoined = "already_joined",
    AmbiguousCaller = "ambiguous_caller",
    AmbiguousMessage = "ambiguous_message",
    AmbiguousPattern = "ambiguous_pattern",
    AtWork = "at_work",
    BadConfig = "bad_config",
    Blocked = "blocked",
    BrokenPromise = "broken_promise",
    Bug = "bug",
    ChangedMeanwhile = "changed_meanwhile",
    Conflict = "conflict",
    Corrupt = "corrupt",
    DiskFull = "disk_full",
    Duplicate = "duplicate",
    Empty = "empty",
    EmptyGroup = "empty_group",
    Evicted = "evicted",
    FileExists = "file_exists",
    ForeignAgent = "foreign_agent",
    Gate = "gate",
    HeldByPerson = "held_by_person",
    HookInTheWay = "hook_in_the_way",
    InHarness = "in_harness",
    Interrupted = "interrupted",
    InvalidBatch = "invalid_batch",
    InvalidName = "invalid_name",
    InvalidPattern = "invalid_pattern",
    InvalidPlan = "invalid_plan",
    InvalidValue = "invalid_value",
    Io = "io",
    LockTimeout = "lock_timeout",
    NameTaken = "name_taken",
    NoFlock = "no_flock",
    NoCommit = "no_commit",
    NoHost = "no_host",
    NoNameLeft = "no_name_left",
    NoNatsServer = "no_nats_server",
    NoScreen = "no_screen",
    NoTerminal = "no_terminal",
    NoTurn = "no_turn",
    NoVerdict = "no_verdict",
    NoWork = "no_work",
    NoProjectSettings = "no_project_settings",
    NotAMesh = "not_a_mesh",
    NotAllowed = "not_allowed",
    NotAllInstalled = "not_all_installed",
    NoQuestion = "no_question",
    NoRepository = "no_repository",
    NotAllPublished = "not_all_published",
    NotAllSent = "not_all_sent",
    NotAtPrompt = "not_at_prompt",
    NotChecked = "not_checked",
    NotClaimed = "not_claimed",
    NotClean = "not_clean",
    NotCompleted = "not_completed",
    NotConfirmed = "not_confirmed",
    NotContested = "not_contested",
    NotFirst = "not_first",
    NotJoined = "not_joined",
    NotBuiltIn = "not_built_in",
    NotLinked = "not_linked",
    NotReserved = "not_reserved",
    NotRunning = "not_running",
    NotSaved = "not_saved",
    NotShipped = "not_shipped",
    NotVerified = "not_verified",
    NotYours = "not_yours",
    NothingReady = "nothing_ready",
    OldGit = "old_git",
    OverBudget = "over_budget",
    ReadOnly = "read_only",
    RemoteAgent = "remote_agent",
    RemoteRun = "remote_run",
    Reserved = "reserved",
    RunFailed = "run_failed",
    Secret = "secret",
    SharedHooks = "shared_hooks",
    StatusLineInUse = "status_line_in_use",
    StillAlive = "still_alive",
    Tmux = "tmux",
    TimedOut = "timed_out",
    TooBroad = "too_broad",
    TooEarly = "too_early",
    TooLarge = "too_large",
    TooMany = "too_many",
    UnhealthyMesh = "unhealthy_mesh",
    UnknownAgent = "unknown_agent",
    UnknownGroup = "unknown_group",
    UnknownKey = "unknown_key",
    UnknownLiveness = "unknown_liveness",
    UnknownMachine = "unknown_machine",
    UnknownMessage = "unknown_message",
    UnknownRecord = "unknown_record",
    UnknownRun = "unknown_run",
    UnknownTask = "unknown_task",
    UnsafeMesh = "unsafe_mesh",
    Untrusted = "untrusted",
    Usage = "usage",
}

/// A detail of an error, for programs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ErrorDetail {
    Text(String),
    Number(u64),
    List(Vec<String>),
    /// Objects, each with its members; `None` is null.
    Rows(Vec<Vec<(&'static str, Option<ErrorDetail>)>>),
}

/// An error for a person, a model or a program.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct CommandError {
    pub kind: CommandErrorKind,
    pub message: String,
    /// What to do about it, one sentence each.
    pub hints: Vec<String>,
    pub facts: Vec<(&'static str, ErrorDetail)>,
}

impl CommandError {
    pub fn new(kind: CommandErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), facts: Vec::new() }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub fn fact(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.facts.push((name, ErrorDetail::Text(text.into())));
        self
    }

    #[must_use]
    pub fn number(mut self, name: &'static str, number: u64) -> Self {
        self.facts.push((name, ErrorDetail::Number(number)));
        self
    }

    #[must_use]
    pub fn facts(mut self, name: &'static str, list: Vec<String>) -> Self {
        self.facts.push((name, ErrorDetail::List(list)));
        self
    }
}

impl From<FileError> for CommandError {
    fn from(error: FileError) -> Self {
        if error.is_full() {
            return Self::new(CommandErrorKind::DiskFull, error.to_string())
                .hint("free some space, then try again");
        }
        let sandbox = if error.is_forbidden() { sandbox() } else { None };
        Self::new(CommandErrorKind::Io, error.to_string()).hint(io_hint(sandbox))
    }
}

/// The sandbox of a harness that this command seems to run in.
fn sandbox() -> Option<SandboxSupport> {
    let is_here = |sandbox: &SandboxSupport| sandbox.variables.iter().any(|name| variable(name).is_some());
    SUPPORTED.iter().filter_map(|harness| harness.sandbox()).find(is_here)
}

fn io_hint(sandbox: Option<SandboxSupport>) -> &'static str {
    sandbox.map_or("run `msg doctor` to see what is wrong with the mesh", |sandbox| sandbox.hint)
}

impl From<LockError> for CommandError {
    fn from(error: LockError) -> Self {
        let message = error.to_string();
        match error {
            LockError::File(error) => error.into(),
            LockError::TimedOut { path, holder, .. } => {
                let hint = match holder {
                    Some(pid) => format!("look at it with `ps -p {pid}`; if it is stopped or stuck, end it"),
                    None => format!("`fuser {}` shows who it is", path.display()),
                };
                let mut error = Self::new(CommandErrorKind::LockTimeout, message).hint(hint);
                error = error.fact("lock", path.display().to_string());
                match holder {
                    Some(pid) => error.number("holder", pid.get().unsigned_abs().into()),
                    None => error,
                }
            }
            LockError::Unsupported { .. } => {
                let hint = "put the mesh on a local disk: `msg config set mesh DIR`, or `--mesh DIR`";
                Self::new(CommandErrorKind::NoFlock, message).hint(hint)
            }
            LockError::Failed { .. } => {
                Self::new(CommandErrorKind::Io, message).hint("run `msg doctor` to see what is wrong")
            }
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::File(error) => error.into(),
            StoreError::Lock(error) => error.into(),
            StoreError::Unsafe { remedy, .. } => {
                let error = Self::new(CommandErrorKind::UnsafeMesh, message);
                match remedy {
                    Some(command) => error.hint(format!("to make it safe, run `{command}`")),
                    None => error.hint("name another directory with `--mesh DIR` or $MSG_MESH"),
                }
            }
            StoreError::NotAMesh(path) => Self::new(CommandErrorKind::NotAMesh, message)
                .hint("name a new or an empty directory with `--mesh DIR`, $MSG_MESH or `msg config set mesh DIR`")
                .fact("directory", path.display().to_string()),
            StoreError::SwarmLockTimedOut { path, .. } => Self::new(CommandErrorKind::LockTimeout, message)
                .hint("it is freed when that process ends; run `msg doctor` for details")
                .fact("lock", path.display().to_string()),
            StoreError::Corrupt { path, .. } => Self::new(CommandErrorKind::Corrupt, message)
                .hint("nothing was changed; `msg doctor --repair` repairs what it can")
                .fact("file", path.display().to_string()),
            StoreError::BadConfig { path, line, column, .. } => Self::new(CommandErrorKind::BadConfig, message)
                .hint("fix the file, or move it away to use the defaults")
                .fact("file", path.display().to_string())
                .number("line", line as u64)
                .number("column", column as u64),
            StoreError::BadSetting { path, .. } => Self::new(CommandErrorKind::BadConfig, message)
                .hint("fix it there; `msg config list -v` shows the keys and what each is for")
                .fact("file", path.display().to_string()),
            StoreError::Foreign(name) => {
                Self::new(CommandErrorKind::ForeignAgent, message).hint("do it in pi itself").fact("agent", name)
            }
            StoreError::Remote { name, machine } => Self::new(CommandErrorKind::RemoteAgent, message)
                .hint("run the command there")
                .fact("agent", name)
                .fact("machine", machine),
            StoreError::NoRegistration(_) => {
                Self::new(CommandErrorKind::NotJoined, message).hint("run `msg join` to come back")
            }
            StoreError::BadImport(_) => Self::new(CommandErrorKind::InvalidValue, message)
                .hint("export the whole document with `Y.encodeStateAsUpdate(doc)`"),
            StoreError::UnusableCell { record } => {
                Self::new(CommandErrorKind::InvalidValue, message).fact("record", record)
            }
        }
    }
}

impl From<NameError> for CommandError {
    fn from(error: NameError) -> Self {
        Self::new(CommandErrorKind::InvalidName, error.to_string())
            .hint("for example `SwiftRaven`; without a name, `msg join` picks one")
    }
}

impl From<SessionIdError> for CommandError {
    fn from(error: SessionIdError) -> Self {
        Self::new(CommandErrorKind::InvalidValue, error.to_string())
    }
}

impl From<SettingError> for CommandError {
    fn from(error: SettingError) -> Self {
        let kind = match error {
            SettingError::UnknownKey(_) => CommandErrorKind::UnknownKey,
            SettingError::WrongKind { .. }
            | SettingError::RelativePath { .. }
            | SettingError::Words { .. }
            | SettingError::Domains { .. }
            | SettingError::Groups { .. } => CommandErrorKind::InvalidValue,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<NoHome> for CommandError {
    fn from(error: NoHome) -> Self {
        Self::new(CommandErrorKind::BadConfig, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_that_a_sandbox_protects_is_not_broken() {
        for (code, is_forbidden) in
            [(nix::libc::EROFS, true), (nix::libc::EACCES, true), (nix::libc::EIO, false)]
        {
            let error = FileError::from(std::io::Error::from_raw_os_error(code));
            assert_eq!(error.is_forbidden(), is_forbidden, "{error}");
        }
        let sandbox = SUPPORTED.iter().find_map(|harness| harness.sandbox());
        assert!(sandbox.is_some() && io_hint(sandbox).contains("run `msg` alone in its command"));
        assert!(io_hint(None).contains("msg doctor"));
    }
}

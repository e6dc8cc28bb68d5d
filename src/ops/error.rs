//! What every face says when something can't be done: a kind for programs, a sentence for people, and a way out.

use crate::domain::{NameError, SessionIdError, settings::SettingError};
use crate::store::StoreError;
use crate::sys::environment::NoHome;
use crate::sys::files::FileError;
use crate::sys::flock::LockError;

/// The kinds of errors. Their names are part of the contract.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    AllDone,
    AlreadyClaimed,
    AlreadyCompleted,
    AlreadyHaveClaim,
    AlreadyJoined,
    AmbiguousCaller,
    AmbiguousMessage,
    BadConfig,
    Blocked,
    BrokenPromise,
    Bug,
    Corrupt,
    DiskFull,
    Empty,
    Evicted,
    ForeignAgent,
    HookInTheWay,
    InHarness,
    Interrupted,
    InvalidName,
    InvalidPattern,
    InvalidValue,
    Io,
    LockTimeout,
    NameTaken,
    NoFlock,
    NoHost,
    NoNameLeft,
    NoTerminal,
    NoProjectSettings,
    NotAllInstalled,
    NoRepository,
    NotAllSent,
    NotChecked,
    NotClaimed,
    NotJoined,
    NotReserved,
    NotRunning,
    NotYours,
    NothingReady,
    ReadOnly,
    Reserved,
    SharedHooks,
    StatusLineInUse,
    StillAlive,
    TimedOut,
    TooBroad,
    TooLarge,
    TooMany,
    UnhealthyMesh,
    UnknownAgent,
    UnknownKey,
    UnknownMessage,
    UnknownTask,
    UnsafeMesh,
    Usage,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::AllDone => "all_done",
            Self::AlreadyClaimed => "already_claimed",
            Self::AlreadyCompleted => "already_completed",
            Self::AlreadyHaveClaim => "already_have_claim",
            Self::AlreadyJoined => "already_joined",
            Self::AmbiguousCaller => "ambiguous_caller",
            Self::AmbiguousMessage => "ambiguous_message",
            Self::BadConfig => "bad_config",
            Self::Blocked => "blocked",
            Self::BrokenPromise => "broken_promise",
            Self::Bug => "bug",
            Self::Corrupt => "corrupt",
            Self::DiskFull => "disk_full",
            Self::Empty => "empty",
            Self::Evicted => "evicted",
            Self::ForeignAgent => "foreign_agent",
            Self::HookInTheWay => "hook_in_the_way",
            Self::InHarness => "in_harness",
            Self::Interrupted => "interrupted",
            Self::InvalidName => "invalid_name",
            Self::InvalidPattern => "invalid_pattern",
            Self::InvalidValue => "invalid_value",
            Self::Io => "io",
            Self::LockTimeout => "lock_timeout",
            Self::NameTaken => "name_taken",
            Self::NoFlock => "no_flock",
            Self::NoHost => "no_host",
            Self::NoNameLeft => "no_name_left",
            Self::NoTerminal => "no_terminal",
            Self::NoProjectSettings => "no_project_settings",
            Self::NotAllInstalled => "not_all_installed",
            Self::NoRepository => "no_repository",
            Self::NotAllSent => "not_all_sent",
            Self::NotChecked => "not_checked",
            Self::NotClaimed => "not_claimed",
            Self::NotJoined => "not_joined",
            Self::NotReserved => "not_reserved",
            Self::NotRunning => "not_running",
            Self::NotYours => "not_yours",
            Self::NothingReady => "nothing_ready",
            Self::ReadOnly => "read_only",
            Self::Reserved => "reserved",
            Self::SharedHooks => "shared_hooks",
            Self::StatusLineInUse => "status_line_in_use",
            Self::StillAlive => "still_alive",
            Self::TimedOut => "timed_out",
            Self::TooBroad => "too_broad",
            Self::TooLarge => "too_large",
            Self::TooMany => "too_many",
            Self::UnhealthyMesh => "unhealthy_mesh",
            Self::UnknownAgent => "unknown_agent",
            Self::UnknownKey => "unknown_key",
            Self::UnknownMessage => "unknown_message",
            Self::UnknownTask => "unknown_task",
            Self::UnsafeMesh => "unsafe_mesh",
            Self::Usage => "usage",
        }
    }
}

/// Something that a program may want to know of an error besides its kind.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Fact {
    Text(String),
    Number(u64),
    List(Vec<String>),
    /// Objects, each with its members; `None` is null.
    Rows(Vec<Vec<(&'static str, Option<String>)>>),
}

/// An error as a person, a model or a program meets it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct CommandError {
    pub kind: Kind,
    pub message: String,
    /// What to do about it, one sentence each.
    pub hints: Vec<String>,
    pub facts: Vec<(&'static str, Fact)>,
}

impl CommandError {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), facts: Vec::new() }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub fn fact(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.facts.push((name, Fact::Text(text.into())));
        self
    }

    #[must_use]
    pub fn number(mut self, name: &'static str, number: u64) -> Self {
        self.facts.push((name, Fact::Number(number)));
        self
    }

    #[must_use]
    pub fn facts(mut self, name: &'static str, list: Vec<String>) -> Self {
        self.facts.push((name, Fact::List(list)));
        self
    }
}

impl From<FileError> for CommandError {
    fn from(error: FileError) -> Self {
        if error.is_full() {
            return Self::new(Kind::DiskFull, error.to_string()).hint("free some space, then try again");
        }
        Self::new(Kind::Io, error.to_string()).hint("`msg doctor` tells what is wrong with the mesh")
    }
}

impl From<LockError> for CommandError {
    fn from(error: LockError) -> Self {
        let message = error.to_string();
        match error {
            LockError::File(error) => error.into(),
            LockError::TimedOut { path, holder, .. } => {
                let hint = match holder {
                    Some(pid) => format!("look at it with `ps -p {pid}`; if it is stopped or stuck, end it"),
                    None => format!("`fuser {}` tells who it is", path.display()),
                };
                let mut error = Self::new(Kind::LockTimeout, message).hint(hint);
                error = error.fact("lock", path.display().to_string());
                match holder {
                    Some(pid) => error.number("holder", pid.get().unsigned_abs().into()),
                    None => error,
                }
            }
            LockError::Unsupported { .. } => {
                let hint = "put the mesh on a local disk: `msg config set mesh DIR`, or `--mesh DIR`";
                Self::new(Kind::NoFlock, message).hint(hint)
            }
            LockError::Failed { .. } => Self::new(Kind::Io, message).hint("`msg doctor` tells what is wrong"),
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::File(error) => error.into(),
            StoreError::Lock(error) => error.into(),
            StoreError::Unsafe(distrust) => {
                let error = Self::new(Kind::UnsafeMesh, message);
                match distrust.remedy() {
                    Some(command) => error.hint(format!("to mend it: `{command}`")),
                    None => error.hint("name another directory with `--mesh DIR` or $MSG_MESH"),
                }
            }
            StoreError::SwarmLockTimedOut { path, .. } => Self::new(Kind::LockTimeout, message)
                .hint("it is freed when that process ends; `msg doctor` tells more")
                .fact("lock", path.display().to_string()),
            StoreError::Corrupt { path, .. } => Self::new(Kind::Corrupt, message)
                .hint("it is left as it is; `msg doctor --repair` mends what can be mended")
                .fact("file", path.display().to_string()),
            StoreError::BadConfig { path, line, column, .. } => Self::new(Kind::BadConfig, message)
                .hint("mend the file, or move it away to go on with the defaults")
                .fact("file", path.display().to_string())
                .number("line", line as u64)
                .number("column", column as u64),
            StoreError::BadSetting { path, .. } => Self::new(Kind::BadConfig, message)
                .hint("mend it there; `msg config list -v` shows the keys and what each is for")
                .fact("file", path.display().to_string()),
            StoreError::Foreign(name) => {
                Self::new(Kind::ForeignAgent, message).hint("do it in pi itself").fact("agent", name)
            }
            StoreError::NoRegistration(_) => {
                Self::new(Kind::NotJoined, message).hint("`msg join` comes back")
            }
        }
    }
}

impl From<NameError> for CommandError {
    fn from(error: NameError) -> Self {
        Self::new(Kind::InvalidName, error.to_string())
            .hint("for example `SwiftRaven`; `msg join` alone makes one up")
    }
}

impl From<SessionIdError> for CommandError {
    fn from(error: SessionIdError) -> Self {
        Self::new(Kind::InvalidValue, error.to_string())
    }
}

impl From<SettingError> for CommandError {
    fn from(error: SettingError) -> Self {
        let kind = match error {
            SettingError::UnknownKey(_) => Kind::UnknownKey,
            SettingError::WrongKind { .. } | SettingError::Words { .. } => Kind::InvalidValue,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<NoHome> for CommandError {
    fn from(error: NoHome) -> Self {
        Self::new(Kind::BadConfig, error.to_string())
    }
}

//! The exit code for each kind of error.

use crate::ops::CommandErrorKind;

/// The exit code of an error. These codes are part of the contract.
pub(super) fn exit_code(kind: CommandErrorKind) -> u8 {
    match kind {
        CommandErrorKind::AllDone
        | CommandErrorKind::AlreadyClaimed
        | CommandErrorKind::AlreadyCompleted
        | CommandErrorKind::AlreadyHaveClaim
        | CommandErrorKind::AlreadyJoined
        | CommandErrorKind::Blocked
        | CommandErrorKind::NotClaimed
        | CommandErrorKind::NotCompleted
        | CommandErrorKind::NothingReady
        | CommandErrorKind::NotYours
        | CommandErrorKind::UnknownTask
        | CommandErrorKind::AmbiguousMessage
        | CommandErrorKind::AmbiguousPattern
        | CommandErrorKind::AtWork
        | CommandErrorKind::ChangedMeanwhile
        | CommandErrorKind::Conflict
        | CommandErrorKind::NoWork
        | CommandErrorKind::NoNatsServer
        | CommandErrorKind::NotBuiltIn
        | CommandErrorKind::NotClean
        | CommandErrorKind::NoVerdict
        | CommandErrorKind::NotSaved
        | CommandErrorKind::NotShipped
        | CommandErrorKind::NotVerified
        | CommandErrorKind::TooEarly
        | CommandErrorKind::NotConfirmed
        | CommandErrorKind::NotContested
        | CommandErrorKind::NotFirst
        | CommandErrorKind::Duplicate
        | CommandErrorKind::UnknownLiveness
        | CommandErrorKind::FileExists
        | CommandErrorKind::ForeignAgent
        | CommandErrorKind::HeldByPerson
        | CommandErrorKind::HookInTheWay
        | CommandErrorKind::InHarness
        | CommandErrorKind::InvalidBatch
        | CommandErrorKind::InvalidPlan
        | CommandErrorKind::NameTaken
        | CommandErrorKind::NoNameLeft
        | CommandErrorKind::NoQuestion
        | CommandErrorKind::NoScreen
        | CommandErrorKind::NoTurn
        | CommandErrorKind::NotAtPrompt
        | CommandErrorKind::NotAllPublished
        | CommandErrorKind::NotAllSent
        | CommandErrorKind::NotChecked
        | CommandErrorKind::NotReserved
        | CommandErrorKind::NotRunning
        | CommandErrorKind::NoCommit
        | CommandErrorKind::NotAllowed
        | CommandErrorKind::RemoteAgent
        | CommandErrorKind::RemoteRun
        | CommandErrorKind::UnknownMachine
        | CommandErrorKind::Reserved
        | CommandErrorKind::Secret
        | CommandErrorKind::SharedHooks
        | CommandErrorKind::StatusLineInUse
        | CommandErrorKind::StillAlive
        | CommandErrorKind::TooMany
        | CommandErrorKind::UnknownAgent
        | CommandErrorKind::EmptyGroup
        | CommandErrorKind::UnknownGroup
        | CommandErrorKind::UnknownMessage
        | CommandErrorKind::UnknownRecord
        | CommandErrorKind::UnknownRun
        | CommandErrorKind::Gate
        | CommandErrorKind::RunFailed
        | CommandErrorKind::Untrusted => 1,
        CommandErrorKind::Empty
        | CommandErrorKind::InvalidName
        | CommandErrorKind::InvalidPattern
        | CommandErrorKind::InvalidValue
        | CommandErrorKind::NoProjectSettings
        | CommandErrorKind::NoRepository
        | CommandErrorKind::TooBroad
        | CommandErrorKind::TooLarge
        | CommandErrorKind::UnknownKey
        | CommandErrorKind::NoTerminal
        | CommandErrorKind::Usage => 2,
        CommandErrorKind::AmbiguousCaller
        | CommandErrorKind::Evicted
        | CommandErrorKind::NoHost
        | CommandErrorKind::NotJoined => 3,
        CommandErrorKind::BadConfig
        | CommandErrorKind::OldGit
        | CommandErrorKind::BrokenPromise
        | CommandErrorKind::Corrupt
        | CommandErrorKind::DiskFull
        | CommandErrorKind::Io
        | CommandErrorKind::NoFlock
        | CommandErrorKind::NotAMesh
        | CommandErrorKind::NotAllInstalled
        | CommandErrorKind::ReadOnly
        | CommandErrorKind::Tmux
        | CommandErrorKind::UnhealthyMesh
        | CommandErrorKind::UnsafeMesh => 4,
        CommandErrorKind::LockTimeout
        | CommandErrorKind::NotLinked
        | CommandErrorKind::OverBudget
        | CommandErrorKind::TimedOut => 5,
        CommandErrorKind::Bug => 70,
        CommandErrorKind::Interrupted => 130,
    }
}

//! Exit codes of errors.

use crate::ops::Kind;

/// The exit code of an error. These codes are part of the contract.
pub(super) fn exit_code(kind: Kind) -> u8 {
    match kind {
        Kind::AllDone
        | Kind::AlreadyClaimed
        | Kind::AlreadyCompleted
        | Kind::AlreadyHaveClaim
        | Kind::AlreadyJoined
        | Kind::Blocked
        | Kind::NotClaimed
        | Kind::NothingReady
        | Kind::NotYours
        | Kind::UnknownTask
        | Kind::AmbiguousMessage
        | Kind::ForeignAgent
        | Kind::HookInTheWay
        | Kind::InHarness
        | Kind::NameTaken
        | Kind::NoNameLeft
        | Kind::NotAllSent
        | Kind::NotChecked
        | Kind::NotReserved
        | Kind::NotRunning
        | Kind::Reserved
        | Kind::SharedHooks
        | Kind::StatusLineInUse
        | Kind::StillAlive
        | Kind::TooMany
        | Kind::UnknownAgent
        | Kind::UnknownMessage => 1,
        Kind::Empty
        | Kind::InvalidName
        | Kind::InvalidPattern
        | Kind::InvalidValue
        | Kind::NoProjectSettings
        | Kind::NoRepository
        | Kind::TooBroad
        | Kind::TooLarge
        | Kind::UnknownKey
        | Kind::NoTerminal
        | Kind::Usage => 2,
        Kind::AmbiguousCaller | Kind::Evicted | Kind::NoHost | Kind::NotJoined => 3,
        Kind::BadConfig
        | Kind::BrokenPromise
        | Kind::Corrupt
        | Kind::DiskFull
        | Kind::Io
        | Kind::NoFlock
        | Kind::NotAMesh
        | Kind::NotAllInstalled
        | Kind::ReadOnly
        | Kind::UnhealthyMesh
        | Kind::UnsafeMesh => 4,
        Kind::LockTimeout | Kind::TimedOut => 5,
        Kind::Bug => 70,
        Kind::Interrupted => 130,
    }
}

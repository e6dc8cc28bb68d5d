//! Why something from another machine could not be dealt with, and whose fault that is.

use std::io::ErrorKind;

use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::StoreError;
use crate::sys::nats::NatsError;

/// Why a message is not delivered.
#[derive(Debug)]
pub(super) enum MailFailure {
    /// No version of it can be: this one does not understand it.
    Unreadable(String),
    /// A file that only this message needs is damaged: its recipient's, or that of the run it is about. Nothing else is
    /// to wait until a person has repaired that.
    Damaged(String),
    /// Something that every message needs, such as the lock, the disk or the server.
    NotYet(String),
}

impl From<StoreError> for MailFailure {
    fn from(error: StoreError) -> Self {
        Self::NotYet(error.to_string())
    }
}

impl From<NatsError> for MailFailure {
    fn from(error: NatsError) -> Self {
        Self::NotYet(error.to_string())
    }
}

impl From<CommandError> for MailFailure {
    fn from(error: CommandError) -> Self {
        Self::NotYet(error.to_string())
    }
}

/// The failure, if the files that were used are those of one recipient.
pub(super) fn of_recipient(error: StoreError) -> MailFailure {
    if is_of_recipient(&error) { MailFailure::Damaged(error.to_string()) } else { error.into() }
}

/// Whether the error is one of those files alone, and not of the lock or the disk.
pub(super) fn is_of_recipient(error: &StoreError) -> bool {
    match error {
        StoreError::Corrupt { .. } => true,
        // Something else is where a file or directory of it should be. Not by its number: an error with a path has none.
        StoreError::File(error) => matches!(
            error.source.kind(),
            ErrorKind::NotADirectory | ErrorKind::IsADirectory | ErrorKind::AlreadyExists
        ),
        _ => false,
    }
}

/// The failure, if the files that were used are those of one run.
pub(super) fn of_run(error: CommandError) -> MailFailure {
    match error.kind {
        CommandErrorKind::Corrupt => MailFailure::Damaged(error.to_string()),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::sys::files::FileError;

    #[test]
    fn only_what_is_wrong_with_one_file_is_the_fault_of_one_message() {
        let os_error = |code: i32| StoreError::File(FileError::from(io::Error::from_raw_os_error(code)));
        for (code, is_damaged) in [
            (nix::libc::ENOTDIR, true),
            (nix::libc::EISDIR, true),
            (nix::libc::ENOSPC, false),
            (nix::libc::EIO, false),
            (nix::libc::EROFS, false),
            (nix::libc::EACCES, false),
        ] {
            let failure = of_recipient(os_error(code));
            assert_eq!(matches!(failure, MailFailure::Damaged(_)), is_damaged, "{failure:?}");
        }
        // As an operation on files really says it.
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = fs_err::read_dir(file.path()).unwrap_err();
        assert!(matches!(of_recipient(StoreError::File(error.into())), MailFailure::Damaged(_)));
        let damaged = StoreError::Corrupt { path: "sessions/s.json".into(), reason: "it ends".to_string() };
        assert!(matches!(of_recipient(damaged), MailFailure::Damaged(_)));
    }
}

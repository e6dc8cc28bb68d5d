//! Recognises messages that a reader had taken and not recorded when it died. They are unread again.

use super::message_files::{DotFile, MessageStem};
use crate::domain::{Liveness, RecordedProcess};
use crate::sys::{files, process};

/// The stem of a message that was taken by a process that is dead by now; `None` for anything else.
pub(in crate::store) fn dropped_by_dead(file: &str) -> Option<MessageStem> {
    let Some(DotFile::Taken(stem, mark)) = DotFile::of_file(file) else { return None };
    let owner = RecordedProcess::Pinned(files::owner_of(&mark)?);
    (process::liveness(&owner) == Liveness::Gone).then_some(stem)
}

//! Expiry: an unread message whose time is over is recorded in `seen/` with the via `expired`, and not handed over.
//!
//! The file name says when that is. A reader takes a message by renaming its file; whoever finds it expired renames it,
//! too, straight into `seen/`. Only one of the two succeeds, so a message is either handed over or expired. It stays
//! expired if the clock is set back after that. A message that a live reader has taken is the reader's, however long it
//! takes; if the reader dies before it has recorded the message, it is unread again, and may expire.

use std::path::Path;

use jiff::Timestamp;

use super::dropped::dropped_by_dead;
use super::message_files::{AnswerMark, DotFile, MessageStem, SeenRecord, Via};
use crate::domain::AgentName;
use crate::store::error::StoreError;
use crate::store::handles::Inboxes;
use crate::sys::files::FileError;

/// An unread message whose time is over, under its present file name.
#[derive(Clone, Debug)]
pub struct ExpiredMessage {
    stem: MessageStem,
    inbox: AgentName,
    file: String,
}

impl ExpiredMessage {
    pub(in crate::store) fn stem(&self) -> &MessageStem {
        &self.stem
    }

    /// The message, if that file in an inbox is unread and its time is over.
    pub(in crate::store) fn of_file(inbox: &AgentName, file: &str, now: Timestamp) -> Option<Self> {
        let stem = match DotFile::of_file(file) {
            None => MessageStem::of_file(file)?,
            Some(DotFile::Parked(stem)) => stem,
            // Looking at a process costs more than looking at the time.
            Some(DotFile::Taken(stem, _)) if stem.is_expired(now) => dropped_by_dead(file)?,
            Some(DotFile::Taken(..)) => return None,
        };
        let (inbox, file) = (inbox.clone(), file.to_string());
        stem.is_expired(now).then_some(Self { stem, inbox, file })
    }
}

impl Inboxes<'_> {
    /// Records messages as expired, by one rename each. What somebody took or recorded meanwhile is left alone.
    pub fn record_expired(self, expired: &[ExpiredMessage]) -> Result<(), StoreError> {
        for ExpiredMessage { stem, inbox, file } in expired {
            self.move_expired(&self.mesh.layout.inbox(inbox).join(file), inbox, stem)?;
        }
        Ok(())
    }

    /// Moves an expired message into `seen/`. `None`: somebody else was faster.
    pub(in crate::store) fn move_expired(
        self,
        unread: &Path,
        to: &AgentName,
        stem: &MessageStem,
    ) -> Result<Option<SeenRecord>, FileError> {
        let at = stem.expires_at().unwrap_or_default();
        let (via, answer) = (Via::expired(), AnswerMark::None);
        let seen = SeenRecord { stem: stem.clone(), at, via, answer, acked: None };
        let dir = self.mesh.layout.seen(to);
        let is_moved = self.mesh.files.take_into(unread, &dir, &dir.join(seen.file()))?;
        Ok(is_moved.then_some(seen))
    }
}

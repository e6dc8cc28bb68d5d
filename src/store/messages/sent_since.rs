//! Whether one agent has written to another since a certain stamp.
//!
//! A message is in the recipient's inbox before its sender's record of it is in `sent/`, and the sender may be killed in
//! between. So both are looked at, and `seen/`, where a message is after it was read.

use std::path::Path;

use super::message_files::{DotFile, MessageStem, SeenRecord, SentRecord};
use crate::domain::Agent;
use crate::store::error::StoreError;
use crate::store::handles::Archive;
use crate::store::wire::message;
use crate::sys::files;

impl Archive<'_> {
    /// Whether the first agent has sent the second a message with a later stamp than this one.
    pub fn has_sent_since(self, from: &Agent, to: &Agent, stamp: u64) -> Result<bool, StoreError> {
        let is_later = |stem: &MessageStem| stem.stamp().is_some_and(|sent| sent.micros() > stamp);
        for name in from.all_names() {
            let files = files::list(&self.mesh.layout.sent(name))?;
            let mut sent = files.iter().filter_map(|file| SentRecord::of_file(file));
            let is_to = |sent: &SentRecord| to.all_names().any(|name| *name == sent.to);
            if sent.any(|sent| is_later(&sent.stem) && is_to(&sent)) {
                return Ok(true);
            }
        }
        // The inbox first: a message that is read meanwhile is in `seen/` afterwards.
        for name in to.all_names() {
            for dir in [self.mesh.layout.inbox(name), self.mesh.layout.seen(name)] {
                let files = files::list(&dir)?;
                let mut later = files.iter().filter(|file| stem_of(file).is_some_and(|stem| is_later(&stem)));
                if later.any(|file| is_from(&dir.join(file), from)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The message that a file in an inbox or in `seen/` is about.
fn stem_of(file: &str) -> Option<MessageStem> {
    let in_hand = || match DotFile::of_file(file)? {
        DotFile::Parked(stem) | DotFile::Taken(stem, _) => Some(stem),
    };
    let seen = || SeenRecord::of_file(file).map(|seen| seen.stem);
    MessageStem::of_file(file).or_else(seen).or_else(in_hand)
}

fn is_from(path: &Path, agent: &Agent) -> bool {
    let bytes = files::read_large(path).ok().flatten();
    let message = bytes.and_then(|bytes| message::parse(&bytes).ok());
    message.is_some_and(|message| agent.all_names().any(|name| name.as_str() == message.from))
}

//! Delivering messages from other machines, under the lock of the mesh.

use crate::domain::{AgentName, Message};
use crate::store::agents::grave_id::GraveId;
use crate::store::error::StoreError;
use crate::store::handles::Inboxes;
use crate::store::locked_mesh::LockedMesh;
use crate::store::messages::message_files::{DotFile, MessageStem, SeenRecord};
use crate::store::wire::message;
use crate::sys::files::{self, Published};

impl Inboxes<'_> {
    /// Whether the message is in that agent's inbox, or was handed over.
    pub fn knows(self, to: &AgentName, stem: &MessageStem) -> Result<bool, StoreError> {
        let is_it = |file: &String| match DotFile::of_file(file) {
            Some(DotFile::Parked(found) | DotFile::Taken(found, _)) => found == *stem,
            None => MessageStem::of_file(file).is_some_and(|found| found == *stem),
        };
        // First where mail goes last: what moves meanwhile is found in one of the two.
        let was_seen = |file: &String| SeenRecord::of_file(file).is_some_and(|record| record.stem == *stem);
        Ok(files::list(&self.mesh.layout.inbox(to))?.iter().any(is_it)
            || files::list(&self.mesh.layout.seen(to))?.iter().any(was_seen))
    }
}

impl LockedMesh<'_> {
    /// Puts a message from another machine into an inbox, under the name that it has there.
    pub fn deliver(&self, to: &AgentName, stem: &MessageStem, content: &Message) -> Result<(), StoreError> {
        let path = self.mesh.layout.inbox(to).join(stem.file());
        let (Published::Done | Published::Exists) =
            self.mesh.files.publish(&path, &message::bytes(content))?;
        Ok(())
    }

    /// The same for a session that is gone. `false`: it has come back.
    pub fn was_delivered_to_grave(
        &self,
        grave: &GraveId,
        stem: &MessageStem,
        content: &Message,
    ) -> Result<bool, StoreError> {
        let dir = self.mesh.layout.grave(grave).join("inbox");
        if !files::exists(&dir)? {
            return Ok(false);
        }
        let (Published::Done | Published::Exists) =
            self.mesh.files.publish(&dir.join(stem.file()), &message::bytes(content))?;
        Ok(true)
    }
}

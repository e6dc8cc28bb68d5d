//! `presence/<Name>.stuck`: since when an agent was quiet when others were told that it is stuck, in nanoseconds. While its
//! last sign of life is that one, they are not told again. And `presence/.looked`, whose time is when a hook looked last.

use std::time::Duration;

use jiff::Timestamp;

use super::error::StoreError;
use super::locked::Locked;
use super::mesh::Mesh;
use crate::domain::AgentName;
use crate::sys::{clock, files};

impl Mesh {
    /// The last sign of life of an agent that others were told is stuck.
    pub fn told_stuck(&self, name: &AgentName) -> Result<Option<Timestamp>, StoreError> {
        let bytes = files::read_note(&self.layout.stuck(name))?;
        // What can't be read was not told: once more is no harm.
        let nanos = bytes.and_then(|bytes| std::str::from_utf8(&bytes).ok()?.trim().parse().ok());
        Ok(nanos.and_then(|nanos| Timestamp::from_nanosecond(nanos).ok()))
    }

    /// Has nobody looked for so long? Then the caller does. Two at once may both be told so.
    pub fn is_time_to_look(&self, every: Duration) -> Result<bool, StoreError> {
        let path = self.layout.last_look();
        let modified = files::metadata(&path)?.and_then(|metadata| metadata.modified().ok());
        if modified.is_some_and(|modified| clock::age(modified) < every) {
            return Ok(false);
        }
        files::touch(&path)?;
        Ok(true)
    }
}

impl Locked<'_> {
    /// Others were told that the agent is stuck, which has been quiet since then.
    pub fn note_told_stuck(&self, name: &AgentName, since: Timestamp) -> Result<(), StoreError> {
        let text = format!("{}\n", since.as_nanosecond());
        Ok(self.mesh.files.replace(&self.mesh.layout.stuck(name), text.as_bytes())?)
    }
}

//! `presence/<Name>.stuck` and `presence/.looked`: which agents were reported as stuck, and when hooks last checked.
//!
//! `<Name>.stuck` holds, in nanoseconds, the agent's last sign of life at the time of the report. While that is still
//! its last one, it is not reported again. The modification time of `.looked` is the time of the last check by a hook.

use std::time::Duration;

use jiff::Timestamp;

use crate::domain::AgentName;
use crate::store::error::StoreError;
use crate::store::handles::PresenceFiles;
use crate::store::locked_mesh::LockedMesh;
use crate::sys::{clock, files};

impl PresenceFiles<'_> {
    /// The last sign of life of an agent that was reported as stuck.
    pub fn reported_stuck_at(self, name: &AgentName) -> Result<Option<Timestamp>, StoreError> {
        let bytes = files::read_note(&self.mesh.layout.stuck(name))?;
        // An unreadable file counts as not reported: reporting again does no harm.
        let nanos = bytes.and_then(|bytes| std::str::from_utf8(&bytes).ok()?.trim().parse().ok());
        Ok(nanos.and_then(|nanos| Timestamp::from_nanosecond(nanos).ok()))
    }

    /// Whether the last check was at least `every` ago. If so, the caller does it now. Two callers at once may both get
    /// `true`.
    pub fn begin_stuck_check_if_due(self, every: Duration) -> Result<bool, StoreError> {
        let path = self.mesh.layout.last_look();
        let modified = files::metadata(&path)?.and_then(|metadata| metadata.modified().ok());
        if modified.is_some_and(|modified| clock::age(modified) < every) {
            return Ok(false);
        }
        files::touch(&path)?;
        Ok(true)
    }
}

impl LockedMesh<'_> {
    /// Records that the agent was reported as stuck; `since` is its last sign of life.
    pub fn note_told_stuck(&self, name: &AgentName, since: Timestamp) -> Result<(), StoreError> {
        let text = format!("{}\n", since.as_nanosecond());
        Ok(self.mesh.files.replace(&self.mesh.layout.stuck(name), text.as_bytes())?)
    }
}

//! Sent messages that are unread for so long that their sender is told, once.
//!
//! The name of the record in `sent/` says that it was told, or that it was read in time: then nobody looks again.

use jiff::Timestamp;

use super::message_files::SentRecord;
use crate::domain::{Agent, AgentName, MessageKind};
use crate::store::error::StoreError;
use crate::store::handles::Outboxes;
use crate::store::locked_mesh::LockedMesh;
use crate::sys::files;

/// A message whose sender may have to be told that nobody has read it.
#[derive(Clone, Debug)]
pub struct UnreadReport {
    pub sent: SentRecord,
    pub sent_at: Timestamp,
    from: AgentName,
}

impl Outboxes<'_> {
    /// The messages of the agent that were sent long enough ago and not settled yet, oldest first. Only names are read.
    pub fn unread_reports_due(self, agent: &Agent, now: Timestamp) -> Result<Vec<UnreadReport>, StoreError> {
        let mut due = Vec::new();
        for from in agent.all_names() {
            for file in files::list(&self.mesh.layout.sent(from))? {
                let Some(sent) = SentRecord::of_file(&file).filter(SentRecord::may_be_reported) else {
                    continue;
                };
                let Some(sent_at) = sent.stem.stamp().map(|stamp| stamp.timestamp()) else { continue };
                let is_due = now.duration_since(sent_at) >= MessageKind::UNREAD_TOO_LONG;
                if is_due && sent_at >= agent.joined_at {
                    due.push(UnreadReport { sent, sent_at, from: from.clone() });
                }
            }
        }
        due.sort_by(|a, b| a.sent.stem.cmp(&b.sent.stem));
        Ok(due)
    }
}

impl LockedMesh<'_> {
    /// Records that the sender was told, or need not be.
    pub fn settle_unread_report(&self, report: &UnreadReport) -> Result<(), StoreError> {
        let dir = self.mesh.layout.sent(&report.from);
        let (old, new) = (report.sent.file(), report.sent.settled().file());
        self.mesh.files.take(&dir.join(old), &dir.join(new))?;
        Ok(())
    }
}

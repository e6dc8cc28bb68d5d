//! Orphaned mail: mail in the inbox of a name that no agent has any more.
//!
//! An agent of pi-messenger renames itself without a lock, and never looks again into the inbox of its old name. So a
//! sender first notes in `seen/<Name>/.owner` which agent owns that inbox, and the mail can be forwarded to the new
//! name.
//!
//! The note is removed when the mail was forwarded and when another agent takes the name. A note that is older than the
//! session record of the last owner has no effect.

use serde::{Deserialize, Serialize};

use crate::domain::{Agent, AgentName, Liveness};
use crate::store::agents::registry::{Census, Registration};
use crate::store::agents::sessions;
use crate::store::error::StoreError;
use crate::store::handles::Inboxes;
use crate::store::locked_mesh::LockedMesh;
use crate::store::wire::pretty;
use crate::sys::{files, process};

#[derive(Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Owner {
    session_id: String,
    pid: i32,
}

impl Owner {
    fn of(agent: &Agent) -> Self {
        Self { session_id: agent.session.to_string(), pid: agent.process.pid().get() }
    }
}

/// An inbox that contains mail and has no owner.
#[derive(Clone, Debug)]
pub struct OwnerlessInbox {
    pub name: AgentName,
    pub unread: usize,
    /// The present name of its owner, if known.
    pub now_called: Option<AgentName>,
}

impl Inboxes<'_> {
    /// Notes which agent of pi-messenger owns its inbox now.
    pub fn record_owner(self, agent: &Agent) -> Result<(), StoreError> {
        if !agent.is_foreign() {
            return Ok(());
        }
        let (path, note) = (self.mesh.layout.owner(&agent.name), pretty(&Owner::of(agent)));
        if files::read_note(&path)?.is_some_and(|before| before == note) {
            return Ok(());
        }
        files::create_dir(&self.mesh.layout.seen(&agent.name))?;
        Ok(self.mesh.files.replace(&path, &note)?)
    }

    /// The inboxes that contain mail and have no owner.
    pub fn orphans(self, census: &Census) -> Result<Vec<OwnerlessInbox>, StoreError> {
        let mut orphans = Vec::new();
        for dir in files::list(&self.mesh.layout.directory("inbox"))? {
            let Ok(name) = AgentName::new(dir) else { continue };
            if census.has_owner(&name) {
                continue;
            }
            let mail = files::list(&self.mesh.layout.inbox(&name))?;
            let unread = mail.iter().filter(|file| !file.starts_with('.') && file.ends_with(".json")).count();
            if unread > 0 {
                let now_called = self.owner_now(census, &name)?;
                orphans.push(OwnerlessInbox { name, unread, now_called });
            }
        }
        Ok(orphans)
    }

    /// Removes the note: from now on mail under that name is not for the noted agent.
    pub(in crate::store) fn forget_owner(self, name: &AgentName) {
        // Errors are ignored: a note that stays is older than the record of the session that has the name now, so it
        // has no effect.
        drop(files::remove(&self.mesh.layout.owner(name)));
    }

    /// The present name of the agent of pi-messenger that had the name, if it is alive and no agent of ours had the
    /// name since.
    fn owner_now(self, census: &Census, name: &AgentName) -> Result<Option<AgentName>, StoreError> {
        let path = self.mesh.layout.owner(name);
        let note = files::read_note(&path)?.unwrap_or_default();
        let Ok(owner) = serde_json::from_slice::<Owner>(&note) else { return Ok(None) };
        let is_it = |record: &&Registration| record.agent.is_foreign() && Owner::of(&record.agent) == owner;
        let found = census.records.iter().find(is_it).map(|record| &record.agent);
        let Some(agent) = found.filter(|agent| process::liveness(&agent.process) != Liveness::Gone) else {
            return Ok(None);
        };
        // The note may be older than the last owner: earlier versions never removed it.
        let noted = files::metadata(&path)?.and_then(|metadata| metadata.modified().ok());
        let last = sessions::last_owner(&self.mesh.layout, name)?;
        let is_current = last.is_none_or(|(written, _)| noted.is_some_and(|noted| noted > written));
        Ok(is_current.then(|| agent.name.clone()))
    }
}

impl LockedMesh<'_> {
    /// Forwards mail under names that agents of pi-messenger gave up. Returns pairs of old and new names.
    pub fn forward_orphans(&self, census: &Census) -> Result<Vec<(AgentName, AgentName)>, StoreError> {
        let mut forwarded = Vec::new();
        for OwnerlessInbox { name, now_called, .. } in self.mesh.inboxes().orphans(census)? {
            let Some(new) = now_called else { continue };
            // pi-messenger takes no lock: another agent may have the name by now.
            if !files::exists(&self.mesh.layout.registration(&name))? {
                // The agent may give up the new name, too, as soon as it did the old one.
                if let Some(record) = census.records.iter().find(|record| record.agent.name == new) {
                    self.mesh.inboxes().record_owner(&record.agent)?;
                }
                self.forward_mail(&name, &new)?;
                // While the inbox exists, a sender may still write to it.
                if !files::exists(&self.mesh.layout.inbox(&name))? {
                    self.mesh.inboxes().forget_owner(&name);
                }
                forwarded.push((name, new));
            }
        }
        Ok(forwarded)
    }
}

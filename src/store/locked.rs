//! What may be done while `mesh.lock` is held: taking, changing and giving up names.

use jiff::Timestamp;

use super::error::StoreError;
use super::graves::{GraveId, Inscription, Why};
use super::mesh::Mesh;
use super::registry::{self, Census, Record};
use super::sessions::{Eviction, SessionRecord};
use super::swarm::{Claims, Swarm};
use super::wire;
use crate::domain::{Agent, AgentName, SessionId};
use crate::sys::files::{self, FileError, Published};
use crate::sys::flock::FileLock;

/// The mesh with its lock held, from the first read to the last write of a change.
#[derive(Debug)]
#[must_use = "the lock is free again as soon as this is dropped"]
pub struct Locked<'m> {
    pub(super) mesh: &'m Mesh,
    held: FileLock,
}

impl<'m> Locked<'m> {
    pub(super) fn new(mesh: &'m Mesh, held: FileLock) -> Self {
        Self { mesh, held }
    }

    /// Adds `swarm.lock`, which pi-messenger respects, to reach the claims.
    pub fn swarm(&self) -> Result<Swarm<'_>, StoreError> {
        Swarm::lock(self)
    }

    /// Is the lock one that keeps others out? Not every file system has such.
    pub fn probe(&self) -> Result<(), StoreError> {
        Ok(self.held.probe(&self.mesh.layout.mesh_lock())?)
    }

    /// Everyone who is registered; with the lock held, nobody of ours changes that.
    pub fn census(&self) -> Result<Census, StoreError> {
        self.mesh.census()
    }

    /// Who works on what, to look at; changing it takes [`Locked::swarm`].
    pub fn claims(&self) -> Result<Claims, StoreError> {
        self.mesh.claims()
    }

    /// Takes a name that is free. `Exists`: pi-messenger, which takes no lock, was first.
    pub fn register(&self, record: &Record) -> Result<Published, StoreError> {
        let layout = &self.mesh.layout;
        let inbox = layout.inbox(&record.agent.name);
        if !files::exists(&inbox)? {
            files::create_dir(&inbox)?;
        }
        let published = self.mesh.files.publish(&layout.registration(&record.agent.name), &record.bytes())?;
        if published == Published::Done {
            self.remember(SessionRecord { last: record.clone(), left: None, evicted: None })?;
        }
        Ok(published)
    }

    /// Changes a registration of ours, starting from what lies on disk now.
    pub fn edit(&self, name: &AgentName, change: impl FnOnce(&mut Agent)) -> Result<Record, StoreError> {
        let path = self.mesh.layout.registration(name);
        let mut record = match registry::read(&path, name.as_str())? {
            Some(Ok(record)) => record,
            Some(Err(bad)) => return Err(StoreError::Corrupt { path, reason: bad.reason }),
            None => return Err(StoreError::NoRegistration(name.to_string())),
        };
        if record.agent.is_foreign() {
            return Err(StoreError::Foreign(name.to_string()));
        }
        let session = record.agent.session.clone();
        change(&mut record.agent);
        self.mesh.files.replace(&path, &record.bytes())?;
        self.remember(SessionRecord { last: record.clone(), left: None, evicted: None })?;
        if record.agent.session != session {
            files::remove(&self.mesh.layout.session(&session))?;
        }
        Ok(record)
    }

    /// Removes what a rename left of the old name.
    pub fn unregister(&self, name: &AgentName) -> Result<(), StoreError> {
        files::remove(&self.mesh.layout.registration(name))?;
        files::remove(&self.mesh.layout.presence(name))?;
        Ok(())
    }

    /// Moves registration and unread mail into a grave. The registration goes last: until then a burial that was
    /// cut short is simply done again.
    pub fn bury(
        &self,
        record: &Record,
        why: Why,
        at: Timestamp,
        by: Option<&str>,
    ) -> Result<GraveId, StoreError> {
        let (layout, files) = (&self.mesh.layout, &self.mesh.files);
        let agent = &record.agent;
        let grave = GraveId::of(agent);
        let by = by.map(str::to_string);
        self.open_grave(&grave, &Inscription { why, at, by: by.clone() })?;
        let left = (why == Why::Left).then_some(at);
        let evicted = (why == Why::Evicted).then_some(Eviction { by, at });
        if left.is_some() || evicted.is_some() {
            // First of all, so that the agent itself does not take its registration for lost.
            self.remember(SessionRecord { last: record.clone(), left, evicted })?;
        }
        let names = || std::iter::once(&agent.name).chain(agent.formerly.iter().map(|former| &former.name));
        for name in names() {
            self.move_mail(name, &grave)?;
        }
        files.take(&layout.registration(&agent.name), &layout.grave(&grave).join("registration.json"))?;
        for name in names() {
            // Mail that came in meanwhile.
            self.move_mail(name, &grave)?;
            files::remove_dir(&layout.inbox(name))?;
        }
        files::remove(&layout.presence(&agent.name))?;
        Ok(grave)
    }

    /// Mail in the inbox of a name that nobody has is not for whoever takes the name next.
    pub fn bury_lost_mail(&self, name: &AgentName, at: Timestamp) -> Result<Option<GraveId>, StoreError> {
        if files::list(&self.mesh.layout.inbox(name))?.is_empty() {
            return Ok(None);
        }
        let grave = GraveId::of_lost_mail(name, at);
        self.open_grave(&grave, &Inscription { why: Why::Lost, at, by: None })?;
        self.move_mail(name, &grave)?;
        Ok(Some(grave))
    }

    /// Mail that came for a name which its owner gave up goes to the owner.
    pub fn forward_mail(&self, from: &AgentName, to: &AgentName) -> Result<(), StoreError> {
        let (inbox, there) = (self.mesh.layout.inbox(from), self.mesh.layout.inbox(to));
        for file in files::list(&inbox)? {
            self.mesh.files.take(&inbox.join(&file), &there.join(&file))?;
        }
        files::remove_dir(&inbox)?;
        Ok(())
    }

    /// Gives the mail of a grave to a registered agent and closes the grave.
    pub fn exhume(&self, grave: &GraveId, name: &AgentName) -> Result<usize, StoreError> {
        let (layout, files) = (&self.mesh.layout, &self.mesh.files);
        let dir = layout.grave(grave);
        let mut moved = 0;
        for file in files::list(&dir.join("inbox"))? {
            if files.take(&dir.join("inbox").join(&file), &layout.inbox(name).join(&file))? {
                moved += 1;
            }
        }
        self.close_grave(grave)?;
        Ok(moved)
    }

    /// Removes a grave, unless there is mail in it.
    pub fn close_grave(&self, grave: &GraveId) -> Result<(), StoreError> {
        let dir = self.mesh.layout.grave(grave);
        files::remove_dir(&dir.join("inbox"))?;
        if !files::exists(&dir.join("inbox"))? {
            files::remove(&dir.join("registration.json"))?;
            files::remove(&dir.join("grave.json"))?;
            files::remove_dir(&dir)?;
        }
        Ok(())
    }

    /// Writes down what is known of a session.
    pub fn remember(&self, record: SessionRecord) -> Result<(), StoreError> {
        let path = self.mesh.layout.session(&record.last.agent.session);
        Ok(self.mesh.files.replace(&path, &record.bytes())?)
    }

    pub fn forget(&self, session: &SessionId) -> Result<(), StoreError> {
        files::remove(&self.mesh.layout.session(session))?;
        Ok(())
    }

    /// Removes private files whose process is gone.
    pub fn sweep(&self) -> Result<usize, StoreError> {
        Ok(self.mesh.files.sweep()?)
    }

    fn open_grave(&self, grave: &GraveId, inscription: &Inscription) -> Result<(), FileError> {
        let dir = self.mesh.layout.grave(grave);
        files::create_dir(&dir.join("inbox"))?;
        self.mesh.files.replace(&dir.join("grave.json"), &wire::pretty(inscription))
    }

    fn move_mail(&self, name: &AgentName, grave: &GraveId) -> Result<(), FileError> {
        let inbox = self.mesh.layout.inbox(name);
        let there = self.mesh.layout.grave(grave).join("inbox");
        for file in files::list(&inbox)? {
            self.mesh.files.take(&inbox.join(&file), &there.join(&file))?;
        }
        Ok(())
    }
}

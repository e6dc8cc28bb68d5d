//! `LockedMesh`: how `mesh.lock` is taken, and what may be done only while it is held, such as taking and giving up
//! names.
//!
//! Registrations, claims and completions are changed by a [`super::StagedChange`], which [`LockedMesh::change`] begins.
//! Its module says what is done directly, and why.

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::agents::grave_id::GraveId;
use super::agents::graves::{GoneReason, GraveHeader};
use super::agents::registry::{self, Census, Registration};
use super::agents::sessions::{self, SessionRecord};
use super::error::StoreError;
use super::lock_order::{LockOrderGuard, LockRank};
use super::mesh::Mesh;
use super::messages::dropped::dropped_by_dead;
use super::messages::message_files::Offer;
use super::tasks::claims::Claims;
use super::tasks::swarm_lock::{self, SwarmLock};
use super::wire;
use crate::domain::{Agent, AgentName, SessionId};
use crate::sys::clock;
use crate::sys::files::{self, FileError, Published};
use crate::sys::flock::FileLock;

/// The mesh with its lock held, from the first read to the last write of a change.
#[derive(Debug)]
#[must_use = "the lock is free again as soon as this is dropped"]
pub struct LockedMesh<'m> {
    pub(super) mesh: &'m Mesh,
    /// `swarm.lock`, if it was taken with this lock and nobody has used it yet. It is dropped first.
    swarm: RefCell<Option<SwarmLock>>,
    held: FileLock,
    _turn: LockOrderGuard,
}

impl Mesh {
    /// Waits for `mesh.lock`.
    pub fn lock(&self) -> Result<LockedMesh<'_>, StoreError> {
        self.lock_within(self.options.lock_timeout)
    }

    /// Waits for `mesh.lock`, for `limit` at most.
    pub fn lock_within(&self, limit: Duration) -> Result<LockedMesh<'_>, StoreError> {
        self.tighten()?;
        let order = LockOrderGuard::begin(LockRank::Mesh, limit.min(self.options.lock_timeout));
        let held = FileLock::acquire(&self.layout.mesh_lock(), order.left())?;
        Ok(LockedMesh::new(self, held, order))
    }

    /// Takes `mesh.lock` if it is free now.
    pub fn try_lock(&self) -> Result<Option<LockedMesh<'_>>, StoreError> {
        let order = LockOrderGuard::begin(LockRank::Mesh, self.options.lock_timeout);
        let held = FileLock::try_acquire(&self.layout.mesh_lock())?;
        Ok(held.map(|held| LockedMesh::new(self, held, order)))
    }

    /// Takes `mesh.lock` together with `swarm.lock`, so that [`LockedMesh::lock_claims`] need not wait. While waiting
    /// for pi-messenger to release `swarm.lock`, it does not hold `mesh.lock`, so commands that need no claims are not
    /// blocked.
    pub fn lock_with_claims(&self) -> Result<LockedMesh<'_>, StoreError> {
        let (path, limit) = (self.layout.swarm_lock(), self.options.lock_timeout);
        let deadline = Instant::now() + limit;
        loop {
            swarm_lock::wait_for_stranger(&path, deadline, limit)?;
            let locked = self.lock_within(deadline.saturating_duration_since(Instant::now()))?;
            match locked.take_swarm_lock() {
                Ok(()) => return Ok(locked),
                // Another process took it in the meantime, or it has our mark and was left behind by a process that is
                // still alive.
                Err(StoreError::SwarmLockTimedOut { holder, .. }) if Instant::now() >= deadline => {
                    return Err(swarm_lock::timed_out(&path, holder, limit));
                }
                Err(StoreError::SwarmLockTimedOut { .. }) => {
                    drop(locked);
                    clock::pause(swarm_lock::LONGEST_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the locks for a change to that agent: `mesh.lock`, and `swarm.lock` if the agent has claims.
    pub fn lock_for(&self, agent: &Agent) -> Result<LockedMesh<'_>, StoreError> {
        let has_claims = self.tasks().claims().is_ok_and(|claims| !claims.of(agent).is_empty());
        if has_claims { self.lock_with_claims() } else { self.lock() }
    }
}

impl<'m> LockedMesh<'m> {
    fn new(mesh: &'m Mesh, held: FileLock, order: LockOrderGuard) -> Self {
        Self { mesh, held, swarm: RefCell::new(None), _turn: order }
    }

    /// Takes `swarm.lock` for [`LockedMesh::lock_claims`], without waiting for it.
    fn take_swarm_lock(&self) -> Result<(), StoreError> {
        let taken = self.swarm_lock(Duration::ZERO)?;
        self.keep_swarm_lock(taken);
        Ok(())
    }

    pub(super) fn swarm_lock(&self, limit: Duration) -> Result<SwarmLock, StoreError> {
        match self.swarm.borrow_mut().take() {
            Some(taken) => Ok(taken),
            None => SwarmLock::acquire(&self.mesh.layout.swarm_lock(), self.mesh.swarm_token()?, limit),
        }
    }

    pub(super) fn keep_swarm_lock(&self, held: SwarmLock) {
        *self.swarm.borrow_mut() = Some(held);
    }

    /// Releases `swarm.lock` if it was taken with this lock and nobody has used it.
    pub fn free_swarm_lock(&mut self) {
        drop(self.swarm.take());
    }

    pub(super) fn has_swarm_lock(&self) -> bool {
        self.swarm.borrow().is_some()
    }

    /// Checks that the lock keeps others out. On some file systems it does not.
    pub fn probe(&self) -> Result<(), StoreError> {
        Ok(self.held.probe(&self.mesh.layout.mesh_lock())?)
    }

    /// All registrations. While the lock is held, no process of ours changes them.
    pub fn census(&self) -> Result<Census, StoreError> {
        self.mesh.registry().census()
    }

    /// The registrations of this machine alone.
    pub fn local_census(&self) -> Result<Census, StoreError> {
        self.mesh.registry().local_census()
    }

    /// All claims, for reading. To change them, use [`LockedMesh::change`].
    pub fn claims(&self) -> Result<Claims, StoreError> {
        self.mesh.tasks().claims()
    }

    /// Takes a free name. `Exists`: pi-messenger, which takes no lock, was first.
    pub fn register(&self, record: &Registration) -> Result<Published, StoreError> {
        let path = self.mesh.layout.registration(&record.agent.name);
        self.make_inbox(&record.agent.name)?;
        let published = self.mesh.files.publish(&path, &record.bytes(&path)?)?;
        if published == Published::Done {
            self.remember(SessionRecord { last: record.clone(), left: None, evicted: None })?;
            // Mail that arrives from now on is not for an agent of pi-messenger that had the name.
            self.mesh.inboxes().forget_owner(&record.agent.name);
        }
        Ok(published)
    }

    pub fn make_inbox(&self, name: &AgentName) -> Result<(), StoreError> {
        let inbox = self.mesh.layout.inbox(name);
        if !files::exists(&inbox)? {
            files::create_dir(&inbox)?;
        }
        Ok(())
    }

    /// The registration of that session in that process, under whatever name it has now.
    pub fn own_record(&self, who: &Agent) -> Result<Registration, StoreError> {
        if let Some(machine) = &who.machine {
            return Err(StoreError::Remote { name: who.name.to_string(), machine: machine.name.to_string() });
        }
        let path = self.mesh.layout.registration(&who.name);
        match registry::read(&path, who.name.as_str())? {
            Some(Ok(record)) if record.agent.is_same_session(who) => return Ok(record),
            Some(Err(bad)) => return Err(StoreError::Corrupt { path, reason: bad.reason }),
            _ => {}
        }
        let own = |record: &Registration| record.agent.is_same_session(who);
        let found = self.local_census()?.records.into_iter().find(own);
        found.ok_or_else(|| StoreError::NoRegistration(who.name.to_string()))
    }

    /// Makes watchers of that inbox look again.
    pub fn touch_inbox(&self, name: &AgentName) -> Result<(), StoreError> {
        let inbox = self.mesh.layout.inbox(name);
        if files::exists(&inbox)? {
            files::touch_dir(&inbox)?;
        }
        Ok(())
    }

    /// Removes the registration that a rename left under the old name. Its counts move to the new name.
    pub fn unregister(&self, old: &AgentName, new: &AgentName) -> Result<(), StoreError> {
        self.carry_counts(old, new)?;
        files::remove(&self.mesh.layout.registration(old))?;
        Ok(())
    }

    /// Removes the counts and the mail ownership of a name's previous agent, so that they don't pass to the next one.
    pub fn forget_presence(&self, name: &AgentName) -> Result<(), StoreError> {
        files::remove(&self.mesh.layout.presence(name))?;
        files::remove(&self.mesh.layout.stuck(name))?;
        self.mesh.inboxes().forget_owner(name);
        Ok(())
    }

    /// Moves mail from the inbox of an unregistered name into a grave, because it is not for the agent that takes the
    /// name next. It is for the session that had the name last, if that is known: pi-messenger deletes the
    /// registrations of dead agents.
    pub fn bury_lost_mail(&self, name: &AgentName, at: Timestamp) -> Result<Option<GraveId>, StoreError> {
        if !self.mesh.inboxes().has_mail(name)? {
            return Ok(None);
        }
        let owner = sessions::last_owner(&self.mesh.layout, name)?.map(|(_, known)| known);
        let (grave, why) = match &owner {
            Some(known) => (GraveId::of(&known.last.agent), GoneReason::Died),
            None => (GraveId::of_lost_mail(name, at), GoneReason::Lost),
        };
        self.open_grave(&grave, &GraveHeader { why, at, by: None, is_ownerless: owner.is_none() })?;
        if let Some(known) = owner {
            self.inscribe(&grave, &known.last)?;
        }
        self.move_mail(&self.mesh.layout.inbox(name), &self.mesh.layout.grave(&grave).join("inbox"))?;
        Ok(Some(grave))
    }

    /// Moves mail that arrived under a former name to the agent's present inbox.
    pub fn forward_mail(&self, from: &AgentName, to: &AgentName) -> Result<(), StoreError> {
        let inbox = self.mesh.layout.inbox(from);
        self.move_mail(&inbox, &self.mesh.layout.inbox(to))?;
        files::remove_dir(&inbox)?;
        Ok(())
    }

    /// Moves the mail of a grave to a registered agent and removes the grave. Returns the number of messages.
    pub fn exhume(&self, grave: &GraveId, name: &AgentName) -> Result<usize, StoreError> {
        let there = self.mesh.layout.grave(grave).join("inbox");
        let moved = self.move_mail(&there, &self.mesh.layout.inbox(name))?;
        self.close_grave(grave)?;
        Ok(moved)
    }

    /// Removes a grave, unless it contains mail.
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

    /// Writes the record of a session.
    pub fn remember(&self, record: SessionRecord) -> Result<(), StoreError> {
        let path = self.mesh.layout.session(&record.last.agent.session);
        let before = files::read_note(&path)?.unwrap_or_default();
        Ok(self.mesh.files.replace(&path, &record.bytes_over(&before))?)
    }

    /// Moves the unreadable record of a session to quarantine; if the session comes back it counts as new. `stem` is
    /// the name of an existing file without its extension.
    pub fn put_session_aside(&self, stem: &str) -> Result<Option<String>, StoreError> {
        let path = self.mesh.layout.sessions().join(format!("{stem}.json"));
        self.mesh.put_aside(&path, "session", "it could not be read")
    }

    /// Moves a registration to quarantine that an agent of pi-messenger left behind and that cannot be buried.
    pub fn put_registration_aside(&self, name: &AgentName, reason: &str) -> Result<(), StoreError> {
        self.mesh.put_aside(&self.mesh.layout.registration(name), "registration", reason)?;
        Ok(())
    }

    pub fn forget(&self, session: &SessionId) -> Result<(), StoreError> {
        files::remove(&self.mesh.layout.session(session))?;
        Ok(())
    }

    /// Removes private files of processes that are gone.
    pub fn sweep(&self) -> Result<usize, StoreError> {
        Ok(self.mesh.files.sweep()?)
    }

    pub(super) fn open_grave(&self, grave: &GraveId, inscription: &GraveHeader) -> Result<(), FileError> {
        let dir = self.mesh.layout.grave(grave);
        files::create_dir(&dir.join("inbox"))?;
        self.mesh.files.replace(&dir.join("grave.json"), &wire::pretty(inscription))
    }

    /// Writes the registration into the grave, unless there is one.
    pub(super) fn inscribe(&self, grave: &GraveId, record: &Registration) -> Result<(), StoreError> {
        let path = self.mesh.layout.grave(grave).join("registration.json");
        let copy = wire::pretty(&record.copy());
        let (Published::Done | Published::Exists) = self.mesh.files.publish(&path, &copy)?;
        Ok(())
    }

    /// Moves all files of one directory into another, which is created if necessary. Messages that dead readers had
    /// taken, and messages that were offered to a model, become unread again.
    pub(super) fn move_mail(&self, from: &Path, to: &Path) -> Result<usize, FileError> {
        let mut moved = 0;
        for file in files::list(from)? {
            let dropped = dropped_by_dead(&file).or_else(|| Offer::of_file(&file).map(|offer| offer.stem));
            let target = dropped.map_or_else(|| file.clone(), |stem| stem.file());
            moved += usize::from(self.mesh.files.take_into(&from.join(&file), to, &to.join(target))?);
        }
        Ok(moved)
    }
}

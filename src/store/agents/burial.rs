//! Burial: moves the registration and the unread mail of an agent into a grave.
//!
//! pi-messenger takes no lock and may take the name of a dead agent at any moment. So a registration is first moved to
//! `registry/.<Name>.taken`, which nobody reads, and checked there: if it is the agent's own it goes into the grave,
//! otherwise it goes back. If a crash leaves a file there, the next process that holds the lock finishes the burial.
//!
//! The order of steps makes every crash harmless: the grave is opened, the mail is moved, and the registration goes
//! last, so a burial that was cut short is done again. An agent that leaves or is evicted is alive, so the burial first
//! writes this into its session record, and names the grave in `restores` of the registration: if the agent acts before
//! the burial is complete, its next command takes the mail back. `ops::agents::bury` settles unfinished burials before
//! anybody decides whether a name is free. `tests/model/burying.rs` checks every interleaving.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::grave_id::GraveId;
use super::graves::{GoneReason, GraveHeader};
use super::registry::{self, Registration};
use super::sessions::{Eviction, SessionRecord};
use crate::domain::{Agent, AgentName, Liveness};
use crate::store::error::StoreError;
use crate::store::layout;
use crate::store::locked_mesh::LockedMesh;
use crate::store::staged_change::StagedChange;
use crate::sys::files::{self, Published};
use crate::sys::{clock, process};

/// The longest step of the coarse clock that dates files.
const TICK: SignedDuration = SignedDuration::from_millis(10);

/// Which registration was found under the agent's name.
enum Found {
    Nothing,
    /// The agent's own.
    Own,
    /// Another agent's, with its start time if it can be read.
    Others(Option<Timestamp>),
}

impl StagedChange<'_> {
    /// Like [`LockedMesh::bury`], and commits the change, such as giving up claims, before any mail moves. If the
    /// registration of an agent that lives on can't be written again, nothing happens.
    pub fn commit_and_bury(
        mut self,
        record: &Registration,
        why: GoneReason,
        at: Timestamp,
        by: Option<&str>,
    ) -> Result<GraveId, StoreError> {
        let locked = self.locked();
        if let Some(machine) = &record.agent.machine {
            let (name, machine) = (record.agent.name.to_string(), machine.name.to_string());
            return Err(StoreError::Remote { name, machine });
        }
        let grave = GraveId::of(&record.agent);
        if lives_on(why) && !record.agent.is_foreign() {
            self.edit(&record.agent, |agent| agent.restores = Some(grave.to_string()))?;
        }
        let header = GraveHeader { why, at, by: by.map(str::to_string), is_ownerless: false };
        locked.open_grave(&grave, &header)?;
        self.commit()?;
        locked.fill_grave(&grave, record, header)?;
        Ok(grave)
    }
}

impl LockedMesh<'_> {
    /// Moves the registration and unread mail into a grave. The registration goes last: until then an interrupted
    /// burial is repeated, or undone if the agent is alive and acts first.
    pub fn bury(
        &mut self,
        record: &Registration,
        why: GoneReason,
        at: Timestamp,
        by: Option<&str>,
    ) -> Result<GraveId, StoreError> {
        self.change().commit_and_bury(record, why, at, by)
    }

    /// Moves the unread mail and then the registration into the open grave, after the session's record says what
    /// became of the agent.
    fn fill_grave(
        &self,
        grave: &GraveId,
        record: &Registration,
        GraveHeader { why, at, by, .. }: GraveHeader,
    ) -> Result<(), StoreError> {
        let layout = &self.mesh.layout;
        let agent = &record.agent;
        let (left, evicted) = match why {
            GoneReason::Left => (Some(at), None),
            GoneReason::Evicted => (None, Some(Eviction { by, at })),
            GoneReason::Died | GoneReason::Lost => (None, None),
        };
        if lives_on(why) || !files::exists(&layout.session(&agent.session))? {
            self.remember(SessionRecord { last: record.clone(), left, evicted })?;
        }
        let names = self.mesh.inboxes().names_of(agent)?;
        // A registration that an interrupted rename left under a former name would bring the agent back.
        for name in names.iter().filter(|name| ***name != agent.name) {
            files::remove(&layout.registration(name))?;
        }
        let there = layout.grave(grave).join("inbox");
        for name in &names {
            self.move_mail(&layout.inbox(name), &there)?;
        }
        let others_since = self.take_registration(record, grave)?;
        for name in &names {
            match others_since {
                Some(since) if **name == agent.name => self.give_mail_back(&there, name, since)?,
                _ => {
                    // Mail that arrived in the meantime.
                    self.move_mail(&layout.inbox(name), &there)?;
                    files::remove_dir(&layout.inbox(name))?;
                }
            }
        }
        if others_since.is_none() {
            self.forget_presence(&agent.name)?;
        }
        Ok(())
    }

    /// Moves the agent's registration into its grave. If another agent has the name by now, its registration stays, and
    /// the time since which it has the name is returned.
    fn take_registration(
        &self,
        record: &Registration,
        grave: &GraveId,
    ) -> Result<Option<Timestamp>, StoreError> {
        let layout = &self.mesh.layout;
        let agent = &record.agent;
        let (path, taken) = (layout.registration(&agent.name), layout.taken(&agent.name));
        // A crash may have left one.
        self.settle_taken(&agent.name)?;
        let mut found = self.find(&path, agent)?;
        if matches!(found, Found::Own) && self.mesh.files.take(&path, &taken)? {
            found = self.find(&taken, agent)?;
            match found {
                Found::Own => {
                    self.mesh.files.take(&taken, &layout.grave(grave).join("registration.json"))?;
                }
                Found::Nothing => {}
                Found::Others(_) => self.put_back_registration(&taken, &path)?,
            }
        }
        Ok(match found {
            Found::Own => None,
            Found::Nothing => {
                self.inscribe(grave, record)?;
                None
            }
            Found::Others(since) => {
                self.inscribe(grave, record)?;
                Some(since.unwrap_or_else(clock::now))
            }
        })
    }

    fn find(&self, path: &Path, agent: &Agent) -> Result<Found, StoreError> {
        Ok(match registry::read(path, agent.name.as_str())? {
            None => Found::Nothing,
            Some(Ok(found)) if found.agent.is_same_session(agent) => Found::Own,
            Some(Ok(found)) => Found::Others(Some(found.agent.started_at)),
            Some(Err(_)) => Found::Others(None),
        })
    }

    /// Puts a registration back, unless there is another one by now. Then it goes to quarantine: it was replaced, as
    /// pi-messenger replaces its own.
    fn put_back_registration(&self, taken: &Path, path: &Path) -> Result<(), StoreError> {
        match self.mesh.files.put_back(taken, path)? {
            Published::Done => {}
            Published::Exists => {
                self.mesh.put_aside(taken, "registration", "another took its name while it was moved")?;
            }
        }
        Ok(())
    }

    /// Returns mail to the inbox that arrived after another agent took the name: it is for that agent.
    fn give_mail_back(&self, grave: &Path, name: &AgentName, since: Timestamp) -> Result<(), StoreError> {
        let inbox = self.mesh.layout.inbox(name);
        for file in files::list(grave)? {
            let metadata = files::link_metadata(&grave.join(&file))?;
            let written = metadata.and_then(|metadata| metadata.modified().ok()).map(clock::from_system);
            if written.is_some_and(|written| written + TICK >= since) {
                self.mesh.files.take_into(&grave.join(&file), &inbox, &inbox.join(&file))?;
            }
        }
        Ok(())
    }

    /// Finishes burials that were interrupted while a registration was being checked.
    pub fn settle_all_taken(&self) -> Result<(), StoreError> {
        for file in files::list(&self.mesh.layout.registry())? {
            if let Some(name) = layout::taken_name(&file) {
                self.settle_taken(&name)?;
            }
        }
        Ok(())
    }

    /// Does that for one name: buries the agent if it was being buried, otherwise puts its registration back.
    fn settle_taken(&self, name: &AgentName) -> Result<(), StoreError> {
        let layout = &self.mesh.layout;
        let taken = layout.taken(name);
        let Some(read) = registry::read(&taken, name.as_str())? else { return Ok(()) };
        let grave = match &read {
            Ok(record) if self.is_being_buried(&record.agent)? => Some(GraveId::of(&record.agent)),
            _ => None,
        };
        match grave {
            Some(grave) => {
                self.mesh.files.take(&taken, &layout.grave(&grave).join("registration.json"))?;
                Ok(())
            }
            None => self.put_back_registration(&taken, &layout.registration(name)),
        }
    }

    fn is_being_buried(&self, agent: &Agent) -> Result<bool, StoreError> {
        let grave = self.mesh.layout.grave(&GraveId::of(agent));
        if !files::exists(&grave.join("grave.json"))? {
            return Ok(false);
        }
        let is_gone = process::liveness(&agent.process) == Liveness::Gone;
        if is_gone || agent.is_foreign() {
            return Ok(is_gone);
        }
        Ok(self.mesh.sessions().get(&agent.session)?.is_some_and(|known| !known.is_current()))
    }
}

/// Whether the agent's process goes on after the burial.
fn lives_on(why: GoneReason) -> bool {
    matches!(why, GoneReason::Left | GoneReason::Evicted)
}

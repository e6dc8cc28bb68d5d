//! `StagedChange`: what a command changes under the lock, decided first and written together.
//!
//! A command stages edits of registrations, claims and completions, and then commits them. Until then nothing is
//! written: a command that finds a file that it can't read or waits too long for `swarm.lock` leaves the mesh as it
//! was, except that `rename` has cleared the free name by then. A refusal writes only what ARCHITECTURE.md names.
//!
//! # The order of writes
//!
//! [`StagedChange::commit`] first writes the new content of all files into private files. A full disk is noticed there,
//! while nothing has changed. Then it moves the files into place, in the order in which they were staged. A process may
//! be killed between two of them, so the order is part of the decision: paths that go with a task come before the claim
//! that makes them bind, and a completion comes before the claim ends. Consecutive edits of one registration become one
//! write. Edits with another file in between stay apart, because the order may matter.
//!
//! Often one write decides, and the rest only tidies up: the mesh means the same without it. [`StagedChange::decided`]
//! marks that place, and [`StagedChange::commit_decision`] tells a change that was not made from one that was made and
//! not tidied up.
//!
//! # Limitations
//!
//! Some things are not staged but done directly by [`LockedMesh`]:
//!
//! - Registering takes a name by creating a file that must not exist. pi-messenger takes no lock, so whether the name
//!   is free is known only when it is taken.
//! - Graves, mail and quarantine are moved by renaming files. Each of these moves is complete in itself, and the next
//!   process goes on with the rest (`agents/burial.rs`).
//! - Removing the registration under a former name ends a rename, after everything else is in place.
//! - Activity counts (`LockedMesh::note_activity`) and repairs of `doctor` (`LockedClaims::salvage`) replace one file
//!   that no other has to agree with.
//!
//! Where these are mixed with a change, stage first, then move, then commit: so whatever can be refused is refused
//! before anything moves. But `swarm.lock` is free while mail moves: a change of claims is committed before, and `rename`
//! clears the new name before it takes that lock. Only mail that arrives under that name in between moves later.

use std::path::PathBuf;

use super::agents::registry::Registration;
use super::agents::sessions::SessionRecord;
use super::error::StoreError;
use super::locked_mesh::LockedMesh;
use super::tasks::claim_numbers::{self, ClaimNumbers};
use super::tasks::claims::Claims;
use super::tasks::completions::Completions;
use super::tasks::locked_claims::LockedClaims;
use crate::domain::Agent;
use crate::sys::files::{self, PreparedFile};
use crate::sys::{clock, test_switches};

/// Edits of registrations, claims and completions that are not written yet.
///
/// A change that is dropped is forgotten, which is right after an error and nowhere else
/// (`effects::changes::a_command_that_succeeds_forgets_no_change`).
#[derive(Debug)]
#[must_use = "nothing is written until it is committed"]
pub struct StagedChange<'l> {
    locked: &'l LockedMesh<'l>,
    /// `swarm.lock`, from the first look at the claims to the last write.
    swarm: Option<LockedClaims<'l>>,
    writes: Vec<StagedWrite>,
    /// How many of the writes decide, if the rest only tidies up.
    decisive: Option<usize>,
}

/// The new content of one file.
#[derive(Debug)]
enum StagedWrite {
    Registration(Box<StagedRegistration>),
    Claims(Claims),
    Completions(Completions),
    ClaimNumbers(ClaimNumbers),
}

#[derive(Debug)]
struct StagedRegistration {
    /// The agent before the change; its session id may be another.
    before: Agent,
    record: Registration,
    /// Made when the edit is staged: a registration that can't be written again fails there.
    bytes: Vec<u8>,
}

impl StagedRegistration {
    fn is_of(&self, agent: &Agent) -> bool {
        self.before.is_same_session(agent) || self.record.agent.is_same_session(agent)
    }
}

/// Files to put into place and to remove, in this order.
#[derive(Default)]
struct PreparedWrite {
    put: Vec<(PreparedFile, PathBuf)>,
    remove: Option<PathBuf>,
}

/// A change that was made.
#[derive(Debug)]
#[must_use = "it may not be tidied up"]
pub struct Committed {
    untidy: Option<StoreError>,
}

impl Committed {
    /// Why it was not tidied up, if it was not.
    pub fn tidied_up(self) -> Result<(), StoreError> {
        self.untidy.map_or(Ok(()), Err)
    }
}

impl LockedMesh<'_> {
    /// Begins a change of registrations, claims and completions. Nothing is written until it is committed. There is
    /// only one at a time: a change holds the whole content of files, so a second one would undo the first.
    ///
    /// ```
    /// # use ravenry::store::{LockedMesh, StoreError};
    /// fn two_changes(locked: &mut LockedMesh<'_>) -> Result<(), StoreError> {
    ///     let first = locked.change();
    ///     first.commit()?;
    ///     locked.change().commit()
    /// }
    /// ```
    ///
    /// ```compile_fail,E0499
    /// # use ravenry::store::{LockedMesh, StoreError};
    /// fn two_changes(locked: &mut LockedMesh<'_>) -> Result<(), StoreError> {
    ///     let first = locked.change();
    ///     locked.change().commit()?;
    ///     first.commit()
    /// }
    /// ```
    pub fn change(&mut self) -> StagedChange<'_> {
        StagedChange { locked: self, swarm: None, writes: Vec::new(), decisive: None }
    }
}

impl<'l> StagedChange<'l> {
    /// The mesh as it is on disk. It does not show what is staged.
    pub fn locked(&self) -> &'l LockedMesh<'l> {
        self.locked
    }

    /// Edits a registration of ours, and returns the agent as it will be. The edit starts from what is staged, else
    /// from what is on disk. The registration is found by session and process, not by name: the agent may have been
    /// renamed, or its name may belong to another by now.
    pub fn edit(&mut self, who: &Agent, edit: impl FnOnce(&mut Agent)) -> Result<Agent, StoreError> {
        let staged = self.writes.iter().rev().find_map(|write| match write {
            StagedWrite::Registration(staged) if staged.is_of(who) => Some(staged),
            _ => None,
        });
        let (before, mut record) = match staged {
            Some(staged) => (staged.before.clone(), staged.record.clone()),
            None => {
                let record = self.locked.own_record(who)?;
                (record.agent.clone(), record)
            }
        };
        if before.is_foreign() {
            return Err(StoreError::Foreign(before.name.to_string()));
        }
        edit(&mut record.agent);
        // The file is named after the agent. `rename` makes another file.
        debug_assert!(record.agent.name.is_spelled_as(&before.name), "an edit can't change the name");
        record.agent.name.clone_from(&before.name);
        // pi-messenger does not know that reservations can expire.
        record.agent.drop_expired(clock::now());
        let bytes = record.bytes(&self.locked.mesh.layout.registration(&before.name))?;
        let agent = record.agent.clone();
        self.stage(StagedWrite::Registration(Box::new(StagedRegistration { before, record, bytes })));
        Ok(agent)
    }

    /// The claims on disk. From here on `swarm.lock` is held, so that they can be changed.
    pub fn claims(&mut self) -> Result<Claims, StoreError> {
        self.claims_lock()?.claims()
    }

    /// The completions on disk, with `swarm.lock` held as for [`Self::claims`].
    pub fn completions(&mut self) -> Result<Completions, StoreError> {
        self.claims_lock()?.completions()
    }

    /// The numbers of claims on disk, with `swarm.lock` held as for [`Self::claims`]; and where a damaged file was put.
    pub fn claim_numbers(&mut self) -> Result<(ClaimNumbers, Option<String>), StoreError> {
        self.claims_lock()?;
        claim_numbers::read_or_restart(self.locked.mesh)
    }

    /// Stages the numbers of claims. They come before the claims: a number that nobody has does no harm.
    pub fn set_claim_numbers(&mut self, numbers: &ClaimNumbers) -> Result<(), StoreError> {
        self.claims_lock()?;
        self.stage(StagedWrite::ClaimNumbers(numbers.clone()));
        Ok(())
    }

    /// Takes `swarm.lock` if it is free now. Returns whether it is held.
    pub fn locks_claims_if_free(&mut self) -> Result<bool, StoreError> {
        if self.swarm.is_none() {
            self.swarm = self.locked.try_lock_claims()?;
        }
        Ok(self.swarm.is_some())
    }

    /// Stages the claims as they should be. They come from [`Self::claims`], without those of tasks that are done.
    pub fn set_claims(&mut self, claims: &Claims) -> Result<(), StoreError> {
        self.claims_lock()?;
        self.stage(StagedWrite::Claims(claims.clone()));
        Ok(())
    }

    /// Edits the claims, and drops those of tasks that are done.
    pub fn edit_claims(&mut self, edit: impl FnOnce(&mut Claims)) -> Result<(), StoreError> {
        let staged = self.writes.iter().rev().find_map(|write| match write {
            StagedWrite::Claims(claims) => Some(claims.clone()),
            _ => None,
        });
        let swarm = self.claims_lock()?;
        let mut claims = match staged {
            Some(staged) => staged,
            None => swarm.claims()?,
        };
        edit(&mut claims);
        swarm.drop_done(&mut claims);
        self.stage(StagedWrite::Claims(claims));
        Ok(())
    }

    /// Stages the completions as they should be.
    pub fn set_completions(&mut self, completions: &Completions) -> Result<(), StoreError> {
        self.claims_lock()?;
        self.stage(StagedWrite::Completions(completions.clone()));
        Ok(())
    }

    /// Forgets what is staged and goes on with an empty change under the same locks: for a refusal that is recorded.
    pub fn discard(&mut self) {
        self.writes.clear();
        self.decisive = None;
    }

    /// What is staged from here on only tidies up.
    pub fn decided(&mut self) {
        self.decisive.get_or_insert(self.writes.len());
    }

    /// Writes everything. If a write fails, those before it stay and those after it are not made, as if the process had
    /// been killed there.
    pub fn commit(self) -> Result<(), StoreError> {
        self.commit_decision()?.tidied_up()
    }

    /// Like [`Self::commit`], for a command that has to tell others of a change that was made but not tidied up.
    pub fn commit_decision(mut self) -> Result<Committed, StoreError> {
        self.write()
    }

    /// Writes what is staged so far and goes on with an empty change under the same locks: for what is right whatever
    /// the command decides, such as dropping the claims of dead agents.
    pub fn commit_so_far(&mut self) -> Result<(), StoreError> {
        self.write()?.tidied_up()
    }

    fn claims_lock(&mut self) -> Result<&LockedClaims<'l>, StoreError> {
        match &mut self.swarm {
            Some(swarm) => Ok(swarm),
            swarm => Ok(swarm.insert(self.locked.lock_claims()?)),
        }
    }

    /// Adds a write, or replaces the last one if it is of the same file.
    fn stage(&mut self, write: StagedWrite) {
        let is_same_file = match (self.writes.last(), &write) {
            (Some(StagedWrite::Registration(last)), StagedWrite::Registration(new)) => {
                last.before.name == new.before.name
            }
            (Some(StagedWrite::Claims(_)), StagedWrite::Claims(_)) => true,
            (Some(StagedWrite::Completions(_)), StagedWrite::Completions(_)) => true,
            (Some(StagedWrite::ClaimNumbers(_)), StagedWrite::ClaimNumbers(_)) => true,
            _ => false,
        };
        if is_same_file && self.decisive != Some(self.writes.len()) {
            self.writes.pop();
        }
        self.writes.push(write);
    }

    fn write(&mut self) -> Result<Committed, StoreError> {
        let writes = std::mem::take(&mut self.writes);
        let decisive = self.decisive.take().unwrap_or(writes.len());
        if !writes.is_empty() {
            test_switches::count("change-committed");
        }
        let prepared = writes.iter().map(|write| self.prepare(write)).collect::<Result<Vec<_>, _>>()?;
        for (number, prepared) in prepared.into_iter().enumerate() {
            match self.put(prepared) {
                Err(error) if number < decisive => return Err(error),
                Err(error) => return Ok(Committed { untidy: Some(error) }),
                Ok(()) => {}
            }
        }
        Ok(Committed { untidy: None })
    }

    fn prepare(&self, write: &StagedWrite) -> Result<PreparedWrite, StoreError> {
        let (layout, files) = (&self.locked.mesh.layout, &self.locked.mesh.files);
        let one =
            |bytes: &[u8], path: PathBuf| -> Result<_, StoreError> { Ok((files.prepare(bytes)?, path)) };
        match write {
            StagedWrite::Registration(staged) => {
                let StagedRegistration { before, record, bytes } = &**staged;
                let session = layout.session(&record.agent.session);
                let known = SessionRecord { last: record.clone(), left: None, evicted: None };
                // Of the old record only keys of later versions are kept. One that can't be read is replaced, so that
                // it does not stop this agent, or others who tidy up after it, again and again.
                let old = files::read_note(&session).ok().flatten().unwrap_or_default();
                let known = known.bytes_over(&old);
                let put = vec![one(bytes, layout.registration(&before.name))?, one(&known, session)?];
                let has_new_session = record.agent.session != before.session;
                Ok(PreparedWrite { put, remove: has_new_session.then(|| layout.session(&before.session)) })
            }
            StagedWrite::Claims(claims) => {
                let put = vec![one(&claims.bytes(), layout.claims())?];
                Ok(PreparedWrite { put, remove: None })
            }
            StagedWrite::Completions(completions) => {
                let put = vec![one(&completions.bytes(), layout.completions())?];
                Ok(PreparedWrite { put, remove: None })
            }
            StagedWrite::ClaimNumbers(numbers) => {
                let put = vec![one(&numbers.bytes(), layout.claim_numbers())?];
                Ok(PreparedWrite { put, remove: None })
            }
        }
    }

    fn put(&self, prepared: PreparedWrite) -> Result<(), StoreError> {
        for (file, path) in prepared.put {
            self.locked.mesh.files.put(file, &path)?;
        }
        if let Some(path) = prepared.remove {
            files::remove(&path)?;
        }
        Ok(())
    }
}

impl Drop for StagedChange<'_> {
    fn drop(&mut self) {
        if !self.writes.is_empty() {
            test_switches::count("change-forgotten");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::settings::Durability;
    use crate::store::{Mesh, MeshLocation, MeshOptions};
    use crate::sys::process;

    /// A mesh with one agent of ours.
    fn mesh(dir: &tempfile::TempDir) -> (Mesh, Agent) {
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(1) };
        let mesh = Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap();
        let text = include_str!("../../fixtures/pi-messenger/registry-RedIce.json");
        let mut agent = super::super::wire::registration::parse(text.as_bytes()).unwrap();
        let own = process::identify(process::own_pid()).unwrap();
        agent.process = crate::domain::RecordedProcess::Pinned(own);
        assert!(!agent.is_foreign());
        let registered = mesh.lock().unwrap().register(&Registration::new(agent.clone())).unwrap();
        assert_eq!(registered, files::Published::Done);
        (mesh, agent)
    }

    fn status(mesh: &Mesh, agent: &Agent) -> Option<String> {
        mesh.registry().get(&agent.name).unwrap().unwrap().agent.status
    }

    fn say(agent: &mut Agent, word: &str) {
        agent.status = Some(agent.status.take().unwrap_or_default() + word);
    }

    #[test]
    fn an_edit_builds_on_what_is_staged_and_only_a_commit_writes_it() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, agent) = mesh(&dir);
        let before = status(&mesh, &agent);
        let mut locked = mesh.lock().unwrap();
        let mut change = locked.change();
        change.edit(&agent, |agent| agent.status = Some("a".to_string())).unwrap();
        let other = crate::domain::SessionId::new("another").unwrap();
        let moved = change.edit(&agent, |agent| agent.session = other).unwrap();
        change.edit(&moved, |agent| say(agent, "b")).unwrap();
        let edited = change.edit(&agent, |agent| say(agent, "c")).unwrap();
        assert_eq!((edited.status.as_deref(), change.writes.len()), (Some("abc"), 1));
        assert_eq!(status(&mesh, &agent), before, "nothing is written yet");
        change.commit().unwrap();
        assert_eq!(status(&mesh, &agent).as_deref(), Some("abc"));
        assert!(mesh.sessions().get(&agent.session).unwrap().is_none(), "the record moved with the session");
        assert!(mesh.sessions().get(&edited.session).unwrap().is_some());
        let mut change = locked.change();
        change.edit(&edited, |agent| agent.status = None).unwrap();
        drop(change);
        assert_eq!(status(&mesh, &agent).as_deref(), Some("abc"), "what is dropped is forgotten");
    }

    #[test]
    fn what_is_discarded_is_not_written_with_what_follows() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, agent) = mesh(&dir);
        let mut locked = mesh.lock().unwrap();
        let mut change = locked.change();
        change.edit(&agent, |agent| agent.status = Some("a".to_string())).unwrap();
        change.decided();
        change.discard();
        assert!(change.writes.is_empty() && change.decisive.is_none());
        change.edit(&agent, |agent| agent.spec = Some("b".to_string())).unwrap();
        change.commit().unwrap();
        let written = mesh.registry().get(&agent.name).unwrap().unwrap().agent;
        assert_eq!((written.status, written.spec.as_deref()), (agent.status, Some("b")));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "an edit can't change the name")]
    fn an_edit_does_not_rename() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, agent) = mesh(&dir);
        let mut locked = mesh.lock().unwrap();
        let other = crate::domain::AgentName::new("Other").unwrap();
        locked.change().edit(&agent, |agent| agent.name = other).ok();
    }

    #[test]
    fn only_edits_without_another_file_in_between_become_one_write() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, agent) = mesh(&dir);
        let mut locked = mesh.lock().unwrap();
        let mut change = locked.change();
        change.edit(&agent, |agent| agent.status = None).unwrap();
        change.set_claims(&Claims::default()).unwrap();
        change.edit_claims(|_| {}).unwrap();
        change.edit(&agent, |agent| say(agent, "b")).unwrap();
        assert_eq!(change.writes.len(), 3);
        change.decided();
        change.edit(&agent, |agent| say(agent, "c")).unwrap();
        change.decided();
        assert_eq!((change.writes.len(), change.decisive), (4, Some(3)), "a decision is never put off");
        change.commit_so_far().unwrap();
        assert_eq!(status(&mesh, &agent).as_deref(), Some("bc"));
        assert!(change.writes.is_empty() && change.swarm.is_some() && change.decisive.is_none());
    }

    #[test]
    fn a_decision_stands_although_it_could_not_be_tidied_up() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, agent) = mesh(&dir);
        let mut locked = mesh.lock().unwrap();
        files::create_dir(&mesh.layout.completions()).unwrap();
        let mut stage = |mark: fn(&mut StagedChange<'_>)| {
            let mut change = locked.change();
            change.edit(&agent, |agent| agent.status = Some("made".to_string())).unwrap();
            mark(&mut change);
            change.set_completions(&Completions::default()).unwrap();
            change.commit_decision()
        };
        stage(|change| change.decided()).unwrap().tidied_up().unwrap_err();
        assert_eq!(status(&mesh, &agent).as_deref(), Some("made"));
        stage(|_| {}).unwrap_err();
    }
}

//! A census in which unreadable registrations are replaced by their last known state; answers who is alive, who has a
//! name and who holds what.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::domain::{Agent, AgentName};
use crate::store::{Census, LockedMesh, Mesh, Registration, SessionRecord, StoreError, UnreadableFile};
use crate::sys::clock;

use crate::ops::reservations::holdings::OtherReservations;

/// The registrations at one moment. Those that can't be read are replaced by their last known state, because
/// unreadable is not empty.
pub(in crate::ops) struct Roster<'s> {
    census: Cow<'s, Census>,
    stand_ins: Vec<Registration>,
    /// Registrations of which nothing is known.
    unknown: Vec<UnreadableFile>,
    now: Timestamp,
}

impl<'s> Roster<'s> {
    pub(in crate::ops) fn read(mesh: &Mesh) -> Result<Self, StoreError> {
        Ok(Self::of(mesh, Cow::Owned(mesh.registry().census()?)))
    }

    /// As it is under the lock: nothing changes until that is released.
    pub(in crate::ops) fn locked(mesh: &Mesh, locked: &LockedMesh<'_>) -> Result<Self, StoreError> {
        Ok(Self::of(mesh, Cow::Owned(locked.census()?)))
    }

    /// Of registrations that were read already.
    pub(in crate::ops) fn of(mesh: &Mesh, census: Cow<'s, Census>) -> Self {
        let (stand_ins, unknown) = stand_ins(mesh, &census);
        Self { census, stand_ins, unknown, now: clock::now() }
    }

    pub(in crate::ops) fn census(&self) -> &Census {
        &self.census
    }

    /// The registrations that reservations are read from.
    pub(in crate::ops) fn records(&self) -> impl Iterator<Item = &Registration> + Clone {
        self.census.records.iter().chain(&self.stand_ins)
    }

    /// The registered agents whose processes are alive.
    pub(in crate::ops) fn live(&self) -> impl Iterator<Item = &Agent> {
        self.census.records.iter().filter(|record| record.is_live()).map(|record| &record.agent)
    }

    /// The live agent that has this name, or had it and is still reached by it.
    pub(in crate::ops) fn find(&self, name: &AgentName) -> Option<&Agent> {
        self.census.find(name, self.now).filter(|record| record.is_live()).map(|record| &record.agent)
    }

    /// What everybody but `me` has reserved.
    pub(in crate::ops) fn others(&self, me: Option<&Agent>) -> OtherReservations<'_> {
        OtherReservations::new(self.records(), me, self.now)
    }

    /// Whether somebody holds something in every work tree of a repository.
    pub(in crate::ops) fn has_repository_reservation(&self) -> bool {
        self.records().any(|record| record.agent.holds_in_repository())
    }

    /// Registrations of which it is not known what they reserve.
    pub(in crate::ops) fn unknown(&self) -> &[UnreadableFile] {
        &self.unknown
    }
}

/// The last known state of registrations that can't be read, and those of which nothing is known.
fn stand_ins(mesh: &Mesh, census: &Census) -> (Vec<Registration>, Vec<UnreadableFile>) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    if census.unreadable.is_empty() {
        return (known, unknown);
    }
    let sessions = mesh.sessions().all().map(|sessions| sessions.records).unwrap_or_default();
    for file in &census.unreadable {
        // An odd registration is known as far as it matters; a dead agent holds nothing.
        if let Some(record) = &file.told {
            known.extend(record.is_live().then(|| Registration::clone(record)));
            continue;
        }
        let is_it = |session: &&SessionRecord| {
            session.is_current() && session.last.agent.name.as_str().eq_ignore_ascii_case(&file.stem)
        };
        let last = sessions.iter().filter(is_it).max_by_key(|session| session.last.agent.started_at);
        match last {
            Some(session) => known.push(session.last.clone()),
            None => unknown.push(file.clone()),
        }
    }
    (known, unknown)
}

//! `LockedClaims`: what may be done only while both `mesh.lock` and `swarm.lock` are held: changing claims and
//! completions.

use std::path::Path;
use std::time::Duration;

use super::claims::{Claim, Claims, read_claims, read_completions};
use super::completions::Completions;
use super::swarm_lock::SwarmLock;
use crate::store::error::StoreError;
use crate::store::lock_order::{LockOrderGuard, LockRank};
use crate::store::locked_mesh::LockedMesh;
use crate::sys::files;

/// What was saved of a damaged file.
#[derive(Clone, Debug)]
pub struct Salvaged {
    pub kept: usize,
    pub dropped: usize,
    /// The path of the original in quarantine.
    pub aside: String,
}

/// Both locks held, which allows changes to claims and completions: by a [`crate::store::StagedChange`], or by
/// repairing damaged files.
#[derive(Debug)]
#[must_use = "the lock is free again as soon as this is dropped"]
pub struct LockedClaims<'l> {
    locked: &'l LockedMesh<'l>,
    held: Option<SwarmLock>,
    /// Whether the lock was taken together with `mesh.lock` for another purpose, and goes back there.
    is_lent: bool,
    _turn: LockOrderGuard,
}

impl Drop for LockedClaims<'_> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take().filter(|_| self.is_lent) {
            self.locked.keep_swarm_lock(held);
        }
    }
}

impl LockedMesh<'_> {
    /// Takes `swarm.lock`, which pi-messenger respects, to repair claims and completions; a
    /// [`crate::store::StagedChange`] takes it by itself. If [`crate::store::Mesh::lock_with_claims`] did not take it,
    /// this waits for it with `mesh.lock` held.
    pub fn lock_claims(&self) -> Result<LockedClaims<'_>, StoreError> {
        LockedClaims::lock(self)
    }

    /// Like [`LockedMesh::lock_claims`] but without waiting, for work that another process may do later. `None`: the
    /// lock is held.
    pub(in crate::store) fn try_lock_claims(&self) -> Result<Option<LockedClaims<'_>>, StoreError> {
        LockedClaims::try_lock(self)
    }
}

impl<'l> LockedClaims<'l> {
    fn lock(locked: &'l LockedMesh<'l>) -> Result<Self, StoreError> {
        let mesh = locked.mesh;
        let order = LockOrderGuard::begin(LockRank::Swarm, mesh.options.lock_timeout);
        let held = locked.swarm_lock(order.left())?;
        Ok(Self { locked, held: Some(held), is_lent: false, _turn: order })
    }

    fn try_lock(locked: &'l LockedMesh<'l>) -> Result<Option<Self>, StoreError> {
        let order = LockOrderGuard::begin(LockRank::Swarm, Duration::ZERO);
        let is_lent = locked.has_swarm_lock();
        match locked.swarm_lock(Duration::ZERO) {
            Ok(held) => Ok(Some(Self { locked, held: Some(held), is_lent, _turn: order })),
            Err(StoreError::SwarmLockTimedOut { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(in crate::store) fn claims(&self) -> Result<Claims, StoreError> {
        read_claims(&self.locked.mesh.layout)
    }

    /// Repairs a file that cannot be parsed: valid entries are kept, and the original goes to quarantine. `None`:
    /// nothing was wrong.
    pub fn salvage(&self) -> Result<Option<Salvaged>, StoreError> {
        let path = self.locked.mesh.layout.claims();
        let Some(bytes) = damaged(&path)? else { return Ok(None) };
        if Claims::parse(&bytes).is_ok() {
            return Ok(None);
        }
        let (mut claims, dropped) = Claims::salvage(&bytes);
        self.drop_done(&mut claims);
        let kept = claims.iter().count();
        let Some(aside) = self.locked.mesh.put_aside(&path, "claims", "it could not be read")? else {
            return Ok(None);
        };
        self.write(&claims)?;
        Ok(Some(Salvaged { kept, dropped, aside }))
    }

    /// Drops claims on completed tasks, which an interrupted completion leaves behind. They are recognised by
    /// `claims.json` being the older file. So every other writer of claims must call this first, or the paths reserved
    /// with those tasks would bind again.
    pub(in crate::store) fn drop_done(&self, claims: &mut Claims) {
        let Some(done) = self.locked.mesh.tasks().done_since_claims() else { return };
        let is_done = |claim: &Claim| done.has(&claim.spec, &claim.task);
        for claim in claims.iter().filter(is_done).collect::<Vec<_>>() {
            claims.remove(&claim);
        }
    }

    pub(in crate::store) fn completions(&self) -> Result<Completions, StoreError> {
        read_completions(&self.locked.mesh.layout)
    }

    fn write_completions(&self, completions: &Completions) -> Result<(), StoreError> {
        let path = self.locked.mesh.layout.completions();
        Ok(self.locked.mesh.files.replace(&path, &completions.bytes())?)
    }

    /// [`LockedClaims::salvage`] for the completions.
    pub fn salvage_completions(&self) -> Result<Option<Salvaged>, StoreError> {
        let path = self.locked.mesh.layout.completions();
        let Some(bytes) = damaged(&path)? else { return Ok(None) };
        if Completions::parse(&bytes).is_ok() {
            return Ok(None);
        }
        let (completions, dropped) = Completions::salvage(&bytes);
        let kept = completions.count();
        let Some(aside) = self.locked.mesh.put_aside(&path, "completions", "it could not be read")? else {
            return Ok(None);
        };
        self.write_completions(&completions)?;
        Ok(Some(Salvaged { kept, dropped, aside }))
    }

    fn write(&self, claims: &Claims) -> Result<(), StoreError> {
        let path = self.locked.mesh.layout.claims();
        Ok(self.locked.mesh.files.replace(&path, &claims.bytes())?)
    }
}

/// The bytes of a damaged file. A file too large to be read counts as empty, because nothing of it can be kept.
fn damaged(path: &Path) -> Result<Option<Vec<u8>>, files::FileError> {
    match files::read(path) {
        Err(error) if error.is_oversized() => Ok(Some(Vec::new())),
        read => read,
    }
}

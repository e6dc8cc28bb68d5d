//! `Mesh`: opens the directory that agents share, and takes its locks. What is in it is read by `handles`.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::directory_kind::{self, DirectoryKind};
use super::error::StoreError;
use super::layout::{DIRECTORIES, Layout};
use super::location::MeshLocation;
use super::lock_order::{LockOrderGuard, LockRank};
use super::locked_mesh::LockedMesh;
use super::swarm_lock;
use crate::domain::Agent;
use crate::domain::settings::Durability;
use crate::sys::clock;
use crate::sys::directory_trust::{self, Privacy, SafeDirectory, UnsafeDirectory};
use crate::sys::files::{self, Files, LinkableFile};
use crate::sys::filesystem;
use crate::sys::flock::FileLock;

/// Settings for using a mesh.
#[derive(Clone, Copy, Debug)]
pub struct MeshOptions {
    pub durability: Durability,
    pub lock_timeout: Duration,
}

/// Report that the directory was open to other users and has been closed to them.
#[derive(Clone, Debug)]
pub struct PermissionChange {
    pub path: String,
    pub mode: u32,
}

/// The directory that agents share.
#[derive(Debug)]
pub struct Mesh {
    pub(super) layout: Layout,
    pub(super) files: Files,
    pub(super) options: MeshOptions,
    /// The mode of a directory that is open to other users, until a command writes to it.
    loose: Option<u32>,
    tightened: OnceLock<PermissionChange>,
    /// See [`swarm_lock::token`].
    token: OnceLock<LinkableFile>,
}

impl Mesh {
    /// Opens the mesh at that location; `None` if there is none yet. Fails if other users could write to it, or if the
    /// directory contains something else. Changes nothing.
    pub fn open(location: &MeshLocation, options: MeshOptions) -> Result<Option<Self>, StoreError> {
        let Some(verdict) = directory_trust::inspect(&location.dir)? else { return Ok(None) };
        let SafeDirectory { real, privacy } = verdict.map_err(distrusted)?;
        if directory_kind::examine(&real)? == DirectoryKind::Foreign {
            return Err(StoreError::NotAMesh(real));
        }
        // Symbolic links on the way were checked once. From here on the real path is used, so they cannot redirect us.
        let layout = Layout::new(real);
        let loose = match privacy {
            Privacy::Private => None,
            Privacy::Loose { mode } => Some(mode),
        };
        let files = Files::new(layout.tmp(), options.durability);
        let (tightened, token) = (OnceLock::new(), OnceLock::new());
        Ok(Some(Self { layout, files, options, loose, tightened, token }))
    }

    /// Opens the mesh at that location, and creates it if there is none.
    pub fn create(location: &MeshLocation, options: MeshOptions) -> Result<Self, StoreError> {
        if !files::exists(&location.dir)? {
            files::create_dir(&location.dir)?;
        }
        let vanished = || StoreError::Corrupt {
            path: location.dir.clone(),
            reason: "it was removed as soon as it was made".to_string(),
        };
        let mesh = Self::open(location, options)?.ok_or_else(vanished)?;
        mesh.tighten()?;
        for name in DIRECTORIES {
            let dir = mesh.layout.directory(name);
            if !files::exists(&dir)? {
                files::create_dir(&dir)?;
            }
        }
        Ok(mesh)
    }

    /// Closes the directory to other users, if it is open to them. Only called before writing, never by commands that
    /// only read.
    pub fn tighten(&self) -> Result<(), StoreError> {
        if let Some(mode) = self.loose
            && self.tightened.get().is_none()
        {
            let root = self.layout.root();
            files::set_mode(root, files::DIR_MODE)?;
            self.tightened.get_or_init(|| PermissionChange { path: root.display().to_string(), mode });
        }
        Ok(())
    }

    /// The change that [`Self::tighten`] made, if it made one.
    pub fn tightened(&self) -> Option<&PermissionChange> {
        self.tightened.get()
    }

    /// The mode of the directory, if it is open to other users.
    pub fn loose(&self) -> Option<u32> {
        self.loose.filter(|_| self.tightened.get().is_none())
    }

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

    /// Takes `mesh.lock` together with `swarm.lock`, so that [`LockedMesh::swarm`] need not wait. While waiting for
    /// pi-messenger to release `swarm.lock`, it does not hold `mesh.lock`, so commands that need no claims are not
    /// blocked.
    pub fn lock_with_swarm(&self) -> Result<LockedMesh<'_>, StoreError> {
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
        if has_claims { self.lock_with_swarm() } else { self.lock() }
    }

    pub fn file_system(&self) -> Option<filesystem::FileSystemKind> {
        filesystem::kind(self.layout.root())
    }

    pub(super) fn swarm_token(&self) -> Result<&LinkableFile, StoreError> {
        if let Some(token) = self.token.get() {
            return Ok(token);
        }
        let token = swarm_lock::token(&self.files)?;
        Ok(self.token.get_or_init(|| token))
    }

    /// The difference between the clock that dates files and the machine's own.
    pub fn clock_skew(&self) -> Result<Duration, StoreError> {
        let probe = self.layout.tmp().join(format!("{}.clock", files::own_mark()));
        let written = self.files.publish(&probe, b"")?;
        let modified = files::metadata(&probe)?.and_then(|metadata| metadata.modified().ok());
        files::remove(&probe)?;
        let now = clock::machine_time();
        let skew = |modified| match now.duration_since(modified) {
            Ok(behind) => behind,
            Err(error) => error.duration(),
        };
        debug_assert_eq!(written, files::Published::Done);
        Ok(modified.map(skew).unwrap_or_default())
    }
}

/// Adds the command that makes the directory safe, but only for the user's own mesh: nobody should change the mode or
/// owner of a shared temporary directory or of a system directory because of us.
fn distrusted(distrust: UnsafeDirectory) -> StoreError {
    let dir = distrust.path();
    // A directory that cannot be examined has no marks.
    let is_mesh = directory_kind::looks_like_mesh(dir).unwrap_or(false);
    let is_mine = matches!(distrust, UnsafeDirectory::OthersWrite { .. }) || directory_trust::is_in_mine(dir);
    let remedy = distrust.remedy().filter(|_| is_mesh && is_mine);
    StoreError::Unsafe { distrust, remedy }
}

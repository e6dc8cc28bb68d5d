//! `Mesh`: opens the directory that agents share. What is in it is read by `handles`; `locked_mesh` takes its lock.

use std::sync::OnceLock;
use std::time::Duration;

use super::directory_kind::{self, DirectoryKind};
use super::error::StoreError;
use super::layout::{DIRECTORIES, Layout, OF_MACHINE};
use super::location::MeshLocation;
use super::tasks::swarm_lock;
use crate::domain::settings::Durability;
use crate::sys::clock;
use crate::sys::directory_trust::{self, Privacy, SafeDirectory, UnsafeDirectory};
use crate::sys::files::{self, Files, LinkableFile};
use crate::sys::filesystem;

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
        let of_machine: &[&str] = if location.is_of_machine { &OF_MACHINE } else { &[] };
        if directory_kind::examine(&real, of_machine)? == DirectoryKind::Foreign {
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
    pub fn open_permissions(&self) -> Option<u32> {
        self.loose.filter(|_| self.tightened.get().is_none())
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

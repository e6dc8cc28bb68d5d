//! A mesh: the directory, and what anyone may look at without a lock.

use std::time::Duration;

use jiff::Timestamp;

use super::error::StoreError;
use super::graves::{self, Grave, GraveId};
use super::layout::{DIRECTORIES, Layout};
use super::locate::Location;
use super::locked::Locked;
use super::registry::{self, Census};
use super::sessions::{self, SessionRecord, Sessions};
use super::swarm::{self, Claims};
use crate::domain::settings::Durability;
use crate::domain::{Agent, AgentName, SessionId};
use crate::sys::clock;
use crate::sys::files::{self, Files, Stray};
use crate::sys::filesystem;
use crate::sys::flock::FileLock;
use crate::sys::trust::{self, Privacy};

/// How a mesh is to be used.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub durability: Durability,
    pub lock_timeout: Duration,
}

/// The directory was open to others and is so no more.
#[derive(Clone, Debug)]
pub struct Tightened {
    pub path: String,
    pub mode: u32,
}

/// The directory that agents share.
#[derive(Debug)]
pub struct Mesh {
    pub(super) layout: Layout,
    pub(super) files: Files,
    pub(super) options: Options,
    tightened: Option<Tightened>,
}

impl Mesh {
    /// The mesh at that place, or `None` if there is none yet. One that others could write to is an error.
    pub fn open(location: &Location, options: Options) -> Result<Option<Self>, StoreError> {
        let layout = Layout::new(location.dir.clone());
        let Some(verdict) = trust::inspect(layout.root())? else { return Ok(None) };
        let tightened = match verdict.map_err(StoreError::Unsafe)? {
            Privacy::Private => None,
            Privacy::Loose { mode } => {
                files::set_mode(
                    &fs_err::canonicalize(layout.root()).map_err(files::FileError::from)?,
                    files::DIR_MODE,
                )?;
                Some(Tightened { path: location.to_string(), mode })
            }
        };
        let files = Files::new(layout.tmp(), options.durability);
        Ok(Some(Self { layout, files, options, tightened }))
    }

    /// The mesh at that place, made if there is none.
    pub fn create(location: &Location, options: Options) -> Result<Self, StoreError> {
        if !files::exists(&location.dir)? {
            files::create_dir(&location.dir)?;
        }
        let Some(mesh) = Self::open(location, options)? else {
            // A link that leads nowhere.
            files::create_dir(&location.dir)?;
            return Self::open(location, options)?.ok_or_else(|| StoreError::Corrupt {
                path: location.dir.clone(),
                reason: "it is removed as soon as it is made".to_string(),
            });
        };
        for name in DIRECTORIES {
            let dir = mesh.layout.directory(name);
            if !files::exists(&dir)? {
                files::create_dir(&dir)?;
            }
        }
        Ok(mesh)
    }

    /// What `open` took away from others.
    pub fn tightened(&self) -> Option<&Tightened> {
        self.tightened.as_ref()
    }

    /// Waits for the lock of the mesh.
    pub fn lock(&self) -> Result<Locked<'_>, StoreError> {
        let held = FileLock::acquire(&self.layout.mesh_lock(), self.options.lock_timeout)?;
        Ok(Locked::new(self, held))
    }

    /// The lock of the mesh if it is free at once.
    pub fn try_lock(&self) -> Result<Option<Locked<'_>>, StoreError> {
        let held = FileLock::try_acquire(&self.layout.mesh_lock())?;
        Ok(held.map(|held| Locked::new(self, held)))
    }

    /// Everyone who is registered, dead or alive.
    pub fn census(&self) -> Result<Census, StoreError> {
        Ok(registry::census(&self.layout)?)
    }

    pub fn session(&self, session: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        Ok(sessions::read(&self.layout, session)?)
    }

    pub fn sessions(&self) -> Result<Sessions, StoreError> {
        Ok(sessions::all(&self.layout)?)
    }

    pub fn graves(&self) -> Result<Vec<Grave>, StoreError> {
        Ok(graves::all(&self.layout)?)
    }

    /// The graves of that session, whatever name it had.
    pub fn graves_of(&self, session: &SessionId) -> Result<Vec<GraveId>, StoreError> {
        Ok(graves::of_session(&self.layout, session)?)
    }

    /// Who works on what, as far as it can be read.
    pub fn claims(&self) -> Result<Claims, StoreError> {
        swarm::read_claims(&self.layout)
    }

    /// The last sign of life: a touch of `presence/`, else what the registration says.
    pub fn last_sign(&self, agent: &Agent) -> Result<Timestamp, StoreError> {
        let touched = files::metadata(&self.layout.presence(&agent.name))?
            .and_then(|metadata| metadata.modified().ok());
        let known = [touched.map(clock::from_system), agent.last_activity, Some(agent.started_at)];
        Ok(known.into_iter().flatten().max().unwrap_or(agent.started_at))
    }

    /// A sign of life, now.
    pub fn touch(&self, name: &AgentName) -> Result<(), StoreError> {
        Ok(files::touch(&self.layout.presence(name))?)
    }

    /// How many messages wait for the agent, under its former names too.
    pub fn unread(&self, agent: &Agent) -> Result<usize, StoreError> {
        let mut unread = 0;
        for name in std::iter::once(&agent.name).chain(agent.formerly.iter().map(|former| &former.name)) {
            let waiting = files::list(&self.layout.inbox(name))?;
            unread += waiting.iter().filter(|file| file.ends_with(".json") && !file.starts_with('.')).count();
        }
        Ok(unread)
    }

    pub fn file_system(&self) -> Option<filesystem::Kind> {
        filesystem::kind(self.layout.root())
    }

    /// Private files on their way, and whether their process lives.
    pub fn strays(&self) -> Result<Vec<Stray>, StoreError> {
        Ok(self.files.strays()?)
    }

    /// Who holds `mesh.lock` now, where the system tells.
    pub fn lock_holder(&self) -> Option<crate::domain::Pid> {
        crate::sys::flock::holder(&self.layout.mesh_lock())
    }

    /// What stands in the way of `swarm.lock`.
    pub fn swarm_obstacle(&self) -> Result<Option<super::Obstacle>, StoreError> {
        super::swarm_lock::examine(&self.layout.swarm_lock())
    }

    /// The difference between the clock that dates the files and the machine's own.
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

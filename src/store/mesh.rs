//! `Mesh`: the directory that agents share, and everything that needs no lock.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::claims::{self, Claims};
use super::directory_kind::{self, DirectoryKind};
use super::error::StoreError;
use super::graves::{self, GraveId, Graves};
use super::inbox::dropped_by_dead;
use super::layout::{DIRECTORIES, Layout};
use super::location::MeshLocation;
use super::lock_order::{LockOrderGuard, LockRank};
use super::locked_mesh::LockedMesh;
use super::registry::{self, Census, Registration};
use super::sessions::{self, SessionRecord, Sessions};
use super::swarm_lock;
use crate::domain::settings::Durability;
use crate::domain::{Agent, AgentName, SessionId, TaskRef};
use crate::sys::clock;
use crate::sys::directory_trust::{self, Privacy, SafeDirectory, UnsafeDirectory};
use crate::sys::files::{self, Files, LeftoverFile, LinkableFile};
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
        let has_claims = self.claims().is_ok_and(|claims| !claims.of(agent).is_empty());
        if has_claims { self.lock_with_swarm() } else { self.lock() }
    }

    /// All registrations, of dead agents too.
    pub fn census(&self) -> Result<Census, StoreError> {
        let mut census = registry::census(&self.layout)?;
        self.leave_out_unbound(&mut census);
        Ok(census)
    }

    /// Drops reservations that were made with a task that their holder no longer has. If the claims cannot be read, all
    /// reservations stay.
    pub(super) fn leave_out_unbound(&self, census: &mut Census) {
        let has_task =
            |record: &Registration| record.agent.reservations.iter().any(|held| held.task.is_some());
        if !census.records.iter().any(has_task) {
            return;
        }
        let Ok(claims) = self.claims() else { return };
        let done = self.done_since_claims();
        let is_done = |task: &TaskRef| done.as_ref().is_some_and(|done| done.has(&task.spec, &task.id));
        for record in &mut census.records {
            let agent = record.agent.clone();
            let has = |task: &TaskRef| claims.has(&agent, task) && !is_done(task);
            record.agent.reservations.retain(|held| held.task.as_ref().is_none_or(has));
        }
    }

    /// The completions, unless they were certainly written before the claims. Completing a task may have been
    /// interrupted, which leaves a claim on a completed task. Two writes within one tick of the clock have the same
    /// time, so equal times count.
    pub(super) fn done_since_claims(&self) -> Option<super::Completions> {
        let modified = |path: &Path| files::metadata(path).ok().flatten()?.modified().ok();
        let (claims, done) = (modified(&self.layout.claims())?, modified(&self.layout.completions())?);
        if done >= claims { self.completions().ok() } else { None }
    }

    /// Reads that file of the registry; `None` if there is none.
    pub(super) fn registration_file(
        &self,
        stem: &str,
    ) -> Option<Result<Registration, registry::UnreadableFile>> {
        registry::read_alone(&self.layout.registry().join(format!("{stem}.json")), stem)
    }

    /// The registration with exactly that name, if it is readable.
    pub fn registration(&self, name: &AgentName) -> Result<Option<Registration>, StoreError> {
        let read = registry::read(&self.layout.registration(name), name.as_str())?;
        Ok(read.and_then(Result::ok))
    }

    pub fn session(&self, session: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        sessions::read(&self.layout, session)
    }

    /// The name that the session had last, if it is known.
    pub fn name_of_session(&self, session: &SessionId) -> Result<Option<AgentName>, StoreError> {
        sessions::name(&self.layout, session)
    }

    pub fn sessions(&self) -> Result<Sessions, StoreError> {
        Ok(sessions::all(&self.layout)?)
    }

    pub fn graves(&self) -> Result<Graves, StoreError> {
        Ok(graves::all(&self.layout)?)
    }

    /// The graves of a session, under whatever names it had.
    pub fn graves_of(&self, session: &SessionId) -> Result<Vec<GraveId>, StoreError> {
        Ok(graves::of_session(&self.layout, session)?)
    }

    /// The session that gets the lost mail of that grave when it comes back; `None` if it is not known.
    pub fn lost_mail_owner(&self, grave: &GraveId) -> Result<Option<SessionRecord>, StoreError> {
        Ok(graves::lost_mail_owner(&self.layout, grave)?)
    }

    /// All readable claims.
    pub fn claims(&self) -> Result<Claims, StoreError> {
        claims::read_claims(&self.layout)
    }

    /// All readable completions.
    pub fn completions(&self) -> Result<super::Completions, StoreError> {
        claims::read_completions(&self.layout)
    }

    /// The agent's last sign of life: the latest of its presence file's time, its last activity and its start.
    pub fn last_sign(&self, agent: &Agent) -> Result<Timestamp, StoreError> {
        let touched = files::metadata(&self.layout.presence(&agent.name))?
            .and_then(|metadata| metadata.modified().ok());
        let known = [touched.map(clock::from_system), agent.last_activity, Some(agent.started_at)];
        Ok(known.into_iter().flatten().max().unwrap_or(agent.started_at))
    }

    /// The time of the agent's presence file.
    pub fn last_touch(&self, name: &AgentName) -> Result<Option<Timestamp>, StoreError> {
        let touched = files::metadata(&self.layout.presence(name))?;
        Ok(touched.and_then(|metadata| metadata.modified().ok()).map(clock::from_system))
    }

    /// Records a sign of life now.
    pub fn touch(&self, name: &AgentName) -> Result<(), StoreError> {
        let path = self.layout.presence(name);
        match files::touch(&path) {
            Err(_) if !files::exists(&self.layout.directory("presence"))? => {
                files::create_dir(&self.layout.directory("presence"))?;
                Ok(files::touch(&path)?)
            }
            touched => Ok(touched?),
        }
    }

    /// The names whose inboxes hold mail for the agent: its own, and former ones unless another agent has such a name
    /// now. Agents of ours don't take a former name for ten minutes, but pi-messenger does not know about former names.
    pub fn mailboxes<'a>(&self, agent: &'a Agent) -> Result<Vec<&'a AgentName>, StoreError> {
        let mut names = vec![&agent.name];
        for former in agent.formerly.iter().map(|former| &former.name) {
            let registered = registry::read(&self.layout.registration(former), former.as_str())?;
            if registered.is_none_or(|read| read.is_ok_and(|record| record.agent.is_same_session(agent))) {
                names.push(former);
            }
        }
        Ok(names)
    }

    /// Number of unread messages of the agent.
    pub fn unread(&self, agent: &Agent) -> Result<usize, StoreError> {
        let mut unread = 0;
        for name in self.mailboxes(agent)? {
            let waiting = files::list(&self.layout.inbox(name))?;
            let counts = |file: &&String| match file.starts_with('.') {
                true => dropped_by_dead(file).is_some(),
                false => file.ends_with(".json"),
            };
            unread += waiting.iter().filter(counts).count();
        }
        Ok(unread)
    }

    /// Whether there is any file in the inbox of that name.
    pub fn has_mail(&self, name: &AgentName) -> Result<bool, StoreError> {
        Ok(!files::list(&self.layout.inbox(name))?.is_empty())
    }

    pub fn file_system(&self) -> Option<filesystem::FileSystemKind> {
        filesystem::kind(self.layout.root())
    }

    /// Private files that are being written, and whether their processes are alive.
    pub fn strays(&self) -> Result<Vec<LeftoverFile>, StoreError> {
        Ok(self.files.strays()?)
    }

    /// The process that holds `mesh.lock` now, if the system reports it.
    pub fn lock_holder(&self) -> Option<crate::domain::Pid> {
        crate::sys::flock::holder(&self.layout.mesh_lock())
    }

    pub(super) fn swarm_token(&self) -> Result<&LinkableFile, StoreError> {
        if let Some(token) = self.token.get() {
            return Ok(token);
        }
        let token = swarm_lock::token(&self.files)?;
        Ok(self.token.get_or_init(|| token))
    }

    /// Whether `swarm.lock` is held or stale; `None` if there is no such file.
    pub fn swarm_obstacle(&self) -> Result<Option<super::SwarmLockState>, StoreError> {
        swarm_lock::examine(&self.layout.swarm_lock())
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

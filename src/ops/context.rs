//! What a command knows before it starts: the caller, the directory, the settings, and the mesh.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use crate::domain::Agent;
use crate::domain::settings::Settings;
use crate::domain::{AgentName, SessionId};
use crate::ops::link::elsewhere::RepositoryHere;
use crate::store::config_files::{self, LoadedSettings};
use crate::store::{Mesh, MeshLocation, MeshOptions};
use crate::sys::environment::{self, Home};

use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::project_scope::ProjectScope;

/// Options of every command.
#[derive(Clone, Debug, Default)]
pub struct GlobalOptions {
    pub mesh: Option<String>,
    /// `--as`: the agent that the caller claims to be.
    pub acting_as: Option<AgentName>,
    /// The directory it is about, if not the working directory of the process.
    pub cwd: Option<PathBuf>,
    /// A limit for waiting for locks, whatever is configured.
    pub lock_timeout: Option<Duration>,
    /// The client, if one process serves it for long.
    pub client: Option<McpClient>,
}

/// The client of a server: it started the server, and talks to it as long as both live.
#[derive(Clone, Debug, Default)]
pub struct McpClient {
    /// The session that it says it is, and the session that this is part of; empty if it doesn't say.
    pub sessions: Vec<SessionId>,
}

#[derive(Debug)]
pub struct Context {
    pub home: Home,
    pub cwd: PathBuf,
    pub settings: Settings,
    pub location: MeshLocation,
    pub acting_as: Option<AgentName>,
    pub(super) client: Option<McpClient>,
    lock_timeout: Option<Duration>,
    /// Warnings about the configuration files.
    pub(super) warnings: Vec<String>,
    /// Opened once, when it is first needed: most hooks don't need it, `join` may have to create it, and opening it
    /// twice would check twice whether it is safe.
    mesh: OnceCell<Rc<Mesh>>,
    /// Why the user's configuration can't be used; the command goes on with the last readable one.
    pub(super) broken_config: Option<String>,
    /// Why the settings can't be saved for that case.
    pub(super) not_kept: Option<String>,
    /// Why it is not known which directory is the mesh.
    unknown_mesh: Option<CommandError>,
}

impl Context {
    /// Fails at the first configuration file that can't be used.
    pub fn new(globals: GlobalOptions) -> Result<Self, CommandError> {
        let (ctx, errors) = Self::tolerant(globals)?;
        errors.into_iter().next().map_or(Ok(ctx), Err)
    }

    /// For commands that repair such files: goes on with what could be read.
    pub fn tolerant(globals: GlobalOptions) -> Result<(Self, Vec<CommandError>), CommandError> {
        Self::with_settings(globals, config_files::load)
    }

    /// For a lookup that must leave no trace: nothing of what is read is kept, and errors in the settings are not told.
    pub fn for_lookup(globals: GlobalOptions) -> Result<Self, CommandError> {
        Ok(Self::with_settings(globals, config_files::look)?.0)
    }

    fn with_settings(
        globals: GlobalOptions,
        load: fn(&Home, &Path, Option<&str>) -> LoadedSettings,
    ) -> Result<(Self, Vec<CommandError>), CommandError> {
        if globals.mesh.as_deref() == Some("") {
            return Err(CommandError::new(
                CommandErrorKind::InvalidValue,
                "`--mesh` must be the path of a directory",
            ));
        }
        let (home, cwd) = match globals.cwd {
            Some(cwd) => (Home::find()?, cwd),
            None => home_and_cwd()?,
        };
        let loaded = load(&home, &cwd, globals.mesh.as_deref());
        let location = MeshLocation::find(&loaded.settings, &home)?;
        let errors: Vec<CommandError> = loaded.errors.into_iter().map(CommandError::from).collect();
        let unknown_mesh = errors.first().filter(|_| loaded.is_mesh_unknown).cloned();
        let GlobalOptions { acting_as, lock_timeout, client, .. } = globals;
        let ctx = Self {
            home,
            cwd,
            settings: loaded.settings,
            location,
            acting_as,
            client,
            lock_timeout,
            warnings: loaded.warnings,
            mesh: OnceCell::new(),
            broken_config: loaded.broken,
            not_kept: loaded.not_kept.map(|error| error.to_string()),
            unknown_mesh,
        };
        Ok((ctx, errors))
    }

    /// The mesh, or `None` if nobody has joined it yet. It is opened and checked only once.
    pub fn mesh(&self) -> Result<Option<Rc<Mesh>>, CommandError> {
        if let Some(mesh) = self.mesh.get() {
            return Ok(Some(Rc::clone(mesh)));
        }
        self.check_location()?;
        let opened = Mesh::open(&self.location, self.options())?;
        Ok(opened.map(|mesh| self.keep(mesh)))
    }

    /// The mesh, created if there is none.
    pub fn create_mesh(&self) -> Result<Rc<Mesh>, CommandError> {
        self.check_location()?;
        Ok(self.keep(Mesh::create(&self.location, self.options())?))
    }

    /// The mesh once more, for a thread of its own.
    #[cfg(feature = "link")]
    pub(super) fn mesh_for_thread(&self) -> Result<Option<Mesh>, CommandError> {
        Ok(Mesh::open(&self.location, self.options())?)
    }

    /// The mesh, if the command has opened it.
    pub(super) fn opened_mesh(&self) -> Option<Rc<Mesh>> {
        self.mesh.get().map(Rc::clone)
    }

    /// Fails if the configured mesh is not known: no other mesh is used instead.
    fn check_location(&self) -> Result<(), CommandError> {
        self.unknown_mesh.clone().map_or(Ok(()), Err)
    }

    fn keep(&self, mesh: Mesh) -> Rc<Mesh> {
        Rc::clone(self.mesh.get_or_init(|| Rc::new(mesh)))
    }

    /// The working directory as registrations record it.
    pub fn folder(&self) -> String {
        self.cwd.to_string_lossy().into_owned()
    }

    fn options(&self) -> MeshOptions {
        let configured = self.settings.lock_timeout();
        let lock_timeout = self.lock_timeout.map_or(configured, |lock_timeout| lock_timeout.min(configured));
        MeshOptions { durability: self.settings.durability, lock_timeout }
    }

    /// A warning if the mesh was open to others until a write of this command closed it.
    pub(super) fn tightening(&self) -> Option<String> {
        let tightened = self.mesh.get()?.tightened()?;
        let (path, mode) = (&tightened.path, tightened.mode);
        Some(format!(
            "`{path}` was open to other users (mode {mode:03o}); now only you can open it (mode 700)"
        ))
    }
}

/// Home and working directory.
pub(super) fn home_and_cwd() -> Result<(Home, PathBuf), CommandError> {
    let cwd = environment::cwd().map_err(|source| {
        let text = format!("the working directory can't be read: {source}");
        CommandError::new(CommandErrorKind::Io, text).hint("was it removed? go to another one")
    })?;
    Ok((Home::find()?, cwd))
}

/// The folders whose agents are meant.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FolderScope {
    #[default]
    AllFolders,
    /// Those of this project: in all work trees of the repository; without git, in this folder, above or below it.
    ThisProject,
}

impl FolderScope {
    /// Whether agents in that folder are meant. The settings may confine every command to this one.
    pub(super) fn includes(self, ctx: &Context, folder: &str) -> bool {
        match self {
            _ if ctx.settings.scope_to_folder => is_same_folder(Path::new(folder), &ctx.cwd),
            Self::AllFolders => true,
            Self::ThisProject => ProjectScope::around(&ctx.cwd).includes(Path::new(folder)),
        }
    }

    /// Whether that agent is meant. The folder of an agent on another machine is none of this one: its project is the
    /// same if its repository is.
    pub(super) fn includes_agent(self, ctx: &Context, here: &RepositoryHere<'_>, agent: &Agent) -> bool {
        match self {
            _ if !agent.is_remote() => self.includes(ctx, &agent.cwd),
            _ if ctx.settings.scope_to_folder => false,
            Self::AllFolders => true,
            Self::ThisProject => here.is_of(agent),
        }
    }
}

/// Whether two directories are the same folder to the people who work there: the same work tree, or, without git, the
/// same directory or one inside the other.
pub(super) fn is_same_folder(a: &Path, b: &Path) -> bool {
    use crate::sys::git::WorkTree;
    let root = |dir: &Path| WorkTree::containing(dir).map(|tree| tree.root);
    a == b
        || match (root(a), root(b)) {
            (Some(a), Some(b)) => a == b,
            (None, None) => a.starts_with(b) || b.starts_with(a),
            _ => false,
        }
}

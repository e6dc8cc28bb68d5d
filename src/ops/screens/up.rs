//! `msg up`: the tmux session of this project, with the chat in its first window.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::domain::runs::{Run, RunId, RunPane};
use crate::store::Mesh;
use crate::sys::keeper::is_keeper;
use crate::sys::program;
use crate::sys::tmux::server::NewWindow;
use crate::sys::tmux::{PaneInfo, TmuxError, TmuxServer};

use super::project_session::{
    self, CHAT_WINDOW, FirstWindow, PROJECT_OPTION, project_of, show_command, tmux_error,
};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// The tmux session of a project.
#[derive(Clone, Debug)]
pub struct ProjectWindows {
    pub name: String,
    pub project: PathBuf,
    /// The socket of its server.
    pub socket: PathBuf,
    pub windows: Vec<ProjectWindow>,
}

/// A window of it.
#[derive(Clone, Debug)]
pub struct ProjectWindow {
    pub place: String,
    pub name: String,
    /// The run whose worker is in it.
    pub run: Option<RunId>,
}

impl ProjectWindows {
    /// The command that shows it in the terminal of the caller.
    pub fn show_command(&self) -> Vec<String> {
        show_command(&self.socket, &self.name)
    }
}

/// The command that shows the window of a worker in the terminal of the caller.
pub fn pane_command(pane: &RunPane) -> Vec<String> {
    show_command(Path::new(&pane.socket), &pane.place)
}

/// Makes the session of this project, or adds the chat to it. New runs may start again.
pub fn up(op: &Op) -> Result<ProjectWindows, CommandError> {
    let mesh = op.create_mesh()?;
    mesh.runs().end_draining()?;
    let server = TmuxServer::find(op.settings.tmux_socket());
    let project = project_of(&op.cwd);
    let msg =
        program::to_record().map_err(|error| CommandError::new(CommandErrorKind::Io, error.to_string()))?;
    let location = op.location.to_string();
    let argv = [msg.as_os_str(), OsStr::new("tui")];
    let chat = FirstWindow { name: CHAT_WINDOW, argv: &argv, variables: &[("MSG_MESH", &location)] };
    let name = project_session::ensure(&op.home, &server, &project, &chat)?;
    let panes = panes(&server)?;
    // A worker may have that name, too.
    let is_chat = |pane: &PaneInfo| pane.window_name == CHAT_WINDOW && !is_keeper(pane.pid);
    if !panes.iter().any(|pane| pane.session == name && is_chat(pane)) {
        let window = NewWindow {
            session: &name,
            name: CHAT_WINDOW,
            dir: &project,
            argv: chat.argv,
            variables: chat.variables,
        };
        server.new_first_window(&window).map_err(tmux_error)?;
    }
    let all = with_runs(&server, &runs_of(&mesh)?)?;
    all.into_iter().find(|session| session.name == name).ok_or_else(|| {
        CommandError::new(CommandErrorKind::Tmux, format!("the tmux session `{name}` is gone again"))
            .hint("`msg tui` says whether the chat can start")
    })
}

/// The sessions of all projects.
pub fn sessions(op: &Op) -> Result<Vec<ProjectWindows>, CommandError> {
    let mesh = op.mesh()?;
    let runs = mesh.as_deref().map_or(Ok(Vec::new()), runs_of)?;
    let mut sessions = Vec::new();
    for server in project_session::servers(op, mesh.as_deref())? {
        sessions.extend(with_runs(&server, &runs)?);
    }
    Ok(sessions)
}

/// The runs that go on.
fn runs_of(mesh: &Mesh) -> Result<Vec<Run>, CommandError> {
    let mut runs = mesh.runs().list()?.runs;
    runs.retain(|run| !run.state.is_final());
    Ok(runs)
}

fn with_runs(server: &TmuxServer, runs: &[Run]) -> Result<Vec<ProjectWindows>, CommandError> {
    let sessions = match server.sessions(PROJECT_OPTION) {
        Err(TmuxError::NoServer(_)) => return Ok(Vec::new()),
        sessions => sessions.map_err(tmux_error)?,
    };
    let (panes, socket) = (panes(server)?, server.socket().path());
    let run_of = |pane: &PaneInfo| {
        let is_in = |run: &&Run| {
            let its = run.pane.as_ref();
            its.is_some_and(|its| its.id == pane.id.as_str() && Path::new(&its.socket) == socket)
        };
        runs.iter().find(is_in).map(|run| run.id.clone())
    };
    let windows = |name: &str| {
        let its = panes.iter().filter(|pane| pane.session == name);
        let window = |pane: &PaneInfo| ProjectWindow {
            place: pane.address(),
            name: pane.window_name.clone(),
            run: run_of(pane),
        };
        its.map(window).collect()
    };
    let ours = sessions.iter().filter(|session| !session.option.is_empty());
    Ok(ours
        .map(|session| ProjectWindows {
            name: session.name.clone(),
            project: PathBuf::from(&session.option),
            socket: socket.clone(),
            windows: windows(&session.name),
        })
        .collect())
}

fn panes(server: &TmuxServer) -> Result<Vec<PaneInfo>, CommandError> {
    match server.list_panes() {
        Err(TmuxError::NoServer(_)) => Ok(Vec::new()),
        panes => panes.map_err(tmux_error),
    }
}

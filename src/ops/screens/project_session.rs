//! The tmux session of a project: the chat in its first window, workers in others. It has the name of the repository's
//! directory, and an option with the path, so that two repositories with one name don't share it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::foreign_variables;
use crate::store::Mesh;
use crate::sys::environment::Home;
use crate::sys::flock::FileLock;
use crate::sys::git::WorkTree;
use crate::sys::tmux::own_servers::OwnServers;
use crate::sys::tmux::server::NewWindow;
use crate::sys::tmux::{TmuxError, TmuxServer, TmuxSocket};

use super::agent_pane::pane_locks;

/// The option of a session with the path of its project.
pub(in crate::ops) const PROJECT_OPTION: &str = "@ravenry-project";
/// The name of the window with a shell, in a session that `msg up` has not made.
const SHELL_WINDOW: &str = "shell";
/// The name of the window with the chat.
pub(in crate::ops) const CHAT_WINDOW: &str = "chat";
/// How long somebody else may be making a session.
const LOCK_LIMIT: Duration = Duration::from_secs(30);
/// How many names are tried.
const MOST_NAMES: usize = 1000;

/// The first window of a session that has to be made.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops) struct FirstWindow<'a> {
    pub(in crate::ops) name: &'a str,
    /// The program and its arguments; without any, the user's shell.
    pub(in crate::ops) argv: &'a [&'a OsStr],
    pub(in crate::ops) variables: &'a [(&'a str, &'a str)],
}

impl FirstWindow<'_> {
    /// A shell, for whoever looks at the session.
    pub(in crate::ops) const SHELL: Self = Self { name: SHELL_WINDOW, argv: &[], variables: &[] };
}

/// The directory of the project that `dir` belongs to: the main work tree of its repository, or itself.
pub(in crate::ops) fn project_of(dir: &Path) -> PathBuf {
    let tree = WorkTree::containing(dir).map(|tree| tree.main_root().unwrap_or(tree.root));
    let project = tree.unwrap_or_else(|| dir.to_path_buf());
    fs_err::canonicalize(&project).unwrap_or(project)
}

/// The servers that may have sessions of projects: that of the caller, the usual one, and those of the runs of this mesh.
pub(in crate::ops) fn servers(op: &Op, mesh: Option<&Mesh>) -> Result<Vec<TmuxServer>, CommandError> {
    let setting = op.settings.tmux_socket();
    let mut servers: Vec<TmuxServer> = Vec::new();
    let mut add = |server: TmuxServer| {
        if !servers.iter().any(|known| known.socket().path() == server.socket().path()) {
            servers.push(server);
        }
    };
    add(TmuxServer::find(setting));
    add(TmuxServer::usual(setting));
    let runs = mesh.map_or(Ok(Vec::new()), |mesh| mesh.runs().list().map(|list| list.runs))?;
    let sockets: BTreeSet<String> = runs.into_iter().filter_map(|run| Some(run.pane?.socket)).collect();
    sockets.into_iter().for_each(|socket| add(TmuxServer::at(TmuxSocket::Path(socket.into()))));
    Ok(servers)
}

/// The session of that project, if the server has one.
pub(in crate::ops) fn find(server: &TmuxServer, project: &Path) -> Result<Option<String>, CommandError> {
    find_session(server, project).map_err(tmux_error)
}

/// [`find`] with the error of tmux.
pub(super) fn find_session(server: &TmuxServer, project: &Path) -> Result<Option<String>, TmuxError> {
    let sessions = match server.sessions(PROJECT_OPTION) {
        Err(TmuxError::NoServer(_)) => return Ok(None),
        sessions => sessions?,
    };
    let project = project.to_string_lossy();
    Ok(sessions.into_iter().find(|session| session.option == project).map(|session| session.name))
}

/// The session of that project. If there is none, it is made with that window.
pub(in crate::ops) fn ensure(
    home: &Home,
    server: &TmuxServer,
    project: &Path,
    first: &FirstWindow<'_>,
) -> Result<String, CommandError> {
    if let Some(name) = find(server, project)? {
        return Ok(name);
    }
    let dir = pane_locks(home);
    crate::sys::files::create_dir(&dir)?;
    let _lock = FileLock::acquire(&dir.join("sessions.lock"), LOCK_LIMIT)?;
    // Somebody else may have made it meanwhile.
    match find(server, project)? {
        Some(name) => Ok(name),
        None => make(home, server, project, first),
    }
}

fn make(
    home: &Home,
    server: &TmuxServer,
    project: &Path,
    first: &FirstWindow<'_>,
) -> Result<String, CommandError> {
    let left_out: Vec<&str> = foreign_variables().collect();
    let start = OwnServers::of(home).start_one()?;
    for number in 1..=MOST_NAMES {
        let name = session_name(project, number);
        let FirstWindow { name: window, argv, variables } = *first;
        let window = NewWindow { session: &name, name: window, dir: project, argv, variables };
        match server.new_session(&window, &left_out, start.server_mark()) {
            Err(TmuxError::SessionExists(_)) => {}
            made => {
                let made = made.map_err(tmux_error)?;
                let path = project.to_string_lossy();
                server.set_option(&name, PROJECT_OPTION, &path).map_err(tmux_error)?;
                start.write_down(made.server)?;
                return Ok(name);
            }
        }
    }
    Err(CommandError::new(CommandErrorKind::Io, "tmux has too many sessions with the name of this directory"))
}

/// The name of the directory, with a number from 2 on. tmux has no dots and colons in names, and other signs mean
/// something where a session is named: `$1` is the one with that number.
fn session_name(project: &Path, number: usize) -> String {
    let name = project.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let name = if name.chars().any(char::is_alphanumeric) { name } else { "ravenry".to_string() };
    if number == 1 { name } else { format!("{name}-{number}") }
}

/// The command that shows a session, or a pane of it (`session:window.pane`), in a terminal.
pub(in crate::ops) fn attach_command(socket: &Path, target: &str) -> Vec<String> {
    let socket = socket.to_string_lossy().into_owned();
    // Without the sign, tmux would take the beginning of another name, too.
    ["tmux", "-S", &socket, "attach", "-t", &format!("={target}")].map(str::to_string).to_vec()
}

/// The command that shows a session, or a pane of it, in the terminal of the caller. In tmux, `attach` is refused.
pub(in crate::ops) fn show_command(socket: &Path, target: &str) -> Vec<String> {
    let mut command = attach_command(socket, target);
    match TmuxSocket::of_environment() {
        Some(own) if own.path() == socket => {
            for word in command.iter_mut().filter(|word| *word == "attach") {
                *word = "switch-client".to_string();
            }
        }
        // One server inside of another.
        Some(_) => drop(command.splice(0..0, ["env", "-u", "TMUX"].map(str::to_string))),
        None => {}
    }
    command
}

/// What tmux did not do.
pub(in crate::ops) fn tmux_error(error: TmuxError) -> CommandError {
    let hint = match error {
        TmuxError::NotInstalled => "install tmux 3.3 or later",
        _ => "`tmux ls` shows what there is",
    };
    CommandError::new(CommandErrorKind::Tmux, error.to_string()).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_such_as_tmux_keeps() {
        let name = |path: &str, number| session_name(Path::new(path), number);
        assert_eq!(name("/src/shop", 1), "shop");
        assert_eq!(name("/src/shop", 2), "shop-2");
        assert_eq!(name("/src/my.shop:a", 1), "my_shop_a");
        assert_eq!(name("/src/größer", 1), "größer");
        assert_eq!(name("/src/C#Samples", 1), "C_Samples");
        assert_eq!(name("/src/#(touch x)", 1), "__touch_x_");
        assert_eq!(name("/src/$1", 2), "_1-2");
        assert_eq!(name("/", 1), "ravenry");
        assert_eq!(name("/src/...", 1), "ravenry");
    }
}

//! The supervisor's side of a program in a tmux pane: opens the window, and waits until its keeper has connected.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::KeeperCall;
use super::kept::{KeptCall, KeptProgram, KeptReports};
use super::pane_call::PaneCall;
use crate::domain::{Pid, sha256};
use crate::sys::files::{self, FileError};
use crate::sys::tmux::server::NewWindow;
use crate::sys::tmux::{PaneInfo, TmuxError, TmuxPane, TmuxServer};
use crate::sys::{environment, process, socket};

/// How long the keeper may take until it has connected.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);
/// How often to look whether its pane is still there.
const LOOK_EVERY: u16 = 500;
/// How long it may take to read what to start.
const TELL_LIMIT: Duration = Duration::from_secs(30);
/// Begins the names of the directories with sockets. A short mark of the machine and the number of the process that made
/// it follow.
const PREFIX: &str = "ravenry-pane-";
/// The longest path of a socket that every system accepts.
const LONGEST_PATH: usize = 100;
/// How many names to try for a directory.
const ATTEMPTS: u32 = 1000;

/// Where a program is to run.
#[derive(Clone, Copy, Debug)]
pub struct PanePlace<'a> {
    pub server: &'a TmuxServer,
    /// The session that gets the window.
    pub session: &'a str,
    /// The name of the window.
    pub window: &'a str,
    /// Our own program, by a path that means the same to tmux.
    pub msg: &'a Path,
    /// Variables of the keeper, by which it is found if the supervisor is killed. Nothing secret.
    pub marks: &'a [(&'a str, &'a str)],
}

/// A program with a keeper in a tmux pane.
#[derive(Debug)]
pub struct KeptInPane {
    pub program: KeptProgram,
    pub reports: KeptReports,
    pub pane: TmuxPane,
}

/// A window whose keeper waits to be told what to start. If this is dropped instead, the window closes.
#[derive(Debug)]
pub struct OpenedPane {
    pane: TmuxPane,
    info: PaneInfo,
    keeper: UnixStream,
}

/// Why a program could not be started in a pane.
#[derive(Debug, thiserror::Error)]
pub enum PaneStartError {
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    #[error("the window was closed before the program was started")]
    Closed,
    #[error("the program was not started within {} s", .0.as_secs())]
    TooSlow(Duration),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl OpenedPane {
    /// Opens a window in that directory, and waits until its keeper has connected.
    pub fn open(dir: &Path, place: &PanePlace<'_>) -> Result<Self, PaneStartError> {
        let inlet = Inlet::open()?;
        let connect = KeeperCall::Connect { socket: inlet.path() };
        let args = connect.to_args();
        let argv: Vec<&OsStr> =
            std::iter::once(place.msg.as_os_str()).chain(args.iter().map(AsRef::as_ref)).collect();
        let window = NewWindow {
            session: place.session,
            name: place.window,
            dir,
            argv: &argv,
            variables: place.marks,
        };
        let info = place.server.new_window(&window)?;
        let pane = place.server.pane(info.id.clone());
        match close_with_program(&pane).and_then(|()| inlet.accept(&pane, info.pid)) {
            Ok(keeper) => Ok(Self { pane, info, keeper }),
            Err(error) => {
                // The first error tells what is wrong. The pane may be gone.
                drop(pane.close());
                Err(error)
            }
        }
    }

    /// The pane, as it was opened.
    pub fn info(&self) -> &PaneInfo {
        &self.info
    }

    /// Lets the keeper start the program. The input of the call is not used: the program reads from its terminal.
    pub fn start(self, call: &KeptCall<'_>) -> Result<KeptInPane, PaneStartError> {
        let Self { pane, info, keeper } = self;
        match tell(keeper, info.pid, call) {
            Ok((program, reports)) => Ok(KeptInPane { program, reports, pane }),
            Err(error) => {
                // The first error tells what is wrong. The pane may be gone.
                drop(pane.close());
                Err(error.into())
            }
        }
    }
}

impl KeptInPane {
    /// Opens a window, whose keeper starts the program there at once.
    pub fn start(call: &KeptCall<'_>, place: &PanePlace<'_>) -> Result<Self, PaneStartError> {
        OpenedPane::open(call.dir, place)?.start(call)
    }
}

/// Tells the keeper what to start.
fn tell(mut keeper: UnixStream, pid: Pid, call: &KeptCall<'_>) -> io::Result<(KeptProgram, KeptReports)> {
    keeper.set_write_timeout(Some(TELL_LIMIT))?;
    let words = std::iter::once(call.program.as_os_str()).chain(call.args.iter().map(AsRef::as_ref));
    let what = PaneCall {
        dir: call.dir.to_path_buf(),
        words: words.map(OsStr::to_os_string).collect(),
        env: call.env.to_vec(),
    };
    what.send(&mut keeper)?;
    KeptProgram::in_pane(pid, keeper)
}

/// Lets the pane close with its program. If it is closed already, that is found out next.
fn close_with_program(pane: &TmuxPane) -> Result<(), PaneStartError> {
    match pane.close_with_program() {
        Ok(()) | Err(TmuxError::NoPane(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A socket on which one keeper is waited for, in a directory that nobody else can enter.
#[derive(Debug)]
struct Inlet {
    dir: PathBuf,
    listener: UnixListener,
}

impl Inlet {
    fn open() -> Result<Self, PaneStartError> {
        let mut parent = environment::temporary_dir();
        if parent.as_os_str().len() + PREFIX.len() + 32 > LONGEST_PATH {
            parent = PathBuf::from("/tmp");
        }
        sweep(&parent);
        let dir = (0..ATTEMPTS).find_map(|attempt| {
            let dir = parent.join(format!("{PREFIX}{}-{}-{attempt}", scope_mark(), process::own_pid()));
            match files::create_new_dir(&dir) {
                Ok(()) => Some(Ok(dir)),
                Err(error) if files::exists(&dir).unwrap_or(false) && attempt + 1 < ATTEMPTS => {
                    tracing::debug!("another directory is tried: {error}");
                    None
                }
                Err(error) => Some(Err(error)),
            }
        });
        let dir = dir.ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))??;
        match UnixListener::bind(socket_in(&dir)) {
            Ok(listener) => Ok(Self { dir, listener }),
            Err(error) => {
                // The first error tells what is wrong.
                drop(files::remove_tree(&dir));
                Err(error.into())
            }
        }
    }

    fn path(&self) -> PathBuf {
        socket_in(&self.dir)
    }

    /// Waits for the keeper that tmux started as that process.
    fn accept(&self, pane: &TmuxPane, keeper: Pid) -> Result<UnixStream, PaneStartError> {
        let until = Instant::now() + CONNECT_LIMIT;
        loop {
            let mut polled = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
            let count = poll(&mut polled, PollTimeout::from(LOOK_EVERY)).map_err(io::Error::from)?;
            if count > 0 {
                let (stream, _) = self.listener.accept()?;
                // Where the system does not tell who it is, only the user could have entered the directory.
                if socket::peer(&stream).is_none_or(|peer| peer == keeper) {
                    return Ok(stream);
                }
                continue;
            }
            match pane.info() {
                Ok(info) if info.is_dead => return Err(PaneStartError::Closed),
                Err(TmuxError::NoPane(_) | TmuxError::NoServer(_)) => return Err(PaneStartError::Closed),
                // A server that is slow for a moment is asked again.
                Ok(_) | Err(TmuxError::TooSlow(_)) => {}
                Err(error) => return Err(error.into()),
            }
            if Instant::now() >= until {
                return Err(PaneStartError::TooSlow(CONNECT_LIMIT));
            }
        }
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        // If this fails, the next one sweeps it.
        drop(files::remove_tree(&self.dir));
    }
}

fn socket_in(dir: &Path) -> PathBuf {
    dir.join("s")
}

/// A short mark of this boot and pid namespace: elsewhere the same pid is another process.
fn scope_mark() -> String {
    let scope = format!("{:?}", process::pid_scope());
    sha256(scope.as_bytes()).chars().take(8).collect()
}

/// Removes the directories of supervisors that were killed while they waited.
fn sweep(parent: &Path) {
    let Ok(entries) = files::entries(parent) else { return };
    let scope = scope_mark();
    for entry in entries.into_iter().filter(|entry| !entry.is_file) {
        let rest = entry.name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix(scope.as_str()));
        let maker = rest.and_then(|rest| rest.strip_prefix('-')?.split('-').next()?.parse().ok());
        let maker = maker.and_then(|pid: i64| Pid::new(pid).ok());
        if maker.is_some_and(|pid| process::identify(pid).is_none()) {
            // That of another user can't be removed, and does no harm.
            drop(files::remove_tree(&parent.join(&entry.name)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_leaves_nothing_behind() {
        let first = Inlet::open().unwrap();
        let second = Inlet::open().unwrap();
        let dirs = [first.dir.clone(), second.dir.clone()];
        assert_ne!(dirs[0], dirs[1]);
        for dir in &dirs {
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(dir).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o700);
            assert!(socket_in(dir).as_os_str().len() <= LONGEST_PATH);
        }
        drop((first, second));
        assert!(dirs.iter().all(|dir| !dir.exists()));
    }
}

//! A tmux server: its sessions, windows and panes.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use super::call::{BRIEF_LIMIT, TmuxCall, TmuxError, TmuxSocket, plain_format, quoted};
use super::pane::TmuxPane;
use super::pane_id::PaneId;
use super::pane_info::{self, PaneInfo};
use crate::domain::Pid;
use crate::sys::detached::TMUX_SERVER_VARIABLE;
use crate::sys::files;

/// The size of a session that no terminal shows.
const SIZE: (&str, &str) = ("200", "50");

/// How often a session is tried to be made, and when again: a server that ends is gone soon.
const MOST_TRIES: usize = 3;
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// A tmux server, whether it runs or not.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TmuxServer {
    socket: TmuxSocket,
}

/// A window that is to be opened.
#[derive(Clone, Copy, Debug)]
pub struct NewWindow<'a> {
    pub session: &'a str,
    pub name: &'a str,
    /// Where its program starts.
    pub dir: &'a Path,
    /// The program and its arguments, which every user of the machine can read. Without any, the user's shell.
    pub argv: &'a [&'a OsStr],
    /// Variables that its program has besides those of the server. Nothing secret: they are on a command line, too.
    pub variables: &'a [(&'a str, &'a str)],
}

/// A session that was made.
#[derive(Clone, Debug)]
pub struct MadeSession {
    /// Its only pane.
    pub pane: PaneInfo,
    /// The process of the server, which may have been there before.
    pub server: Pid,
}

/// A session, and the value of a user option in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TmuxSession {
    pub name: String,
    /// Empty if it is not set.
    pub option: String,
}

impl TmuxServer {
    pub fn at(socket: TmuxSocket) -> Self {
        Self { socket }
    }

    /// The server in which this process runs, if it was not ended since, otherwise the one that the user's settings name, otherwise tmux's own
    /// default.
    pub fn find(setting: Option<&str>) -> Self {
        let own = TmuxSocket::of_environment().filter(|own| files::exists(&own.path()).unwrap_or(false));
        own.map_or_else(|| Self::usual(setting), Self::at)
    }

    /// The server that the user's settings name, otherwise tmux's own default.
    pub fn usual(setting: Option<&str>) -> Self {
        let named = setting.filter(|text| !text.is_empty()).map(TmuxSocket::parse);
        Self { socket: named.unwrap_or_default() }
    }

    pub fn socket(&self) -> &TmuxSocket {
        &self.socket
    }

    pub fn pane(&self, id: PaneId) -> TmuxPane {
        TmuxPane::new(self.socket.clone(), id)
    }

    fn call(&self) -> TmuxCall<'_> {
        TmuxCall::new(&self.socket)
    }

    /// Whether it answers.
    pub fn is_running(&self) -> Result<bool, TmuxError> {
        match self.call().words(["list-sessions", "-F", "#{session_id}"]).run() {
            Ok(_) => Ok(true),
            Err(TmuxError::NoServer(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Every pane of every session.
    pub fn list_panes(&self) -> Result<Vec<PaneInfo>, TmuxError> {
        let told = self.call().words(["list-panes", "-a", "-F", pane_info::FORMAT]).run()?;
        told.lines().map(PaneInfo::of_line).collect()
    }

    /// Like [`Self::list_panes`], for whoever can do without it.
    pub fn list_panes_briefly(&self) -> Result<Vec<PaneInfo>, TmuxError> {
        let call = self.call().words(["list-panes", "-a", "-F", pane_info::FORMAT]);
        call.run_within(BRIEF_LIMIT)?.lines().map(PaneInfo::of_line).collect()
    }

    /// Opens a window in a session. Whoever looks at the session keeps their window.
    pub fn new_window(&self, window: &NewWindow<'_>) -> Result<PaneInfo, TmuxError> {
        self.open_window(window, &["-t", &session_target(window.session)])
    }

    /// Opens a window before all others of a session. Whoever looks at the session keeps their window.
    pub fn new_first_window(&self, window: &NewWindow<'_>) -> Result<PaneInfo, TmuxError> {
        // `^` is the one with the lowest number.
        self.open_window(window, &["-b", "-t", &format!("{}^", session_target(window.session))])
    }

    fn open_window(&self, window: &NewWindow<'_>, place: &[&str]) -> Result<PaneInfo, TmuxError> {
        let call = self.call().words(["new-window", "-d"]).words(place);
        let told = with_program(call, window).run().map_err(|error| match error {
            TmuxError::NoSession(_) => TmuxError::NoSession(window.session.to_string()),
            error => error,
        })?;
        PaneInfo::of_line(told.trim_end_matches('\n'))
    }

    /// Makes a session with one window, which no terminal shows. If there is no server, one is started, without the
    /// variables in `left_out`.
    ///
    /// The server lives on when its starter ends. If that is in a run, it would be taken for something that the worker left
    /// behind, and ended; so a server that is started here has the mark in a variable. What runs in its panes has not.
    pub fn new_session(
        &self,
        window: &NewWindow<'_>,
        left_out: &[&str],
        mark: &str,
    ) -> Result<MadeSession, TmuxError> {
        let mut tries = 0;
        let told = loop {
            tries += 1;
            match self.session_call(window, left_out, mark).run() {
                // A server that was just ending has taken the call, and nothing was made.
                Err(TmuxError::NoServer(_)) if tries < MOST_TRIES => std::thread::sleep(TRY_AGAIN),
                told => break told?,
            }
        };
        if told.is_empty() {
            // tmux says nothing if it can't make its socket.
            return Err(TmuxError::Failed(format!("no server could be started at {}", self.socket)));
        }
        let parts = told.trim_end_matches('\n').split_once('\n');
        let server = parts.and_then(|(pid, _)| Pid::new(pid.parse().ok()?).ok());
        let (Some(server), Some((_, pane))) = (server, parts) else {
            return Err(TmuxError::UnknownAnswer(told));
        };
        Ok(MadeSession { pane: PaneInfo::of_line(pane)?, server })
    }

    fn session_call(&self, window: &NewWindow<'_>, left_out: &[&str], mark: &str) -> TmuxCall<'_> {
        let call =
            self.call().without_variables(left_out).variable(TMUX_SERVER_VARIABLE, mark).dir(Path::new("/"));
        let call = call.words(["start-server"]).then();
        let call = call.words(["set-environment", "-g", "-u", TMUX_SERVER_VARIABLE]).then();
        let call = call.words(["display-message", "-p", "#{pid}"]).then();
        let call = call.words(["new-session", "-d", "-x", SIZE.0, "-y", SIZE.1, "-s"]);
        let call = with_program(call.words([plain_format(window.session.as_ref())]), window).then();
        // In the same call: a user's settings may end a session as soon as no terminal shows it.
        let target = session_target(window.session);
        call.words(["set-option", "-t", &target, "destroy-unattached", "off"])
    }

    /// The sessions, each with its value of a user option, such as `@project`.
    pub fn sessions(&self, option: &str) -> Result<Vec<TmuxSession>, TmuxError> {
        let format = format!("#{{n:session_name}} #{{session_name}}#{{{option}}}");
        let told = self.call().words(["list-sessions", "-F", &format]).run()?;
        let session = |line: &str| {
            let (length, texts) = line.split_once(' ')?;
            let (name, option) = texts.split_at_checked(length.parse().ok()?)?;
            Some(TmuxSession { name: name.to_string(), option: option.to_string() })
        };
        told.lines()
            .map(|line| session(line).ok_or_else(|| TmuxError::UnknownAnswer(line.to_string())))
            .collect()
    }

    /// Sets a user option of a session.
    pub fn set_option(&self, session: &str, option: &str, value: &str) -> Result<(), TmuxError> {
        self.call().words(["set-option", "-t", &session_target(session), option, value]).run().map(drop)
    }

    /// The command by which a person ends a session with everything in it.
    pub fn end_session_command(&self, session: &str) -> Vec<String> {
        let socket = self.socket.path().to_string_lossy().into_owned();
        ["tmux", "-S", &socket, "kill-session", "-t", &session_target(session)].map(str::to_string).to_vec()
    }

    /// Ends a session with everything in it.
    pub fn end_session(&self, session: &str) -> Result<(), TmuxError> {
        self.call().words(["kill-session", "-t", &session_target(session)]).run().map(drop)
    }
}

/// The session of exactly that name. Without the marks, tmux would take the beginning of a name, or that of a window.
fn session_target(session: &str) -> String {
    format!("={session}:")
}

/// Adds what a new window and a new session have in common. A single word would go through a shell.
fn with_program<'a>(call: TmuxCall<'a>, window: &NewWindow<'_>) -> TmuxCall<'a> {
    let call = call.words(["-n"]).words([plain_format(window.name.as_ref())]);
    let call =
        call.words(["-P", "-F", pane_info::FORMAT, "-c"]).words([plain_format(window.dir.as_os_str())]);
    let variables = window.variables.iter().map(|(name, value)| format!("{name}={value}"));
    let call = variables.fold(call, |call, variable| call.words(["-e", &variable]));
    match window.argv {
        [] => call,
        [program] => call.words(["--", &format!("exec {}", quoted(&program.to_string_lossy()))]),
        argv => call.words(["--"]).words(argv),
    }
}

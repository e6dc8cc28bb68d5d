//! tmux as it is: what is pasted into panes arrives, and programs in panes leave nothing behind.

mod before_joining;
mod guarding;
mod interrupting;
mod keeping;
pub mod launching;
mod naming;
mod pasting;
mod project;
mod queued;
mod server;
mod stalling;
mod stand_in;
mod telling;
mod turns;
mod waking;

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ravenry::sys::tmux::server::NewWindow;
use ravenry::sys::tmux::{TmuxPane, TmuxServer, TmuxSocket};

use crate::support::environment::{TestEnvironment, wait_until};
use crate::support::skip::skip;

/// The session that is always there.
pub const SESSION: &str = "first";

/// A tmux server of its own, with one session. It ends with the test.
pub struct Tmux {
    pub env: TestEnvironment,
    pub server: TmuxServer,
}

impl Tmux {
    /// `None`: tmux is missing here.
    pub fn start() -> Option<Self> {
        if !Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success()) {
            skip("tmux is missing");
            return None;
        }
        let env = TestEnvironment::new();
        let server = TmuxServer::at(TmuxSocket::Path(env.path().join("tmux")));
        let tmux = Self { env, server };
        tmux.ask(&["new-session", "-d", "-s", SESSION, "-x", "200", "-y", "50", "--", "sleep", "100000"]);
        Some(tmux)
    }

    pub fn socket(&self) -> PathBuf {
        self.env.path().join("tmux")
    }

    /// Asks tmux without the code under test.
    #[track_caller]
    pub fn ask(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(self.socket()).args(args);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.env.home()).env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command
    }

    /// The process of the server.
    pub fn pid(&self) -> i32 {
        self.ask(&["display-message", "-p", "#{pid}"]).trim().parse().unwrap()
    }

    /// Ends the server, and waits until its process is gone: whatever is started before may be told that there is none.
    pub fn end_server(&self) {
        let pid = self.pid();
        self.ask(&["kill-server"]);
        wait_until("the server is gone", || !is_alive(pid));
    }

    /// A new window that runs a script, with `$1` to `$9` as given.
    pub fn window(&self, script: &str, args: &[&OsStr]) -> TmuxPane {
        let mut argv: Vec<&OsStr> = ["sh", "-c", script, "sh"].into_iter().map(OsStr::new).collect();
        argv.extend(args);
        let dir = self.env.work();
        let window = NewWindow { session: SESSION, name: "window", dir: &dir, argv: &argv, variables: &[] };
        let info = self.server.new_window(&window).unwrap();
        self.server.pane(info.id)
    }

    /// A pane whose program writes every byte that it reads to a file, and has asked for bracketed pastes.
    pub fn reader(&self, name: &str) -> (TmuxPane, PathBuf) {
        self.reader_in_mode(name, "h")
    }

    /// The same; `l`: without bracketed pastes.
    pub fn reader_in_mode(&self, name: &str, mode: &str) -> (TmuxPane, PathBuf) {
        let file = self.env.path().join(name);
        let script = r#"stty raw -echo; printf '\033[?2004%sready' "$2"; exec cat >"$1""#;
        let pane = self.window(script, &[file.as_os_str(), OsStr::new(mode)]);
        wait_until("the reader is ready", || {
            pane.capture().is_ok_and(|capture| capture.text.contains("ready")) && file.exists()
        });
        (pane, file)
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // It may have been killed by the test.
        self.command(&["kill-server"]).output().ok();
    }
}

/// The processes with those words in their command lines.
pub fn processes(words: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has_words = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.windows(words.len()).any(|part| part == words.as_bytes())
    };
    pids.filter(has_words).collect()
}

pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

//! What agents in terminals are seen doing: in real tmux, with a program that draws screens of real clients.

mod looking;
mod places;
mod waiting;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::sys::tmux::TmuxPane;
use serde_json::Value;

use crate::panes::{Tmux, is_alive};
use crate::support::environment::wait_until;
use crate::support::hook_call::{Call, session_of};

/// Draws the files that it is told of, each with a place for the cursor. It ignores the end of its terminal. It has its
/// pipe open for writing, too, so that it never reads the end of it.
const PAINTER: &str = r#"trap '' HUP
stty -echo
exec 3<>"$1"
while read -r row column file <&3; do
    printf '\033[0m\033[2J\033[H%s\033[0m\033[%s;%sH' "$(cat "$file")" "$row" "$column"
    echo "$file" >"$1.drawn"
done"#;

/// An agent in a pane of its own.
pub struct Painted {
    pub tmux: Tmux,
    pub pane: TmuxPane,
    pub pid: i32,
    orders: PathBuf,
}

impl Painted {
    /// `None`: tmux is missing here.
    pub fn start() -> Option<Self> {
        let tmux = Tmux::start()?;
        let orders = tmux.env.path().join("orders");
        nix::unistd::mkfifo(&orders, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let pane = tmux.window(PAINTER, &[orders.as_os_str()]);
        let pid = pane.info().unwrap().pid.get();
        let session = session_of("Raven");
        let args = ["join", "Raven", "--harness", "claude", "--session", &session, "--pid", &pid.to_string()];
        tmux.env.ok(&args);
        Some(Self { tmux, pane, pid, orders })
    }

    /// Draws a screen of the real client, with the cursor where it is while it waits for a prompt.
    #[track_caller]
    pub fn draw(&self, fixture: &str) {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/screens/claude-2.1.325");
        self.draw_file(&dir.join(fixture));
    }

    pub fn draw_text(&self, text: &str) {
        let file = self.tmux.env.path().join("drawing");
        fs::write(&file, text).unwrap();
        self.draw_file(&file);
    }

    #[track_caller]
    fn draw_file(&self, file: &Path) {
        let drawn = self.orders.with_extension("drawn");
        fs::remove_file(&drawn).ok();
        // Without the flag, opening a pipe that nobody reads never returns.
        let mut pipe = File::options();
        pipe.write(true).custom_flags(nix::libc::O_NONBLOCK);
        let mut orders = None;
        wait_until("the painter reads", || {
            assert!(is_alive(self.pid), "the painter is gone");
            orders = pipe.open(&self.orders).ok();
            orders.is_some()
        });
        orders.unwrap().write_all(format!("48 3 {}\n", file.display()).as_bytes()).unwrap();
        wait_until("it is drawn", || {
            assert!(is_alive(self.pid), "the painter is gone");
            fs::read(&drawn).is_ok_and(|content| !content.is_empty())
        });
    }

    /// Runs a hook of the agent.
    pub fn hook(&self, fixture: &str) {
        Call::new(&self.tmux.env, &format!("claude/{fixture}"), &session_of("Raven")).answer(&self.tmux.env);
    }

    /// Runs a hook of the agent around a shell command.
    pub fn bash(&self, event: &str, command: &str) {
        Call::bash(&self.tmux.env, event, &session_of("Raven"), command).answer(&self.tmux.env);
    }

    pub fn look(&self) -> Value {
        self.tmux.env.ok(&["look", "Raven"])
    }

    /// Waits until it is seen in that state, and returns that look.
    #[track_caller]
    pub fn wait_for_state(&self, state: &str) -> Value {
        let mut look = Value::Null;
        wait_until(&format!("it is {state}"), || {
            look = self.look();
            look["state"] == state
        });
        look
    }

    pub fn kill(&self) {
        kill(Pid::from_raw(self.pid), Signal::SIGKILL).unwrap();
        wait_until("it is gone", || !is_alive(self.pid));
    }
}

impl Drop for Painted {
    fn drop(&mut self) {
        // It does not end with its terminal.
        kill(Pid::from_raw(self.pid), Signal::SIGKILL).ok();
    }
}

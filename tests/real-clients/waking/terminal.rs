//! A terminal of its own for a client: tmux with a socket in the scene.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use crate::scene::Scene;

/// The first that a tmux has.
const PANE: &str = "%0";

/// It ends with what runs in it when it is dropped.
pub struct Terminal {
    scene: Arc<Scene>,
    socket: PathBuf,
}

/// Is there such a thing here?
pub fn is_there() -> bool {
    Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success())
}

impl Terminal {
    /// Runs the program of that command, with its arguments and its variables, in a terminal.
    pub fn open(scene: &Arc<Scene>, name: &str, command: &Command) -> Self {
        let socket = scene.home().with_file_name(format!("terminal-{name}"));
        let terminal = Self { scene: Arc::clone(scene), socket };
        let mut tmux = terminal.tmux(&["new-session", "-d", "-x", "150", "-y", "45"]);
        for (key, value) in command.get_envs() {
            if let Some(value) = value {
                tmux.env(key, value);
            }
        }
        tmux.arg("--").arg(command.get_program()).args(command.get_args());
        // What it said last is to be seen when it is gone.
        tmux.args([";", "set-option", "-g", "remain-on-exit", "on"]);
        let output = tmux.output().expect("tmux runs");
        assert!(output.status.success(), "{tmux:?}: {output:?}");
        terminal
    }

    /// What is to be seen, without empty lines.
    pub fn screen(&self) -> String {
        let shown = self.ask(&["capture-pane", "-p", "-t", PANE]);
        shown.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }

    pub fn press(&self, key: &str) {
        self.ask(&["send-keys", "-t", PANE, key]);
    }

    pub fn enter(&self, text: &str) {
        self.ask(&["send-keys", "-t", PANE, "-l", text]);
    }

    /// Another window is in front from now on.
    pub fn look_away(&self) {
        self.ask(&["new-window", "sleep 3600"]);
    }

    /// Is it what would be looked at?
    pub fn is_in_front(&self) -> bool {
        self.ask(&["display-message", "-p", "#{pane_id}"]).trim() == PANE
    }

    /// The process that the terminal was opened for.
    pub fn pid(&self) -> u32 {
        self.ask(&["display-message", "-p", "-t", PANE, "#{pane_pid}"]).trim().parse().expect("a pid")
    }

    pub fn close(&self) {
        self.ask(&["kill-server"]);
    }

    fn ask(&self, args: &[&str]) -> String {
        let output = self.tmux(args).output().expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn tmux(&self, args: &[&str]) -> Command {
        let mut tmux = self.scene.command("tmux");
        tmux.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(args);
        tmux
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.close();
    }
}

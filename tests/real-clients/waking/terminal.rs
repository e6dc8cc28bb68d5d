//! A terminal of its own for a client: tmux with a socket in the scene.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use crate::scene::Scene;

/// The first pane of a tmux server.
const PANE: &str = "%0";

/// When it is dropped, it ends with everything in it.
pub struct Terminal {
    scene: Arc<Scene>,
    socket: PathBuf,
}

/// Whether tmux is installed.
pub fn is_there() -> bool {
    Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success())
}

impl Terminal {
    /// Runs the command, with its arguments and variables, in a terminal.
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
        // Its last output stays visible after it has ended.
        tmux.args([";", "set-option", "-g", "remain-on-exit", "on"]);
        let output = tmux.output().expect("tmux runs");
        assert!(output.status.success(), "{tmux:?}: {output:?}");
        terminal
    }

    /// The text on the screen, without empty lines.
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

    /// Brings another window to the front.
    pub fn look_away(&self) {
        self.ask(&["new-window", "sleep 3600"]);
    }

    /// Whether its pane is in front.
    pub fn is_in_front(&self) -> bool {
        self.ask(&["display-message", "-p", "#{pane_id}"]).trim() == PANE
    }

    /// The process that runs in the terminal.
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

//! Cost of a look at an agent: `msg look` as a whole process, beside the one call of tmux that it can't do without.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

const REPETITIONS: usize = 300;
const LIMIT: Duration = Duration::from_secs(8);

/// A tmux server that ends with the measurement.
struct Server<'a>(&'a Scratch);

impl Server<'_> {
    fn tmux(&self, args: &[&str]) -> Command {
        let mut command = self.0.command("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(self.0.home().join("tmux")).args(args);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TERM", "xterm-256color");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]).status().ok();
    }
}

pub fn measure() -> Vec<Figure> {
    if !Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success()) {
        eprintln!("tmux is missing, so looks are not measured");
        return Vec::new();
    }
    let scratch = Scratch::in_memory();
    let server = Server(&scratch);
    let screen = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/screens/claude-2.1.325/working.ansi.txt");
    let script = format!("cat '{screen}'; exec sleep 1000");
    let session = ["new-session", "-d", "-x", "200", "-y", "50", "--", "sh", "-c", &script];
    assert!(server.tmux(&session).status().unwrap().success());
    let pane =
        server.tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]).stdout(Stdio::piped()).output().unwrap();
    let pid = String::from_utf8(pane.stdout).unwrap();
    let join = ["join", "Anna", "--harness", "claude", "--session", "one", "--pid", pid.trim()];
    assert!(scratch.msg(&join).stdout(Stdio::null()).status().unwrap().success());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut look = scratch.msg(&["look", "Anna", "--json"]);
    look.env("PATH", path).stdin(Stdio::null()).stdout(Stdio::null());
    let mut capture = server.tmux(&["capture-pane", "-p", "-e", "-t", "%0"]);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        ours.push(time(&mut look).as_secs_f64());
        theirs.push(time(&mut capture).as_secs_f64());
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    vec![Figure {
        name: "look / tmux capture-pane",
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(3.0),
    }]
}

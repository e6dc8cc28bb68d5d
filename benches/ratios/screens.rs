//! Cost of a look at an agent: `msg look` as a whole process, beside the one call of tmux that it can't do without. And
//! of a wait for one.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ravenry::domain::SessionId;
use ravenry::domain::screens::{HookStep, HookStepKind};

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, program, time};

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

/// Processor time of a wait for a minute, while the hooks of another session report something ten times a second; runs
/// only on request.
pub fn wait_long() -> Vec<Figure> {
    const MINUTE: Duration = Duration::from_secs(60);
    let scratch = Scratch::in_memory();
    let pid = std::process::id().to_string();
    let join = ["join", "Anna", "--session", "one", "--pid", &pid];
    assert!(scratch.msg(&join).status().unwrap().success());
    let mesh = scratch.open();
    let [own, other] = ["one", "other"].map(|session| SessionId::new(session).unwrap());
    mesh.session_states().set_working(&own).unwrap();
    let mut wait = scratch.msg(&["wait", "--for", "Anna", "--until", "done"]).spawn().unwrap();
    let started = Instant::now();
    let mut steps = 0;
    while started.elapsed() < MINUTE {
        let step = HookStep::new(jiff::Timestamp::now(), HookStepKind::ToolBegins);
        mesh.hooks().add_step(&other, &step).unwrap();
        steps += 1;
        std::thread::sleep(Duration::from_millis(100));
    }
    let used = processor_time(wait.id());
    drop(wait.kill());
    drop(wait.wait());
    let mut figures = vec![Figure {
        name: "wait --for: time of the processor in a minute",
        ours: format!("{:.1} ms", used.as_secs_f64() * 1e3),
        baseline: format!("{steps} hooks of another session"),
        result: Spread::of([used.as_secs_f64() * 1e3]),
        unit: " ms",
        aim: Aim::Below(20.0),
    }];
    figures.extend(wait_for_worker());
    figures
}

/// The same for a worker in tmux: it has a screen to look at, and a run whose supervisor keeps that screen.
fn wait_for_worker() -> Option<Figure> {
    const MINUTE: Duration = Duration::from_secs(60);
    const CLIENT: &str = include_str!("../../tests/it/panes/stand_in.py");
    let is_there =
        |program: &str| Command::new(program).arg("-V").output().is_ok_and(|output| output.status.success());
    if !is_there("tmux") || !is_there("python3") {
        eprintln!("tmux or python3 is missing, so a wait for a worker in tmux is not measured");
        return None;
    }
    let scratch = Scratch::in_memory();
    let server = Server(&scratch);
    let bin = scratch.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(bin.join("claude"), CLIENT).unwrap();
    std::fs::set_permissions(bin.join("claude"), Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(program(), bin.join("msg")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let socket = scratch.home().join("tmux");
    let msg = |args: &[&str]| {
        let mut command = scratch.msg(args);
        command.env("PATH", &path);
        command
    };
    assert!(msg(&["config", "set", "tmuxSocket", socket.to_str().unwrap()]).status().unwrap().success());
    // It is at work until there is a file `go`.
    let run = ["run", "claude", "slow work", "--tmux", "--detach", "--name", "Mason"];
    assert!(msg(&run).status().unwrap().success());
    let mut wait = msg(&["wait", "--for", "Mason", "--until", "done"]).spawn().unwrap();
    std::thread::sleep(MINUTE);
    let used = processor_time(wait.id());
    drop(wait.kill());
    drop(wait.wait());
    // The worker ends with its terminal, and its supervisor with the worker.
    drop(server);
    Some(Figure {
        name: "wait --for a worker in tmux: time of the processor in a minute",
        ours: format!("{:.1} ms", used.as_secs_f64() * 1e3),
        baseline: "its screen and its run are looked at".to_string(),
        result: Spread::of([used.as_secs_f64() * 1e3]),
        unit: " ms",
        aim: Aim::Below(20.0),
    })
}

/// What all threads of a process have used.
fn processor_time(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let used = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    Duration::from_nanos(tasks.map(|task| used(task.unwrap().path())).sum())
}

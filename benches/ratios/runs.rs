//! What runs cost: a run against its bare command, a snapshot against `git stash create`, many runs at once against
//! `xargs -P`, and the memory of a supervisor.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use ravenry::sys::git::run_tree::RunRepository;
use serde_json::Value;

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

/// How much is measured.
#[derive(Clone, Copy)]
struct Sizes {
    runs: usize,
    files: usize,
    dirty: usize,
    snapshots: usize,
    parallel: usize,
    rounds: usize,
    supervisors: usize,
}

const FULL: Sizes =
    Sizes { runs: 100, files: 20_000, dirty: 500, snapshots: 15, parallel: 16, rounds: 10, supervisors: 5 };
const SMALL: Sizes =
    Sizes { runs: 2, files: 60, dirty: 6, snapshots: 2, parallel: 3, rounds: 1, supervisors: 1 };

pub fn measure() -> Vec<Figure> {
    figures(FULL)
}

/// Measures next to nothing, to show that it can be measured.
pub fn try_out() {
    let figures = figures(SMALL);
    assert!(figures.iter().all(|figure| figure.result.median.is_finite()));
}

fn figures(sizes: Sizes) -> Vec<Figure> {
    vec![overhead(sizes), snapshot(sizes), parallel(sizes), memory(sizes)]
}

/// A mesh in memory, with profiles that are commands.
struct Stage {
    scratch: Scratch,
}

impl Stage {
    fn new() -> Self {
        let scratch = Scratch::in_memory();
        let dir = scratch.home().join(".config/ravenry");
        fs::create_dir_all(&dir).unwrap();
        let profiles = "[echo]\ncommand = [\"/bin/cat\"]\n\n[nap]\ncommand = [\"/bin/sh\", \"-c\", \"sleep 0.5; echo done\"]\n\n\
                        [rest]\ncommand = [\"/bin/sh\", \"-c\", \"echo begun; sleep 60\"]\n";
        fs::write(dir.join("workers.toml"), profiles).unwrap();
        Self { scratch }
    }

    /// `msg`, with the programs of this machine and room for all runs.
    fn msg(&self, args: &[&str], slots: usize) -> Command {
        let mut command = self.scratch.msg(args);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("MSG_SLOTS", slots.to_string());
        command
    }

    /// The answer of a command that prints JSON.
    fn json(&self, args: &[&str]) -> Value {
        let output = self.msg(args, 16).stdout(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", output.status);
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// From the command to its end and back, with everything that a run writes.
fn overhead(sizes: Sizes) -> Figure {
    let stage = Stage::new();
    let task = stage.scratch.home().join("task");
    fs::write(&task, "hello").unwrap();
    let mut run = stage.msg(&["run", "echo", "hello"], 16);
    time(&mut run);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..sizes.runs {
        ours.push(time(&mut run).as_secs_f64() * 1e3);
        let mut bare = stage.scratch.command("/bin/cat");
        bare.stdin(fs::File::open(&task).unwrap());
        theirs.push(time(&mut bare).as_secs_f64() * 1e3);
    }
    Figure {
        name: "run: msg run of a command − the command",
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours - theirs),
        unit: " ms",
        aim: Aim::Below(30.0),
    }
}

fn milliseconds(values: &[f64]) -> String {
    format!("{:.1} ms", Spread::of(values.iter().copied()).median)
}

fn snapshot(sizes: Sizes) -> Figure {
    let scratch = Scratch::in_memory();
    let root = scratch.home().join("project");
    make_repository(&root, sizes);
    let repository = RunRepository::open(&root, &scratch.home().join("state")).unwrap();
    let mut stash = git(&root, &["stash", "create"]);
    // Both once, so that the index knows what has changed since.
    repository.snapshot().unwrap();
    time(&mut stash);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for number in 0..sizes.snapshots {
        // Both have the same to do: what was changed is not in the repository yet.
        dirty(&root, sizes, &format!("ours {number}"));
        let started = Instant::now();
        repository.snapshot().unwrap();
        ours.push(started.elapsed().as_secs_f64() * 1e3);
        dirty(&root, sizes, &format!("theirs {number}"));
        theirs.push(time(&mut stash).as_secs_f64() * 1e3);
    }
    Figure {
        name: "run: snapshot / git stash create",
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(2.0),
    }
}

fn git(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-C"]).arg(root).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn make_repository(root: &Path, sizes: Sizes) {
    fs::create_dir_all(root).unwrap();
    for number in 0..sizes.files {
        let path = file(root, number);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("fn function_{number}() {{}}\n").repeat(20)).unwrap();
    }
    for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "first"]] {
        assert!(git(root, args).status().unwrap().success(), "{args:?}");
    }
}

fn file(root: &Path, number: usize) -> PathBuf {
    root.join(format!("src/part{}/file{number}.rs", number / 100))
}

/// Changes that many files.
fn dirty(root: &Path, sizes: Sizes, text: &str) {
    let step = sizes.files / sizes.dirty;
    for number in 0..sizes.dirty {
        fs::write(file(root, number * step), format!("// {text} {number}\n").repeat(20)).unwrap();
    }
}

/// As many runs as slots, started at once.
fn parallel(sizes: Sizes) -> Figure {
    let stage = Stage::new();
    let count = sizes.parallel;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..sizes.rounds {
        let started = Instant::now();
        let runs: Vec<_> =
            (0..count).map(|_| stage.msg(&["run", "nap", "rest a little"], count).spawn().unwrap()).collect();
        for mut run in runs {
            assert!(run.wait().unwrap().success());
        }
        ours.push(started.elapsed().as_secs_f64() * 1e3);
        let line = format!("seq {count} | xargs -P{count} -I% sh -c 'sleep 0.5; echo done'");
        let mut xargs = stage.scratch.command("/bin/sh");
        xargs.args(["-c", &line]).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        theirs.push(time(&mut xargs).as_secs_f64() * 1e3);
    }
    Figure {
        name: "run: 16 at once / xargs -P16",
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(1.5),
    }
}

/// The most memory that a supervisor has had in its life, while its worker works.
fn memory(sizes: Sizes) -> Figure {
    let stage = Stage::new();
    let mut peaks = Vec::new();
    for _ in 0..sizes.supervisors {
        let run = stage.json(&["run", "rest", "wait", "--detach", "--json"])["run"].clone();
        let id = run["id"].as_str().unwrap();
        while stage.json(&["runs", "show", id, "--json"])["run"]["state"] != "running" {
            std::thread::yield_now();
        }
        let status = fs::read_to_string(format!("/proc/{}/status", run["supervisorPid"])).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: f64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        peaks.push(kib / 1024.0);
        stage.json(&["runs", "stop", id, "--now", "--json"]);
    }
    let result = Spread::of(peaks.iter().copied());
    Figure {
        name: "run: memory of a supervisor",
        ours: format!("{:.1} MiB", result.median),
        baseline: String::new(),
        result,
        unit: " MiB",
        aim: Aim::Below(12.0),
    }
}

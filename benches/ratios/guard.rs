//! Cost of the git guard for a large commit: checking 10,000 staged files among 100 agents with ten reservations
//! each, against `git status` for the same files.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agents::crowd;
use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

const AGENTS: usize = 100;
const DIRECTORIES: usize = 100;
const FILES: usize = 100;
const REPETITIONS: usize = 60;
const LIMIT: Duration = Duration::from_secs(8);

pub fn measure() -> Vec<Figure> {
    let scratch = crowd(AGENTS);
    reserve(&scratch);
    stage(&scratch);
    let mut check = scratch.msg(&["guard", "check"]);
    let mut status = git(&scratch, &["status", "--porcelain"]);
    let path = std::env::var_os("PATH").unwrap();
    check.current_dir(scratch.home().join("work")).env("PATH", path);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        ours.push(time(&mut check).as_secs_f64());
        theirs.push(time(&mut status).as_secs_f64());
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    vec![Figure {
        name: "guard: 10,000 staged files, 100 agents × 10 reservations / git status",
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(10.0),
    }]
}

/// Adds ten reservations per agent: nine directories elsewhere, and one glob that every file must be compared with.
fn reserve(scratch: &Scratch) {
    let root = std::fs::canonicalize(scratch.home()).unwrap().join("work");
    for number in 1..AGENTS {
        let path = scratch.mesh().join(format!("registry/Copy{number}.json"));
        let mut registration: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let pattern = |part: usize| match part {
            9 => format!("src/*/part{number}-*.rs"),
            part => format!("src/other{number}/part{part}/"),
        };
        let reservation =
            |part| json!({ "pattern": pattern(part), "since": "2026-11-15T00:00:00.000Z", "root": root });
        registration["reservations"] = (0..10).map(reservation).collect();
        std::fs::write(&path, serde_json::to_string_pretty(&registration).unwrap()).unwrap();
    }
}

fn stage(scratch: &Scratch) {
    let work = scratch.home().join("work");
    for directory in 0..DIRECTORIES {
        let directory = work.join(format!("src/component{directory}"));
        std::fs::create_dir_all(&directory).unwrap();
        (0..FILES).for_each(|file| std::fs::write(directory.join(format!("file{file}.rs")), "").unwrap());
    }
    for args in [&["init", "-q"][..], &["add", "."]] {
        time(&mut git(scratch, args));
    }
}

fn git(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = scratch.command("git");
    command
        .args(args)
        .env("PATH", std::env::var_os("PATH").unwrap())
        .current_dir(scratch.home().join("work"));
    command
}

//! Cost of a command that does almost nothing. Agents call `msg` all the time, so it should take hardly longer than
//! starting any process.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, program, time};

const REPETITIONS: usize = 1000;
const LIMIT: Duration = Duration::from_secs(10);

pub fn measure() -> Vec<Figure> {
    let mut scratch = Scratch::new();
    for name in ["Anna", "Berta", "Carla"] {
        scratch.join(name);
    }
    let mut version = scratch.command(program());
    version.arg("--version");
    let cases = [
        ("start: msg --version / true", version, 1.0),
        ("start: msg whoami / true", scratch.msg(&["whoami", "--as", "Berta"]), 1.4),
    ];
    let mut nothing = scratch.command("/bin/true");
    cases.into_iter().map(|(name, mut msg, aim)| against(name, &mut msg, &mut nothing, aim)).collect()
}

/// Measures one command alternately with one that does nothing.
fn against(name: &'static str, msg: &mut Command, nothing: &mut Command, aim: f64) -> Figure {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        ours.push(time(msg).as_secs_f64());
        theirs.push(time(nothing).as_secs_f64());
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    Figure {
        name,
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(aim),
    }
}

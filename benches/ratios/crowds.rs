//! Commands that involve all agents or all reservations of another: their time must not grow quadratically.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::agents::crowd;
use crate::figure::{Aim, Figure, Spread};
use crate::scratch::time;

const SIZE: usize = 400;
const REPETITIONS: usize = 20;
const LIMIT: Duration = Duration::from_secs(15);

pub fn measure() -> Vec<Figure> {
    vec![broadcast(), reserve()]
}

fn broadcast() -> Figure {
    let scratch = crowd(SIZE + 1);
    let mut broadcast = scratch.msg(&["broadcast", "the parser is done", "--as", "Original"]);
    figure("broadcast to 400", &mut broadcast, &mut scratch.command("/bin/true"), 400.0)
}

fn reserve() -> Figure {
    let scratch = crowd(2);
    let globs = |letter: &str| -> Vec<String> {
        (0..SIZE).map(|number| format!("src/{letter}{number}*x*y*z.rs")).collect()
    };
    let reserve = |name: &str, letter: &str| {
        let mut command = scratch.msg(&["reserve", "--as", name]);
        command.args(globs(letter));
        command
    };
    assert!(reserve("Copy1", "a").status().unwrap().success(), "the globs of the other one");
    // Reserving the same globs again repeats the comparison.
    let mut again = reserve("Original", "b");
    figure("reserve: 400 globs beside 400", &mut again, &mut scratch.command("/bin/true"), 300.0)
}

/// Times whole processes in milliseconds, next to `true`.
fn figure(name: &'static str, command: &mut Command, nothing: &mut Command, limit: f64) -> Figure {
    let (mut ours, mut baseline) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        baseline.push(time(nothing).as_secs_f64() * 1e3);
        ours.push(time(command).as_secs_f64() * 1e3);
    }
    let milliseconds = |times: &[f64]| format!("{:.2} ms", Spread::of(times.iter().copied()).median);
    Figure {
        name,
        ours: milliseconds(&ours),
        baseline: milliseconds(&baseline),
        result: Spread::of(ours.iter().copied()),
        unit: " ms",
        aim: Aim::Below(limit),
    }
}

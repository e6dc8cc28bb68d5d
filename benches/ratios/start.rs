//! What does a command cost that does next to nothing? Agents call `msg` all the time, so it should be hardly more
//! than starting a process at all.

use std::time::{Duration, Instant};

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

const REPETITIONS: usize = 1000;
const LIMIT: Duration = Duration::from_secs(10);

pub fn measure() -> Vec<Figure> {
    let mut scratch = Scratch::new();
    for name in ["Anna", "Berta", "Carla"] {
        scratch.join(name);
    }
    let mut whoami = scratch.msg(&["whoami", "--as", "Berta"]);
    let mut nothing = scratch.command("/bin/true");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        ours.push(time(&mut whoami).as_secs_f64());
        theirs.push(time(&mut nothing).as_secs_f64());
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    vec![Figure {
        name: "start: msg whoami / true",
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(1.3),
    }]
}

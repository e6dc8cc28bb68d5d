//! Cost of the features of our locks: a time limit, naming the holder, surviving the death of any process.

use crate::contenders::{Run, Way, contend};
use crate::figure::{Aim, Figure, Spread};
use crate::scratch::Scratch;

const ROUNDS: usize = 7;
const AIM: f64 = 0.8;

/// `mesh.lock` against plain `flock`.
///
/// A process that releases a lock at once takes it again before any other wakes up, so without a hold this measures
/// the calls; with a hold it measures the waiting.
pub fn mesh() -> Vec<Figure> {
    let [ours, flock, opening, ours_held, flock_held] =
        in_turns([Way::MeshLock, Way::Flock, Way::OpenAndFlock, Way::MeshLockHeld, Way::FlockHeld]);
    let slowest = |runs: &[Run]| runs.iter().map(|run| run.slowest).collect::<Vec<_>>();
    let least = |values: &[f64]| format!("{:.2}", Spread::of(values.iter().copied()).median);
    vec![
        rates("mesh.lock / flock", &ours, &flock, Aim::AtLeast(AIM)),
        rates("mesh.lock / open and flock", &ours, &opening, Aim::None),
        rates("mesh.lock / flock, held for 20 µs", &ours_held, &flock_held, Aim::None),
        compare(
            "mesh.lock / flock, slowest process to mean",
            &slowest(&ours),
            &slowest(&flock),
            least,
            Aim::None,
        ),
    ]
}

/// `swarm.lock` against a file that is created and removed under `flock`.
pub fn swarm() -> Vec<Figure> {
    let [ours, plain] = in_turns([Way::SwarmLock, Way::FlockAndFile]);
    vec![rates("swarm.lock / flock and file", &ours, &plain, Aim::AtLeast(AIM))]
}

fn in_turns<const N: usize>(ways: [Way; N]) -> [Vec<Run>; N] {
    let scratch = Scratch::new();
    let mut runs = ways.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (way, runs) in ways.iter().zip(&mut runs) {
            runs.push(contend(*way, &scratch.mesh()));
        }
    }
    runs
}

fn rates(name: &'static str, ours: &[Run], theirs: &[Run], aim: Aim) -> Figure {
    let rates = |runs: &[Run]| runs.iter().map(|run| run.rate).collect::<Vec<_>>();
    let per_second = |rates: &[f64]| format!("{:.0} /s", Spread::of(rates.iter().copied()).median);
    compare(name, &rates(ours), &rates(theirs), per_second, aim)
}

fn compare(
    name: &'static str,
    ours: &[f64],
    theirs: &[f64],
    show: impl Fn(&[f64]) -> String,
    aim: Aim,
) -> Figure {
    let result = Spread::of_pairs(ours, theirs, |ours, theirs| ours / theirs);
    Figure { name, ours: show(ours), baseline: show(theirs), result, unit: "", aim }
}

//! What does it cost that our locks give up after a while, tell who is in the way and survive whatever dies?

use crate::contenders::{Run, Way, contend};
use crate::figure::{Aim, Figure, Spread};
use crate::scratch::Scratch;

const ROUNDS: usize = 9;
const AIM: f64 = 0.8;

/// `mesh.lock` against `flock` as it comes.
pub fn mesh() -> Vec<Figure> {
    let [ours, flock, opening] = in_turns([Way::MeshLock, Way::Flock, Way::OpenAndFlock]);
    let fairness = |runs: &[Run]| Spread::of(runs.iter().map(|run| run.slowest));
    vec![
        rates("mesh.lock / flock", &ours, &flock, Aim::AtLeast(AIM)),
        rates("mesh.lock / open and flock", &ours, &opening, Aim::None),
        Figure {
            name: "mesh.lock: slowest process / mean",
            ours: format!("{:.2}", fairness(&ours).median),
            baseline: format!("{:.2}", fairness(&flock).median),
            result: fairness(&ours),
            unit: "",
            aim: Aim::None,
        },
    ]
}

/// `swarm.lock` against a file that is made and removed under `flock`.
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
    let (ours, theirs) = (rates(ours), rates(theirs));
    let per_second = |rates: &[f64]| format!("{:.0} /s", Spread::of(rates.iter().copied()).median);
    Figure {
        name,
        ours: per_second(&ours),
        baseline: per_second(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim,
    }
}

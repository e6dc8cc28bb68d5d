//! The feed: reading the last events of a long feed versus a short one, and appending versus a bare append.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use ravenry::domain::{AnyEventKind, Event, EventKind};
use ravenry::store::Mesh;
use ravenry::sys::clock;

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

const REPETITIONS: usize = 400;
/// Retention limit that is never reached, so that nothing is removed.
const KEEP: u64 = 200_000;

pub fn measure() -> Vec<Figure> {
    let [short, long] = [100, 100_000].map(|count| {
        let scratch = Scratch::in_memory();
        fill(&scratch.open(), count);
        scratch
    });
    let (short_mesh, long_mesh) = (short.open(), long.open());
    let library = compare(
        || seconds(|| drop(long_mesh.feed().last(20, |_| true).unwrap())),
        || seconds(|| drop(short_mesh.feed().last(20, |_| true).unwrap())),
    );
    let [mut of_long, mut of_short] = [&long, &short].map(|scratch| scratch.msg(&["feed", "--limit", "20"]));
    let command = compare(|| time(&mut of_long).as_secs_f64(), || time(&mut of_short).as_secs_f64());
    vec![
        figure("feed: last 20 of 100,000 / of 100", &library, Aim::Below(1.5)),
        figure("msg feed: last 20 of 100,000 / of 100", &command, Aim::Below(1.5)),
        append(),
    ]
}

fn append() -> Figure {
    let scratch = Scratch::in_memory();
    let mesh = scratch.open();
    let (event, bare) = (event(0), scratch.home().join("bare"));
    let line = [b'x'; 96];
    let pairs = compare(
        || seconds(|| mesh.feed().append(std::slice::from_ref(&event), KEEP).unwrap()),
        || {
            seconds(|| {
                let mut file = OpenOptions::new().append(true).create(true).open(&bare).unwrap();
                file.write_all(&line).unwrap();
            })
        },
    );
    figure("feed: append / bare append", &pairs, Aim::None)
}

fn event(number: usize) -> Event {
    Event {
        at: clock::now(),
        what: AnyEventKind::Ours(EventKind::Edit),
        agent: "SwiftRaven".to_string(),
        target: Some(format!("src/auth/file-{number}.rs")),
        preview: None,
        message_kind: None,
        machine: None,
    }
}

fn fill(mesh: &Mesh, count: usize) {
    for number in 0..count {
        mesh.feed().append(&[event(number)], KEEP).unwrap();
    }
}

fn seconds(run: impl FnOnce()) -> f64 {
    let started = Instant::now();
    run();
    started.elapsed().as_secs_f64()
}

/// Runs both alternately.
fn compare(mut ours: impl FnMut() -> f64, mut theirs: impl FnMut() -> f64) -> (Vec<f64>, Vec<f64>) {
    (0..REPETITIONS).map(|_| (ours(), theirs())).unzip()
}

fn figure(name: &'static str, (ours, theirs): &(Vec<f64>, Vec<f64>), aim: Aim) -> Figure {
    let shown = |values: &[f64]| {
        let median = Spread::of(values.iter().copied()).median;
        if median < 1e-3 { format!("{:.1} µs", median * 1e6) } else { format!("{:.2} ms", median * 1e3) }
    };
    let result = Spread::of_pairs(ours, theirs, |ours, theirs| ours / theirs);
    Figure { name, ours: shown(ours), baseline: shown(theirs), result, unit: "", aim }
}

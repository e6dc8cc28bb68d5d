//! Cost of a message: sending, posting and reading it.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::figure::{Aim, Figure, Spread};
use crate::post::{Bare, fill, name, post};
use crate::scratch::{Scratch, time};

/// `msg send` as a whole process.
pub fn send() -> Vec<Figure> {
    const REPETITIONS: usize = 1000;
    const LIMIT: Duration = Duration::from_secs(8);
    let mut scratch = Scratch::in_memory();
    for name in ["Anna", "Berta", "Carla"] {
        scratch.join(name);
    }
    let mut send = scratch.msg(&["send", "Anna", "the parser is done", "--as", "Berta"]);
    let mut nothing = scratch.command("/bin/true");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        ours.push(time(&mut send).as_secs_f64());
        theirs.push(time(&mut nothing).as_secs_f64());
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    vec![Figure {
        name: "send: msg send / true",
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(2.0),
    }]
}

/// Messages per second in one process, against files that are created, linked and renamed.
pub fn posting() -> Vec<Figure> {
    const ROUNDS: usize = 21;
    const EACH: usize = 250;
    let mut scratch = Scratch::new();
    // Two pairs, so that all directories grow equally.
    for name in ["Anna", "Berta", "Carla", "Dora"] {
        scratch.join(name);
    }
    let mesh = scratch.open();
    let [anna, berta, carla, dora] = ["Anna", "Berta", "Carla", "Dora"].map(name);
    let content = fill(&mesh, &scratch.mesh(), &berta, &anna, 1);
    let mut bare = Bare::new(scratch.home(), content);
    let (mut held, mut opened, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut outbox = mesh.outboxes().lock(&berta).unwrap();
        held.push(rate(EACH, || post(&mut outbox, &berta, &anna)));
        opened.push(rate(EACH, || post(&mut mesh.outboxes().lock(&dora).unwrap(), &dora, &carla)));
        plain.push(rate(EACH, || {
            bare.create();
            bare.link();
            bare.rename();
        }));
    }
    let per_second = |rates: &[f64]| format!("{:.0} /s", Spread::of(rates.iter().copied()).median);
    let against = |name, ours: &[f64]| Figure {
        name,
        ours: per_second(ours),
        baseline: per_second(&plain),
        result: Spread::of_pairs(ours, &plain, |ours, plain| ours / plain),
        unit: "",
        aim: Aim::AtLeast(0.5),
    };
    vec![
        against("post: outbox held / create, link, rename", &held),
        against("post: outbox opened each time / create, link, rename", &opened),
    ]
}

fn rate(count: usize, mut once: impl FnMut()) -> f64 {
    let started = Instant::now();
    (0..count).for_each(|_| once());
    count as f64 / started.elapsed().as_secs_f64()
}

/// `msg read` with many waiting messages, against a program that only reads and moves each file.
pub fn drain() -> Vec<Figure> {
    const ROUNDS: usize = 3;
    let (mut few, mut many) = (Drained::default(), Drained::default());
    for _ in 0..ROUNDS {
        few.once(1_000);
        many.once(10_000);
    }
    vec![
        few.figure("read: each of 1,000"),
        many.figure("read: each of 10,000"),
        many.against("read: each of 10,000 / each of 1,000", &few),
    ]
}

/// The same with 100,000 messages; runs only on request.
pub fn drain_many() -> Vec<Figure> {
    let (mut few, mut many) = (Drained::default(), Drained::default());
    few.once(10_000);
    many.once(100_000);
    vec![
        few.figure("read: each of 10,000"),
        many.figure("read: each of 100,000"),
        many.against("read: each of 100,000 / each of 10,000", &few),
    ]
}

/// Microseconds per message.
#[derive(Default)]
pub struct Drained {
    ours: Vec<f64>,
    plain: Vec<f64>,
}

impl Drained {
    /// Reads `count` messages. Afterwards they are stored in the mesh that is returned.
    pub fn once(&mut self, count: usize) -> Scratch {
        let mut scratch = Scratch::new();
        scratch.join("Anna");
        scratch.join("Berta");
        fill(&scratch.open(), &scratch.mesh(), &name("Berta"), &name("Anna"), count);
        let each = |taken: Duration| taken.as_secs_f64() * 1e6 / count as f64;
        // With output to `/dev/null` no message would be taken.
        let mut read = scratch.msg(&["read", "--json", "--as", "Anna"]);
        self.ours.push(each(time(read.stdout(tempfile::tempfile().unwrap()))));
        let left = std::fs::read_dir(scratch.mesh().join("inbox/Anna")).unwrap().count();
        assert_eq!(left, 0, "something was not read");
        // The sender's copies are the same files.
        let started = Instant::now();
        let moved = move_all(&scratch.mesh().join("sent/Berta"), &scratch.home().join("moved"));
        self.plain.push(each(started.elapsed()));
        assert_eq!(moved, count);
        scratch
    }

    /// As a multiple of merely moving the files.
    pub fn ratio(&self) -> f64 {
        Spread::of_pairs(&self.ours, &self.plain, |ours, plain| ours / plain).median
    }

    fn figure(&self, name: &'static str) -> Figure {
        Figure {
            name,
            ours: microseconds(&self.ours),
            baseline: microseconds(&self.plain),
            result: Spread::of(self.ours.iter().copied()),
            unit: " µs",
            aim: Aim::Below(60.0),
        }
    }

    fn against(&self, name: &'static str, fewer: &Self) -> Figure {
        Figure {
            name,
            ours: microseconds(&self.ours),
            baseline: microseconds(&fewer.ours),
            result: Spread::of_pairs(&self.ours, &fewer.ours, |many, few| many / few),
            unit: "",
            // Larger directories cost a little more per message; quadratic growth would be close to 10.
            aim: Aim::Below(1.5),
        }
    }
}

fn microseconds(times: &[f64]) -> String {
    format!("{:.1} µs", Spread::of(times.iter().copied()).median)
}

fn move_all(from: &Path, to: &Path) -> usize {
    std::fs::create_dir(to).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(from)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.as_encoded_bytes().ends_with(b".json"))
        .collect();
    names.sort();
    for name in &names {
        std::hint::black_box(std::fs::read(from.join(name)).unwrap());
        std::fs::rename(from.join(name), to.join(name)).unwrap();
    }
    names.len()
}

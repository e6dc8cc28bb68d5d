//! What `msg search` costs as a whole process, beside the number of messages: a rare word, two frequent ones, and the first
//! search, which reads every message.
//!
//! Each of ten agents has sent a tenth of the messages, and a person searches those of all.

use std::path::Path;
use std::time::{Duration, Instant};

use ravenry::domain::Message;
use ravenry::store::Mesh;

use crate::figure::{Aim, Figure, Spread};
use crate::post::name;
use crate::scratch::{Scratch, time};

const AGENTS: usize = 10;
/// How many words there are, and how many in a message.
const VOCABULARY: u64 = 3_000;
const WORDS: usize = 30;
const REPETITIONS: usize = 60;
const LIMIT: Duration = Duration::from_secs(8);
/// A directory that was changed within this time is listed at each search.
const SETTLED: Duration = Duration::from_millis(2_500);

pub fn measure() -> Vec<Figure> {
    let sizes = [
        (
            500,
            [
                "search: 500 messages",
                "search: 500 messages, two frequent words",
                "search: 500 messages, the first time",
            ],
        ),
        (
            5_000,
            [
                "search: 5,000 messages",
                "search: 5,000 messages, two frequent words",
                "search: 5,000 messages, the first time",
            ],
        ),
        (
            50_000,
            [
                "search: 50,000 messages",
                "search: 50,000 messages, two frequent words",
                "search: 50,000 messages, the first time",
            ],
        ),
    ];
    sizes.into_iter().flat_map(|(messages, names)| figures(messages, names)).collect()
}

fn figures(messages: usize, [rare, frequent, first]: [&'static str; 3]) -> Vec<Figure> {
    let scratch = Scratch::in_memory();
    let mesh = scratch.open();
    fill(&mesh, &scratch.mesh(), messages);
    std::thread::sleep(SETTLED);
    let cold = time(&mut scratch.msg(&["search", "needle", "--all"])).as_secs_f64();
    let aim = |limit| if messages == 50_000 { Aim::Below(limit) } else { Aim::None };
    let baseline = time(&mut scratch.command("/bin/true")).as_secs_f64();
    vec![
        figure(rare, &repeated(&scratch, &["needle"]), aim(50.0)),
        figure(frequent, &repeated(&scratch, &["common", "usual"]), aim(50.0)),
        figure(first, &[(cold, baseline)], Aim::None),
    ]
}

/// Times of a search and of a program that does nothing, measured in turns.
fn repeated(scratch: &Scratch, words: &[&str]) -> Vec<(f64, f64)> {
    let mut search = scratch.msg(&[&["search", "--all"], words].concat());
    let mut nothing = scratch.command("/bin/true");
    let (started, mut times) = (Instant::now(), Vec::new());
    while times.len() < REPETITIONS && (times.len() < 5 || started.elapsed() < LIMIT) {
        times.push((time(&mut search).as_secs_f64(), time(&mut nothing).as_secs_f64()));
    }
    times
}

fn figure(name: &'static str, times: &[(f64, f64)], aim: Aim) -> Figure {
    let median = |seconds: Vec<f64>| format!("{:.2} ms", Spread::of(seconds).median * 1e3);
    Figure {
        name,
        ours: median(times.iter().map(|(ours, _)| *ours).collect()),
        baseline: median(times.iter().map(|(_, least)| *least).collect()),
        result: Spread::of(times.iter().map(|(ours, _)| ours * 1e3)),
        unit: " ms",
        aim,
    }
}

/// Messages of words that differ; every second one has two frequent words, and one in a thousand a rare one.
fn fill(mesh: &Mesh, dir: &Path, messages: usize) {
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % VOCABULARY
    };
    for agent in 0..AGENTS {
        let (from, to) = (name(&format!("Agent{agent}")), name(&format!("Agent{}", (agent + 1) % AGENTS)));
        std::fs::create_dir_all(dir.join("inbox").join(to.as_str())).unwrap();
        let mut outbox = mesh.outboxes().lock(&from).unwrap();
        for number in 0..messages / AGENTS {
            let mut text: Vec<String> = (0..WORDS).map(|_| word(next())).collect();
            text.extend((number % 2 == 0).then(|| "common usual".to_string()));
            text.extend((number % 1_000 == 0).then(|| "needle".to_string()));
            let stamp = outbox.stamp().unwrap();
            let message = Message::new(stamp, &from, &to, text.join(" "));
            assert!(outbox.post(stamp, &to, message).unwrap().is_some(), "{to} has no inbox");
        }
    }
    // Nobody leaves so many unread: what was sent stays.
    for agent in 0..AGENTS {
        std::fs::remove_dir_all(dir.join("inbox").join(format!("Agent{agent}"))).unwrap();
    }
}

/// A word of letters.
fn word(number: u64) -> String {
    const SYLLABLES: [&str; 15] =
        ["ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu"];
    let part = |place: u32| SYLLABLES[(number / 15_u64.pow(place) % 15) as usize];
    [part(0), part(1), part(2), "n"].concat()
}

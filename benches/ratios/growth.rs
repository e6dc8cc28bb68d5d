//! Growth: the same commands on larger and larger meshes, as multiples of a baseline that is measured alternately and
//! does not grow.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::figure::Spread;
use crate::messages::Drained;
use crate::prompts::{Mode, Prompting};
use crate::scratch::{Scratch, time};
use crate::{hooks, swarm};

const REPETITIONS: usize = 60;
const LIMIT: Duration = Duration::from_secs(6);

/// Results for each size.
pub struct Growth {
    pub slug: &'static str,
    /// The items whose number grows.
    pub of: &'static str,
    /// A sentence that names the baseline.
    pub against: &'static str,
    pub sizes: Vec<usize>,
    pub curves: Vec<Curve>,
}

pub struct Curve {
    pub name: &'static str,
    /// The multiple of the baseline, for each size.
    pub values: Vec<f64>,
}

pub fn measure() -> Vec<Growth> {
    vec![agents(), prompts_by_agents(), prompts_by_events(), messages(), completions()]
}

/// Something to measure: its name, and a function that returns the seconds for one execution.
type Probe<'a> = (&'static str, Box<dyn FnMut() -> f64 + 'a>);

/// Whole processes against `true`; each agent holds ten reservations.
fn agents() -> Growth {
    let at = |size: usize| {
        let scratch = hooks::reserving(size);
        let payload = hooks::payload(&scratch, "free", "/srv/project/src/free.rs");
        let mut agents = scratch.msg(&["agents", "--json"]);
        let mut check = scratch.msg(&["check", "src/free.rs", "--as", "Original"]);
        let mut statusline = scratch.msg(&["statusline", "--as", "Original"]);
        against_true(
            &scratch,
            vec![
                ("msg agents", Box::new(move || time(&mut agents).as_secs_f64())),
                ("msg hook, before an edit", Box::new(|| hook(&scratch, &payload))),
                ("msg check", Box::new(move || time(&mut check).as_secs_f64())),
                ("msg statusline", Box::new(move || time(&mut statusline).as_secs_f64())),
            ],
        )
    };
    let against = "Whole processes, as multiples of `true`; each agent holds ten reservations.";
    collect("agents", "agents", against, &[1, 10, 100, 1_000], at)
}

/// The hook at a prompt, with awareness and without it, against `true`.
fn prompts(agents: usize, events: usize) -> Vec<(&'static str, f64)> {
    let prompting = Prompting::new(agents, events);
    against_true(
        &prompting.scratch,
        vec![
            ("msg hook, at a prompt", Box::new(|| prompting.hook(Mode::Warn))),
            ("the same, awareness = off", Box::new(|| prompting.hook(Mode::Off))),
        ],
    )
}

fn prompts_by_agents() -> Growth {
    let against = "Whole processes, as multiples of `true`; each agent had ten prompts within the window, and 20,000 \
                   events are counted.";
    let of = "agents in a repository";
    collect("prompts-agents", of, against, &[1, 10, 100, 1_000], |agents| prompts(agents, 20_000))
}

fn prompts_by_events() -> Growth {
    let against = "Whole processes, as multiples of `true`, with 10 agents.";
    collect("prompts-events", "counted events", against, &[200, 2_000, 20_000, 200_000], |events| {
        prompts(10, events)
    })
}

/// With that many messages read and kept: whole processes against `true`, and reading each message against reading
/// and moving a bare file.
fn messages() -> Growth {
    let at = |size: usize| {
        let mut drained = Drained::default();
        let scratch = drained.once(size);
        let mut send = scratch.msg(&["send", "Anna", "the parser is done", "--as", "Berta"]);
        let mut inbox = scratch.msg(&["inbox", "--as", "Anna"]);
        let mut history = scratch.msg(&["history", "Berta", "--limit", "20", "--as", "Anna"]);
        let mut values = against_true(
            &scratch,
            vec![
                ("msg send", Box::new(move || time(&mut send).as_secs_f64())),
                ("msg inbox", Box::new(move || time(&mut inbox).as_secs_f64())),
                ("msg history --limit 20", Box::new(move || time(&mut history).as_secs_f64())),
            ],
        );
        values.push(("msg read, each", drained.ratio()));
        values
    };
    let against = "Whole processes among that many messages that were read and kept, as multiples of `true`; and \
                   reading each of them, as a multiple of reading and moving a bare file. So many lie there only for \
                   this: of what was read 5,000 are kept.";
    collect("messages", "messages", against, &[1, 10, 100, 1_000, 10_000, 100_000], at)
}

/// With that many completions on file, in one process: completing one more, and the minimum it could take.
fn completions() -> Growth {
    let first = swarm::completing(0);
    let at = |size: usize| {
        let now = swarm::completing(size);
        vec![("complete", now.complete / first.bare), ("bare locks and files", now.bare / first.bare)]
    };
    let against = "In one process, as multiples of the bare locks and files where nothing is on file.";
    collect("completions", "completions on file", against, &[0, 10, 100, 1_000, 5_000, 20_000], at)
}

fn collect(
    slug: &'static str,
    of: &'static str,
    against: &'static str,
    sizes: &[usize],
    at: impl Fn(usize) -> Vec<(&'static str, f64)>,
) -> Growth {
    let mut curves: Vec<Curve> = Vec::new();
    for size in sizes {
        for (name, value) in at(*size) {
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.values.push(value),
                None => curves.push(Curve { name, values: vec![value] }),
            }
        }
    }
    Growth { slug, of, against, sizes: sizes.to_vec(), curves }
}

fn hook(scratch: &Scratch, payload: &std::path::Path) -> f64 {
    time(hooks::hook(scratch, payload).stdout(Stdio::null())).as_secs_f64()
}

fn against_true(scratch: &Scratch, mut probes: Vec<Probe<'_>>) -> Vec<(&'static str, f64)> {
    let mut nothing = scratch.command("/bin/true");
    let mut baseline = Vec::new();
    let mut times: Vec<Vec<f64>> = probes.iter().map(|_| Vec::new()).collect();
    let started = Instant::now();
    while baseline.len() < REPETITIONS && started.elapsed() < LIMIT {
        baseline.push(time(&mut nothing).as_secs_f64());
        for ((_, probe), times) in probes.iter_mut().zip(&mut times) {
            times.push(probe());
        }
    }
    let ratio = |times: &[f64]| Spread::of_pairs(times, &baseline, |ours, theirs| ours / theirs).median;
    probes.iter().zip(&times).map(|((name, _), times)| (*name, ratio(times))).collect()
}

//! Cost of awareness at a prompt: the same hook with it and without it, among more agents and more counted events.
//!
//! Each agent had ten prompts within the window, with two changed files each.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ravenry::domain::AgentName;
use ravenry::domain::SessionId;
use ravenry::domain::awareness::RepositoryId;
use ravenry::domain::awareness::counters::AgentId;
use ravenry::domain::awareness::topics::Topic;
use ravenry::domain::awareness::track::{Deed, TrackLine, TrackStamp, TreeId};
use ravenry::store::{CountedTrack, RepositoryCounts};
use ravenry::sys::clock;
use serde_json::{Value, json};

use crate::agents::crowd_here;
use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

/// The prompts of each agent within the window, and how far they are apart in milliseconds.
const PROMPTS: usize = 10;
const APART: i64 = 10 * 60 * 1000;
/// The words and the files of the repository.
const WORDS: usize = 3_000;
const FILES: usize = 5_000;
/// The last prompts are not counted yet.
const UNCOUNTED: usize = 60;

const REPETITIONS: usize = 300;
const LIMIT: Duration = Duration::from_secs(8);

/// Number of agents and of counted events, the names of the figures, and the most that awareness may add, in
/// milliseconds.
const SIZES: [(usize, usize, [&str; 2], Aim); 2] = [
    (
        10,
        20_000,
        ["prompt: 10 agents, 20,000 events / true", "prompt: what awareness adds, 10 agents, 20,000 events"],
        Aim::Below(1.0),
    ),
    (
        1_000,
        200_000,
        [
            "prompt: 1,000 agents, 200,000 events / true",
            "prompt: what awareness adds, 1,000 agents, 200,000 events",
        ],
        Aim::None,
    ),
];

pub fn measure() -> Vec<Figure> {
    SIZES.into_iter().flat_map(|(agents, events, names, aim)| of_size(agents, events, names, aim)).collect()
}

fn of_size(agents: usize, events: usize, names: [&'static str; 2], aim: Aim) -> [Figure; 2] {
    let prompting = Prompting::new(agents, events);
    let mut nothing = prompting.scratch.command("/bin/true");
    let (mut with, mut without, mut least) = (Vec::new(), Vec::new(), Vec::new());
    let started = Instant::now();
    while with.len() < REPETITIONS && started.elapsed() < LIMIT {
        with.push(prompting.hook(Mode::Warn));
        without.push(prompting.hook(Mode::Off));
        least.push(time(&mut nothing).as_secs_f64());
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    let [ratio, added] = names;
    [
        Figure {
            name: ratio,
            ours: milliseconds(&with),
            baseline: milliseconds(&least),
            result: Spread::of_pairs(&with, &least, |with, least| with / least),
            unit: "",
            aim: Aim::None,
        },
        Figure {
            name: added,
            ours: milliseconds(&with),
            baseline: milliseconds(&without),
            result: Spread::of_pairs(&with, &without, |with, without| (with - without) * 1e3),
            unit: " ms",
            aim,
        },
    ]
}

/// The setting `awareness`.
#[derive(Clone, Copy, Eq, PartialEq)]
pub enum Mode {
    Off,
    Warn,
}

/// A repository in which agents work, and one of them is prompted.
pub struct Prompting {
    pub scratch: Scratch,
    payload: PathBuf,
    track: PathBuf,
    /// The track as every prompt finds it.
    before: Vec<u8>,
    /// Removed before every prompt: so each is told what it would be told first.
    predictions: PathBuf,
}

impl Prompting {
    pub fn new(agents: usize, events: usize) -> Self {
        let scratch = crowd_here(agents);
        let work = scratch.home().join("work");
        fs::create_dir_all(&work).unwrap();
        let mut init = scratch.command("git");
        time(init.args(["init", "-q"]).current_dir(&work).env("PATH", std::env::var_os("PATH").unwrap()));
        let mut off = scratch.msg(&["config", "set", "awareness", "off"]);
        time(off.env("XDG_CONFIG_HOME", scratch.home().join("off")));
        let shared = fs::canonicalize(work.join(".git")).unwrap();
        let repository = RepositoryId::of(shared.as_os_str().as_bytes());
        fill(&scratch, &repository, agents, events);
        let track = scratch.mesh().join(format!("awareness/{}.track", repository.as_str()));
        let payload = scratch.home().join("prompt.json");
        let text = json!({
            "session_id": session(&scratch, "Original"),
            "transcript_path": "/home/dev/.claude/projects/x.jsonl",
            "cwd": fs::canonicalize(&work).unwrap(),
            "permission_mode": "default",
            "hook_event_name": "UserPromptSubmit",
            "prompt": (0..12).map(|number| word(number * number * 7)).collect::<Vec<_>>().join(" and "),
        });
        fs::write(&payload, text.to_string()).unwrap();
        let before = fs::read(&track).unwrap();
        let predictions = track.with_extension("predictions");
        Self { scratch, payload, track, before, predictions }
    }

    /// The seconds that the hook takes.
    pub fn hook(&self, mode: Mode) -> f64 {
        fs::write(&self.track, &self.before).unwrap();
        drop(fs::remove_file(&self.predictions));
        // As if a job had just counted: so no hook starts another one, which would change the track.
        fs::write(self.track.with_extension("lock"), "").unwrap();
        let seconds = time(&mut self.command(mode)).as_secs_f64();
        let is_recorded = fs::metadata(&self.track).unwrap().len() > self.before.len() as u64;
        assert_eq!(is_recorded, mode == Mode::Warn, "whether the prompt is recorded");
        seconds
    }

    fn command(&self, mode: Mode) -> Command {
        let mut hook = self.scratch.msg(&["hook", "claude", "UserPromptSubmit"]);
        hook.stdin(File::open(&self.payload).unwrap()).stdout(Stdio::null());
        if mode == Mode::Off {
            hook.env("XDG_CONFIG_HOME", self.scratch.home().join("off"));
        }
        hook
    }
}

/// Counts so many events, and lets each agent have done something lately.
fn fill(scratch: &Scratch, repository: &RepositoryId, agents: usize, events: usize) {
    let mesh = scratch.open();
    let agents: Vec<(AgentName, AgentId)> = (0..agents)
        .map(|number| if number == 0 { "Original".to_string() } else { format!("Copy{number}") })
        .map(|name| {
            let session = SessionId::new(session(scratch, &name)).unwrap();
            (AgentName::new(&name).unwrap(), AgentId::of(&session))
        })
        .collect();
    let now = clock::now().as_millisecond();
    let mut counts = RepositoryCounts::default();
    for number in 0..events {
        let topics: Vec<Topic> = (0..6).map(|part| Topic::new(&word(number * 31 + part * part))).collect();
        let files: Vec<Vec<u8>> = (0..3).map(|part| path(number * 17 + part)).collect();
        let agent = agents[number % agents.len()].1;
        counts.count(Some((agent, now)), &topics, &files);
    }
    let all = PROMPTS * agents.len();
    let mut lines: Vec<[TrackLine; 2]> = (0..all).map(|number| event(&agents, number, all, now)).collect();
    let uncounted = lines.split_off(all.saturating_sub(UNCOUNTED.min(all / 2)));
    let rest = CountedTrack { kept: lines.concat(), open: uncounted.concat() };
    let lock = mesh.awareness().lock_counting(repository).unwrap().unwrap();
    let track = mesh.awareness().track(repository).unwrap();
    lock.replace(&track, &counts, &rest).unwrap();
}

/// A prompt, and two files that were changed.
fn event(agents: &[(AgentName, AgentId)], number: usize, all: usize, now: i64) -> [TrackLine; 2] {
    let (name, agent) = agents[number % agents.len()].clone();
    let at = now - APART * ((all - number) / agents.len()) as i64;
    let topics = (0..6).map(|part| Topic::new(&word(number * 13 + part * part))).collect();
    let files = (0..2).map(|part| path(number * 19 + part)).collect();
    let stamp = TrackStamp { at, agent, name };
    [
        TrackLine { stamp: stamp.clone(), deed: Deed::Prompted { topics, text: None } },
        TrackLine { stamp, deed: Deed::Changed { tree: TreeId(1), files } },
    ]
}

/// Frequent words are more frequent, as in prompts: the square of an even distribution.
fn word(number: usize) -> String {
    format!("topic{}", letters(skewed(number, WORDS)))
}

fn path(number: usize) -> Vec<u8> {
    let number = skewed(number, FILES);
    // The names of some files have a word of prompts.
    let name = if number.is_multiple_of(5) { word(number) } else { letters(number) };
    format!("src/part{}/{name}.rs", letters(number % 40)).into_bytes()
}

fn skewed(number: usize, most: usize) -> usize {
    let even = number.wrapping_mul(2_654_435_761) % 10_007;
    even * even * most / (10_007 * 10_007)
}

/// A number in letters: words have none.
fn letters(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

fn session(scratch: &Scratch, name: &str) -> String {
    let registration = fs::read(scratch.mesh().join(format!("registry/{name}.json"))).unwrap();
    let registration: Value = serde_json::from_slice(&registration).unwrap();
    registration["sessionId"].as_str().unwrap().to_string()
}

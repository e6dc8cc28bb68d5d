//! Forecasts collisions for recorded events, with the code that hooks use.
//!
//! Reads lines of JSON from standard input, and answers each prompt with one line: `[[agent, probability, [files]], …]`.
//!
//! ```text
//! {"k":"files","name":[[topic]],"dir":[directory],"dname":[[topic]],"dparent":[directory or -1]}    once, first
//! {"k":"prompt","i":0,"t":seconds,"a":agent,"w":[topic]}                                            is answered
//! {"k":"edit","i":0,"f":[file]}                                                                     what it changed
//! ```
//!
//! `--reference` asks for the formula as it was published. Nothing else that was tried did better on histories it was
//! not fitted to, so hooks use that one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, BufRead, Write};

use ravenry::domain::awareness::counters::{AgentId, Counters, PathId, WordId};
use ravenry::domain::awareness::forecast::{Forecaster, PromptedAgent, RecentWork};
use serde::Deserialize;

/// How long an agent's events count as recent, in seconds.
const WINDOW: i64 = 7 * 24 * 3600;
/// Less likely meetings are not printed.
const LEAST: f64 = 0.005;
/// The most files printed for a pair.
const MOST_FILES: usize = 3;

#[derive(Deserialize)]
#[serde(tag = "k", rename_all = "lowercase")]
enum Line {
    Files { name: Vec<Vec<u64>>, dir: Vec<usize>, dname: Vec<Vec<u64>>, dparent: Vec<i64> },
    Prompt { t: i64, a: u64, w: Vec<u64> },
    Edit { f: Vec<u64> },
}

#[derive(Default)]
struct Replay {
    counters: Counters,
    /// The topics in the name of each file.
    stems: Vec<Vec<WordId>>,
    /// The same, with those of the two directories above it.
    names: Vec<BTreeSet<WordId>>,
    /// The recent events of each agent.
    recent: BTreeMap<AgentId, VecDeque<(i64, Vec<PathId>)>>,
    /// The prompt whose files are not known yet.
    open: Option<(i64, AgentId, Vec<WordId>)>,
}

impl Replay {
    fn files(&mut self, name: &[Vec<u64>], dir: &[usize], dname: &[Vec<u64>], dparent: &[i64]) {
        let words = |ids: &[u64]| ids.iter().copied().map(WordId).collect::<Vec<_>>();
        self.stems = name.iter().map(|ids| words(ids)).collect();
        let above = |dir: usize| usize::try_from(dparent[dir]).ok().map(|parent| words(&dname[parent]));
        let all = |(stem, dir): (&Vec<WordId>, &usize)| {
            let own = stem.iter().copied().chain(words(&dname[*dir]));
            own.chain(above(*dir).unwrap_or_default()).collect()
        };
        self.names = self.stems.iter().zip(dir).map(all).collect();
    }

    fn prompt(&mut self, at: i64, agent: u64, topics: &[u64]) -> Vec<(u64, f64, Vec<u64>)> {
        let agent = AgentId(agent);
        let topics: Vec<WordId> = topics.iter().copied().map(WordId).collect();
        for events in self.recent.values_mut() {
            while events.front().is_some_and(|(then, _)| *then < at - WINDOW) {
                events.pop_front();
            }
        }
        self.recent.retain(|_, events| !events.is_empty());
        let own = self.work_of(agent);
        let prompted = PromptedAgent { agent, topics: &topics, work: &own };
        let others = self.recent.keys().copied().filter(|other| *other != agent);
        let stem = |file: PathId| self.stems[file.0 as usize].as_slice();
        let forecaster = Forecaster::new(&self.counters, prompted, stem);
        let pairs = others.map(|other| (other, forecaster.forecast(other, &self.work_of(other))));
        let likely = pairs.filter(|(_, forecast)| forecast.probability > LEAST);
        let answer = likely
            .map(|(other, forecast)| {
                let places = forecast.places.iter().take(MOST_FILES);
                (other.0, forecast.probability, places.map(|place| place.file.0).collect())
            })
            .collect();
        self.open = Some((at, agent, topics));
        answer
    }

    fn work_of(&self, agent: AgentId) -> RecentWork {
        let events = self.recent.get(&agent).into_iter().flatten();
        RecentWork { events: events.map(|(_, files)| files.clone()).collect() }
    }

    fn edit(&mut self, files: &[u64]) {
        let Some((at, agent, topics)) = self.open.take() else { return };
        let files: Vec<PathId> = files.iter().copied().map(PathId).collect();
        let names = files.iter().flat_map(|file| &self.names[file.0 as usize]).copied().collect();
        self.counters.count(Some(agent), &topics, &files, &names);
        self.recent.entry(agent).or_default().push_back((at, files));
    }
}

fn main() -> io::Result<()> {
    if let Some(other) = std::env::args().skip(1).find(|argument| argument != "--reference") {
        return Err(io::Error::other(format!("`{other}`: the only option is `--reference`")));
    }
    let mut replay = Replay::default();
    let mut stdout = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?)? {
            Line::Files { name, dir, dname, dparent } => replay.files(&name, &dir, &dname, &dparent),
            Line::Prompt { t, a, w } => {
                serde_json::to_writer(&mut stdout, &replay.prompt(t, a, &w))?;
                stdout.write_all(b"\n")?;
                stdout.flush()?;
            }
            Line::Edit { f } => replay.edit(&f),
        }
    }
    Ok(())
}

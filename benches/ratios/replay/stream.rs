//! Events in the order of time, and what is forecast at each: with the formula, and the rules of silence, of the hooks.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use ravenry::domain::awareness::counters::{AgentId, Counters, PathId, WordId};
use ravenry::domain::awareness::forecast::{Arrival, Forecast, Forecaster, PromptedAgent, RecentWork};
use ravenry::domain::settings::Settings;

/// The most files of a pair that are looked at to see whether the right one was named.
const MOST_FILES: usize = 3;

/// A prompt, and the files that were changed.
pub struct StreamEvent {
    /// In seconds.
    pub at: i64,
    pub agent: AgentId,
    pub words: Vec<WordId>,
    pub files: BTreeSet<PathId>,
}

/// The topics in the name of a file; `all` with those of the two directories above it.
pub struct NameWords {
    pub stem: Vec<WordId>,
    pub all: BTreeSet<WordId>,
}

#[derive(Default)]
pub struct Stream {
    pub events: Vec<StreamEvent>,
    pub names: HashMap<PathId, NameWords>,
    /// How long an event counts as recent, in seconds.
    pub window: i64,
}

/// What is forecast at an event for one other agent.
pub struct Pair {
    pub event: usize,
    pub other: AgentId,
    pub probability: f64,
    /// The likeliest places.
    pub files: Vec<PathId>,
}

/// What a model would have been told at an event.
pub struct Told {
    pub event: usize,
    pub other: AgentId,
    pub file: PathId,
    /// Both had changed the file: nothing was forecast.
    pub is_fact: bool,
}

#[derive(Default)]
pub struct Replayed {
    pub pairs: Vec<Pair>,
    pub told: Vec<Told>,
}

/// The recent events of each agent.
type Recent = BTreeMap<AgentId, VecDeque<(i64, Vec<PathId>)>>;

impl Stream {
    pub fn replay(&self) -> Replayed {
        let mut counters = Counters::default();
        let mut recent = Recent::new();
        let mut last_told: HashMap<(AgentId, AgentId), i64> = HashMap::new();
        let mut replayed = Replayed::default();
        for (number, event) in self.events.iter().enumerate() {
            forget(&mut recent, event.at - self.window);
            let found = self.forecasts(&counters, &recent, event);
            replayed.pairs.extend(found.iter().map(|(other, _, forecast)| {
                let files = forecast.places.iter().take(MOST_FILES).map(|place| place.file).collect();
                Pair { event: number, other: *other, probability: forecast.probability, files }
            }));
            let told = self.told(&counters, &recent, (number, event), found, &last_told);
            if let Some(told) = &told {
                last_told.insert(pair(event.agent, told.other), event.at);
            }
            replayed.told.extend(told);
            let files: Vec<PathId> = event.files.iter().copied().collect();
            let names = files.iter().filter_map(|file| self.names.get(file)).flat_map(|words| &words.all);
            counters.count(Some(event.agent), &event.words, &files, &names.copied().collect());
            recent.entry(event.agent).or_default().push_back((event.at, files));
        }
        replayed
    }

    fn forecasts(
        &self,
        counters: &Counters,
        recent: &Recent,
        event: &StreamEvent,
    ) -> Vec<(AgentId, RecentWork, Forecast)> {
        let own = work_of(recent, event.agent);
        let prompted = PromptedAgent { agent: event.agent, topics: &event.words, work: &own };
        let stem = |file: PathId| self.names.get(&file).map_or(&[][..], |words| words.stem.as_slice());
        let forecaster = Forecaster::new(counters, prompted, stem);
        let others = recent.keys().copied().filter(|other| *other != event.agent);
        let all = others.map(|other| {
            let work = work_of(recent, other);
            let forecast = forecaster.forecast(other, &work);
            (other, work, forecast)
        });
        all.collect()
    }

    /// One other agent at most, a pair once per window, and no file that everyone changes. Nobody was really told, so
    /// the threshold learns nothing and stays where it begins.
    fn told(
        &self,
        counters: &Counters,
        recent: &Recent,
        (number, event): (usize, &StreamEvent),
        found: Vec<(AgentId, RecentWork, Forecast)>,
        last_told: &HashMap<(AgentId, AgentId), i64>,
    ) -> Option<Told> {
        let own = work_of(recent, event.agent);
        let is_hub = |file: PathId| counters.is_hub(file);
        let threshold = Settings::default().warn_at();
        let facts = found
            .into_iter()
            .map(|(other, work, found)| (other, found.or_fact(&own, &work, is_hub).without_hubs(is_hub)));
        let mut likely: Vec<(AgentId, Forecast)> =
            facts.filter(|(_, forecast)| forecast.probability >= threshold).collect();
        likely.sort_by(|a, b| b.1.probability.total_cmp(&a.1.probability).then(a.0.cmp(&b.0)));
        likely.into_iter().find_map(|(other, forecast)| {
            let last = last_told.get(&pair(event.agent, other));
            let place = forecast.place_to_name()?;
            let is_new = last.is_none_or(|last| *last < event.at - self.window);
            let is_fact = place.arrival == Arrival::Both;
            is_new.then_some(Told { event: number, other, file: place.file, is_fact })
        })
    }
}

/// Two agents, whichever is named first.
pub fn pair(one: AgentId, other: AgentId) -> (AgentId, AgentId) {
    (one.min(other), one.max(other))
}

fn forget(recent: &mut Recent, before: i64) {
    for events in recent.values_mut() {
        while events.front().is_some_and(|(at, _)| *at < before) {
            events.pop_front();
        }
    }
    recent.retain(|_, events| !events.is_empty());
}

fn work_of(recent: &Recent, agent: AgentId) -> RecentWork {
    let events = recent.get(&agent).into_iter().flatten();
    RecentWork { events: events.map(|(_, files)| files.clone()).collect() }
}

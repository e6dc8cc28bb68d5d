//! How likely it is that two agents will meet in a file where they have not met yet.
//!
//! At a prompt of agent A, two things may happen. A comes to a file in which B is: told by the words of the prompt that
//! led there before, by words that the file's name shares with the prompt, and by A's own habit. Or B comes to a file in
//! which A is: told by B's habit, and by how busy B is. Each file is a chance; together they are less than independent.

use std::collections::HashMap;

use super::counters::{AgentId, Counters, PathId, WordId};

/// How many of its last events show where an agent is.
pub const RECENT_EVENTS: usize = 5;
/// The chances of several files depend on each other: that much of them counts.
const DEPENDENCE: f64 = 0.7;
/// A file is named only if the agents meet in it with this probability. Measured on four public histories with the rules of
/// hooks: without this limit and with hubs 2,419 warnings name a file in which agents met in 21 % of all cases, with both 874
/// do in 49 %.
const LEAST_NAMED: f64 = 0.3;

/// What an agent did within the window.
#[derive(Clone, Debug, Default)]
pub struct RecentWork {
    /// The files of each event, the latest last.
    pub events: Vec<Vec<PathId>>,
}

impl RecentWork {
    /// The files that it changed within the window, in order.
    fn all(&self) -> Vec<PathId> {
        ordered(self.events.iter().flatten().copied().collect())
    }

    /// The files in which it is now, those of its latest event first.
    pub fn latest_files(&self) -> Vec<PathId> {
        self.events.iter().rev().take(RECENT_EVENTS).flatten().copied().collect()
    }

    fn latest(&self) -> Vec<PathId> {
        ordered(self.latest_files())
    }
}

fn ordered(mut files: Vec<PathId>) -> Vec<PathId> {
    files.sort_unstable();
    files.dedup();
    files
}

/// Who prompts, with which topics.
#[derive(Clone, Debug)]
pub struct PromptedAgent<'a> {
    pub agent: AgentId,
    pub topics: &'a [WordId],
    pub work: &'a RecentWork,
}

/// Why two agents may meet in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeetingPlace {
    pub file: PathId,
    pub probability: f64,
    pub arrival: Arrival,
}

/// Who comes to a file in which the other one is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arrival {
    Prompted,
    Other,
    /// Nobody has to come: both are there. It is a fact, and no part of a forecast.
    Both,
}

/// How likely two agents will meet, and where; the likeliest place first.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    pub probability: f64,
    pub places: Vec<MeetingPlace>,
}

impl Forecast {
    /// A file that both have changed lately is a fact, and more than a forecast, unless everyone changes it.
    #[must_use]
    pub fn or_fact(mut self, own: &RecentWork, other: &RecentWork, is_hub: impl Fn(PathId) -> bool) -> Self {
        let theirs = other.latest_files();
        let shared = own.latest_files().into_iter().find(|file| theirs.contains(file) && !is_hub(*file));
        if let Some(file) = shared {
            self.places.insert(0, MeetingPlace { file, probability: 1.0, arrival: Arrival::Both });
            self.probability = 1.0;
        }
        self
    }

    /// The file that both have changed lately, if it was put first by [`Self::or_fact`].
    pub fn fact(&self) -> Option<PathId> {
        let first = self.places.first()?;
        (first.arrival == Arrival::Both).then_some(first.file)
    }

    /// The same without the places in which everyone is now and then. They are never named, so they are no reason to tell
    /// somebody.
    #[must_use]
    pub fn without_hubs(mut self, is_hub: impl Fn(PathId) -> bool) -> Self {
        self.places.retain(|place| !is_hub(place.file));
        self.probability = together(&self.places);
        self
    }

    /// The place to name: the likeliest, if the agents will probably meet in that very file.
    pub fn place_to_name(&self) -> Option<MeetingPlace> {
        self.places.first().filter(|place| place.probability >= LEAST_NAMED).copied()
    }

    /// The likeliest place in which not everyone is now and then.
    pub fn place(&self, is_hub: impl Fn(PathId) -> bool) -> Option<MeetingPlace> {
        self.places.iter().find(|place| !is_hub(place.file)).copied()
    }
}

/// The forecasts of one prompt. What does not depend on the other agent is found once.
#[derive(Debug)]
pub struct Forecaster<'a, S> {
    counters: &'a Counters,
    prompted: PromptedAgent<'a>,
    /// The topics in the name of a file without its ending.
    stem_topics: S,
    /// How often the prompt's words led to a file: of its words, the one that did most.
    habits: HashMap<PathId, f64>,
    /// The files that the prompted agent changed within the window, and those in which it is, in order.
    own: Vec<PathId>,
    latest: Vec<PathId>,
}

impl<'a, 't, S: Fn(PathId) -> &'t [WordId]> Forecaster<'a, S> {
    pub fn new(counters: &'a Counters, prompted: PromptedAgent<'a>, stem_topics: S) -> Self {
        let mut habits: HashMap<PathId, f64> = HashMap::new();
        for (file, habit) in prompted.topics.iter().flat_map(|word| counters.habits(*word)) {
            let most = habits.entry(file).or_default();
            *most = most.max(habit);
        }
        let (own, latest) = (prompted.work.all(), prompted.work.latest());
        Self { counters, prompted, stem_topics, habits, own, latest }
    }

    /// How likely the prompted agent and `other` meet.
    pub fn forecast(&self, other: AgentId, work: &RecentWork) -> Forecast {
        let theirs = work.all();
        let without = |files: &[PathId], out: &[PathId]| -> Vec<PathId> {
            files.iter().copied().filter(|file| out.binary_search(file).is_err()).collect()
        };
        let coming = without(&work.latest(), &self.own).into_iter().map(|file| MeetingPlace {
            file,
            probability: self.comes(file),
            arrival: Arrival::Prompted,
        });
        let busy = work.events.len().min(RECENT_EVENTS) as f64 / RECENT_EVENTS as f64;
        let awaited = without(&self.latest, &theirs).into_iter().map(|file| {
            let habit = self.counters.own(other, file).sqrt();
            let probability = sigmoid(-6.0 + 6.9 * habit + 2.3 * busy);
            MeetingPlace { file, probability, arrival: Arrival::Other }
        });
        let mut places: Vec<MeetingPlace> = coming.chain(awaited).collect();
        places.sort_by(|a, b| b.probability.total_cmp(&a.probability).then(b.file.cmp(&a.file)));
        Forecast { probability: together(&places), places }
    }

    /// How likely the prompt leads to that file.
    fn comes(&self, file: PathId) -> f64 {
        let habit = self.habits.get(&file).copied().unwrap_or_default();
        let stem = (self.stem_topics)(file);
        let named = self.prompted.topics.iter().filter(|word| stem.contains(word));
        let name = named.map(|word| self.counters.rarity(*word)).fold(0.0, f64::max);
        let own = self.counters.own(self.prompted.agent, file).sqrt();
        sigmoid(-4.0 + 5.8 * habit + 2.0 * name + 4.7 * own)
    }
}

/// How likely the agents meet in at least one of these places.
fn together(places: &[MeetingPlace]) -> f64 {
    let missed: f64 = places.iter().map(|place| (-place.probability).ln_1p()).sum();
    1.0 - (DEPENDENCE * missed).exp()
}

fn sigmoid(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALICE: AgentId = AgentId(1);
    const BOB: AgentId = AgentId(2);
    const LOGIN: PathId = PathId(10);
    const OTHER: PathId = PathId(11);
    const TOPIC: WordId = WordId(100);

    fn work(events: &[&[PathId]]) -> RecentWork {
        RecentWork { events: events.iter().map(|files| files.to_vec()).collect() }
    }

    fn ask(counters: &Counters, own: &RecentWork, other: &RecentWork, stem: &'static [WordId]) -> Forecast {
        let prompted = PromptedAgent { agent: ALICE, topics: &[TOPIC], work: own };
        Forecaster::new(counters, prompted, |_| stem).forecast(BOB, other)
    }

    #[test]
    fn words_that_led_to_a_file_lead_there_again() {
        let mut counters = Counters::default();
        for _ in 0..7 {
            counters.count(None, &[TOPIC], &[LOGIN], &BTreeSet::new());
        }
        counters.count(None, &[TOPIC], &[OTHER], &BTreeSet::new());
        counters.count(None, &[TOPIC], &[OTHER], &BTreeSet::new());
        let told = ask(&counters, &work(&[]), &work(&[&[LOGIN]]), &[]);
        let expected = sigmoid(-4.0 + 5.8 * 7.0 / 10.5);
        assert!((told.places[0].probability - expected).abs() < 1e-12, "{told:?}");
        assert!((told.probability - (1.0 - (1.0 - expected).powf(0.7))).abs() < 1e-12, "{told:?}");
        assert_eq!((told.places[0].file, told.places[0].arrival), (LOGIN, Arrival::Prompted));
    }

    #[test]
    fn what_is_named_is_likely_itself_and_not_everyones() {
        let place = |file, probability| MeetingPlace { file, probability, arrival: Arrival::Prompted };
        let forecast = |places: Vec<MeetingPlace>| Forecast { probability: together(&places), places };
        let both = forecast(vec![place(OTHER, 0.9), place(LOGIN, 0.4)]);
        let left = both.clone().without_hubs(|file| file == OTHER);
        assert!((left.probability - (1.0 - 0.6_f64.powf(0.7))).abs() < 1e-12, "{left:?}");
        assert_eq!(left.place_to_name(), Some(place(LOGIN, 0.4)));
        assert_eq!(both.place_to_name(), Some(place(OTHER, 0.9)));
        assert_eq!(both.without_hubs(|_| true), forecast(Vec::new()), "nothing is left to tell");
        let many = forecast((0..20).map(|file| place(PathId(file), 0.2)).collect());
        assert!(many.probability > 0.9 && many.place_to_name().is_none(), "nobody knows in which one");
    }

    #[test]
    fn a_rare_word_in_the_name_of_a_file_is_a_cue() {
        let mut counters = Counters::default();
        (0..99).for_each(|_| counters.count(None, &[], &[OTHER], &BTreeSet::new()));
        counters.count(None, &[], &[LOGIN], &BTreeSet::from([TOPIC]));
        let told = ask(&counters, &work(&[]), &work(&[&[LOGIN]]), &[TOPIC]);
        let rarity = (101.0_f64 / 1.5).ln() / 101.0_f64.ln();
        assert!((told.places[0].probability - sigmoid(-4.0 + 2.0 * rarity)).abs() < 1e-12, "{told:?}");
    }

    #[test]
    fn the_other_one_comes_back_to_what_it_used_to_change() {
        let mut counters = Counters::default();
        (0..3).for_each(|_| counters.count(Some(BOB), &[], &[LOGIN], &BTreeSet::new()));
        let told = ask(&counters, &work(&[&[LOGIN]]), &work(&[&[OTHER], &[OTHER]]), &[]);
        let place = told.places.iter().find(|place| place.file == LOGIN).unwrap();
        let expected = sigmoid(-6.0 + 6.9 * (3.0_f64 / 4.5).sqrt() + 2.3 * 0.4);
        assert!((place.probability - expected).abs() < 1e-12, "{told:?}");
        assert_eq!(place.arrival, Arrival::Other);
    }

    #[test]
    fn where_both_are_already_nothing_is_forecast() {
        let both = work(&[&[LOGIN]]);
        let told = ask(&Counters::default(), &both, &both, &[]);
        assert_eq!(told, Forecast { probability: 0.0, places: Vec::new() });
    }

    #[test]
    fn only_the_latest_events_say_where_an_agent_is() {
        let events: Vec<&[PathId]> =
            [&[LOGIN][..]].into_iter().chain([&[OTHER][..]; RECENT_EVENTS]).collect();
        let told = ask(&Counters::default(), &work(&[]), &work(&events), &[]);
        assert_eq!(told.places.iter().map(|place| place.file).collect::<Vec<_>>(), [OTHER]);
    }
}

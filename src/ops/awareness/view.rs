//! What is known when an agent is prompted: who is in which files, and how likely it meets whom.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::Timestamp;

use crate::domain::AgentName;
use crate::domain::awareness::counters::{AgentId, Counters, PathId, WordId};
use crate::domain::awareness::forecast::{Forecast, Forecaster, MeetingPlace, PromptedAgent, RecentWork};
use crate::domain::awareness::heads_up::{HeadsUp, MeetingReason};
use crate::domain::awareness::recent_events::{RecentEvent, RecentFile, TrackEvents};
use crate::domain::awareness::topics::{self, PathFilter, Topic};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{Census, CounterFile, FileSelection, Mesh, Registration, TrackText};

/// The view of one agent.
pub(super) struct View<'a> {
    counts: Option<&'a CounterFile>,
    counters: Counters,
    recent: TrackEvents<'a>,
    work: HashMap<AgentId, RecentWork>,
    topics: &'a [Topic],
    words: Vec<WordId>,
    names: HashMap<PathId, NameWords>,
    /// The files in which somebody is, if they were looked up at once.
    files: Option<LookedUpFiles>,
    pub(super) me: AgentId,
    /// When the window began, in milliseconds since 1970.
    pub(super) since: i64,
    /// Everyone, if somebody is not found under the name that it had.
    census: OnceCell<Census>,
}

impl<'a> View<'a> {
    /// `topics` are those of the agent's prompt. Of `prompted` it has to be known what they changed at any time, of others
    /// only if they changed something in the window.
    pub(super) fn new(
        op: &Op,
        track: &'a TrackText,
        counts: Option<&'a CounterFile>,
        prompted: &[AgentId],
        topics: &'a [Topic],
        now: Timestamp,
    ) -> Result<Self, CommandError> {
        let window = op.settings.awareness_window();
        let since = (now - window).as_millisecond();
        // What is further ahead was recorded before the clock was set back, nobody knows when.
        let until = (now + window).as_millisecond();
        let recent = track.recent_events();
        let work = recent.recent_work(&(since..=until));
        let words: Vec<WordId> = topics.iter().map(WordId::of).collect();
        let mut counters = match counts {
            Some(file) => read_counts(file, &words, prompted, &work)?,
            None => Counters::default(),
        };
        let counted = track.counted_until(counts.map(|file| file.counted));
        let is_uncounted = |event: &&RecentEvent<'_>| event.offset >= counted && event.is_over;
        let uncounted: Vec<&RecentEvent<'_>> =
            recent.events.iter().filter(is_uncounted).filter(|event| !event.files.is_empty()).collect();
        let names = words_in_names(&recent, &uncounted, &work, topics);
        for event in uncounted {
            let files = event.file_ids();
            let named = files.iter().filter_map(|file| names.get(file)).flat_map(|words| words.all.iter());
            // Of an agent whose counts were not read, a few would mislead.
            let is_read = |agent: &AgentId| work.contains_key(agent) || prompted.contains(agent);
            let agent = Some(event.agent).filter(is_read);
            counters.count(agent, &event.words_among(topics), &files, &named.copied().collect());
        }
        let (census, me) = (OnceCell::new(), prompted.first().copied().unwrap_or(AgentId(0)));
        Ok(Self { counts, counters, recent, work, topics, words, names, files: None, me, since, census })
    }

    /// Forecasts nothing about agents other than these.
    pub(super) fn leave_out_others(&mut self, agents: &HashSet<AgentId>) {
        self.work.retain(|agent, _| agents.contains(agent));
    }

    /// Looks up all files in which somebody is, for whoever asks about many pairs: reading the counts of a few files
    /// costs nearly as much as reading those of all.
    pub(super) fn look_up_files(&mut self) -> Result<(), CommandError> {
        let places: BTreeSet<PathId> = self.work.values().flat_map(RecentWork::latest_files).collect();
        let counters = select(self.counts, &[], &[], &places.iter().copied().collect::<Vec<_>>())?;
        let mut named: HashMap<PathId, NamedFile> = HashMap::new();
        for changed in self.recent.events.iter().rev().flat_map(|event| &event.files) {
            if places.contains(&changed.id) {
                named.entry(changed.id).or_insert_with(|| NamedFile::new(&changed.path()));
            }
        }
        self.files = Some(LookedUpFiles { counters, named });
        Ok(())
    }

    /// The counts that tell which of these files everyone changes.
    fn counts_of(&self, files: &[PathId]) -> Result<Cow<'_, Counters>, CommandError> {
        match &self.files {
            Some(found) => Ok(Cow::Borrowed(&found.counters)),
            None => Ok(Cow::Owned(select(self.counts, &[], &[], files)?)),
        }
    }

    /// Makes it the view of that agent, whose `topics` must be among those that the view was made with.
    pub(super) fn turn_to(&mut self, me: AgentId, topics: &'a [Topic]) {
        self.me = me;
        self.topics = topics;
        self.words = topics.iter().map(WordId::of).collect();
    }

    /// Whom the agent may meet with at least that probability, the likeliest first.
    pub(super) fn forecasts(&self, least: f64) -> Result<Vec<(AgentId, Forecast)>, CommandError> {
        let nothing = RecentWork::default();
        let own = self.work.get(&self.me).unwrap_or(&nothing);
        let prompted = PromptedAgent { agent: self.me, topics: &self.words, work: own };
        let stem = |file: PathId| self.names.get(&file).map_or(&[][..], |words| words.stem.as_slice());
        let others = || self.work.iter().filter(|(agent, _)| **agent != self.me);
        let theirs: HashSet<PathId> = others().flat_map(|(_, work)| work.latest_files()).collect();
        let shared: Vec<PathId> =
            own.latest_files().into_iter().filter(|file| theirs.contains(file)).collect();
        let hubs = self.counts_of(&shared)?;
        let forecaster = Forecaster::new(&self.counters, prompted, stem);
        let mut found: Vec<(AgentId, Forecast)> = others()
            .map(|(other, work)| {
                let found = forecaster.forecast(*other, work);
                (*other, found.or_fact(own, work, |file| hubs.is_hub(file)))
            })
            .filter(|(_, forecast)| forecast.probability >= least)
            .collect();
        found.sort_by(|a, b| b.1.probability.total_cmp(&a.1.probability).then(a.0.cmp(&b.0)));
        Ok(found)
    }

    /// The agent's registration, if it is alive, under whatever name it has now.
    pub(super) fn live(&self, mesh: &Mesh, agent: AgentId) -> Result<Option<Registration>, CommandError> {
        let Some(name) = self.recent.name_of(agent) else { return Ok(None) };
        let is_it = |record: &Registration| AgentId::of(&record.agent.session) == agent;
        let named = mesh.registry().get(&name).ok().flatten().filter(is_it);
        let found = match named {
            Some(record) => Some(record),
            None => {
                if self.census.get().is_none() {
                    drop(self.census.set(mesh.registry().local_census()?));
                }
                self.census
                    .get()
                    .and_then(|census| census.records.iter().find(|record| is_it(record)).cloned())
            }
        };
        Ok(found.filter(Registration::is_live))
    }

    /// What is left of the forecasts without the files that everyone changes, the likeliest first.
    pub(super) fn without_hubs(
        &self,
        forecasts: Vec<(AgentId, Forecast)>,
    ) -> Result<Vec<(AgentId, Forecast)>, CommandError> {
        let files = forecasts.iter().flat_map(|(_, forecast)| &forecast.places).map(|place| place.file);
        let files: BTreeSet<PathId> = files.collect();
        let counters = select(self.counts, &[], &[], &files.into_iter().collect::<Vec<_>>())?;
        let specific = |(other, forecast): (AgentId, Forecast)| {
            (other, forecast.without_hubs(|file| counters.is_hub(file)))
        };
        let mut left: Vec<(AgentId, Forecast)> = forecasts.into_iter().map(specific).collect();
        left.sort_by(|a, b| b.1.probability.total_cmp(&a.1.probability).then(a.0.cmp(&b.0)));
        Ok(left)
    }

    /// The likeliest place in which not everyone is now and then.
    pub(super) fn place(&self, forecast: &Forecast) -> Result<Option<MeetingPlace>, CommandError> {
        let files: Vec<PathId> = forecast.places.iter().map(|place| place.file).collect();
        let counters = self.counts_of(&files)?;
        Ok(forecast.place(|file| counters.is_hub(file)))
    }

    /// The path of a file, relative to the root of the work tree.
    pub(super) fn path(&self, file: PathId) -> String {
        String::from_utf8_lossy(&self.recent.path_of(file).unwrap_or_default()).into_owned()
    }

    pub(super) fn describe(&self, other: &AgentName, place: &MeetingPlace, probability: f64) -> HeadsUp {
        let known = self.files.as_ref().and_then(|files| files.named.get(&place.file));
        let NamedFile { path, stem } =
            known.cloned().unwrap_or_else(|| NamedFile::new(self.path(place.file).as_bytes()));
        let at = (place.file, place.arrival);
        let reason = MeetingReason::of(&self.counters, self.me, self.topics, &stem, at);
        HeadsUp { other: other.clone(), path, probability, reason }
    }
}

/// What would otherwise be looked up for each pair of agents.
struct LookedUpFiles {
    /// Of the files only.
    counters: Counters,
    named: HashMap<PathId, NamedFile>,
}

/// A file's path relative to the root of the work tree, and the words in its name.
#[derive(Clone)]
struct NamedFile {
    path: String,
    stem: Vec<WordId>,
}

impl NamedFile {
    fn new(path: &[u8]) -> Self {
        let path = String::from_utf8_lossy(path).into_owned();
        let stem = topics::of_path(&path).stem.iter().map(WordId::of).collect();
        Self { path, stem }
    }
}

/// The words of a prompt that are in the name of a file.
struct NameWords {
    stem: Vec<WordId>,
    /// Those in the names of the two directories above it, too.
    all: Vec<WordId>,
}

/// Of the files in which somebody is and of those of events that are not counted: those whose names have a topic of the
/// prompt.
fn words_in_names(
    recent: &TrackEvents<'_>,
    uncounted: &[&RecentEvent<'_>],
    work: &HashMap<AgentId, RecentWork>,
    topics: &[Topic],
) -> HashMap<PathId, NameWords> {
    let places: HashSet<PathId> = work.values().flat_map(RecentWork::latest_files).collect();
    let changed = recent.events.iter().flat_map(|event| &event.files);
    let in_places = changed.filter(|file| places.contains(&file.id));
    let mut files: Vec<&RecentFile<'_>> =
        in_places.chain(uncounted.iter().flat_map(|event| &event.files)).collect();
    files.sort_unstable_by_key(|file| file.id);
    files.dedup_by_key(|file| file.id);
    let mut filter = PathFilter::new(topics);
    let words = |named: &mut dyn Iterator<Item = &Topic>| -> Vec<WordId> {
        named.filter(|topic| topics.contains(topic)).map(WordId::of).collect()
    };
    let with_words = files.into_iter().filter_map(|file| {
        let path = file.path();
        let path = String::from_utf8_lossy(&path);
        let named = filter.may_have_topic(&path).then(|| topics::of_path(&path))?;
        let name = NameWords { stem: words(&mut named.stem.iter()), all: words(&mut named.all.iter()) };
        Some((file.id, name))
    });
    with_words.collect()
}

/// The counts that forecasts for these agents need: of the words, of the agents themselves in all files in which somebody
/// is, and of the others in the files in which these agents are.
fn read_counts(
    counts: &CounterFile,
    words: &[WordId],
    prompted: &[AgentId],
    work: &HashMap<AgentId, RecentWork>,
) -> Result<Counters, CommandError> {
    let files = |agents: &mut dyn Iterator<Item = &RecentWork>| -> Vec<PathId> {
        let mut files: Vec<PathId> = agents.flat_map(RecentWork::latest_files).collect();
        files.sort_unstable();
        files.dedup();
        files
    };
    let places = files(&mut work.values());
    let own = files(&mut prompted.iter().filter_map(|agent| work.get(agent)));
    let (places, own) = (FileSelection::Among(&places), FileSelection::Among(&own));
    let agents: BTreeMap<AgentId, FileSelection<'_>> =
        work.keys().map(|agent| (*agent, own)).chain(prompted.iter().map(|agent| (*agent, places))).collect();
    let agents: Vec<(AgentId, FileSelection<'_>)> = agents.into_iter().collect();
    Ok(counts.select_at(words, places, &agents)?)
}

/// The counts of these words, agents and files.
pub(super) fn select(
    counts: Option<&CounterFile>,
    words: &[WordId],
    agents: &[AgentId],
    files: &[PathId],
) -> Result<Counters, CommandError> {
    match counts {
        Some(file) => Ok(file.select(words, agents, files)?),
        None => Ok(Counters::default()),
    }
}

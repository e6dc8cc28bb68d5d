//! Domains that the counts of a repository show: directories, with the words whose prompts and commits mostly lead there.
//!
//! A directory that changes anyway is not a part of its own, however many words lead to it. Directories of one name in
//! different places, such as `src/auth` and `tests/auth`, may be one domain together.

use std::collections::{HashMap, HashSet};

use super::counters::{Counters, PathId, WordCounts, WordId};
use super::topics::Topic;
use super::work_domain::{WordEvidence, WorkDomain};
use crate::domain::pattern::{NormalPath, Pattern};

/// A word in fewer prompts and commits than this says nothing.
const LEAST_PROMPTS: u32 = 5;
/// A word belongs to a directory if at least this share of the files that it led to is there.
const LEAST_SHARE: f64 = 0.4;
/// A directory with a larger share of all changes than this is too much of the project.
const LARGEST_PART: f64 = 0.125;
/// A domain has at least so many words.
const LEAST_WORDS: usize = 2;
/// The most words that are looked at, those in most prompts first.
const MOST_WORDS: usize = 5_000;
/// The most domains, and the most words of one, that are shown.
const MOST_DOMAINS: usize = 20;
const MOST_WORDS_EACH: usize = 8;
/// Directories deeper than this are counted with the one above.
const MOST_LEVELS: usize = 8;
/// A name of more directories than this, such as `src` in a repository of many packages, says nothing.
const MOST_PLACES: usize = 50;

/// The directories that may be a domain.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum DirectoryGroup {
    At(String),
    /// All of that name, in at least two places and at most [`MOST_PLACES`].
    Called(String),
}

/// The domains that the counts show, those with the most changes first.
pub fn learned_domains(
    counters: &Counters,
    topics: &HashMap<WordId, Topic>,
    paths: &HashMap<PathId, Vec<u8>>,
) -> Vec<WorkDomain> {
    let map = DirectoryMap::new(counters, paths);
    let mut words: Vec<(&WordCounts, &Topic)> = counters
        .words
        .iter()
        .filter(|(_, counts)| counts.prompts >= LEAST_PROMPTS)
        .filter_map(|(word, counts)| Some((counts, topics.get(word)?)))
        // A path leads to itself.
        .filter(|(_, topic)| !topic.as_str().contains(['/', '.']))
        .collect();
    words.sort_by(|a, b| b.0.prompts.cmp(&a.0.prompts).then_with(|| a.1.cmp(b.1)));
    let mut found: HashMap<usize, Vec<WordEvidence>> = HashMap::new();
    for (counts, topic) in words.into_iter().take(MOST_WORDS) {
        if let Some((group, evidence)) = map.best(counts, topic) {
            found.entry(group).or_default().push(evidence);
        }
    }
    let mut found: Vec<(usize, Vec<WordEvidence>)> =
        found.into_iter().filter(|(_, words)| words.len() >= LEAST_WORDS).collect();
    let weight = |words: &[WordEvidence]| words.iter().map(|word| u64::from(word.inside)).sum::<u64>();
    found.sort_by(|a, b| weight(&b.1).cmp(&weight(&a.1)).then_with(|| map.groups[a.0].cmp(&map.groups[b.0])));
    found.truncate(MOST_DOMAINS);
    found.into_iter().map(|(group, words)| map.domain(group, words)).collect()
}

/// Which directories each file is in, and how much changes in them.
struct DirectoryMap {
    groups: Vec<DirectoryGroup>,
    /// The directories of each group.
    places: Vec<Vec<String>>,
    of_file: HashMap<PathId, Vec<usize>>,
    /// The share of all changes in each group.
    parts: Vec<f64>,
}

impl DirectoryMap {
    fn new(counters: &Counters, paths: &HashMap<PathId, Vec<u8>>) -> Self {
        let text: HashMap<PathId, String> =
            paths.iter().map(|(file, path)| (*file, String::from_utf8_lossy(path).into_owned())).collect();
        let mut places: HashMap<&str, HashSet<&str>> = HashMap::new();
        for directory in text.values().flat_map(|path| directories(path)) {
            places.entry(name(directory)).or_default().insert(directory);
        }
        let mut map =
            Self { groups: Vec::new(), places: Vec::new(), of_file: HashMap::new(), parts: Vec::new() };
        let mut numbers: HashMap<DirectoryGroup, usize> = HashMap::new();
        for (file, path) in &text {
            let mut own: Vec<usize> = Vec::new();
            for directory in directories(path) {
                let name = name(directory);
                let shared = places.get(name).filter(|places| (2..=MOST_PLACES).contains(&places.len()));
                let called = shared.map(|_| DirectoryGroup::Called(name.to_string()));
                for group in [Some(DirectoryGroup::At(directory.to_string())), called].into_iter().flatten() {
                    let number = *numbers.entry(group.clone()).or_insert_with(|| {
                        map.places.push(match (&group, shared) {
                            (DirectoryGroup::Called(_), Some(places)) => owned(places),
                            _ => vec![directory.to_string()],
                        });
                        map.groups.push(group);
                        map.groups.len() - 1
                    });
                    if !own.contains(&number) {
                        own.push(number);
                    }
                }
            }
            map.of_file.insert(*file, own);
        }
        let mut changes = vec![0_u64; map.groups.len()];
        for (file, count) in &counters.files {
            map.of_file
                .get(file)
                .into_iter()
                .flatten()
                .for_each(|group| changes[*group] += u64::from(*count));
        }
        let all: u64 = counters.files.values().map(|count| u64::from(*count)).sum();
        map.parts = changes.into_iter().map(|changes| changes as f64 / all.max(1) as f64).collect();
        map
    }

    /// The directories to which a word leads most clearly: many of its changes are there, and few others.
    fn best(&self, counts: &WordCounts, topic: &Topic) -> Option<(usize, WordEvidence)> {
        let mut inside: HashMap<usize, u32> = HashMap::new();
        for (file, count) in &counts.files {
            for group in self.of_file.get(file).into_iter().flatten() {
                *inside.entry(*group).or_default() += count;
            }
        }
        let changes = counts.files.values().sum();
        let evidence =
            |inside| WordEvidence { topic: topic.clone(), prompts: counts.prompts, changes, inside };
        let clear = inside
            .into_iter()
            .map(|(group, inside)| (group, evidence(inside)))
            .filter(|(group, word)| word.share() >= LEAST_SHARE && self.parts[*group] <= LARGEST_PART);
        let clarity =
            |group: usize, word: &WordEvidence| word.share() * (word.share() / self.parts[group]).ln();
        clear.max_by(|a, b| {
            clarity(a.0, &a.1)
                .total_cmp(&clarity(b.0, &b.1))
                .then_with(|| self.groups[b.0].cmp(&self.groups[a.0]))
        })
    }

    fn domain(&self, group: usize, mut words: Vec<WordEvidence>) -> WorkDomain {
        words.sort_by(|a, b| b.share().total_cmp(&a.share()).then_with(|| a.topic.cmp(&b.topic)));
        words.truncate(MOST_WORDS_EACH);
        let root = NormalPath::absolute("/");
        let patterns = self.places[group].iter().map(|place| Pattern::literal(root.join(place))).collect();
        match &self.groups[group] {
            DirectoryGroup::At(directory) => {
                WorkDomain::learned(directory, &format!("{directory}/"), patterns, words)
            }
            DirectoryGroup::Called(name) => {
                WorkDomain::learned(name, &format!("**/{name}/**"), patterns, words)
            }
        }
    }
}

/// The directories above a file, the topmost first.
fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end]).filter(|path| !path.is_empty()).take(MOST_LEVELS)
}

/// The directories in their order.
fn owned(directories: &HashSet<&str>) -> Vec<String> {
    let mut owned: Vec<String> = directories.iter().map(|directory| (*directory).to_string()).collect();
    owned.sort();
    owned
}

fn name(directory: &str) -> &str {
    directory.rsplit('/').next().unwrap_or(directory)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[derive(Default)]
    struct History {
        counters: Counters,
        topics: HashMap<WordId, Topic>,
        paths: HashMap<PathId, Vec<u8>>,
    }

    impl History {
        /// So many commits with these words, each of which changes these files.
        fn commits(&mut self, count: usize, words: &str, files: &str) {
            let topics: Vec<Topic> = words.split(' ').map(Topic::new).collect();
            let words: Vec<WordId> = topics.iter().map(WordId::of).collect();
            let files: Vec<&[u8]> = files.split(' ').map(str::as_bytes).collect();
            let ids: Vec<PathId> = files.iter().map(|file| PathId::of(file)).collect();
            self.topics.extend(words.iter().copied().zip(topics));
            self.paths.extend(ids.iter().copied().zip(files.into_iter().map(<[u8]>::to_vec)));
            for _ in 0..count {
                self.counters.count(None, &words, &ids, &BTreeSet::new());
            }
        }

        fn found(&self) -> Vec<String> {
            let evidence =
                |word: &WordEvidence| format!("{} {}/{}", word.topic.as_str(), word.inside, word.changes);
            let shown = |domain: &WorkDomain| {
                let words: Vec<String> = domain.evidence.iter().map(evidence).collect();
                format!("{} {}: {}", domain.name, domain.shown_paths.join(" "), words.join(", "))
            };
            learned_domains(&self.counters, &self.topics, &self.paths).iter().map(shown).collect()
        }
    }

    /// Work all over the project.
    fn other_work(history: &mut History) {
        for number in 0..40 {
            history.commits(2, &format!("thing{number}"), &format!("src/part{number}/a.rs"));
        }
    }

    #[test]
    fn words_that_lead_to_one_directory() {
        let mut history = History::default();
        other_work(&mut history);
        history.commits(6, "login session", "src/auth/login.rs");
        history.commits(2, "login page", "src/web/page.rs");
        assert_eq!(history.found(), ["src/auth src/auth/: session 6/6, login 6/8"]);
    }

    #[test]
    fn directories_of_one_name() {
        let mut history = History::default();
        other_work(&mut history);
        history.commits(5, "login session", "src/auth/login.rs tests/auth/login.rs");
        assert_eq!(history.found(), ["auth **/auth/**: login 10/10, session 10/10"]);
        let domains = learned_domains(&history.counters, &history.topics, &history.paths);
        assert!(domains[0].has_file("tests/auth/other.rs") && !domains[0].has_file("src/part1/a.rs"));
    }

    /// The words lead to a directory `x` in each of so many places.
    fn one_name_in(places: usize) -> History {
        let mut history = History::default();
        for number in 0..40 {
            history.commits(60, &format!("thing{number}"), &format!("src/part{number}/a.rs"));
        }
        let files: Vec<String> = (0..places).map(|number| format!("d{number}/x/a.rs")).collect();
        history.commits(5, "login session", &files.join(" "));
        history
    }

    #[test]
    fn a_name_of_too_many_directories_says_nothing() {
        let history = one_name_in(MOST_PLACES);
        assert_eq!(history.found(), ["x **/x/**: login 250/250, session 250/250"]);
        assert_eq!(one_name_in(MOST_PLACES + 1).found(), [] as [&str; 0]);
    }

    #[test]
    fn a_directory_name_in_very_many_places() {
        let mut history = History::default();
        let files: Vec<String> = (0..120_000).map(|number| format!("d{number}/x/a.rs")).collect();
        history.commits(1, "sweep", &files.join(" "));
        history.commits(6, "login session", "auth/login.rs");
        assert_eq!(history.found(), ["auth auth/: login 6/6, session 6/6"]);
    }

    #[test]
    fn what_is_not_a_domain() {
        let mut history = History::default();
        other_work(&mut history);
        history.commits(4, "login session", "src/auth/login.rs");
        assert_eq!(history.found(), [] as [&str; 0], "too few");
        history.commits(9, "theme", "src/ui/theme.rs");
        assert_eq!(history.found(), [] as [&str; 0], "one word");
        history.commits(90, "engine valve", "src/engine/valve.rs");
        assert_eq!(history.found(), [] as [&str; 0], "most of what happens is there");
        assert_eq!(History::default().found(), [] as [&str; 0]);
    }
}

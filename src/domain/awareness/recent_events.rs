//! Events as a forecast needs them. They borrow the text of the track: a hook looks at all of it at every prompt.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::counters::{AgentId, PathId, WordId};
use super::forecast::RecentWork;
use super::topics::Topic;
use super::track::{WrittenDeed, WrittenLine, unescape, words};
use crate::domain::AgentName;

/// The events of all agents, as [`work_event::events`](super::work_event::events) finds them.
#[derive(Clone, Debug, Default)]
pub struct TrackEvents<'t> {
    /// In the order of their beginnings.
    pub events: Vec<RecentEvent<'t>>,
    agents: HashMap<AgentId, LatestEvent<'t>>,
}

/// A prompt of an agent and the files that were changed until the next one.
#[derive(Clone, Debug)]
pub struct RecentEvent<'t> {
    pub agent: AgentId,
    /// When something of it happened last, in milliseconds since 1970.
    pub at: i64,
    /// The escaped topics of the prompt.
    topics: &'t str,
    /// In the order of their first change.
    pub files: Vec<RecentFile<'t>>,
    /// Another prompt followed.
    pub is_over: bool,
    /// Where its first line begins, in bytes.
    pub offset: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct RecentFile<'t> {
    pub id: PathId,
    escaped: &'t str,
}

/// What an agent did last.
#[derive(Clone, Debug)]
struct LatestEvent<'t> {
    number: usize,
    name: &'t str,
}

impl<'t> RecentFile<'t> {
    /// `None`: it is not escaped text.
    fn new(escaped: &'t str) -> Option<Self> {
        let id = match escaped.contains('%') {
            true => PathId::of(&unescape(escaped)?),
            false => PathId::of(escaped.as_bytes()),
        };
        Some(Self { id, escaped })
    }

    /// The path, relative to the root of the work tree.
    pub fn path(&self) -> Vec<u8> {
        unescape(self.escaped).unwrap_or_default()
    }
}

impl RecentEvent<'_> {
    pub fn file_ids(&self) -> Vec<PathId> {
        self.files.iter().map(|file| file.id).collect()
    }

    /// Those of `topics` that its prompt has.
    pub fn words_among(&self, topics: &[Topic]) -> Vec<WordId> {
        let topic = |word: &str| {
            // Finding the stem of a word costs more than comparing its beginning.
            let may_be_one = word.contains('%') || topics.iter().any(|topic| topic.may_be(word));
            let topic = may_be_one.then(|| Some(Topic::new(&String::from_utf8(unescape(word)?).ok()?)))??;
            topics.contains(&topic).then(|| WordId::of(&topic))
        };
        words(self.topics).filter(|word| !word.starts_with('=')).filter_map(topic).collect()
    }
}

impl<'t> TrackEvents<'t> {
    /// Takes the next line, which begins at that byte of the track.
    pub fn add(&mut self, offset: u64, line: &WrittenLine<'t>) {
        let WrittenLine { at, agent, name, deed } = *line;
        let (topics, tree_files) = match deed {
            WrittenDeed::Prompted { topics } => (topics, None),
            WrittenDeed::Changed { files, .. } => ("", Some(files)),
            WrittenDeed::Read { .. } => return,
        };
        let latest = self.agents.get_mut(&agent);
        if latest.as_ref().is_none_or(|latest| latest.name != name) && AgentName::new(name).is_err() {
            return;
        }
        let event = RecentEvent { agent, at, topics, files: Vec::new(), is_over: false, offset };
        match (latest, tree_files) {
            (Some(latest), Some(files)) => {
                latest.name = name;
                self.events[latest.number].change(at, files);
            }
            (latest, files) => {
                if let Some(latest) = latest {
                    self.events[latest.number].is_over = true;
                }
                self.agents.insert(agent, LatestEvent { number: self.events.len(), name });
                self.events.push(event);
                // Its prompt may be older than the track, or its harness tells of none.
                if let (Some(files), Some(event)) = (files, self.events.last_mut()) {
                    event.change(at, files);
                }
            }
        }
    }

    /// The name under which the agent did something last.
    pub fn name_of(&self, agent: AgentId) -> Option<AgentName> {
        self.agents.get(&agent).and_then(|latest| AgentName::new(latest.name).ok())
    }

    /// The path of a file, relative to the root of the work tree.
    pub fn path_of(&self, file: PathId) -> Option<Vec<u8>> {
        let mut files = self.events.iter().rev().flat_map(|event| &event.files);
        files.find(|changed| changed.id == file).map(RecentFile::path)
    }

    /// What each agent did in that time. An event that changed nothing does not count.
    pub fn recent_work(&self, within: &RangeInclusive<i64>) -> HashMap<AgentId, RecentWork> {
        let mut work: HashMap<AgentId, RecentWork> = HashMap::new();
        for event in self.events.iter().filter(|event| within.contains(&event.at) && !event.files.is_empty())
        {
            work.entry(event.agent).or_default().events.push(event.file_ids());
        }
        work
    }
}

impl<'t> RecentEvent<'t> {
    fn change(&mut self, at: i64, files: &'t str) {
        self.at = at;
        for file in words(files).filter_map(RecentFile::new) {
            if self.files.iter().all(|known| known.id != file.id) {
                self.files.push(file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::awareness::track::{Deed, TrackLine, TrackStamp, TreeId};
    use crate::domain::awareness::work_event;

    fn line(agent: u64, at: i64, name: &str, deed: Deed) -> TrackLine {
        TrackLine {
            stamp: TrackStamp { at, agent: AgentId(agent), name: AgentName::new(name).unwrap() },
            deed,
        }
    }

    fn prompt(words: &[&str]) -> Deed {
        Deed::Prompted { topics: words.iter().map(|word| Topic::new(word)).collect(), text: None }
    }

    fn change(files: &[&str]) -> Deed {
        let files = files.iter().map(|file| file.as_bytes().to_vec()).collect();
        Deed::Changed { tree: TreeId(3), files }
    }

    fn read() -> Deed {
        Deed::Read { tree: TreeId(3), files: vec![b"read".to_vec()] }
    }

    #[test]
    fn they_are_the_events_of_the_track() {
        let lines = [
            line(2, 1, "Bob", change(&["early", "a b/ü=%.rs"])),
            line(1, 2, "Alice", prompt(&["login", "登录"])),
            line(2, 3, "Bob", prompt(&[])),
            line(1, 4, "Alice", change(&["a", "b"])),
            line(3, 4, "Carol", read()),
            line(1, 6, "Alicia", change(&["c", "a"])),
            line(2, 7, "Bob", change(&["c"])),
            line(1, 8, "Alicia", prompt(&["forms"])),
        ];
        let texts: Vec<String> = lines.iter().map(TrackLine::encode).collect();
        let mut recent = TrackEvents::default();
        for (number, text) in texts.iter().enumerate() {
            recent.add(number as u64, &WrittenLine::parse(text).unwrap());
        }
        let all = [Topic::new("login"), Topic::new("登录"), Topic::new("form"), Topic::new("logins")];
        let found = recent.events.iter().map(|event| {
            let files: Vec<(PathId, Vec<u8>)> =
                event.files.iter().map(|file| (file.id, file.path())).collect();
            let first = event.offset as usize;
            (event.agent, event.at, event.words_among(&all), files, event.is_over, first)
        });
        let expected = work_event::events(&lines).into_iter().map(|event| {
            let files: Vec<(PathId, Vec<u8>)> =
                event.files.iter().map(|file| (file.id, file.path.clone())).collect();
            (event.agent, event.at, event.words(), files, event.is_over, event.first_line)
        });
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert_eq!(recent.name_of(AgentId(1)), AgentName::new("Alicia").ok());
        assert_eq!(recent.name_of(AgentId(3)), None, "what was read says nothing");
        assert_eq!(
            recent.path_of(PathId::of("a b/ü=%.rs".as_bytes())),
            Some("a b/ü=%.rs".as_bytes().to_vec())
        );
        let work = recent.recent_work(&(6..=9));
        let events = |agent| work.get(&AgentId(agent)).map(|work| work.events.len());
        assert_eq!((events(1), events(2), events(3)), (Some(1), Some(1), None));
    }

    #[test]
    fn a_line_with_a_bad_name_is_left_out() {
        let good = line(1, 2, "Alice", change(&["a"])).encode();
        let bad = good.split_once(' ').unwrap().1.replace("Alice", "-x");
        let bad = format!("{:08x} {bad}", crc32fast::hash(bad.as_bytes()));
        let mut recent = TrackEvents::default();
        recent.add(0, &WrittenLine::parse(&bad).unwrap());
        assert!(recent.events.is_empty());
    }
}

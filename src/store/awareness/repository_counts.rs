//! What was counted in a repository.

use std::collections::{BTreeSet, HashMap};

use crate::domain::awareness::counters::{AgentId, Counters, PathId, WordId};
use crate::domain::awareness::topics::{self, Topic};

/// All that is counted, with what the numbers stand for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RepositoryCounts {
    pub counters: Counters,
    pub topics: HashMap<WordId, Topic>,
    pub paths: HashMap<PathId, Vec<u8>>,
    /// When each agent was last counted, in milliseconds since 1970.
    pub seen: HashMap<AgentId, i64>,
}

impl RepositoryCounts {
    /// Counts an event: a prompt with these topics changed these files. Without an agent it is a commit.
    pub fn count(&mut self, agent: Option<(AgentId, i64)>, topics: &[Topic], files: &[Vec<u8>]) {
        let mut names = BTreeSet::new();
        let mut ids = Vec::with_capacity(files.len());
        for path in files {
            let id = PathId::of(path);
            ids.push(id);
            self.paths.entry(id).or_insert_with(|| path.clone());
            for topic in topics::of_path(&String::from_utf8_lossy(path)).all {
                let word = WordId::of(&topic);
                names.insert(word);
                self.topics.entry(word).or_insert(topic);
            }
        }
        let words: Vec<WordId> = topics.iter().map(WordId::of).collect();
        for (word, topic) in words.iter().zip(topics) {
            self.topics.entry(*word).or_insert_with(|| topic.clone());
        }
        self.counters.count(agent.map(|(agent, _)| agent), &words, &ids, &names);
        self.seen.extend(agent);
    }

    /// Forgets agents that were last counted before `since`.
    pub fn forget_agents(&mut self, since: i64) {
        self.seen.retain(|_, seen| *seen >= since);
        self.counters.agents.retain(|agent, _| self.seen.contains_key(agent));
    }
}

//! What is counted in a repository: which words led to which files, and who changed what.
//!
//! An event is a prompt with the files that were changed until the next one. Words, files and agents are numbers here;
//! whoever keeps the counters knows what they stand for. The counters may be a part of all that there are: of the words
//! of one prompt, and of the agents that are here.

use std::collections::{BTreeSet, HashMap, HashSet};

/// The number of a topic.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct WordId(pub u64);

/// The number of a file.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FileId(pub u64);

/// The number of an agent.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct AgentId(pub u64);

/// What is counted for a word.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WordCounts {
    /// The events whose prompt has it.
    pub prompts: u32,
    /// The events that changed a file whose name, directory or parent directory has it.
    pub names: u32,
    /// The events whose prompt has it and that changed that file.
    pub files: HashMap<FileId, u32>,
}

/// What is counted for an agent.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AgentCounts {
    pub events: u32,
    /// The events that changed that file.
    pub files: HashMap<FileId, u32>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    pub events: u32,
    pub words: HashMap<WordId, WordCounts>,
    pub agents: HashMap<AgentId, AgentCounts>,
}

impl Counters {
    /// Counts an event. `names` are the topics in the names of the changed files and of the two directories above each.
    /// Without an agent only words are counted: authors of commits are not agents.
    pub fn count(
        &mut self,
        agent: Option<AgentId>,
        prompt: &[WordId],
        files: &[FileId],
        names: &BTreeSet<WordId>,
    ) {
        self.events += 1;
        let prompt: HashSet<WordId> = prompt.iter().copied().collect();
        for word in prompt {
            let counts = self.words.entry(word).or_default();
            counts.prompts += 1;
            for file in files {
                *counts.files.entry(*file).or_default() += 1;
            }
        }
        for word in names {
            self.words.entry(*word).or_default().names += 1;
        }
        if let Some(agent) = agent {
            let counts = self.agents.entry(agent).or_default();
            counts.events += 1;
            for file in files {
                *counts.files.entry(*file).or_default() += 1;
            }
        }
    }

    /// How often a prompt with this word led to that file: the share of its prompts, cautious if there were few.
    pub(super) fn habit(&self, word: WordId, file: FileId) -> f64 {
        let Some(counts) = self.words.get(&word) else { return 0.0 };
        share(counts.files.get(&file), counts.prompts)
    }

    /// How rare a word is, from 0 to 1.
    pub(super) fn rarity(&self, word: WordId) -> f64 {
        let all = f64::from(self.events) + 1.0;
        let counts = self.words.get(&word);
        let seen = counts.map_or(0, |counts| counts.prompts.max(counts.names));
        let most = if self.events > 0 { all.ln() } else { 1.0 };
        (all / (f64::from(seen) + 0.5)).ln() / most
    }

    /// How often an agent changed that file.
    pub(super) fn own(&self, agent: AgentId, file: FileId) -> f64 {
        let Some(counts) = self.agents.get(&agent) else { return 0.0 };
        share(counts.files.get(&file), counts.events)
    }
}

fn share(count: Option<&u32>, of: u32) -> f64 {
    count.map_or(0.0, |count| f64::from(*count) / (f64::from(of) + 1.5))
}

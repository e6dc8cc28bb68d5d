//! Events, put together from the lines of a track: a prompt, and the files that were changed until the next one.

use std::collections::HashMap;

use super::counters::{AgentId, PathId, WordId};
use super::topics::Topic;
use super::track::{Deed, TrackLine, TreeId};
use crate::domain::AgentName;

/// A prompt of an agent and what came of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WorkEvent {
    pub agent: AgentId,
    /// The agent's name at that time.
    pub name: AgentName,
    /// When something of it happened last, in milliseconds since 1970.
    pub at: i64,
    pub topics: Vec<Topic>,
    /// The changed files, in the order of their first change.
    pub files: Vec<ChangedFile>,
    /// Another prompt followed.
    pub is_over: bool,
    /// The number of its first line.
    pub first_line: usize,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ChangedFile {
    pub id: PathId,
    /// Relative to the root of the work tree.
    pub path: Vec<u8>,
    pub tree: TreeId,
    /// When it was changed first and last, in milliseconds since 1970.
    pub first: i64,
    pub at: i64,
}

impl WorkEvent {
    pub fn file_ids(&self) -> Vec<PathId> {
        self.files.iter().map(|file| file.id).collect()
    }

    pub fn words(&self) -> Vec<WordId> {
        self.topics.iter().map(WordId::of).collect()
    }
}

/// The events of all agents, in the order of their beginnings.
pub fn events<'a>(lines: impl IntoIterator<Item = &'a TrackLine>) -> Vec<WorkEvent> {
    let mut events: Vec<WorkEvent> = Vec::new();
    let mut latest: HashMap<AgentId, usize> = HashMap::new();
    for (number, line) in lines.into_iter().enumerate() {
        let (agent, at) = (line.stamp.agent, line.stamp.at);
        let begin = |topics: Vec<Topic>| WorkEvent {
            agent,
            name: line.stamp.name.clone(),
            at,
            topics,
            files: Vec::new(),
            is_over: false,
            first_line: number,
        };
        match &line.deed {
            Deed::Prompted { topics, .. } => {
                if let Some(last) = latest.insert(agent, events.len()) {
                    events[last].is_over = true;
                }
                events.push(begin(topics.clone()));
            }
            Deed::Changed { tree, files } => {
                // Its prompt may be older than the track, or its harness tells of none.
                let event = *latest.entry(agent).or_insert_with(|| {
                    events.push(begin(Vec::new()));
                    events.len() - 1
                });
                let event = &mut events[event];
                event.at = at;
                event.name.clone_from(&line.stamp.name);
                for path in files {
                    let id = PathId::of(path);
                    match event.files.iter_mut().find(|file| file.id == id) {
                        Some(file) => (file.at, file.tree) = (at, *tree),
                        None => event.files.push(ChangedFile {
                            id,
                            path: path.clone(),
                            tree: *tree,
                            first: at,
                            at,
                        }),
                    }
                }
            }
            Deed::Read { .. } => {}
        }
    }
    events
}

/// Files that say nothing about who works on what: lock files, change logs and what programs write.
pub fn is_incidental(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let stem = name.split('.').next().unwrap_or(&name);
    const LOCKS: [&str; 9] = [
        "cargo.lock",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "poetry.lock",
        "gemfile.lock",
        "composer.lock",
        "go.sum",
    ];
    let is_list = matches!(stem, "changelog" | "changes" | "history" | "news" | "authors" | "contributors")
        && (name == stem || matches!(ending, "md" | "txt" | "rst" | "adoc"));
    let is_picture =
        matches!(ending, "snap" | "png" | "jpg" | "jpeg" | "gif" | "ico" | "svg" | "webp" | "bmp");
    LOCKS.contains(&name.as_str()) || ending == "lock" || is_list || is_picture
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::awareness::track::TrackStamp;

    const ALICE: AgentId = AgentId(1);
    const BOB: AgentId = AgentId(2);

    fn prompt(agent: AgentId, at: i64, topic: &str) -> TrackLine {
        let deed = Deed::Prompted { topics: vec![Topic::new(topic)], text: None };
        TrackLine { stamp: TrackStamp { at, agent, name: AgentName::new("Robin").unwrap() }, deed }
    }

    fn change(agent: AgentId, at: i64, file: &str) -> TrackLine {
        let deed = Deed::Changed { tree: TreeId(0), files: vec![file.as_bytes().to_vec()] };
        TrackLine { stamp: TrackStamp { at, agent, name: AgentName::new("Robin").unwrap() }, deed }
    }

    fn shown(events: &[WorkEvent]) -> Vec<(u64, String, Vec<String>, bool)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let one = |event: &WorkEvent| {
            let topics = event.topics.iter().map(Topic::as_str).collect::<Vec<_>>().join(" ");
            let files = event.files.iter().map(|file| text(&file.path)).collect();
            (event.agent.0, topics, files, event.is_over)
        };
        events.iter().map(one).collect()
    }

    #[test]
    fn files_belong_to_the_prompt_before_them() {
        let lines = [
            change(BOB, 1, "early"),
            prompt(ALICE, 2, "login"),
            prompt(BOB, 3, "cache"),
            change(ALICE, 4, "a"),
            change(ALICE, 5, "b"),
            change(ALICE, 6, "a"),
            change(BOB, 7, "c"),
            prompt(ALICE, 8, "other"),
        ];
        let expected = [
            (2, String::new(), vec!["early".to_string()], true),
            (1, "login".to_string(), vec!["a".to_string(), "b".to_string()], true),
            (2, "cache".to_string(), vec!["c".to_string()], false),
            (1, "other".to_string(), vec![], false),
        ];
        let events = events(&lines);
        assert_eq!(shown(&events), expected);
    }

    #[test]
    fn what_is_changed_in_passing() {
        for path in
            ["Cargo.lock", "web/package-lock.json", "CHANGELOG.md", "a/b.snap", "logo.PNG", "flake.lock"]
        {
            assert!(is_incidental(path), "{path}");
        }
        for path in ["src/lock.rs", "src/history.rs", "changes/one.rs", "src/clock", "README.md"] {
            assert!(!is_incidental(path), "{path}");
        }
    }
}

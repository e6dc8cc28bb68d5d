//! Counts of what an agent has done, with the same rules as pi-messenger.

use super::task_evidence::SeenWork;

/// Maximum number of changed files remembered per agent.
pub const MOST_FILES: usize = 20;

/// Everything that is counted for an agent.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ActivityCounts {
    pub tool_calls: u64,
    pub tokens: u64,
    /// The files that it changed last, each once, the most recent last.
    pub files_modified: Vec<String>,
    /// Its current activity, until its turn ends.
    pub activity: Option<String>,
    /// Its last notable action, as pi-messenger words it: `edit: src/a.rs`, `commit: fix it`, `test: passed`.
    pub last_tool_call: Option<String>,
}

impl ActivityCounts {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds something that happened after everything counted so far.
    pub fn add(&mut self, delta: ActivityDelta) {
        self.tool_calls = self.tool_calls.saturating_add(delta.tool_calls);
        self.tokens = self.tokens.saturating_add(delta.tokens);
        for file in delta.files {
            self.files_modified.retain(|known| *known != file);
            self.files_modified.push(file);
        }
        let surplus = self.files_modified.len().saturating_sub(MOST_FILES);
        self.files_modified.drain(..surplus);
        match delta.activity {
            ActivityChange::Unchanged => {}
            ActivityChange::Set(activity) => self.activity = Some(activity),
            ActivityChange::Clear => self.activity = None,
        }
        if delta.last_tool_call.is_some() {
            self.last_tool_call = delta.last_tool_call;
        }
    }
}

/// One change to the counts.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ActivityDelta {
    pub tool_calls: u64,
    pub tokens: u64,
    pub files: Vec<String>,
    pub activity: ActivityChange,
    pub last_tool_call: Option<String>,
    /// What proves that a task is done, or no longer does. It is not counted.
    pub seen: SeenWork,
}

/// How the current activity changes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ActivityChange {
    /// Unchanged.
    #[default]
    Unchanged,
    Set(String),
    /// The turn is over.
    Clear,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_twenty_files_are_remembered_each_once() {
        let mut counts = ActivityCounts::default();
        let edit = |path: &str| ActivityDelta {
            files: vec![path.to_string()],
            tool_calls: 1,
            ..ActivityDelta::default()
        };
        for number in 0..25 {
            counts.add(edit(&format!("f{number}")));
        }
        counts.add(edit("f10"));
        assert_eq!(counts.tool_calls, 26);
        assert_eq!(counts.files_modified.len(), MOST_FILES);
        assert_eq!(counts.files_modified.first().map(String::as_str), Some("f5"));
        assert_eq!(counts.files_modified.last().map(String::as_str), Some("f10"));
        assert_eq!(counts.files_modified.iter().filter(|file| *file == "f10").count(), 1);
    }

    #[test]
    fn an_activity_lasts_until_the_turn_ends() {
        let mut counts = ActivityCounts::default();
        let at = |activity| ActivityDelta { activity, ..ActivityDelta::default() };
        counts.add(at(ActivityChange::Set("reading a".to_string())));
        counts.add(at(ActivityChange::Unchanged));
        assert_eq!(counts.activity.as_deref(), Some("reading a"));
        counts.add(at(ActivityChange::Clear));
        assert_eq!(counts.activity, None);
    }
}

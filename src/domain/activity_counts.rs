//! Counts of what an agent has done, with the same rules as pi-messenger.

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
    pub fn add(&mut self, deed: ActivityDelta) {
        self.tool_calls = self.tool_calls.saturating_add(deed.tool_calls);
        self.tokens = self.tokens.saturating_add(deed.tokens);
        for file in deed.files {
            self.files_modified.retain(|known| *known != file);
            self.files_modified.push(file);
        }
        let surplus = self.files_modified.len().saturating_sub(MOST_FILES);
        self.files_modified.drain(..surplus);
        match deed.activity {
            ActivityChange::Same => {}
            ActivityChange::At(activity) => self.activity = Some(activity),
            ActivityChange::Nothing => self.activity = None,
        }
        if deed.last_tool_call.is_some() {
            self.last_tool_call = deed.last_tool_call;
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
}

/// How the current activity changes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ActivityChange {
    /// Unchanged.
    #[default]
    Same,
    At(String),
    /// The turn is over.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_twenty_files_are_remembered_each_once() {
        let mut tally = ActivityCounts::default();
        let edit = |path: &str| ActivityDelta {
            files: vec![path.to_string()],
            tool_calls: 1,
            ..ActivityDelta::default()
        };
        for number in 0..25 {
            tally.add(edit(&format!("f{number}")));
        }
        tally.add(edit("f10"));
        assert_eq!(tally.tool_calls, 26);
        assert_eq!(tally.files_modified.len(), MOST_FILES);
        assert_eq!(tally.files_modified.first().map(String::as_str), Some("f5"));
        assert_eq!(tally.files_modified.last().map(String::as_str), Some("f10"));
        assert_eq!(tally.files_modified.iter().filter(|file| *file == "f10").count(), 1);
    }

    #[test]
    fn an_activity_lasts_until_the_turn_ends() {
        let mut tally = ActivityCounts::default();
        let at = |activity| ActivityDelta { activity, ..ActivityDelta::default() };
        tally.add(at(ActivityChange::At("reading a".to_string())));
        tally.add(at(ActivityChange::Same));
        assert_eq!(tally.activity.as_deref(), Some("reading a"));
        tally.add(at(ActivityChange::Nothing));
        assert_eq!(tally.activity, None);
    }
}

//! `[worktree]` of `workers.toml`: what makes a fresh worktree ready for a worker.

/// What makes a fresh worktree ready, merged from all files.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WorktreeSetup {
    /// Patterns of files to copy from the person's tree, relative to its root.
    pub copy: Vec<String>,
    /// Patterns of files and directories to link to.
    pub link: Vec<String>,
    /// Shell command lines, run one after the other in a fresh worktree.
    pub setup: Vec<String>,
    /// Shell command lines, run before a worktree is removed.
    pub teardown: Vec<String>,
}

/// A key of `[worktree]`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum WorktreeKey {
    Copy,
    Link,
    Setup,
    Teardown,
}

impl WorktreeKey {
    pub const ALL: [Self; 4] = [Self::Copy, Self::Link, Self::Setup, Self::Teardown];
    /// The name of the table.
    pub const TABLE: &'static str = "worktree";

    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Link => "link",
            Self::Setup => "setup",
            Self::Teardown => "teardown",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// Whether a project's value counts only after a person trusted the file.
    pub fn is_restricted(self) -> bool {
        self != Self::Copy
    }

    /// Whether the values are patterns of paths, not command lines.
    pub fn takes_patterns(self) -> bool {
        matches!(self, Self::Copy | Self::Link)
    }
}

/// A key of `[worktree]` with its value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WorktreeValue {
    pub key: WorktreeKey,
    pub lines: Vec<String>,
}

impl WorktreeSetup {
    pub(super) fn set(&mut self, value: &WorktreeValue) {
        let place = match value.key {
            WorktreeKey::Copy => &mut self.copy,
            WorktreeKey::Link => &mut self.link,
            WorktreeKey::Setup => &mut self.setup,
            WorktreeKey::Teardown => &mut self.teardown,
        };
        place.clone_from(&value.lines);
    }
}

//! The keys of a profile, and those of a file that count only after a person trusted it.

use std::fmt;

use super::worktree_setup::WorktreeKey;

/// Declares the keys with their names, so that no list of them can miss one.
macro_rules! keys {
    ($($key:ident = $name:literal,)+) => {
        /// A key of a profile in `workers.toml`.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum ProfileKey {
            $($key,)+
        }

        impl ProfileKey {
            pub const ALL: &'static [Self] = &[$(Self::$key,)+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$key => $name,)+
                }
            }
        }
    };
}

keys! {
    Harness = "harness",
    Command = "command",
    Model = "model",
    Instructions = "instructions",
    InstructionsFile = "instructions_file",
    Readonly = "readonly",
    Tools = "tools",
    Timeout = "timeout",
    Budget = "budget",
    Isolation = "isolation",
    Retries = "retries",
    Env = "env",
    Args = "args",
    Triage = "triage",
    Review = "review",
}

impl ProfileKey {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.name() == name)
    }

    /// Whether a project's value counts only after a person trusted the file: it decides what is run on this machine,
    /// or what a worker may do.
    pub fn is_restricted(self) -> bool {
        matches!(self, Self::Command | Self::Harness | Self::Args | Self::Env | Self::Tools | Self::Triage)
    }
}

/// A key of a project's file that counts only after a person trusted the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RestrictedKey {
    /// The profile, or `worktree`.
    pub table: String,
    pub key: &'static str,
}

impl fmt::Display for RestrictedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.table, self.key)
    }
}

impl RestrictedKey {
    pub(super) fn of_worktree(key: WorktreeKey) -> Self {
        Self { table: WorktreeKey::TABLE.to_string(), key: key.name() }
    }
}

//! What `msg setup` can set up, and what is set up already.

use std::path::PathBuf;

use crate::domain::Harness;
use crate::ops::error::CommandError;

/// Something to set up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SetupPart {
    /// Hooks, plugin, MCP server and permission of a harness.
    Hooks(Harness),
    /// Sessions join by themselves.
    Joining,
    /// The commit guard of this repository.
    Guard,
    StatusLine(Harness),
    Completions(PersonShell),
    ManPages,
}

/// A shell with completions that it finds by itself, or nearly.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PersonShell {
    Bash,
    Fish,
    Zsh,
}

impl PersonShell {
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Fish => "fish",
            Self::Zsh => "zsh",
        }
    }
}

impl SetupPart {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hooks(_) => "hooks",
            Self::Joining => "joining",
            Self::Guard => "guard",
            Self::StatusLine(_) => "statusLine",
            Self::Completions(_) => "completions",
            Self::ManPages => "manPages",
        }
    }

    /// The harness or the shell that it is for.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Self::Hooks(harness) | Self::StatusLine(harness) => Some(harness.name()),
            Self::Completions(shell) => Some(shell.name()),
            Self::Joining | Self::Guard | Self::ManPages => None,
        }
    }

    /// Whether two agents need it to coordinate. Everything else is offered.
    pub fn is_needed(self) -> bool {
        matches!(self, Self::Hooks(_) | Self::Joining)
    }
}

/// A part as it is now.
#[derive(Clone, Debug)]
pub struct PartView {
    pub part: SetupPart,
    pub state: PartState,
    /// The files that setting it up changes; of man pages the directory.
    pub files: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
pub enum PartState {
    Set,
    Missing,
    /// It cannot be set up here, or is not ours to change: why.
    Unavailable(String),
    Failed(CommandError),
}

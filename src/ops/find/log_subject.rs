//! What a log is about: a path or an agent.

use std::path::{Path, PathBuf};

use crate::domain::pattern::{NormalPath, Pattern, has_wildcard};
use crate::domain::{AgentName, Thing};
use crate::ops::awareness::WorkPlace;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::reservations::reserve::PatternBase;
use crate::sys::git::WorkTree;
use crate::sys::paths;

/// The repository that a directory is in.
pub(super) fn repository(dir: &NormalPath) -> Option<PathBuf> {
    WorkTree::containing(Path::new(dir.as_str()))?.repository()
}

/// What a log is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LogSubject {
    /// Relative to the root of the work tree, if it is in one; empty for the root.
    Path {
        shown: String,
    },
    Agent(AgentName),
}

/// A path that a log is about, in the forms in which it is recorded.
pub(super) struct LoggedPath {
    pub(super) shown: String,
    whole: NormalPath,
    root: NormalPath,
}

impl LoggedPath {
    pub(super) fn of(op: &Op, typed: &str, place: &WorkPlace) -> Result<Self, CommandError> {
        if typed.trim().is_empty() {
            return Err(CommandError::new(CommandErrorKind::InvalidValue, "the path is empty")
                .hint("name a file, a directory or an agent"));
        }
        let root = paths::resolve(&place.root);
        // The feed has a thing as it is written.
        if let Some(Ok(thing)) = Thing::parse(typed) {
            let shown = thing.to_string();
            return Ok(Self { whole: root.join(&shown), shown, root });
        }
        let typed = op.cwd.join(op.home.expand(typed));
        // A link is a file of its own; the directories above it are where they lead.
        let whole = match (typed.parent(), typed.file_name()) {
            (Some(dir), Some(name)) => paths::resolve(dir).join(&name.to_string_lossy()),
            _ => paths::resolve(&typed),
        };
        let shown = whole.relative_to(&root).unwrap_or(whole.as_str()).to_string();
        Ok(Self { shown, whole, root })
    }

    /// Whether a file of any work tree of the repository is it, or in it.
    pub(super) fn has_file(&self, file: &str) -> bool {
        self.root.join(file).is_within(&self.whole)
    }

    /// Whether a path or a pattern from the feed is about it. `roots` are what it may be relative to.
    pub(super) fn is_meant_by(&self, target: &str, roots: &[NormalPath]) -> bool {
        roots.iter().any(|root| {
            let literal = root.join(target);
            if literal.is_within(&self.whole) {
                return true;
            }
            let is_pattern = has_wildcard(target) || target.ends_with('/');
            is_pattern && Pattern::new(target, root).is_ok_and(|pattern| pattern.covers(&self.whole))
        })
    }

    pub(super) fn whole(&self) -> &NormalPath {
        &self.whole
    }

    /// Whether it is in the work tree.
    pub(super) fn is_inside(&self) -> bool {
        self.whole.is_within(&self.root)
    }

    pub(super) fn exists(&self) -> bool {
        Path::new(self.whole.as_str()).symlink_metadata().is_ok()
    }

    /// The directories that paths in the feed may be relative to: the work tree, and where the asker is, if that is in the
    /// same repository.
    pub(super) fn roots(&self, op: &Op) -> Vec<NormalPath> {
        let here = PatternBase::here(op).root().clone();
        let is_near = here != self.root && repository(&here) == repository(&self.root);
        std::iter::once(self.root.clone()).chain(is_near.then_some(here)).collect()
    }
}

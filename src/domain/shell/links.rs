//! Links that a command makes itself, and later writes of the same command through them.

use super::field::Field;
use super::state::{ShellState, join};
use super::{Extent, PathWrite};
use crate::domain::pattern::NormalPath;

/// Maximum number of links that are tracked.
const MAX_LINKS: usize = 64;

/// Programs that change a name itself, not the target of a link with that name.
const CHANGE_NAMES: [&str; 5] = ["rm", "rmdir", "unlink", "mv", "ln"];

/// Links that a command makes, as (link, target).
#[derive(Default)]
pub struct Links {
    known: Vec<(NormalPath, NormalPath)>,
}

/// Where a write leads.
#[derive(Default)]
pub struct LinkTarget {
    /// The other path of the same file.
    pub target: Option<String>,
    /// It may lead elsewhere as well.
    pub is_unsure: bool,
}

impl Links {
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Tracks a link from `link` to `target`; `false` if that is not possible.
    pub fn add(&mut self, state: &ShellState, target: &Field, link: &Field, kind: LinkKind) -> bool {
        let is_plain = |field: &Field| field.is_known() && field.pattern.is_none() && !field.is_below;
        let sure = is_plain(target) && is_plain(link) && state.instead.is_empty();
        let from = state.path(&link.text).filter(|_| sure);
        let to = from.as_deref().and_then(|from| match kind {
            LinkKind::Symbolic => {
                join(from.trim_end_matches('/').rsplit_once('/').map(|(dir, _)| dir), &target.text)
            }
            LinkKind::Hard => state.path(&target.text),
        });
        let Some((from, to)) = from.zip(to).filter(|_| self.known.len() < MAX_LINKS) else { return false };
        self.known.push((NormalPath::absolute(&from), NormalPath::absolute(&to)));
        true
    }

    /// Resolves the path, if one of the links is on the way.
    pub fn resolve(&self, path: &str) -> Option<String> {
        let mut here = NormalPath::absolute(path);
        let mut has_moved = false;
        // Links may lead to other links, and in a circle.
        for _ in 0..=self.known.len() {
            let step = self.known.iter().rev().find_map(|(from, to)| {
                let rest = here.relative_to(from).filter(|_| here.is_within(from))?;
                Some(if rest.is_empty() { to.clone() } else { to.join(rest) })
            });
            match step {
                Some(next) if next != here => (here, has_moved) = (next, true),
                _ => break,
            }
        }
        has_moved.then(|| here.to_string())
    }

    /// The path as the kernel resolves it, if `..` follows one of the links.
    fn go_up(&self, path: &str) -> Option<String> {
        let mut here = NormalPath::absolute("/");
        let mut has_moved = false;
        for part in path.split('/') {
            if part == ".."
                && let Some(led) = self.resolve(here.as_str())
            {
                (here, has_moved) = (NormalPath::absolute(&led), true);
            }
            here = here.join(part);
        }
        has_moved.then(|| here.to_string())
    }

    pub fn follow(&mut self, written: &PathWrite) -> LinkTarget {
        // Which links a glob matches is not worth computing.
        if written.is_pattern {
            return LinkTarget { target: None, is_unsure: true };
        }
        let path = NormalPath::absolute(&written.path);
        let program = written.by.split(' ').next().unwrap_or_default();
        if CHANGE_NAMES.contains(&program) && self.known.iter().any(|(from, _)| *from == path) {
            // Afterwards, this path is another file.
            self.known.retain(|(from, _)| *from != path);
            return LinkTarget { target: None, is_unsure: true };
        }
        // `..` after a link goes up from the link's target, which may be below a link too.
        if let Some(above) = self.go_up(&written.path) {
            let target = self.resolve(&above).unwrap_or(above);
            return LinkTarget { target: Some(target), is_unsure: true };
        }
        let is_above = |(from, _): &(NormalPath, NormalPath)| from.is_within(&path) && *from != path;
        let is_unsure = written.extent == Extent::Tree && self.known.iter().any(is_above);
        LinkTarget { target: self.resolve(&written.path), is_unsure }
    }
}

/// What the target of a link is relative to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkKind {
    /// The working directory.
    Hard,
    /// The directory of the link.
    Symbolic,
}

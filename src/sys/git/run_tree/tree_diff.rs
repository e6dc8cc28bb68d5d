//! How two trees differ: as a list of files, and as text.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::error::RunTreeError;
use super::git_call::GitCaller;
use super::status_entry::path_of;
use super::work_tree::RunTree;

/// What happened to a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileChangeKind {
    Added,
    Removed,
    Changed,
}

/// A file that differs between two trees.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TreeChange {
    /// Relative to the root of the work tree.
    pub path: PathBuf,
    pub kind: FileChangeKind,
    /// Lines that were added and removed; `None` for a file that is not a text.
    pub lines: Option<(usize, usize)>,
    pub(super) old: TreeEntry,
    pub(super) new: TreeEntry,
}

/// Mode and object of a file in a tree; mode 0 if it is not there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct TreeEntry {
    pub(super) mode: u32,
    pub(super) object: String,
}

impl TreeEntry {
    pub(super) fn is_absent(&self) -> bool {
        self.mode == 0
    }

    pub(super) fn is_submodule(&self) -> bool {
        self.mode == 0o160000
    }

    pub(super) fn is_link(&self) -> bool {
        self.mode == 0o120000
    }

    pub(super) fn is_executable(&self) -> bool {
        self.mode == 0o100755
    }
}

/// Whether a text has colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DiffColour {
    Always,
    Never,
}

impl RunTree {
    /// The run's work as text: what it changed from base to tip.
    pub fn diff_text(&self, colour: DiffColour) -> Result<Vec<u8>, RunTreeError> {
        self.diff_from(&self.base()?, colour)
    }

    /// What changed in the run's work since it was at that commit; `None` if git has the commit no more.
    pub fn diff_since(&self, commit: &str, colour: DiffColour) -> Result<Option<Vec<u8>>, RunTreeError> {
        match self.repository.object_at(&format!("{commit}^{{commit}}"))? {
            Some(_) => self.diff_from(commit, colour).map(Some),
            None => Ok(None),
        }
    }

    fn diff_from(&self, base: &str, colour: DiffColour) -> Result<Vec<u8>, RunTreeError> {
        let colour = match colour {
            DiffColour::Always => "--color=always",
            DiffColour::Never => "--color=never",
        };
        let tip = self.tip()?;
        let args = ["diff", "--no-ext-diff", "--no-textconv", colour, "-M", base, &tip, "--"];
        self.repository.git().ask(&args)
    }

    /// The files that the run changed.
    pub fn changes(&self) -> Result<Vec<TreeChange>, RunTreeError> {
        changes_between(&self.repository.git(), &self.base()?, &self.tip()?)
    }
}

/// The files in which two trees or commits differ. A renamed file is a removed one and a new one.
pub(super) fn changes_between(
    git: &GitCaller,
    old: &str,
    new: &str,
) -> Result<Vec<TreeChange>, RunTreeError> {
    let args =
        ["diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv"];
    parse(&git.ask(&[&args[..], &[old, new, "--"]].concat())?).ok_or(RunTreeError::Output("diff-tree"))
}

/// Lines such as `:100644 100644 <object> <object> M`, each followed by a path; then `<added> TAB <removed> TAB <path>`.
fn parse(output: &[u8]) -> Option<Vec<TreeChange>> {
    let mut parts = output.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    let mut changes = Vec::new();
    let mut counts = BTreeMap::new();
    while let Some(part) = parts.next() {
        match part.strip_prefix(b":") {
            Some(about) => changes.push(change(about, path_of(parts.next()?))?),
            None => {
                let mut words = part.splitn(3, |byte| *byte == b'\t');
                let mut count = || std::str::from_utf8(words.next()?).ok();
                let (added, removed) = (count()?.parse().ok(), count()?.parse().ok());
                counts.insert(path_of(words.next()?), added.zip(removed));
            }
        }
    }
    for change in &mut changes {
        change.lines = counts.get(&change.path).copied().flatten();
    }
    Some(changes)
}

fn change(about: &[u8], path: PathBuf) -> Option<TreeChange> {
    let mut words = std::str::from_utf8(about).ok()?.split(' ');
    let mut mode = || u32::from_str_radix(words.next()?, 8).ok();
    let (old_mode, new_mode) = (mode()?, mode()?);
    let old = TreeEntry { mode: old_mode, object: words.next()?.to_string() };
    let new = TreeEntry { mode: new_mode, object: words.next()?.to_string() };
    let kind = match (old.is_absent(), new.is_absent()) {
        (true, _) => FileChangeKind::Added,
        (_, true) => FileChangeKind::Removed,
        _ => FileChangeKind::Changed,
    };
    Some(TreeChange { path, kind, lines: None, old, new })
}

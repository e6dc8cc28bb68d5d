//! A three-way merge in memory, with a base that we choose.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::error::RunTreeError;
use super::git_call::{GitCaller, failed};
use super::status_entry::path_of;

/// A file that stops a merge.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MergeConflict {
    /// Relative to the root of the work tree.
    pub path: PathBuf,
    pub why: String,
}

/// The result of a merge.
#[derive(Clone, Debug)]
pub(super) enum ThreeWay {
    /// The tree.
    Clean(String),
    Conflicts(Vec<MergeConflict>),
}

/// Merges the commits `ours` and `theirs`, which both came from `base`.
pub(super) fn three_way(
    git: &GitCaller,
    base: &str,
    ours: &str,
    theirs: &str,
) -> Result<ThreeWay, RunTreeError> {
    let MarkedMerge { tree, conflicts } = marked_merge(git, base, ours, theirs)?;
    Ok(if conflicts.is_empty() { ThreeWay::Clean(tree) } else { ThreeWay::Conflicts(conflicts) })
}

/// A merge whose tree is there even if files are in conflict: both sides are in them, with git's marks between.
pub(super) struct MarkedMerge {
    pub(super) tree: String,
    pub(super) conflicts: Vec<MergeConflict>,
}

/// Like [`three_way`], with a tree in any case.
pub(super) fn marked_merge(
    git: &GitCaller,
    base: &str,
    ours: &str,
    theirs: &str,
) -> Result<MarkedMerge, RunTreeError> {
    let base = format!("--merge-base={base}");
    let args = ["merge-tree", "--write-tree", "-z", "--messages", &base, ours, theirs];
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let answer = git.answer(&args, Vec::new())?;
    let conflicts = match answer.code {
        Some(0) => Vec::new(),
        Some(1) => conflicts(&answer.output),
        _ => return Err(failed(&args, &answer)),
    };
    let tree = answer.output.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(MarkedMerge { tree: String::from_utf8_lossy(tree).into_owned(), conflicts })
}

/// The tree, then `<mode> <object> <stage> TAB <path>` for each file in conflict, an empty part, and the messages: the
/// number of paths, the paths, a kind and a text.
fn conflicts(output: &[u8]) -> Vec<MergeConflict> {
    let mut parts = output.split(|byte| *byte == 0).skip(1);
    let mut found: Vec<MergeConflict> = Vec::new();
    for part in parts.by_ref().take_while(|part| !part.is_empty()) {
        let Some(tab) = part.iter().position(|byte| *byte == b'\t') else { continue };
        let path = path_of(&part[tab + 1..]);
        if !found.iter().any(|conflict| conflict.path == path) {
            found.push(MergeConflict { path, why: "both sides changed it".to_string() });
        }
    }
    while let Some(count) = parts.next().and_then(|part| std::str::from_utf8(part).ok()?.parse().ok()) {
        let paths: Vec<PathBuf> = parts.by_ref().take(count).map(path_of).collect();
        let (kind, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if !kind.starts_with(b"CONFLICT") {
            continue;
        }
        let text = String::from_utf8_lossy(text);
        let why = text.trim().trim_start_matches("CONFLICT ").to_string();
        for path in paths {
            match found.iter_mut().find(|conflict| conflict.path == path) {
                Some(conflict) => conflict.why.clone_from(&why),
                None => found.push(MergeConflict { path, why: why.clone() }),
            }
        }
    }
    found
}

//! Conflicts that git can't mark in the files themselves: in files that are not text, links, modes, submodules, and files that
//! one side removed or renamed.
//!
//! Both sides of them, and a text that says what is wrong, are put into a directory at the root of the run's work tree.
//! While anything of it is there, the work is not merged with a crew's branch: like a mark, it has to be removed by whoever
//! has decided.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::RunTreeError;
use super::git_call::{GitCaller, failed};
use super::private_index::PrivateIndex;
use super::repository::RunRepository;
use super::status_entry::path_of;
use super::three_way::{ConflictedFile, FileVersion, MarkedMerge};
use crate::domain::escape_invisible_line;

/// The directory, at the root of the work tree.
const CONFLICTS: &str = "ravenry-conflicts";
/// Its parts: what the run has, and what is on the branch.
const YOURS: &str = "yours";
const BRANCH: &str = "branch";
const README: &str = "ravenry-conflicts/README.md";
const SUBMODULE: &str = "160000";
const FILE: &str = "100644";

const TEXT: &str = "\
# Conflicts that git can't mark

Others changed the same files as you meanwhile, and in these git can't put both sides into the file:

- `yours/PATH` is what you made of it,
- `branch/PATH` is what others made of it, as it is on the branch now.

Where one of them is missing, that side removed or renamed the file. In its place there is now what git chose, which is one
of the sides. Decide for each file so that both purposes are kept, put that in its place, and then remove this directory: while
it is there, your work is not merged.

";

/// The tree of a merge, with the conflicts in it that have no marks written down. `sides` are the commits of the branch and of
/// the run.
pub(super) fn with_unmarked(
    repository: &RunRepository,
    merged: &MarkedMerge,
    sides: [&str; 2],
) -> Result<String, RunTreeError> {
    let git = repository.git();
    let marked = marked_in(&git, &merged.tree)?;
    let is_unmarked =
        |file: &&ConflictedFile| !(file.is_told_by_marks() && marked.contains(&file.conflict.path));
    let unmarked: Vec<&ConflictedFile> = merged.conflicts.iter().filter(is_unmarked).collect();
    if unmarked.is_empty() {
        return Ok(merged.tree.clone());
    }
    let mut text = match repository.object_at(&format!("{}:{README}", merged.tree))? {
        // Not all of an earlier conflict is decided.
        Some(before) => String::from_utf8_lossy(&git.ask(&["cat-file", "blob", &before])?).into_owned(),
        None => TEXT.to_string(),
    };
    let mut lines = Vec::new();
    for file in unmarked {
        let why = file.conflict.why.replace(sides[0], "BRANCH").replace(sides[1], "YOURS");
        let line = format!("- {}: {why}", file.conflict.path.display()).replace('\n', " ");
        let line = format!("{}\n", escape_invisible_line(&line));
        if !text.contains(&line) {
            text.push_str(&line);
        }
        let [_, branch, own] = &file.versions;
        for (part, version) in [(BRANCH, branch), (YOURS, own)] {
            if let Some(version) = version {
                let FileVersion { mode, object } = readable(&git, version)?;
                put_line(
                    &mut lines,
                    (&mode, &object),
                    &Path::new(CONFLICTS).join(part).join(&file.conflict.path),
                );
            }
        }
        // It would be taken for work.
        let nothing = "0".repeat(merged.tree.len());
        file.renamed.iter().for_each(|path| put_line(&mut lines, ("0", &nothing), path));
    }
    let object = write_text(&git, text.into_bytes())?;
    put_line(&mut lines, (FILE, &object), Path::new(README));
    let index = PrivateIndex::empty(repository.state())?;
    let git = index.caller(&git);
    git.ask(&["read-tree", &merged.tree])?;
    git.feed(&["update-index", "-z", "--index-info"], lines)?;
    git.line(&["write-tree"])
}

/// The files of a tree that have git's marks of a conflict.
pub(super) fn marked_in(git: &GitCaller, tree: &str) -> Result<BTreeSet<PathBuf>, RunTreeError> {
    let args = ["grep", "-z", "-l", "-I", "-E", "-e", "^(<{7}|>{7}) ", tree].map(OsStr::new);
    let answer = git.answer(&args, Vec::new())?;
    let prefix = format!("{tree}:");
    match answer.code {
        Some(0) => {
            let names = answer.output.split(|byte| *byte == 0);
            Ok(names.filter_map(|name| name.strip_prefix(prefix.as_bytes())).map(path_of).collect())
        }
        Some(1) => Ok(BTreeSet::new()),
        _ => Err(failed(&args, &answer)),
    }
}

/// What a path in a tree tells of a conflict without marks.
pub(super) enum ConflictNote {
    /// A side of this file.
    Of(PathBuf),
    /// The text about all of them, or what somebody put beside it.
    About,
}

/// What this path tells; `None`: nothing.
pub(super) fn conflict_note(path: &Path) -> Option<ConflictNote> {
    let rest = path.strip_prefix(CONFLICTS).ok()?;
    let side = [YOURS, BRANCH].into_iter().find_map(|part| rest.strip_prefix(part).ok());
    Some(match side {
        Some(file) if file != Path::new("") => ConflictNote::Of(file.to_path_buf()),
        _ => ConflictNote::About,
    })
}

/// A side as it can be checked out beside: of a submodule there is only its commit.
fn readable(git: &GitCaller, version: &FileVersion) -> Result<FileVersion, RunTreeError> {
    if version.mode != SUBMODULE {
        return Ok(version.clone());
    }
    let text = format!("Subproject commit {}\n", version.object);
    Ok(FileVersion { mode: FILE.to_string(), object: write_text(git, text.into_bytes())? })
}

fn write_text(git: &GitCaller, text: Vec<u8>) -> Result<String, RunTreeError> {
    let object = git.feed(&["hash-object", "-w", "--stdin"], text)?;
    Ok(String::from_utf8_lossy(&object).trim().to_string())
}

/// A line as `update-index --index-info` reads it.
fn put_line(lines: &mut Vec<u8>, (mode, object): (&str, &str), path: &Path) {
    lines.extend_from_slice(format!("{mode} {object}\t").as_bytes());
    lines.extend_from_slice(path.as_os_str().as_bytes());
    lines.push(0);
}

//! A three-way merge in memory, with a base that we choose.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
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
    let merged = marked_merge(git, base, ours, theirs)?;
    Ok(match merged.is_clean {
        true => ThreeWay::Clean(merged.tree),
        false => ThreeWay::Conflicts(merged.conflicts.into_iter().map(|file| file.conflict).collect()),
    })
}

/// A merge whose tree is there even if files are in conflict: where git can, it has both sides of them, with marks between.
pub(super) struct MarkedMerge {
    pub(super) tree: String,
    pub(super) is_clean: bool,
    /// Not empty unless it is clean.
    pub(super) conflicts: Vec<ConflictedFile>,
}

/// A file that stops a merge, and what each side has there.
pub(super) struct ConflictedFile {
    pub(super) conflict: MergeConflict,
    /// What it was before, on the side of `ours`, and on that of `theirs`; `None`: nothing.
    pub(super) versions: [Option<FileVersion>; 3],
    /// Under which other names git put a side of it, because the sides are not both files, or not both directories.
    pub(super) renamed: Vec<PathBuf>,
    /// Whether git tells of nothing but content that conflicts.
    is_of_content: bool,
}

/// Mode and object of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FileVersion {
    pub(super) mode: String,
    pub(super) object: String,
}

impl ConflictedFile {
    fn new(path: PathBuf) -> Self {
        let why = "both sides changed it".to_string();
        Self {
            conflict: MergeConflict { path, why },
            versions: [None, None, None],
            renamed: Vec::new(),
            is_of_content: true,
        }
    }

    /// Whether marks in the file tell all of the conflict, if there are any.
    pub(super) fn is_told_by_marks(&self) -> bool {
        let [before, ours, theirs] =
            self.versions.each_ref().map(|version| version.as_ref().map(|version| version.mode.as_str()));
        let has_one_mode = ours == theirs || before.is_some() && (before == ours || before == theirs);
        self.is_of_content && has_one_mode
    }
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
    let is_clean = match answer.code {
        Some(0) => true,
        Some(1) => false,
        _ => return Err(failed(&args, &answer)),
    };
    let mut conflicts = if is_clean { Vec::new() } else { conflicts(&answer.output, [ours, theirs]) };
    if !is_clean && conflicts.is_empty() {
        conflicts.push(ConflictedFile::new(PathBuf::from(".")));
    }
    let tree = answer.output.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(MarkedMerge { tree: String::from_utf8_lossy(tree).into_owned(), is_clean, conflicts })
}

/// The tree, then `<mode> <object> <stage> TAB <path>` for each file in conflict, an empty part, and the messages: the
/// number of paths, the paths, a kind and a text. `sides` are the names by which git was told of them.
fn conflicts(output: &[u8], sides: [&str; 2]) -> Vec<ConflictedFile> {
    let mut parts = output.split(|byte| *byte == 0).skip(1);
    let mut found: Vec<ConflictedFile> = Vec::new();
    for part in parts.by_ref().take_while(|part| !part.is_empty()) {
        let Some(tab) = part.iter().position(|byte| *byte == b'\t') else { continue };
        let file = file_at(&mut found, path_of(&part[tab + 1..]), sides);
        let about = String::from_utf8_lossy(&part[..tab]);
        let mut words = about.split(' ').map(str::to_string);
        let (Some(mode), Some(object), Some(stage)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let version =
            stage.parse::<usize>().ok().and_then(|stage| file.versions.get_mut(stage.checked_sub(1)?));
        if let Some(version) = version {
            *version = Some(FileVersion { mode, object });
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
            let file = file_at(&mut found, path, sides);
            // What git says of the content comes last, and says less.
            if kind == b"CONFLICT (contents)" && !file.is_of_content {
                continue;
            }
            file.is_of_content = kind == b"CONFLICT (contents)";
            file.conflict.why.clone_from(&why);
        }
    }
    found
}

/// The file of a path. Where one side has a file and the other something else, git puts one of them beside it, as
/// `PATH~SIDE`.
fn file_at<'f>(
    found: &'f mut Vec<ConflictedFile>,
    path: PathBuf,
    sides: [&str; 2],
) -> &'f mut ConflictedFile {
    let name = path.as_os_str().as_bytes();
    let added = sides.iter().find_map(|side| {
        let added = format!("~{side}").into_bytes();
        name.windows(added.len()).rposition(|part| part == added)
    });
    let whole = added.map_or_else(|| path.clone(), |at| path_of(&name[..at]));
    let place = found.iter().position(|file| file.conflict.path == whole).unwrap_or_else(|| {
        found.push(ConflictedFile::new(whole));
        found.len() - 1
    });
    let file = &mut found[place];
    if added.is_some() && !file.renamed.contains(&path) {
        file.renamed.push(path);
    }
    file
}

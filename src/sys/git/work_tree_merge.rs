//! Whether the files of two work trees of one repository would merge, as they are now.
//!
//! The two working files are merged in memory, over the version in the merge base of the two `HEAD`s. Nothing is
//! written, and no index is read. The repository may be hostile: only commands that run neither hooks nor filters are
//! used, with a time limit, and everything that is read has a size limit.
//!
//! What a filter or an encoding changes between the repository and the working file can't be compared. Neither can
//! histories without a common commit.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::reading_command::reading_command;
use crate::domain::line_merge::{ConflictingLines, conflicting_lines};
use crate::sys::files::{self, BoundedRead};
use crate::sys::program::{RunError, output_within};

/// How long one git command may take, and the comparison of one file.
const GIT_LIMIT: Duration = Duration::from_secs(10);
const COMPARE_LIMIT: Duration = Duration::from_secs(2);
/// The largest file that is compared, in bytes.
const MOST: u64 = 4 * 1024 * 1024;
/// As in git: a file with a NUL among its first bytes is not a text.
const BINARY_PREFIX: usize = 8000;
/// Attributes of a path whose working file differs from what git stores.
const CONVERTING: [&str; 3] = ["filter", "working-tree-encoding", "ident"];
/// What would become of a file if the two work trees were merged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FileMerge {
    Clean,
    Conflict(FileConflict),
    /// It can't be compared.
    Unknown,
}

/// What two work trees disagree on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FileConflict {
    Lines(Vec<ConflictingLines>),
    /// It is not a text: it was changed on both sides.
    Whole,
    /// Our side removed it, the other changed it.
    RemovedHere,
    /// The other side removed it, ours changed it.
    RemovedThere,
}

/// Two work trees of one repository, and the commit that both came from.
#[derive(Debug)]
pub struct WorkTreePair {
    ours: PathBuf,
    theirs: PathBuf,
    base: String,
}

impl WorkTreePair {
    /// `None`: git can't tell the commit, or there is none.
    pub fn new(ours: &Path, theirs: &Path) -> Option<Self> {
        let head = |root| object_name(&git(root, &["rev-parse", "--verify", "-q", "HEAD^{commit}"]).ok()?);
        let (our_head, their_head) = (head(ours)?, head(theirs)?);
        let base = object_name(&git(ours, &["merge-base", &our_head, &their_head]).ok()?)?;
        Some(Self { ours: ours.to_path_buf(), theirs: theirs.to_path_buf(), base })
    }

    /// Merges a file. `path` is relative to the roots of both work trees.
    pub fn merge(&self, path: &Path) -> FileMerge {
        self.try_merge(path).unwrap_or(FileMerge::Unknown)
    }

    /// `None`: it can't be compared.
    fn try_merge(&self, path: &Path) -> Option<FileMerge> {
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if path.as_os_str().is_empty() || !path.components().all(is_plain) {
            return None;
        }
        let (ours, theirs) = (Version::in_tree(&self.ours, path)?, Version::in_tree(&self.theirs, path)?);
        if ours == theirs {
            return Some(FileMerge::Clean);
        }
        if is_converted(&self.ours, path)? || is_converted(&self.theirs, path)? {
            return None;
        }
        let base = self.base_version(path)?;
        merge_versions(&base, &ours, &theirs)
    }

    fn base_version(&self, path: &Path) -> Option<Version> {
        let mut list = command(&self.ours, &["ls-tree", "-z", "-l", &self.base, "--"]);
        let entry = output_within(list.arg(path), GIT_LIMIT).ok()?;
        let Some(entry) = entry.split(|byte| *byte == 0).find(|entry| !entry.is_empty()) else {
            return Some(Version::Absent);
        };
        // `<mode> <type> <object> <size>`, a tab, and the path.
        let about = std::str::from_utf8(entry.split(|byte| *byte == b'\t').next()?).ok()?;
        let mut words = about.split_whitespace();
        let (mode, kind, object, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
        match kind {
            "blob" if size.parse::<u64>().ok()? <= MOST => {}
            // The file took the place of a directory.
            "tree" => return Some(Version::Absent),
            _ => return None,
        }
        let content = git(&self.ours, &["cat-file", "blob", object]).ok()?;
        Some(if mode == "120000" { Version::Link(content) } else { Version::File(content) })
    }
}

/// A version of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Version {
    Absent,
    File(Vec<u8>),
    Link(Vec<u8>),
}

impl Version {
    /// The working file. `None`: it is something else, too large, or outside of the work tree.
    fn in_tree(root: &Path, path: &Path) -> Option<Self> {
        let full = root.join(path);
        match std::fs::canonicalize(full.parent()?) {
            Ok(parent) if parent.starts_with(std::fs::canonicalize(root).ok()?) => {}
            Ok(_) => return None,
            Err(error) => return is_absent(&error).then_some(Self::Absent),
        }
        let kind = match std::fs::symlink_metadata(&full) {
            Ok(metadata) => metadata.file_type(),
            Err(error) => return is_absent(&error).then_some(Self::Absent),
        };
        if kind.is_symlink() {
            return Some(Self::Link(std::fs::read_link(&full).ok()?.as_os_str().as_bytes().to_vec()));
        }
        if kind.is_dir() {
            return Some(Self::Absent);
        }
        match files::read_at_most(&full, MOST).ok()? {
            BoundedRead::Content(content) if kind.is_file() => Some(Self::File(content)),
            BoundedRead::Content(_) | BoundedRead::TooLarge => None,
            BoundedRead::Absent => Some(Self::Absent),
        }
    }

    /// The lines, if it has some.
    fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Absent => Some(b""),
            Self::File(content) => {
                let is_binary = content.iter().take(BINARY_PREFIX).any(|byte| *byte == 0);
                (!is_binary).then_some(content)
            }
            Self::Link(_) => None,
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// `None`: it takes too long.
fn merge_versions(base: &Version, ours: &Version, theirs: &Version) -> Option<FileMerge> {
    if ours == theirs || ours == base || theirs == base {
        return Some(FileMerge::Clean);
    }
    let conflict = match (base.text(), ours.text(), theirs.text()) {
        (Some(base), Some(our_text), Some(their_text)) => {
            let deadline = Instant::now() + COMPARE_LIMIT;
            let lines = conflicting_lines(base, our_text, their_text, compare_until(deadline));
            // From then on the comparison was coarse.
            if Instant::now() >= deadline {
                return None;
            }
            match (ours, theirs) {
                _ if lines.is_empty() => return Some(FileMerge::Clean),
                (Version::Absent, _) => FileConflict::RemovedHere,
                (_, Version::Absent) => FileConflict::RemovedThere,
                _ => FileConflict::Lines(lines),
            }
        }
        _ if *ours == Version::Absent => FileConflict::RemovedHere,
        _ if *theirs == Version::Absent => FileConflict::RemovedThere,
        _ => FileConflict::Whole,
    };
    Some(FileMerge::Conflict(conflict))
}

/// Compares lines. After the deadline it finds larger differences than there are.
fn compare_until(deadline: Instant) -> impl Fn(&[u32], &[u32]) -> Vec<DiffOp> {
    move |old, new| capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline))
}

/// Whether git stores something else than what is in the working file. `None`: it can't tell.
fn is_converted(root: &Path, path: &Path) -> Option<bool> {
    let mut check = command(root, &["check-attr", "-z"]);
    let output = output_within(check.args(CONVERTING).arg("--").arg(path), GIT_LIMIT).ok()?;
    // Path, attribute and value, each with a NUL.
    let mut values = output.split(|byte| *byte == 0).skip(2).step_by(3);
    Some(!values.all(|value| [&b"unspecified"[..], b"unset"].contains(&value)))
}

/// The output of a command that succeeds.
fn git(root: &Path, args: &[&str]) -> Result<Vec<u8>, RunError> {
    output_within(&mut command(root, args), GIT_LIMIT)
}

fn command(root: &Path, args: &[&str]) -> Command {
    let mut command = reading_command(root);
    command.args(args);
    command
}

/// The name of an object, printed alone on a line.
fn object_name(output: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(output).ok()?.lines().next()?.trim();
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_string())
}

#[cfg(test)]
mod tests;

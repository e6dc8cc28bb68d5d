//! Files that a run's work tree needs but that are in no commit: large files and secrets that git does not track,
//! ignored files that `.worktreeinclude` names, and what `workers.toml` wants to have copied or linked.
//!
//! Nothing outside of the repository is copied, no link is followed on the way, and nothing that is in the work tree is
//! replaced.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern, glob_with};

use super::error::RunTreeError;
use super::git_call::GitCaller;
use super::left_out::LeftOutFile;
use super::repository::RunRepository;
use super::status_entry::path_of;
use crate::sys::files::{self, FileStamp, Published};

/// The file with patterns of ignored files that work trees need, in the syntax of `.gitignore`.
const INCLUDE: &str = ".worktreeinclude";

/// Patterns relative to the root of the work tree.
#[derive(Clone, Debug, Default)]
pub struct WantedFiles {
    /// Files and directories to copy.
    pub copy: Vec<String>,
    /// Files and directories to link to, so that both work trees share them.
    pub link: Vec<String>,
}

/// A file that was to be brought into the work tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BroughtFile {
    /// Relative to the root of the work tree.
    pub path: PathBuf,
    pub how: BroughtHow,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BroughtHow {
    Copied,
    Linked,
    /// Something else is at that path in the work tree: it stays.
    InTheWay,
    /// It is reached through a symbolic link, which is not followed.
    BehindLink,
    /// It can't be read, or is neither a file, a directory nor a link.
    Unreadable,
}

impl WantedFiles {
    /// An error for a pattern that can't be used.
    pub fn check(&self) -> Result<(), RunTreeError> {
        self.copy.iter().chain(&self.link).try_for_each(|pattern| {
            let bad = |why: &str| RunTreeError::BadPattern { pattern: pattern.clone(), why: why.to_string() };
            let path = Path::new(pattern);
            if path.as_os_str().is_empty() || path.is_absolute() {
                return Err(bad("it must be relative to the root of the repository"));
            }
            if path.components().any(|part| part == Component::ParentDir) {
                return Err(bad("it must not contain `..`"));
            }
            Pattern::new(pattern).map(drop).map_err(|error| bad(&error.to_string()))
        })
    }
}

/// Brings files into the work tree at `to`, and writes down which, so that they are not taken for the worker's.
pub(super) fn bring_files(
    repository: &RunRepository,
    to: &Path,
    left_out: &[LeftOutFile],
    wanted: &WantedFiles,
    manifest: &Path,
) -> Result<Vec<BroughtFile>, RunTreeError> {
    let from = repository.root();
    let mut bringer = Bringer { from, to, brought: Vec::new() };
    for file in left_out.iter().filter(|file| file.reason.is_copyable()) {
        bringer.copy(&file.path)?;
    }
    for path in included(&repository.git(), from)? {
        bringer.copy(&path)?;
    }
    for pattern in &wanted.copy {
        for path in expand(from, pattern)? {
            bringer.copy(&path)?;
        }
    }
    for pattern in &wanted.link {
        for path in expand(from, pattern)? {
            bringer.link(&path)?;
        }
    }
    write_manifest(manifest, to, &bringer.brought)?;
    Ok(bringer.brought)
}

struct Bringer<'a> {
    from: &'a Path,
    to: &'a Path,
    brought: Vec<BroughtFile>,
}

impl Bringer<'_> {
    fn tell(&mut self, path: &Path, how: BroughtHow) {
        self.brought.push(BroughtFile { path: path.to_path_buf(), how });
    }

    /// Copies a file, a link as it is, or a directory with what is in it.
    fn copy(&mut self, path: &Path) -> Result<(), RunTreeError> {
        let Some(there) = self.source(path)? else { return Ok(()) };
        if !there.is_dir() {
            return self.copy_file(path, &there);
        }
        let names = match fs_err::read_dir(self.from.join(path)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.tell(path, BroughtHow::Unreadable);
                return Ok(());
            }
            Err(error) => return Err(files::FileError::from(error).into()),
        };
        for entry in names {
            let name = entry.map_err(files::FileError::from)?.file_name();
            if name != ".git" {
                self.copy(&path.join(name))?;
            }
        }
        Ok(())
    }

    fn copy_file(&mut self, path: &Path, there: &Metadata) -> Result<(), RunTreeError> {
        let (from, to) = (self.from.join(path), self.to.join(path));
        if !there.is_file() && !there.is_symlink() {
            self.tell(path, BroughtHow::Unreadable);
            return Ok(());
        }
        if !self.make_room(path)? {
            return Ok(());
        }
        let done = if there.is_symlink() {
            let text = files::read_link(&from)?.unwrap_or_default();
            files::publish_link(&to, &text)
        } else {
            files::copy_new(&from, &to)
        };
        match done {
            Ok(Published::Done) => self.tell(path, BroughtHow::Copied),
            Ok(Published::Exists) => self.tell_in_the_way(path),
            Err(error) if error.source.kind() == io::ErrorKind::PermissionDenied => {
                self.tell(path, BroughtHow::Unreadable);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn link(&mut self, path: &Path) -> Result<(), RunTreeError> {
        if self.source(path)?.is_none() || !self.make_room(path)? {
            return Ok(());
        }
        match files::publish_link(&self.to.join(path), &self.from.join(path))? {
            Published::Done => self.tell(path, BroughtHow::Linked),
            Published::Exists => self.tell_in_the_way(path),
        }
        Ok(())
    }

    /// Two patterns may name one file: the second time it is not in its own way.
    fn tell_in_the_way(&mut self, path: &Path) {
        if !self.brought.iter().any(|file| file.path == path) {
            self.tell(path, BroughtHow::InTheWay);
        }
    }

    /// What is at that path in the person's work tree; `None` if nothing is, or it is reached through a link.
    fn source(&mut self, path: &Path) -> Result<Option<Metadata>, RunTreeError> {
        if has_link_above(self.from, path)? {
            self.tell(path, BroughtHow::BehindLink);
            return Ok(None);
        }
        Ok(files::link_metadata(&self.from.join(path))?)
    }

    /// Makes the directories above it in the run's work tree. `false`: something is in the way.
    fn make_room(&mut self, path: &Path) -> Result<bool, RunTreeError> {
        if has_link_above(self.to, path)? {
            self.tell(path, BroughtHow::BehindLink);
            return Ok(false);
        }
        let Some(above) = path.parent() else { return Ok(false) };
        match files::link_metadata(&self.to.join(above))? {
            Some(there) if there.is_dir() => Ok(true),
            Some(_) => {
                self.tell(path, BroughtHow::InTheWay);
                Ok(false)
            }
            None => files::create_dir(&self.to.join(above)).map(|()| true).map_err(RunTreeError::from),
        }
    }
}

/// Whether a directory on the way from the root to the path is a symbolic link.
pub(super) fn has_link_above(root: &Path, path: &Path) -> Result<bool, RunTreeError> {
    let mut at = root.to_path_buf();
    let parts: Vec<Component<'_>> = path.components().collect();
    for part in &parts[..parts.len().saturating_sub(1)] {
        at.push(part);
        match files::link_metadata(&at)? {
            Some(there) if there.is_symlink() => return Ok(true),
            Some(there) if there.is_dir() => {}
            _ => return Ok(false),
        }
    }
    Ok(false)
}

/// The paths that a pattern matches, relative to the root. git's own directory is never among them.
fn expand(root: &Path, pattern: &str) -> Result<Vec<PathBuf>, RunTreeError> {
    let bad = |why: String| RunTreeError::BadPattern { pattern: pattern.to_string(), why };
    let Some(start) = root.to_str() else {
        return Err(bad("the path of the repository is not UTF-8".to_string()));
    };
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: false,
    };
    let whole = format!("{}/{}", Pattern::escape(start), pattern.trim_end_matches('/'));
    let found = glob_with(&whole, options).map_err(|error| bad(error.to_string()))?;
    // A directory that can't be read has no matches.
    let inside = found.flatten().filter_map(|path| path.strip_prefix(root).ok().map(Path::to_path_buf));
    let is_plain = |path: &PathBuf| {
        let mut parts = path.components();
        !path.as_os_str().is_empty()
            && parts.all(|part| matches!(part, Component::Normal(name) if name != ".git"))
    };
    Ok(inside.filter(is_plain).collect())
}

/// Ignored files that `.worktreeinclude` names.
fn included(git: &GitCaller, root: &Path) -> Result<Vec<PathBuf>, RunTreeError> {
    if files::read_note(&root.join(INCLUDE))?.is_none() {
        return Ok(Vec::new());
    }
    let exclude = format!("--exclude-from={INCLUDE}");
    let named = git.ask(&["ls-files", "-z", "--others", "--ignored", &exclude])?;
    if named.is_empty() {
        return Ok(Vec::new());
    }
    // Files that are not ignored are in the snapshot.
    let ignored = git.ask(&["ls-files", "-z", "--others", "--ignored", "--exclude-standard"])?;
    let ignored: BTreeSet<&[u8]> = ignored.split(|byte| *byte == 0).collect();
    let paths = named.split(|byte| *byte == 0).filter(|path| !path.is_empty() && ignored.contains(path));
    Ok(paths.map(path_of).collect())
}

/// Files that were brought into the work tree and are as they were.
#[derive(Debug)]
pub(super) struct BroughtManifest {
    stamps: Vec<(PathBuf, FileStamp)>,
}

fn write_manifest(manifest: &Path, to: &Path, brought: &[BroughtFile]) -> Result<(), RunTreeError> {
    let mut bytes = Vec::new();
    for file in brought.iter().filter(|file| matches!(file.how, BroughtHow::Copied | BroughtHow::Linked)) {
        let Some(metadata) = files::link_metadata(&to.join(&file.path))? else { continue };
        let stamp = FileStamp::of(&metadata);
        bytes.extend_from_slice(format!("{} {} {} ", stamp.inode, stamp.size, stamp.modified).as_bytes());
        bytes.extend_from_slice(file.path.as_os_str().as_bytes());
        bytes.push(0);
    }
    Ok(files::replace_beside(manifest, &bytes, files::FILE_MODE)?)
}

impl BroughtManifest {
    /// Without the list, no file counts as brought: each is then saved with the run.
    pub(super) fn read(manifest: &Path) -> Result<Self, RunTreeError> {
        let bytes = files::read_note(manifest)?.unwrap_or_default();
        let lines = bytes.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        Ok(Self { stamps: lines.filter_map(manifest_line).collect() })
    }

    /// Whether the file was brought, and has not been changed since: it is the same file, or has the same content as
    /// the person's.
    pub(super) fn has_unchanged(
        &self,
        path: &Path,
        root: &Path,
        person: &Path,
    ) -> Result<bool, RunTreeError> {
        let Some((_, then)) = self.stamps.iter().find(|(known, _)| known == path) else { return Ok(false) };
        let Some(metadata) = files::link_metadata(&root.join(path))? else { return Ok(false) };
        let now = FileStamp::of(&metadata);
        if (now.inode, now.size, now.modified) == (then.inode, then.size, then.modified) {
            return Ok(true);
        }
        let is_small = |metadata: &Metadata| metadata.is_file() && metadata.len() <= 64 * 1024 * 1024;
        let there = files::link_metadata(&person.join(path))?;
        if !is_small(&metadata)
            || !there.is_some_and(|there| is_small(&there) && there.len() == metadata.len())
        {
            return Ok(false);
        }
        Ok(files::read(&root.join(path))? == files::read(&person.join(path))?)
    }
}

fn manifest_line(line: &[u8]) -> Option<(PathBuf, FileStamp)> {
    let mut words = line.splitn(4, |byte| *byte == b' ');
    let mut number = || std::str::from_utf8(words.next()?).ok();
    let (inode, size, modified) = (number()?.parse().ok()?, number()?.parse().ok()?, number()?.parse().ok()?);
    Some((path_of(words.next()?), FileStamp { inode, size, modified, changed: 0 }))
}

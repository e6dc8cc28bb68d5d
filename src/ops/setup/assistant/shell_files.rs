//! Completions and man pages in the user's own directories.
//!
//! Only what `setup` wrote, and nobody has changed since, is replaced or removed. A record keeps the hash of each file.

use std::path::{Path, PathBuf};

use super::part::PersonShell;
use crate::domain::sha256;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::setup::man_pages::ManPage;
use crate::store::{SetupFile, SetupRecord, StoreError};
use crate::sys::environment::{data_dir, variable};
use crate::sys::files::{self, FileError};

/// Completions and man pages are for everybody who may look into the home directory.
const MODE: u32 = 0o644;

/// The texts that the face makes.
#[derive(Debug)]
pub struct SetupTexts {
    pub completions: fn(PersonShell) -> String,
    pub man_pages: Vec<ManPage>,
}

/// A file to write.
#[derive(Debug)]
pub(super) struct ShellFile {
    pub(super) path: PathBuf,
    content: Vec<u8>,
}

/// A file as it is now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ShellFileState {
    /// It has the content that it should have.
    Current,
    /// It is not there, or `setup` wrote it and there is a newer text.
    Missing,
    /// Somebody else wrote it, or has changed it since.
    Foreign,
}

/// What became of a file that was to be removed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ShellFileRemoval {
    Removed,
    WasGone,
    /// Somebody has changed it since.
    Changed,
}

/// The user's shell; `None` if its completions have no place of their own.
pub(super) fn shell() -> Option<PersonShell> {
    let path = variable("SHELL")?;
    let name = Path::new(&path).file_name()?.to_str()?;
    [PersonShell::Bash, PersonShell::Fish, PersonShell::Zsh].into_iter().find(|shell| shell.name() == name)
}

pub(super) fn completions(shell: PersonShell, texts: &SetupTexts) -> Result<ShellFile, CommandError> {
    let place = match shell {
        PersonShell::Bash => "bash-completion/completions/msg",
        PersonShell::Fish => "fish/vendor_completions.d/msg.fish",
        PersonShell::Zsh => "zsh/site-functions/_msg",
    };
    Ok(ShellFile { path: data()?.join(place), content: (texts.completions)(shell).into_bytes() })
}

pub(super) fn man_pages(texts: &SetupTexts) -> Result<Vec<ShellFile>, CommandError> {
    let dir = man_dir()?;
    let file = |page: &ManPage| ShellFile { path: dir.join(&page.file), content: page.roff.clone() };
    Ok(texts.man_pages.iter().map(file).collect())
}

pub(super) fn man_dir() -> Result<PathBuf, CommandError> {
    Ok(data()?.join("man/man1"))
}

fn data() -> Result<PathBuf, CommandError> {
    data_dir().map_err(|error| CommandError::new(CommandErrorKind::Io, error.to_string()))
}

/// What `path` has to be when it is shown: a text.
pub(super) fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl ShellFile {
    pub(super) fn state(&self, record: &SetupRecord) -> Result<ShellFileState, FileError> {
        if files::metadata(&self.path)?.is_some_and(|there| !there.is_file()) {
            return Ok(ShellFileState::Foreign);
        }
        Ok(match files::read_large(&self.path)? {
            None if files::link_metadata(&self.path)?.is_some() => ShellFileState::Foreign,
            None => ShellFileState::Missing,
            Some(bytes) if bytes == self.content => ShellFileState::Current,
            Some(bytes) if is_recorded(record, &self.path, &bytes) => ShellFileState::Missing,
            Some(_) => ShellFileState::Foreign,
        })
    }

    /// Notes in the record that the file is written, and the directories that are made for it.
    pub(super) fn note(&self, record: &mut SetupRecord) -> Result<(), StoreError> {
        for dir in files::missing_above(&self.path)? {
            let dir = text_of(&dir);
            if !record.made.contains(&dir) {
                record.made.push(dir);
            }
        }
        let (path, hash) = (text_of(&self.path), sha256(&self.content));
        let at = record.files.iter().position(|file| file.path == path);
        let earlier = at.map(|at| record.files.remove(at)).and_then(|file| file.hashes.into_iter().next());
        let hashes =
            std::iter::once(hash.clone()).chain(earlier.filter(|earlier| *earlier != hash)).collect();
        record.files.push(SetupFile { path, hashes });
        Ok(())
    }

    pub(super) fn write(&self) -> Result<(), FileError> {
        for dir in files::missing_above(&self.path)? {
            files::create_shared_dir(&dir)?;
        }
        files::replace_beside(&self.path, &self.content, MODE)
    }
}

fn is_recorded(record: &SetupRecord, path: &Path, bytes: &[u8]) -> bool {
    let (path, hash) = (text_of(path), sha256(bytes));
    record.files.iter().any(|file| file.path == path && file.hashes.contains(&hash))
}

/// What [`remove`] would do.
pub(super) fn removal(file: &SetupFile) -> Result<ShellFileRemoval, FileError> {
    let path = Path::new(&file.path);
    let Some(there) = files::link_metadata(path)? else { return Ok(ShellFileRemoval::WasGone) };
    let bytes = if there.is_file() { files::read_large(path)? } else { None };
    let is_ours = bytes.is_some_and(|bytes| file.hashes.contains(&sha256(&bytes)));
    Ok(if is_ours { ShellFileRemoval::Removed } else { ShellFileRemoval::Changed })
}

/// Removes a file that nobody has changed since.
pub(super) fn remove(file: &SetupFile) -> Result<ShellFileRemoval, FileError> {
    let removal = removal(file)?;
    if removal == ShellFileRemoval::Removed {
        files::remove(Path::new(&file.path))?;
    }
    Ok(removal)
}

/// Removes what a killed process left beside the files.
pub(super) fn sweep<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<(), FileError> {
    let mut dirs: Vec<&Path> = paths.filter_map(Path::parent).collect();
    dirs.sort_unstable();
    dirs.dedup();
    for dir in dirs {
        if files::exists(dir)? {
            files::sweep_in(dir)?;
        }
    }
    Ok(())
}

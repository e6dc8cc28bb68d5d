//! `repositories/<repository>`: where a repository began, so that `git` is asked only once.
//!
//! ```text
//! ravenry repository 1
//! <inode> <size> <modified> <changed>     of the repository's configuration when git was asked, separated by tabs
//! <commit>                                the first commit
//! <directory>                             the directory that its work trees share
//! ```
//!
//! A record only saves time. One that can't be read, or whose configuration has changed, is made again.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::RootCommit;
use crate::domain::awareness::RepositoryId;
use crate::store::handles::RepositoryRecords;
use crate::sys::files::{self, FileStamp};
use crate::sys::git::{GitError, RepositoryStart, WorkTree};

const HEADER: &str = "ravenry repository 1";

/// What git said about a repository, to be saved.
#[derive(Clone, Debug)]
pub struct RepositoryRecord {
    directory: PathBuf,
    stamp: FileStamp,
    commit: String,
}

impl RepositoryRecords<'_> {
    /// Where the repository of this work tree began. If that is not recorded, git is asked, for at most `limit`, and a
    /// record is returned. Writes nothing.
    pub fn start(
        self,
        tree: &WorkTree,
        limit: Duration,
    ) -> Result<(RepositoryStart, Option<RepositoryRecord>), GitError> {
        let place = tree.repository().zip(tree.configuration_stamp());
        if let Some((directory, stamp)) = &place
            && let Some(commit) = self.recorded(directory, stamp)
        {
            return Ok((RepositoryStart::At(commit), None));
        }
        let start = tree.repository_start(limit)?;
        let record = match (&start, place) {
            (RepositoryStart::At(commit), Some((directory, stamp))) => {
                Some(RepositoryRecord { directory, stamp, commit: commit.clone() })
            }
            _ => None,
        };
        Ok((start, record))
    }

    fn recorded(self, directory: &Path, stamp: &FileStamp) -> Option<String> {
        let text = files::read_note(&self.file(directory)).ok()??;
        let text = String::from_utf8(text).ok()?;
        let mut lines = text.lines();
        let is_current = lines.next()? == HEADER && lines.next()? == line_of(stamp);
        lines.next().filter(|commit| is_current && RootCommit::new(commit).is_some()).map(str::to_string)
    }

    /// Saves what git said. A failure is not reported: git is asked again then.
    pub fn save(self, record: &RepositoryRecord) {
        let RepositoryRecord { directory, stamp, commit } = record;
        let Some(name) = directory.to_str().filter(|name| !name.contains('\n')) else { return };
        let records = self.mesh.layout.repositories();
        if files::create_dir(&records).is_err() {
            return;
        }
        self.remove_gone();
        let text = format!("{HEADER}\n{}\n{commit}\n{name}\n", line_of(stamp));
        drop(self.mesh.files.replace(&self.file(directory), text.as_bytes()));
    }

    /// Removes the records of repositories that are no longer there.
    fn remove_gone(self) {
        let records = self.mesh.layout.repositories();
        for name in files::list(&records).unwrap_or_default() {
            let path = records.join(name);
            let Ok(Some(bytes)) = files::read_note(&path) else { continue };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let is_gone = |directory: &str| files::exists(Path::new(directory)).is_ok_and(|exists| !exists);
            if text.starts_with(HEADER) && text.lines().nth(3).is_some_and(is_gone) {
                drop(files::remove(&path));
            }
        }
    }

    fn file(self, directory: &Path) -> PathBuf {
        let id = RepositoryId::of(directory.as_os_str().as_bytes());
        self.mesh.layout.repositories().join(id.as_str())
    }
}

fn line_of(stamp: &FileStamp) -> String {
    let FileStamp { inode, size, modified, changed } = stamp;
    format!("{inode}\t{size}\t{modified}\t{changed}")
}

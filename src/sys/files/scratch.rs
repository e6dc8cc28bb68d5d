//! A temporary directory that is removed with everything in it.
//!
//! Its name contains the mark of the process that created it. A process that is killed leaves it behind, and the next
//! one in the same parent directory removes it.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::{
    DIR_MODE, FileError, Liveness, RecordedProcess, entries, fs, io, own_mark, owner_of, process, step,
};

/// Prefix of temporary directories.
const PREFIX: &str = ".msg-selftest.";
/// Prefix of directories that are kept for inspection.
const KEPT: &str = "msg-selftest-";

/// The directory. Dropping the value removes it, unless it is kept.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    kept: bool,
}

impl Scratch {
    /// Creates one in `parent`, accessible only to the user, and removes those of dead processes.
    pub fn make_in(parent: &Path) -> Result<Self, FileError> {
        let path = parent.join(format!("{PREFIX}{}", own_mark()));
        create_new_dir(&path)?;
        let scratch = Self { path, kept: false };
        sweep(parent)?;
        Ok(scratch)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps it for inspection, under a name that is never swept.
    pub fn keep(mut self) -> Result<PathBuf, FileError> {
        let kept = self.path.with_file_name(format!("{KEPT}{}", process::own_pid()));
        step();
        // A rename replaces at most an empty directory.
        #[expect(clippy::disallowed_methods, reason = "this module implements it")]
        fs::rename(&self.path, &kept)?;
        self.kept = true;
        Ok(kept)
    }

    /// Removes it, and returns an error if that fails.
    pub fn remove(mut self) -> Result<(), FileError> {
        self.kept = true;
        remove_tree(&self.path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept {
            // If this fails, the next one sweeps it.
            drop(remove_tree(&self.path));
        }
    }
}

/// Creates a directory. An existing one is somebody else's and must not be used.
pub fn create_new_dir(path: &Path) -> Result<(), FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    std::fs::DirBuilder::new().mode(DIR_MODE).create(path).map_err(|error| {
        let text = format!("cannot create the directory `{}`: {error}", path.display());
        io::Error::new(error.kind(), text).into()
    })
}

fn sweep(parent: &Path) -> Result<(), FileError> {
    for entry in entries(parent)?.into_iter().filter(|entry| !entry.is_file) {
        let owner = entry.name.strip_prefix(PREFIX).and_then(owner_of);
        let is_gone = |owner| process::liveness(&RecordedProcess::Pinned(owner)) == Liveness::Gone;
        if owner.is_some_and(is_gone) {
            // Another user's directory cannot be removed, and does no harm.
            drop(remove_tree(&parent.join(&entry.name)));
        }
    }
    Ok(())
}

/// Removes a directory and its content. Links are removed, never followed.
fn remove_tree(path: &Path) -> Result<(), FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let text = format!("cannot remove the directory `{}`: {error}", path.display());
            Err(io::Error::new(error.kind(), text).into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{create_dir, exists, touch};
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_the_dead_left_is_swept_away_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let place = own_mark().splitn(3, '.').nth(2).unwrap().to_string();
        let of_dead = dir.path().join(format!("{PREFIX}{}.1.{place}", process::own_pid()));
        let elsewhere = dir.path().join(format!("{PREFIX}{}.1.boot.ns.machine", process::own_pid()));
        let others = dir.path().join(".msg-selftest.notes");
        for path in [&of_dead, &elsewhere, &others] {
            create_dir(&path.join("deep")).unwrap();
            touch(&path.join("deep/file")).unwrap();
        }
        let scratch = Scratch::make_in(dir.path()).unwrap();
        assert!(!exists(&of_dead).unwrap());
        assert!(exists(&elsewhere).unwrap() && exists(&others).unwrap());
        let path = scratch.path().to_path_buf();
        assert!(Scratch::make_in(dir.path()).is_err(), "there is one already");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, DIR_MODE);
        drop(scratch);
        assert!(!exists(&path).unwrap());
    }

    #[test]
    fn a_link_in_it_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let precious = dir.path().join("precious");
        create_dir(&precious).unwrap();
        touch(&precious.join("file")).unwrap();
        let scratch = Scratch::make_in(dir.path()).unwrap();
        std::os::unix::fs::symlink(&precious, scratch.path().join("link")).unwrap();
        scratch.remove().unwrap();
        assert!(exists(&precious.join("file")).unwrap());
    }
}

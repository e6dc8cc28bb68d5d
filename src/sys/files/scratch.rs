//! A directory that is thrown away with all that is in it.
//!
//! Its name bears the process that made it. Whoever is killed leaves it behind, and the next one in the same place
//! sweeps it away.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::{DIR_MODE, FileError, Liveness, Recorded, entries, fs, io, own_mark, owner_of, process, step};

/// Begins the names of such directories.
const PREFIX: &str = ".msg-selftest.";
/// Begins the names of those that somebody wants to look at.
const KEPT: &str = "msg-selftest-";

/// The directory. It goes when the value does, unless it is kept.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    kept: bool,
}

impl Scratch {
    /// Makes one in `parent`, for nobody but the user, and sweeps away those of the dead.
    pub fn make_in(parent: &Path) -> Result<Self, FileError> {
        let path = parent.join(format!("{PREFIX}{}", own_mark()));
        create_new(&path)?;
        let scratch = Self { path, kept: false };
        sweep(parent)?;
        Ok(scratch)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it there to be looked at, under a name that nobody sweeps away.
    pub fn keep(mut self) -> Result<PathBuf, FileError> {
        let kept = self.path.with_file_name(format!("{KEPT}{}", process::own_pid()));
        step();
        // A directory takes the place of an empty one at the most.
        #[expect(clippy::disallowed_methods, reason = "this is the module that may")]
        fs::rename(&self.path, &kept)?;
        self.kept = true;
        Ok(kept)
    }

    /// Removes it, and says so if that can't be done.
    pub fn remove(mut self) -> Result<(), FileError> {
        self.kept = true;
        remove_tree(&self.path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept {
            // If this fails it is swept away by the next one.
            drop(remove_tree(&self.path));
        }
    }
}

/// One that is there already is somebody else's, and not to be written to.
fn create_new(path: &Path) -> Result<(), FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this is the module that may")]
    std::fs::DirBuilder::new().mode(DIR_MODE).create(path).map_err(|error| {
        let text = format!("cannot create the directory `{}`: {error}", path.display());
        io::Error::new(error.kind(), text).into()
    })
}

fn sweep(parent: &Path) -> Result<(), FileError> {
    for entry in entries(parent)?.into_iter().filter(|entry| !entry.is_file) {
        let owner = entry.name.strip_prefix(PREFIX).and_then(owner_of);
        let is_gone = |owner| process::liveness(&Recorded::Pinned(owner)) == Liveness::Gone;
        if owner.is_some_and(is_gone) {
            // Another user's can't be removed, and is in nobody's way.
            drop(remove_tree(&parent.join(&entry.name)));
        }
    }
    Ok(())
}

/// Links are removed, never followed.
fn remove_tree(path: &Path) -> Result<(), FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this is the module that may")]
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

//! Which directory is the mesh?

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::domain::settings::{Settings, Source};
use crate::sys::environment::Home;
use crate::sys::files::{self, FileError};

/// The directory of a mesh, and why it is that one.
#[derive(Clone, Debug)]
pub struct Location {
    pub(super) dir: PathBuf,
    pub reason: Reason,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Reason {
    /// A flag, variable or configuration file says so.
    Told(Source),
    /// pi-messenger's is there.
    PiMessenger,
    /// Nothing else answered.
    Fallback,
}

impl Location {
    pub fn find(settings: &Settings, home: &Home) -> Result<Self, FileError> {
        if let Some((path, source)) = settings.mesh() {
            let dir = absolute(home.expand(path))?;
            return Ok(Self { dir, reason: Reason::Told(source.clone()) });
        }
        let pi = home.home.join(".pi/agent/messenger");
        if files::metadata(&pi)?.is_some_and(|metadata| metadata.is_dir()) {
            return Ok(Self { dir: pi, reason: Reason::PiMessenger });
        }
        Ok(Self { dir: home.state.join("ravenry"), reason: Reason::Fallback })
    }

    /// A mesh at a place of one's own, for throw-away ones.
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf(), reason: Reason::Told(Source::Flag("--mesh")) }
    }

    /// A directory on the disk that the mesh is on, or would be on: the one around it, or the mesh itself where that is a
    /// disk of its own.
    pub fn on_same_disk(&self) -> PathBuf {
        let device = |path: &Path| files::metadata(path).ok().flatten().map(|metadata| metadata.dev());
        let around = self.dir.ancestors().skip(1).find(|path| device(path).is_some());
        let around = around.unwrap_or(Path::new("/"));
        match device(&self.dir) {
            Some(own) if device(around) != Some(own) => self.dir.clone(),
            _ => around.to_path_buf(),
        }
    }

    /// Nobody told us: the choice is worth writing down, so that it stays.
    pub fn was_guessed(&self) -> bool {
        !matches!(self.reason, Reason::Told(_))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dir.display().fmt(f)
    }
}

fn absolute(path: PathBuf) -> Result<PathBuf, FileError> {
    Ok(std::path::absolute(path)?)
}

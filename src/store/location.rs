//! Chooses the mesh directory: from a flag, a setting, pi-messenger's directory, or the default.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::domain::settings::{SettingSource, Settings};
use crate::sys::environment::Home;
use crate::sys::files::{self, FileError};

/// The directory of a mesh, and why it was chosen.
#[derive(Clone, Debug)]
pub struct MeshLocation {
    pub(super) dir: PathBuf,
    pub reason: LocationReason,
    /// Whether that is the directory in which this machine keeps what belongs to no mesh, too.
    pub(super) is_of_machine: bool,
}

/// Where this machine keeps what belongs to no mesh. The default mesh is the same directory.
pub fn machine_state(home: &Home) -> PathBuf {
    home.machine_state()
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LocationReason {
    /// A flag, variable or configuration file names it.
    Told(SettingSource),
    /// pi-messenger's directory exists.
    PiMessenger,
    /// The default, because nothing else applied.
    Fallback,
}

impl MeshLocation {
    pub fn find(settings: &Settings, home: &Home) -> Result<Self, FileError> {
        if let Some((path, source)) = settings.mesh() {
            let dir = absolute(home.expand(path))?;
            let is_of_machine = dir == machine_state(home);
            return Ok(Self { dir, reason: LocationReason::Told(source.clone()), is_of_machine });
        }
        let pi = home.home.join(".pi/agent/messenger");
        if files::metadata(&pi)?.is_some_and(|metadata| metadata.is_dir()) {
            return Ok(Self { dir: pi, reason: LocationReason::PiMessenger, is_of_machine: false });
        }
        Ok(Self { dir: machine_state(home), reason: LocationReason::Fallback, is_of_machine: true })
    }

    /// A mesh in a given directory, for throw-away meshes.
    pub fn at(dir: &Path) -> Self {
        let reason = LocationReason::Told(SettingSource::Flag("--mesh"));
        Self { dir: dir.to_path_buf(), reason, is_of_machine: false }
    }

    /// A directory on the file system that the mesh is on, or would be on: its nearest existing parent, or the mesh
    /// itself if it is a mount point.
    pub fn on_same_disk(&self) -> PathBuf {
        let device = |path: &Path| files::metadata(path).ok().flatten().map(|metadata| metadata.dev());
        let around = self.dir.ancestors().skip(1).find(|path| device(path).is_some());
        let around = around.unwrap_or(Path::new("/"));
        match device(&self.dir) {
            Some(own) if device(around) != Some(own) => self.dir.clone(),
            _ => around.to_path_buf(),
        }
    }

    /// Whether no setting names the mesh. Then the choice is worth writing to the configuration, so that it does not
    /// change.
    pub fn was_guessed(&self) -> bool {
        !matches!(self.reason, LocationReason::Told(_))
    }
}

impl fmt::Display for MeshLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dir.display().fmt(f)
    }
}

fn absolute(path: PathBuf) -> Result<PathBuf, FileError> {
    Ok(std::path::absolute(path)?)
}

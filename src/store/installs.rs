//! `ravenry-installs/`: what was in the files of harnesses before we wrote to them, and what we wrote.
//!
//! It lies beside the state of the mesh, not in it: whoever clears a mesh away must still be able to have their settings
//! back. A record is written before the file that it is about, so whatever dies in between leaves what `install` and
//! `uninstall` can go on from.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::StoreError;
use super::wire::pretty;
use crate::domain::settings::Durability;
use crate::sys::environment::Home;
use crate::sys::files::{self, Files};
use crate::sys::flock::FileLock;

/// Whoever installs is done in an instant, unless it is stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// What we know of a file that we wrote to.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Install {
    pub path: String,
    /// What was there before us; `None` if there was no file.
    pub original: Option<String>,
    /// Hashes of what we wrote: the last, and the one before, in case that we died before it was in place.
    pub wrote: Vec<String>,
    /// Directories that were made for it, outermost first.
    #[serde(default)]
    pub made: Vec<String>,
}

impl Install {
    /// Is the file still what we wrote?
    pub fn is_untouched(&self, content: &[u8]) -> bool {
        self.wrote.contains(&hash(content))
    }
}

/// The records.
#[derive(Clone, Debug)]
pub struct Installs {
    dir: PathBuf,
}

/// The records, while nobody else installs anything.
#[derive(Debug)]
pub struct InstallsLock {
    installs: Installs,
    files: Files,
    _held: FileLock,
}

impl Installs {
    pub fn of(home: &Home) -> Self {
        Self { dir: home.state.join("ravenry-installs") }
    }

    /// What is known of a file. A record that can't be read is an error: it may be the only copy of somebody's settings.
    pub fn get(&self, path: &Path) -> Result<Option<Install>, StoreError> {
        let file = self.file(path);
        let Some(bytes) = files::read_large(&file)? else { return Ok(None) };
        let record = serde_json::from_slice(&bytes);
        record.map(Some).map_err(|error| StoreError::Corrupt { path: file, reason: error.to_string() })
    }

    /// Are there any records?
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(!files::list(&self.dir)?.iter().any(|name| name.ends_with(".json")))
    }

    pub fn lock(&self) -> Result<InstallsLock, StoreError> {
        if !files::exists(&self.dir)? {
            files::create_dir(&self.dir)?;
        }
        let held = FileLock::acquire(&self.dir.join("lock"), PATIENCE)?;
        let files = Files::new(self.dir.join("tmp"), Durability::Power);
        files.sweep()?;
        Ok(InstallsLock { installs: self.clone(), files, _held: held })
    }

    fn file(&self, path: &Path) -> PathBuf {
        let name = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, path.as_os_str().as_encoded_bytes());
        self.dir.join(format!("{}.json", name.simple()))
    }
}

impl InstallsLock {
    pub fn get(&self, path: &Path) -> Result<Option<Install>, StoreError> {
        self.installs.get(path)
    }

    pub fn note(&self, install: &Install) -> Result<(), StoreError> {
        Ok(self.files.replace(&self.installs.file(Path::new(&install.path)), &pretty(install))?)
    }

    pub fn forget(&self, path: &Path) -> Result<(), StoreError> {
        files::remove(&self.installs.file(path))?;
        Ok(())
    }
}

/// SHA-256, in hexadecimal digits.
pub fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

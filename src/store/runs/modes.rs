//! `modes/<repository>`: what agents may do in a repository. A repository without a file is in mode `build`.
//!
//! The name is the hash of the directory that the work trees of the repository share, so all of them have one mode.
//! Outside of any repository it is the hash of a folder, and the mode applies to everything below it, but for
//! repositories that have a mode themselves.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::ProjectMode;
use crate::domain::awareness::RepositoryId;
use crate::store::error::StoreError;
use crate::store::handles::ModeRecords;
use crate::store::wire::{pretty, time};
use crate::sys::files;

use super::place::{id_of, nearest, repository_of};

/// A mode as somebody set it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RecordedMode {
    pub mode: ProjectMode,
    pub since: Timestamp,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModeKeys {
    mode: String,
    #[serde(with = "time")]
    since: Timestamp,
    /// What it is about, for people who look at the file.
    directory: String,
}

impl ModeRecords<'_> {
    /// The mode that applies at `path`, which has its links resolved; `None` if nobody set one. If no mode is set
    /// anywhere, this looks at one directory that does not exist.
    pub fn at(self, path: &Path) -> Result<Option<RecordedMode>, StoreError> {
        let names = files::list(&self.mesh.layout.modes())?;
        if names.is_empty() {
            return Ok(None);
        }
        nearest(&names, path).map_or(Ok(None), |id| self.get(&id))
    }

    fn get(self, id: &RepositoryId) -> Result<Option<RecordedMode>, StoreError> {
        let path = self.mesh.layout.mode(id);
        let Some(content) = files::read(&path)? else { return Ok(None) };
        let corrupt = |reason: String| StoreError::Corrupt { path: path.clone(), reason };
        let ModeKeys { mode, since, .. } =
            serde_json::from_slice(&content).map_err(|error| corrupt(error.to_string()))?;
        let mode = ProjectMode::of_name(&mode)
            .ok_or_else(|| corrupt(format!("`{}` is not a mode", mode.escape_debug())))?;
        Ok(Some(RecordedMode { mode, since }))
    }

    /// Sets the mode of the repository that contains `path`, or of the folder `path` if there is none. Returns the
    /// directory that it is set for.
    pub fn set(self, path: &Path, mode: ProjectMode, since: Timestamp) -> Result<PathBuf, StoreError> {
        let directory = repository_of(path).unwrap_or_else(|| path.to_path_buf());
        let file = self.mesh.layout.mode(&id_of(&directory));
        if mode == ProjectMode::default() {
            files::remove(&file)?;
            // A folder above may have another one, which is then not for this repository.
            if matches!(self.at(path), Ok(None)) {
                return Ok(directory);
            }
        }
        self.mesh.tighten()?;
        files::create_dir(&self.mesh.layout.modes())?;
        let keys = ModeKeys {
            mode: mode.name().to_string(),
            since,
            directory: directory.to_string_lossy().into_owned(),
        };
        self.mesh.files.replace(&file, &pretty(&keys))?;
        Ok(directory)
    }
}

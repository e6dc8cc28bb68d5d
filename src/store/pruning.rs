//! Finds old records of sessions and old graves for pruning, and remembers when pruning was done last.
//!
//! File times are compared before anything is read, so that in a large mesh only directories are listed.

use std::path::Path;
use std::time::Duration;

use super::error::StoreError;
use super::graves::{self, Grave, GraveId};
use super::mesh::Mesh;
use super::sessions::{self, SessionRecord};
use crate::sys::{clock, files};

impl Mesh {
    /// Whether the last pruning was at least `every` ago.
    pub fn is_time_to_prune(&self, every: Duration) -> Result<bool, StoreError> {
        Ok(!is_younger_than(&self.layout.pruned(), every)?)
    }

    /// Records that pruning was done now.
    pub fn note_pruned(&self) -> Result<(), StoreError> {
        Ok(files::touch(&self.layout.pruned())?)
    }

    /// At most `most` session records that match and have not been written for `age`. Unreadable ones are left out.
    pub fn old_sessions(
        &self,
        age: Duration,
        most: usize,
        is_wanted: impl Fn(&SessionRecord) -> bool,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        let mut old = Vec::new();
        for file in files::list(&self.layout.sessions())? {
            if old.len() == most {
                break;
            }
            let path = self.layout.sessions().join(&file);
            if file.ends_with(".json") && !is_younger_than(&path, age)? {
                old.extend(sessions::read_file(&path)?.filter(&is_wanted));
            }
        }
        Ok(old)
    }

    /// At most `most` graves that match and have not been changed for `age`.
    pub fn old_graves(
        &self,
        age: Duration,
        most: usize,
        is_wanted: impl Fn(&Grave) -> bool,
    ) -> Result<Vec<Grave>, StoreError> {
        let mut old = Vec::new();
        for id in files::list(&self.layout.graves())?.iter().filter_map(|name| GraveId::parse(name)) {
            if old.len() == most {
                break;
            }
            if !is_younger_than(&self.layout.grave(&id), age)? {
                old.extend(graves::read(&self.layout, &id)?.ok().filter(&is_wanted));
            }
        }
        Ok(old)
    }
}

/// Whether the file was modified less than `age` ago. `false` if there is no file.
fn is_younger_than(path: &Path, age: Duration) -> Result<bool, StoreError> {
    let modified = files::metadata(path)?.and_then(|metadata| metadata.modified().ok());
    Ok(modified.is_some_and(|modified| clock::age(modified) < age))
}

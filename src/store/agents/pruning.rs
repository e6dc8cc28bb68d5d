//! Finds old records of sessions and old graves for pruning, and remembers when pruning was done last.
//!
//! File times are compared before anything is read, so that in a large mesh only directories are listed.

use std::path::Path;
use std::time::Duration;

use super::grave_id::GraveId;
use super::graves::{self, Grave};
use super::sessions::{self, SessionRecord};
use crate::store::error::StoreError;
use crate::store::handles::{GraveRecords, SessionRecords, Upkeep};
use crate::sys::files::LeftoverFile;
use crate::sys::{clock, files};

impl Upkeep<'_> {
    /// Whether the last pruning was at least `every` ago.
    pub fn is_prune_due(self, every: Duration) -> Result<bool, StoreError> {
        Ok(!is_younger_than(&self.mesh.layout.pruned(), every)?)
    }

    /// Records that pruning was done now.
    pub fn record_pruned(self) -> Result<(), StoreError> {
        Ok(files::touch(&self.mesh.layout.pruned())?)
    }
}

impl SessionRecords<'_> {
    /// At most `most` session records that match and have not been written for `age`. Unreadable ones are left out.
    pub fn older_than(
        self,
        age: Duration,
        most: usize,
        is_wanted: impl Fn(&SessionRecord) -> bool,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        let mut old = Vec::new();
        for file in files::list(&self.mesh.layout.sessions())? {
            if old.len() == most {
                break;
            }
            let path = self.mesh.layout.sessions().join(&file);
            if file.ends_with(".json") && !is_younger_than(&path, age)? {
                old.extend(sessions::read_file(&path)?.filter(&is_wanted));
            }
        }
        Ok(old)
    }
}

impl GraveRecords<'_> {
    /// At most `most` graves that match and have not been changed for `age`.
    pub fn older_than(
        self,
        age: Duration,
        most: usize,
        is_wanted: impl Fn(&Grave) -> bool,
    ) -> Result<Vec<Grave>, StoreError> {
        let mut old = Vec::new();
        for id in files::list(&self.mesh.layout.graves())?.iter().filter_map(|name| GraveId::parse(name)) {
            if old.len() == most {
                break;
            }
            if !is_younger_than(&self.mesh.layout.grave(&id), age)? {
                old.extend(graves::read(&self.mesh.layout, &id)?.ok().filter(&is_wanted));
            }
        }
        Ok(old)
    }
}

impl Upkeep<'_> {
    /// Private files that are being written, and whether their processes are alive.
    pub fn leftover_files(self) -> Result<Vec<LeftoverFile>, StoreError> {
        Ok(self.mesh.files.strays()?)
    }

    /// The process that holds `mesh.lock` now, if the system reports it.
    pub fn lock_holder(self) -> Option<crate::domain::Pid> {
        crate::sys::flock::holder(&self.mesh.layout.mesh_lock())
    }
}

/// Whether the file was modified less than `age` ago. `false` if there is no file.
fn is_younger_than(path: &Path, age: Duration) -> Result<bool, StoreError> {
    let modified = files::metadata(path)?.and_then(|metadata| metadata.modified().ok());
    Ok(modified.is_some_and(|modified| clock::age(modified) < age))
}

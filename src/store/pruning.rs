//! What is remembered of those who are long gone: which of it is old, and when somebody looked last.
//!
//! The times of files are compared first, so that a large mesh costs a look at its directories and little more.

use std::path::Path;
use std::time::Duration;

use super::error::StoreError;
use super::graves::{self, Grave, GraveId};
use super::mesh::Mesh;
use super::sessions::{self, SessionRecord};
use crate::sys::{clock, files};

impl Mesh {
    /// Has nobody pruned for so long?
    pub fn is_time_to_prune(&self, every: Duration) -> Result<bool, StoreError> {
        Ok(!is_younger_than(&self.layout.pruned(), every)?)
    }

    /// Nobody has to prune for a while.
    pub fn note_pruned(&self) -> Result<(), StoreError> {
        Ok(files::touch(&self.layout.pruned())?)
    }

    /// Sessions whose records were not written for so long and that are wanted, at most so many. What can't be read is
    /// left out.
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

    /// The same for graves.
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

/// A file that is not there is not young.
fn is_younger_than(path: &Path, age: Duration) -> Result<bool, StoreError> {
    let modified = files::metadata(path)?.and_then(|metadata| metadata.modified().ok());
    Ok(modified.is_some_and(|modified| clock::age(modified) < age))
}

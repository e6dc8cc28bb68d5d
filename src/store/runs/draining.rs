//! `runs/draining.json`: the mark that no new runs are to be started in this mesh.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::error::StoreError;
use crate::store::handles::RunLedger;
use crate::store::wire::{pretty, time};
use crate::sys::files;

/// Who wants no new runs, and since when.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DrainingMark {
    /// In a few words.
    pub by: String,
    #[serde(with = "time")]
    pub since: Timestamp,
}

impl RunLedger<'_> {
    fn draining_path(self) -> PathBuf {
        self.mesh.layout.directory("runs").join("draining.json")
    }

    /// Lets no new runs start until [`RunLedger::end_draining`].
    pub fn begin_draining(self, mark: &DrainingMark) -> Result<(), StoreError> {
        files::create_dir(&self.mesh.layout.directory("runs"))?;
        Ok(self.mesh.files.replace(&self.draining_path(), &pretty(mark))?)
    }

    /// Lets runs start again.
    pub fn end_draining(self) -> Result<(), StoreError> {
        files::remove(&self.draining_path())?;
        Ok(())
    }

    /// Lets runs start again, unless somebody else wants none by now.
    pub fn end_draining_of(self, mark: &DrainingMark) -> Result<(), StoreError> {
        match self.draining() {
            Ok(Some(now))
                if now.by != mark.by || now.since.as_millisecond() != mark.since.as_millisecond() =>
            {
                Ok(())
            }
            _ => self.end_draining(),
        }
    }

    /// Who wants no new runs. A mark that can't be read is one all the same.
    pub fn draining(self) -> Result<Option<DrainingMark>, StoreError> {
        let path = self.draining_path();
        let Some(content) = files::read(&path)? else { return Ok(None) };
        let mark = serde_json::from_slice(&content);
        mark.map(Some).map_err(|error| StoreError::Corrupt { path, reason: error.to_string() })
    }
}

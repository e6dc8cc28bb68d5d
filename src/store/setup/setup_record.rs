//! `ravenry-installs/setup.record`: what `msg setup` did on this machine, so that `--undo` takes back that and nothing else.
//!
//! Each part is recorded before it is set up. So after a crash the record may name something that was not done yet, which
//! is no harm: there is nothing to take back. It is removed from the record after it was taken back.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::config_undo::OriginalConfig;
use crate::store::error::StoreError;
use crate::store::wire::pretty;
use crate::sys::files;

/// Its name beside the records of `install`, of which it is none.
pub(super) const NAME: &str = "setup.record";
const FORMAT: u64 = 1;

/// What `setup` did.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct SetupRecord {
    /// The harnesses that it installed into. What was installed before is not its own.
    #[serde(default)]
    pub harnesses: Vec<String>,
    /// Where it did: a variable may name other files of a harness later. Older versions did not record it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<SetupPlace>,
    /// The user's configuration from before `autoRegister` was switched on.
    #[serde(default)]
    pub joining: Option<OriginalConfig>,
    /// The work trees whose repositories got the commit guard.
    #[serde(default)]
    pub guards: Vec<String>,
    /// Completions and man pages.
    #[serde(default)]
    pub files: Vec<SetupFile>,
    /// Directories that were made for them, outermost first.
    #[serde(default)]
    pub made: Vec<String>,
}

/// The files of a harness that `setup` installed into.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct SetupPlace {
    pub harness: String,
    /// As they are called. By another name, such as through a link, `uninstall` would not know them.
    pub files: Vec<String>,
}

impl SetupPlace {
    /// Whether both are of the same directories. Which files are used there may depend on which exist.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.harness == other.harness && self.dirs() == other.dirs()
    }

    fn dirs(&self) -> BTreeSet<&Path> {
        self.files.iter().filter_map(|file| Path::new(file).parent()).collect()
    }
}

/// A file that `setup` wrote, and that was not there before.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct SetupFile {
    pub path: String,
    /// Of the content that it wrote last, and of the one before, in case it died in between.
    pub hashes: Vec<String>,
}

#[derive(Serialize)]
struct SetupEnvelope<'a> {
    format: u64,
    #[serde(flatten)]
    record: &'a SetupRecord,
}

pub(super) fn write(record: &SetupRecord) -> Vec<u8> {
    pretty(&SetupEnvelope { format: FORMAT, record })
}

/// The record; empty if there is none. One that can't be read is an error: it may be the only way to restore something.
pub(super) fn read(file: &Path) -> Result<SetupRecord, StoreError> {
    let Some(bytes) = files::read_large(file)? else { return Ok(SetupRecord::default()) };
    let corrupt = |reason: String| StoreError::Corrupt { path: file.to_path_buf(), reason };
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| corrupt(error.to_string()))?;
    if value.get("format").and_then(serde_json::Value::as_u64) != Some(FORMAT) {
        return Err(corrupt("another version of msg wrote it".to_string()));
    }
    serde_json::from_value(value).map_err(|error| corrupt(error.to_string()))
}

//! Exporting the log as one Yjs update, and importing one.

use std::collections::HashMap;

use yrs::Any;

use super::document::{self, SortedCells, YjsDocument};
use super::log::{KnowledgeLog, refused};
use crate::store::error::StoreError;

/// The largest update that is imported, in bytes.
const LARGEST: usize = 48 * 1024 * 1024;

/// What an import changed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ImportReport {
    /// Entries that were not here before.
    pub added: usize,
    /// Entries that were here and that the update deletes.
    pub removed: usize,
    /// Entries of a newer version of msg. They are kept and not shown.
    pub newer: usize,
}

impl KnowledgeLog {
    /// The whole log as one update (format v1), for `Y.applyUpdate`.
    pub fn export_yjs(&self) -> Result<Vec<u8>, StoreError> {
        let (updates, _) = self.read_updates()?;
        let document = YjsDocument::load(updates).ok_or_else(|| refused(&self.dir))?;
        if document.is_complete() {
            return Ok(document.encode());
        }
        // A document with something missing is never written out, so what is there becomes a new one.
        let whole = YjsDocument::load(Vec::new()).ok_or_else(|| refused(&self.dir))?;
        whole.add(document.values().into_iter().map(|(_, value)| value));
        Ok(whole.encode())
    }

    /// Adds what an update (format v1) says, which must be a whole document. Anything else is refused, and then nothing
    /// is changed.
    pub fn import_yjs(&self, update: &[u8]) -> Result<ImportReport, StoreError> {
        let theirs = load_untrusted(update)?;
        let their_values = theirs.values();
        let sorted = SortedCells::of(&their_values);
        if let Some(first) = sorted.malformed.first() {
            let reason = format!("{} entries are malformed: {first}", sorted.malformed.len());
            return Err(StoreError::BadImport(reason));
        }
        let _locked = self.lock()?;
        let (updates, _) = self.read_updates()?;
        let ours: HashMap<String, Any> =
            YjsDocument::load(updates).ok_or_else(|| refused(&self.dir))?.values().into_iter().collect();
        let (mut joined, _) = self.read_updates()?;
        joined.extend(document::decode(update));
        let joined: HashMap<String, Any> =
            YjsDocument::load(joined).ok_or_else(|| refused(&self.dir))?.values().into_iter().collect();
        let differs = |(key, value): &(String, Any)| joined.get(key).is_some_and(|other| other != value);
        if their_values.iter().any(differs) {
            let reason = "it gives other values to entries that are here already".to_string();
            return Err(StoreError::BadImport(reason));
        }
        let report = ImportReport {
            added: joined.keys().filter(|key| !ours.contains_key(*key)).count(),
            removed: ours.keys().filter(|key| !joined.contains_key(*key)).count(),
            newer: sorted.newer,
        };
        if report.added + report.removed > 0 {
            self.start_pack(&theirs.encode())?;
        }
        Ok(report)
    }
}

/// The document of an update that anybody may have made.
fn load_untrusted(update: &[u8]) -> Result<YjsDocument, StoreError> {
    let refuse = |reason: &str| Err(StoreError::BadImport(reason.to_string()));
    if update.len() > LARGEST {
        return refuse("it is larger than 48 MiB");
    }
    let Some(document) = document::decode(update).and_then(|update| YjsDocument::load(vec![update])) else {
        return refuse("it is not a Yjs update in format v1 with plain values only");
    };
    if !document.is_complete() {
        return refuse("it builds on changes that it does not contain: export the whole document");
    }
    if document.has_other_roots() {
        return refuse("it has other roots than the map `knowledge`");
    }
    // If all of it was erased, that is worth importing.
    if document.is_unwritten() {
        return refuse("it has no entries in the map `knowledge`");
    }
    Ok(document)
}

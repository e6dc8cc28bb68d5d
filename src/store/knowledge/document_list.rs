//! `documents.json`: where the project has documents that are no records and are searched too.

use serde::{Deserialize, Serialize};

use super::log::KnowledgeLog;
use crate::store::error::StoreError;
use crate::store::wire::pretty;
use crate::sys::files;

const VERSION: u32 = 1;
const NAME: &str = "documents.json";
/// The largest list that is read, in bytes.
const LARGEST: u64 = 256 * 1024;

#[derive(Deserialize, Serialize)]
struct DocumentList {
    version: u32,
    /// Files and directories, relative to the root of a work tree.
    places: Vec<String>,
}

impl KnowledgeLog {
    /// The files and directories that [`Self::put_document_places`] was given last; empty if it was never called.
    pub fn document_places(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.document_list()?.map(|list| list.places).unwrap_or_default())
    }

    /// Keeps these places in the place of the old ones. A list of a newer version is left alone.
    pub fn put_document_places(&self, places: Vec<String>) -> Result<(), StoreError> {
        let _locked = self.lock()?;
        if let Ok(Some(list)) = self.document_list()
            && list.version > VERSION
        {
            let reason = format!("a newer version of msg wrote it (format {})", list.version);
            return Err(StoreError::Corrupt { path: self.dir.join(NAME), reason });
        }
        let content = pretty(&DocumentList { version: VERSION, places });
        Ok(self.files.replace(&self.dir.join(NAME), &content)?)
    }

    fn document_list(&self) -> Result<Option<DocumentList>, StoreError> {
        let path = self.dir.join(NAME);
        match files::read_at_most(&path, LARGEST)? {
            files::BoundedRead::Absent => Ok(None),
            files::BoundedRead::TooLarge => {
                Err(StoreError::Corrupt { path, reason: "it is too large".to_string() })
            }
            files::BoundedRead::Content(content) => {
                let parsed = serde_json::from_slice(&content);
                parsed.map(Some).map_err(|error| StoreError::Corrupt { path, reason: error.to_string() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::Durability;

    fn log() -> (tempfile::TempDir, KnowledgeLog) {
        let dir = tempfile::tempdir().unwrap();
        let log = KnowledgeLog::at(dir.path(), Durability::Process);
        (dir, log)
    }

    fn write(log: &KnowledgeLog, text: &str) {
        log.files.replace(&log.dir.join(NAME), text.as_bytes()).unwrap();
    }

    #[test]
    fn places_are_read_back() {
        let (_dir, log) = log();
        assert_eq!(log.document_places().unwrap(), [] as [&str; 0]);
        log.put_document_places(vec!["docs/adr".to_string()]).unwrap();
        assert_eq!(log.document_places().unwrap(), ["docs/adr"]);
        assert_eq!(log.stamp().unwrap().file_count(), 0, "it is no file of the log itself");
    }

    #[test]
    fn a_list_of_a_newer_version_is_read_and_not_rewritten() {
        let (_dir, log) = log();
        log.put_document_places(Vec::new()).unwrap();
        write(&log, "{\"version\": 2, \"places\": [\"x.md\"], \"more\": 1}");
        assert_eq!(log.document_places().unwrap(), ["x.md"]);
        assert!(log.put_document_places(Vec::new()).is_err());
        assert_eq!(log.document_places().unwrap(), ["x.md"]);
    }

    #[test]
    fn a_damaged_list_is_told_and_can_be_made_again() {
        let (_dir, log) = log();
        log.put_document_places(Vec::new()).unwrap();
        write(&log, "{\"version\": 1, \"pla");
        assert!(matches!(log.document_places(), Err(StoreError::Corrupt { .. })));
        log.put_document_places(vec!["x.md".to_string()]).unwrap();
        assert_eq!(log.document_places().unwrap(), ["x.md"]);
    }
}

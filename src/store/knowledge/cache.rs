//! The cache of a log's cells, in the user's cache directory. Whoever only reads need not load Yjs. Beside it are the merged
//! records with their search index, so that whoever only asks need not merge.
//!
//! It holds as long as the names and `stat` results of the log's files are the same. A cache that is damaged, or of
//! another version, is made again.

use std::path::{Path, PathBuf};

use super::cache_format;
use super::log::{AppendedFrame, KnowledgeLog, LogContent, LogStamp};
use super::problem::{LogProblem, LogProblemKind};
use super::source_key::SourceKey;
use super::stored_records::StoredRecords;
use crate::domain::knowledge::Cell;
use crate::domain::settings::Durability;
use crate::domain::sha256;
use crate::store::error::StoreError;
use crate::sys::files::{self, FileError, Files};

/// The cache of one project.
#[derive(Clone, Debug)]
pub struct KnowledgeCache {
    path: PathBuf,
    records: PathBuf,
    files: Files,
}

impl KnowledgeCache {
    /// The cache of the log of the project with that root, below the user's cache directory.
    pub fn of(cache_dir: &Path, root: &Path) -> Self {
        use std::os::unix::ffi::OsStrExt;
        let dir = cache_dir.join("ravenry/knowledge");
        let name = &sha256(root.as_os_str().as_bytes())[..16];
        // What is lost in a power failure is made again.
        Self {
            path: dir.join(format!("{name}.cells")),
            records: dir.join(format!("{name}.records")),
            files: Files::new(dir.join("tmp"), Durability::Process),
        }
    }

    /// What the log says: from the cache if it holds, and else from the log, and then the cache is renewed.
    pub fn read(&self, log: &KnowledgeLog) -> Result<LogContent, StoreError> {
        Ok(self.read_stamped(log)?.1)
    }

    /// The same, with the state of the files before it was read.
    pub fn read_stamped(&self, log: &KnowledgeLog) -> Result<(LogStamp, LogContent), StoreError> {
        let stamp = log.stamp()?;
        if stamp.file_count() == 0 {
            return Ok((stamp, LogContent::default()));
        }
        if let Some(content) = self.load(&stamp)? {
            return Ok((stamp, content));
        }
        let content = log.read()?;
        // A file that can't be read now may be readable for the next one.
        let is_passing = |problem: &LogProblem| problem.kind == LogProblemKind::Unreadable;
        if !content.problems.iter().any(is_passing) {
            self.renew(&stamp, &content)?;
        }
        Ok((stamp, content))
    }

    /// Renews the cache after cells were appended to what was read as `content` when the files were as `stamp` says,
    /// without loading Yjs. Returns what the log says now; `None` if somebody else wrote meanwhile.
    pub fn extend(
        &self,
        log: &KnowledgeLog,
        (stamp, mut content): (LogStamp, LogContent),
        (appended, cells): (&AppendedFrame, &[Cell]),
    ) -> Result<Option<(LogStamp, LogContent)>, StoreError> {
        let now = log.stamp()?;
        if !appended.is_all_between(&stamp, &now) || !content.problems.is_empty() {
            return Ok(None);
        }
        content.cells.extend_from_slice(cells);
        content.cells.sort_by(|one, two| one.key.cmp(&two.key).then(two.stamp.cmp(&one.stamp)));
        content.cells.dedup_by(|later, first| later.key == first.key);
        self.renew(&now, &content)?;
        Ok(Some((now, content)))
    }

    /// The merged records, if they are of these sources.
    pub fn load_records(&self, key: &SourceKey) -> Result<Option<StoredRecords>, StoreError> {
        Ok(read(&self.records)?.and_then(|content| StoredRecords::decode(content, key)))
    }

    pub fn has_records(&self) -> bool {
        self.records.exists()
    }

    pub fn keep_records(&self, records: &StoredRecords) -> Result<(), StoreError> {
        self.replace(&self.records, &records.encode())
    }

    /// Removes all that is derived from this log, and what is known of pages in any work tree: after something was
    /// erased, no cache may still hold it.
    pub fn clear(&self) -> Result<(), StoreError> {
        let Some(dir) = self.path.parent() else { return Ok(()) };
        let own = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for name in files::list(dir)? {
            let (stem, kind) = name.split_once('.').unwrap_or((&name, ""));
            if stem == own || matches!(kind, "pages" | "page-cells" | "offers") {
                files::remove(&dir.join(name))?;
            }
        }
        self.files.sweep()?;
        Ok(())
    }

    fn load(&self, stamp: &LogStamp) -> Result<Option<LogContent>, StoreError> {
        Ok(read(&self.path)?.and_then(|content| cache_format::decode(&content, stamp)))
    }

    /// Puts the content there. The stamp is older than the content, so at worst the cache does not hold.
    fn renew(&self, stamp: &LogStamp, content: &LogContent) -> Result<(), StoreError> {
        self.replace(&self.path, &cache_format::encode(stamp, content))
    }

    fn replace(&self, path: &Path, content: &[u8]) -> Result<(), StoreError> {
        // In a sandbox and on a full disk, everybody reads the log itself.
        let is_expected = |error: &FileError| error.is_forbidden() || error.is_full();
        match self.files.replace(path, content) {
            Err(error) if !is_expected(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match files::read_large(path) {
        Ok(content) => Ok(content),
        Err(error) if error.is_forbidden() || error.is_oversized() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

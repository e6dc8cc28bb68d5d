//! The cache of a log's cells, in the user's cache directory. Whoever only reads need not load Yjs.
//!
//! It holds as long as the names and `stat` results of the log's files are the same. A cache that is damaged, or of
//! another version, is made again.

use std::path::{Path, PathBuf};

use super::cache_format;
use super::log::{KnowledgeLog, LogContent, LogStamp};
use super::problem::{LogProblem, LogProblemKind};
use crate::domain::knowledge::{Cell, WriterId};
use crate::domain::settings::Durability;
use crate::domain::sha256;
use crate::store::error::StoreError;
use crate::sys::files::{self, FileError, Files};

/// The cache of one project.
#[derive(Clone, Debug)]
pub struct KnowledgeCache {
    path: PathBuf,
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
            files: Files::new(dir.join("tmp"), Durability::Process),
        }
    }

    /// What the log says: from the cache if it holds, and else from the log, and then the cache is renewed.
    pub fn read(&self, log: &KnowledgeLog) -> Result<LogContent, StoreError> {
        let stamp = log.stamp()?;
        if stamp.file_count() == 0 {
            return Ok(LogContent::default());
        }
        if let Some(content) = self.load(&stamp)? {
            return Ok(content);
        }
        let content = log.read()?;
        // A file that can't be read now may be readable for the next one.
        let is_passing = |problem: &LogProblem| problem.kind == LogProblemKind::Unreadable;
        if !content.problems.iter().any(is_passing) {
            self.renew(&stamp, &content)?;
        }
        Ok(content)
    }

    /// Appends to the log and renews the cache, so that the next hook need not.
    pub fn append(&self, log: &KnowledgeLog, writer: &WriterId, cells: &[Cell]) -> Result<(), StoreError> {
        log.append(writer, cells)?;
        self.read(log).map(drop)
    }

    fn load(&self, stamp: &LogStamp) -> Result<Option<LogContent>, StoreError> {
        match files::read_large(&self.path) {
            Ok(content) => Ok(content.and_then(|content| cache_format::decode(&content, stamp))),
            Err(error) if error.is_forbidden() || error.is_oversized() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts the content there. The stamp is older than the content, so at worst the cache does not hold.
    fn renew(&self, stamp: &LogStamp, content: &LogContent) -> Result<(), StoreError> {
        // In a sandbox and on a full disk, everybody reads the log itself.
        let is_expected = |error: &FileError| error.is_forbidden() || error.is_full();
        match self.files.replace(&self.path, &cache_format::encode(stamp, content)) {
            Err(error) if !is_expected(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

//! What is known of the committed pages of one work tree, in the user's cache directory: an index of them, which holds
//! as long as `HEAD` is the same commit, and what they add to the log.
//!
//! A cache that is damaged, or of another version, is made again.

use std::path::{Path, PathBuf};

use super::cache_format;
use super::log::{LogContent, LogStamp};
use crate::domain::settings::Durability;
use crate::domain::sha256;
use crate::store::error::StoreError;
use crate::sys::files::{self, FileError, FileStamp, Files};

const HEADER: &str = "ravenry pages 1";

#[derive(Clone, Debug)]
pub struct PageCache {
    index: PathBuf,
    cells: PathBuf,
    files: Files,
}

impl PageCache {
    /// The cache of the work tree with that root, below the user's cache directory.
    pub fn of(cache_dir: &Path, root: &Path) -> Self {
        use std::os::unix::ffi::OsStrExt;
        let dir = cache_dir.join("ravenry/knowledge");
        let name = &sha256(root.as_os_str().as_bytes())[..16];
        // What is lost in a power failure is made again.
        let files = Files::new(dir.join("tmp"), Durability::Process);
        Self {
            index: dir.join(format!("{name}.pages")),
            cells: dir.join(format!("{name}.page-cells")),
            files,
        }
    }

    /// Whether there was ever an index.
    pub fn has_index(&self) -> bool {
        self.index.exists()
    }

    /// The rows of the index at that commit.
    pub fn index(&self, head: &str) -> Option<String> {
        // An index that can't be read is made again.
        let text = String::from_utf8(files::read_large(&self.index).ok()??).ok()?;
        let (header, rows) = text.split_once('\n')?;
        (header == header_of(head, rows)).then(|| rows.to_string())
    }

    pub fn keep_index(&self, head: &str, rows: &str) -> Result<(), StoreError> {
        self.replace(&self.index, format!("{}\n{rows}", header_of(head, rows)).as_bytes())
    }

    /// What the pages add to the log, if it was computed under the same key.
    pub fn cells(&self, key: &str) -> Option<LogContent> {
        let bytes = files::read_large(&self.cells).ok()??;
        cache_format::decode(&bytes, &stamp_of(key))
    }

    pub fn keep_cells(&self, key: &str, content: &LogContent) -> Result<(), StoreError> {
        self.replace(&self.cells, &cache_format::encode(&stamp_of(key), content))
    }

    /// There is nothing that pages add.
    pub fn forget_cells(&self) -> Result<(), StoreError> {
        match files::remove(&self.cells) {
            Err(error) if !error.is_forbidden() => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn replace(&self, path: &Path, content: &[u8]) -> Result<(), StoreError> {
        // In a sandbox and on a full disk, everybody asks git.
        let is_expected = |error: &FileError| error.is_forbidden() || error.is_full();
        match self.files.replace(path, content) {
            Err(error) if !is_expected(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn header_of(head: &str, rows: &str) -> String {
    format!("{HEADER} {head} {:08x}", crc32fast::hash(rows.as_bytes()))
}

/// The key in the place of the files of a log.
fn stamp_of(key: &str) -> LogStamp {
    LogStamp { files: vec![(key.to_string(), FileStamp { inode: 0, size: 0, modified: 0, changed: 0 })] }
}

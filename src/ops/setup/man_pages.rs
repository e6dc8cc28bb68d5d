//! Writes man pages to a directory.

use std::path::{Path, PathBuf};

use crate::ops::error::{CommandError, CommandErrorKind};
use crate::sys::files;

/// A man page.
#[derive(Clone, Debug)]
pub struct ManPage {
    /// `msg-join.1`
    pub file: String,
    /// Its source.
    pub roff: Vec<u8>,
}

/// Writes the pages, and replaces those of another version. The directory is made, like those above it.
pub fn write_man_pages(dir: &Path, pages: &[ManPage]) -> Result<Vec<PathBuf>, CommandError> {
    if dir.exists() && !dir.is_dir() {
        let text = format!("`{}` is not a directory", dir.display());
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("for example `msg man --dir ~/.local/share/man/man1`"));
    }
    let mut written = Vec::new();
    for page in pages {
        let path = dir.join(&page.file);
        for missing in files::missing_above(&path)? {
            files::create_shared_dir(&missing)?;
        }
        files::write_through(&path, &page.roff)?;
        written.push(path);
    }
    Ok(written)
}

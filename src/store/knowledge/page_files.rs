//! The pages of records in one work tree. They are the user's files: read with care, and written only if they are
//! still as they were when it was decided.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::domain::knowledge::RecordId;
use crate::domain::knowledge::page::{PAGE_DIRECTORY, page_path};
use crate::store::error::StoreError;
use crate::sys::files::{self, BoundedRead};

/// The largest page that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;
const DIR_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

#[derive(Clone, Debug)]
pub struct PageFiles {
    root: PathBuf,
}

/// What is where a page should be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PageFile {
    Absent,
    Text(String),
    /// Something that is not read, and never replaced: why.
    Unusable(String),
}

/// Whether a page was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "somebody may have edited the page meanwhile"]
pub enum PageWrite {
    Done,
    /// The page is no longer as it was.
    Edited,
}

impl PageFiles {
    /// The pages of the work tree with that root.
    pub fn of(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// Whether the work tree has a directory for pages.
    pub fn exists(&self) -> bool {
        self.root.join(PAGE_DIRECTORY).is_dir()
    }

    pub fn read(&self, id: &RecordId) -> Result<PageFile, StoreError> {
        let path = page_path(id);
        let unusable = |why: &str| Ok(PageFile::Unusable(why.to_string()));
        let mut part = self.root.clone();
        let names: Vec<&str> = path.split('/').collect();
        for (number, name) in names.iter().enumerate() {
            part.push(name);
            let is_last = number + 1 == names.len();
            match files::link_metadata(&part)? {
                None => return Ok(PageFile::Absent),
                Some(there) if there.is_symlink() && is_last => return unusable("it is a link"),
                Some(there) if there.is_symlink() => return unusable("a directory above it is a link"),
                Some(there) if is_last && !there.is_file() => return unusable("it is not a file"),
                Some(there) if !is_last && !there.is_dir() => return unusable("there is a file above it"),
                Some(_) => {}
            }
        }
        match files::read_at_most(&part, LARGEST)? {
            BoundedRead::Absent => Ok(PageFile::Absent),
            BoundedRead::TooLarge => unusable("it is larger than 1 MiB"),
            BoundedRead::Content(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(PageFile::Text(text)),
                Err(_) => unusable("it is not UTF-8"),
            },
        }
    }

    /// Puts a whole page there, if what is there is still `before`.
    pub fn write(&self, id: &RecordId, before: &PageFile, text: &str) -> Result<PageWrite, StoreError> {
        let path = self.root.join(page_path(id));
        let missing = files::missing_above(&path)?;
        files::make_room(&path)?;
        for dir in missing {
            files::set_mode(&dir, DIR_MODE)?;
        }
        if let Some(dir) = path.parent() {
            files::sweep_in(dir)?;
        }
        let there = files::link_metadata(&path)?;
        let mode = there.map_or(FILE_MODE, |there| there.permissions().mode() & 0o777);
        if self.read(id)? != *before {
            return Ok(PageWrite::Edited);
        }
        files::replace_beside(&path, text.as_bytes(), mode)?;
        Ok(PageWrite::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_not_followed_and_an_edit_meanwhile_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let pages = PageFiles::of(dir.path());
        let id = RecordId::parse("note/one").unwrap();
        assert_eq!(pages.read(&id).unwrap(), PageFile::Absent);
        assert_eq!(pages.write(&id, &PageFile::Absent, "a").unwrap(), PageWrite::Done);
        let written = PageFile::Text("a".to_string());
        assert_eq!(pages.read(&id).unwrap(), written);
        assert_eq!(pages.write(&id, &PageFile::Absent, "b").unwrap(), PageWrite::Edited);
        assert_eq!(pages.read(&id).unwrap(), written);
        assert_eq!(pages.write(&id, &written, "b").unwrap(), PageWrite::Done);
        let outside = tempfile::tempdir().unwrap();
        for link in ["docs/knowledge/tried", "docs/knowledge/note/two.md"] {
            std::os::unix::fs::symlink(outside.path(), dir.path().join(link)).unwrap();
        }
        for linked in ["tried/one", "note/two"] {
            let id = RecordId::parse(linked).unwrap();
            assert!(matches!(pages.read(&id).unwrap(), PageFile::Unusable(_)), "{linked}");
            assert_eq!(pages.write(&id, &PageFile::Absent, "x").unwrap(), PageWrite::Edited);
        }
        assert_eq!(files::list(outside.path()).unwrap(), Vec::<String>::new());
    }
}

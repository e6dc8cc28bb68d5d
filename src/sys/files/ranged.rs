//! Reading parts of a file.

use std::os::unix::fs::FileExt;
use std::path::Path;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::FileError;
use super::read::absent_is_none;

/// A plain file at one moment: if it is replaced meanwhile, this is still the old one.
#[derive(Debug)]
pub struct RangedFile {
    file: fs::File,
    pub length: u64,
}

impl RangedFile {
    /// `None`: there is no such file, or it is not a plain file.
    pub fn open(path: &Path) -> Result<Option<Self>, FileError> {
        // Opening a pipe that somebody put there must not wait for a writer.
        let opened = fs::OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path);
        let Some(file) = absent_is_none(opened)? else { return Ok(None) };
        let metadata = file.metadata()?;
        Ok(metadata.is_file().then_some(Self { file, length: metadata.len() }))
    }

    /// That part of the file; `None` if it is not that long.
    pub fn read(&self, offset: u64, length: usize) -> Result<Option<Vec<u8>>, FileError> {
        let mut part = Vec::new();
        Ok(self.read_into(&mut part, offset, length)?.map(|()| part))
    }

    /// The same, into a buffer that can be used again.
    pub fn read_into(&self, part: &mut Vec<u8>, offset: u64, length: usize) -> Result<Option<()>, FileError> {
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Ok(None);
        }
        part.resize(length, 0);
        match self.file.file().read_exact_at(part, offset) {
            Ok(()) => Ok(Some(())),
            // It was cut after it was opened.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::Durability;
    use crate::sys::files::Files;

    #[test]
    fn parts() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::new(dir.path().join("tmp"), Durability::Process);
        let path = dir.path().join("file");
        assert!(RangedFile::open(&path).unwrap().is_none());
        assert!(RangedFile::open(dir.path()).unwrap().is_none());
        files.replace(&path, b"0123456789").unwrap();
        let file = RangedFile::open(&path).unwrap().unwrap();
        assert_eq!(file.read(3, 4).unwrap().as_deref(), Some(&b"3456"[..]));
        assert_eq!(file.read(10, 0).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(file.read(8, 3).unwrap(), None);
        assert_eq!(file.read(u64::MAX, 3).unwrap(), None);
        files.replace(&path, b"0").unwrap();
        assert_eq!(file.read(3, 4).unwrap().as_deref(), Some(&b"3456"[..]), "it is still the old file");
    }
}

//! Which files are not put into an object, and why.

use std::io;
use std::path::{Path, PathBuf};

use super::error::RunTreeError;
use crate::domain::secret_in_file;
use crate::sys::files::{self, BoundedRead};

/// Larger files are not put into a commit unless git tracks them.
const MAX_NEW_FILE: u64 = 5 * 1024 * 1024;

/// A path that is not in a recorded tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeftOutFile {
    /// Relative to the root of the work tree.
    pub path: PathBuf,
    pub reason: LeftOutReason,
}

/// Why it is not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LeftOutReason {
    /// It has more than 5 MB: this many bytes.
    TooLarge(u64),
    /// It looks like a secret, by this.
    Secret(&'static str),
    /// It can't be read.
    Unreadable,
    /// It is another repository, which git would record as a submodule.
    Repository,
    /// It is a submodule with changes: the tree has the commit that the index names.
    Submodule,
}

impl LeftOutReason {
    /// Whether it is a file that can be copied.
    pub fn is_copyable(&self) -> bool {
        matches!(self, Self::TooLarge(_) | Self::Secret(_))
    }
}

impl std::fmt::Display for LeftOutReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLarge(size) => write!(f, "it has {} MB", size / 1_000_000),
            Self::Secret("its name") => write!(f, "it looks like a secret by its name"),
            Self::Secret(what) => write!(f, "it looks like a secret: it has {what}"),
            Self::Unreadable => write!(f, "it cannot be read"),
            Self::Repository => write!(f, "it is another git repository"),
            Self::Submodule => write!(f, "it is a submodule with changes of its own"),
        }
    }
}

/// Why a file that git does not track must not be put into an object; `None` if it may.
pub(super) fn reason_for(root: &Path, path: &Path) -> Result<Option<LeftOutReason>, RunTreeError> {
    let full = root.join(path);
    let Some(metadata) = files::link_metadata(&full)? else { return Ok(None) };
    // A link is only a path.
    if metadata.is_symlink() {
        return Ok(None);
    }
    if metadata.len() > MAX_NEW_FILE {
        return Ok(Some(LeftOutReason::TooLarge(metadata.len())));
    }
    match files::read_at_most(&full, MAX_NEW_FILE) {
        Ok(BoundedRead::Content(content)) => Ok(secret_in_file(path, &content).map(LeftOutReason::Secret)),
        Ok(BoundedRead::Absent) => Ok(None),
        Ok(BoundedRead::TooLarge) => Ok(Some(LeftOutReason::TooLarge(MAX_NEW_FILE))),
        Err(error) if error.source.kind() == io::ErrorKind::PermissionDenied => {
            Ok(Some(LeftOutReason::Unreadable))
        }
        Err(error) => Err(error.into()),
    }
}

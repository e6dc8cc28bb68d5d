//! The errors of the mesh on disk: [`StoreError`], and [`ParseError`] for the content of one file.

use std::path::PathBuf;

use crate::sys::directory_trust::UnsafeDirectory;
use crate::sys::files::FileError;
use crate::sys::flock::LockError;

/// Why the content of a file cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);

impl ParseError {
    pub(super) fn new(reason: impl ToString) -> Self {
        Self(reason.to_string())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The directory is not safe for private files.
    #[error("the mesh is not safe: {distrust}")]
    Unsafe {
        #[source]
        distrust: UnsafeDirectory,
        /// The command that makes it safe, if it is the user's own mesh.
        remedy: Option<String>,
    },
    #[error("`{}` is not a mesh: it holds other files", .0.display())]
    NotAMesh(PathBuf),
    #[error("`{}` has been held by {holder} for more than {limit} s", .path.display())]
    SwarmLockTimedOut { path: PathBuf, holder: String, limit: f64 },
    /// A file that cannot be parsed. It is left unchanged.
    #[error("`{}` can't be read: {reason}", .path.display())]
    Corrupt { path: PathBuf, reason: String },
    #[error("`{}` can't be read: {reason} (line {line}, column {column})", .path.display())]
    BadConfig { path: PathBuf, reason: String, line: usize, column: usize },
    #[error("`{}`: {reason}", .path.display())]
    BadSetting { path: PathBuf, reason: String },
    /// pi-messenger registered this agent, so the registration is not ours to rewrite.
    #[error("{0} is an agent of pi-messenger, which keeps its own registration")]
    Foreign(String),
    /// The agent is on another machine of a linked mesh: what is here is a copy.
    #[error("{name} is on {machine}, so nothing of it can be changed here")]
    Remote { name: String, machine: String },
    #[error("the registration of {0} is gone")]
    NoRegistration(String),
    /// What would be read back differs, for example because a path is empty.
    #[error("the record {record} can't be stored: it has a value that could not be read back")]
    UnusableCell { record: String },
    #[error("the update was not imported: {0}")]
    BadImport(String),
}

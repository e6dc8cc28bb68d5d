//! Why bytes are not an index.

/// The version of the bytes.
pub(super) const VERSION: u32 = 1;

/// Why bytes are not an index. The remedy is to build it again.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SearchIndexError {
    #[error("it is not a search index")]
    Foreign,
    #[error("the search index has version {0}, not {VERSION}")]
    OtherVersion(u32),
    #[error("the search index is damaged")]
    Damaged,
}

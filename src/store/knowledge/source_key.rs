//! Names what records were merged from.

use super::cache_format::Encoder;
use super::log::LogStamp;
use crate::domain::sha256;

/// A hash over all sources of the records, and the version of the program that merges them. What was derived from the
/// records holds as long as this is the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceKey(String);

impl SourceKey {
    /// `others` name further sources, each by what changes with its content.
    pub fn of(log: &LogStamp, others: &[&[u8]]) -> Self {
        let mut sources = Encoder::default();
        sources.text(env!("CARGO_PKG_VERSION"));
        sources.stamp(log);
        sources.count(others.len());
        others.iter().for_each(|other| sources.bytes(other));
        Self(sha256(&sources.0))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

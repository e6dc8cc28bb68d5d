//! `.ravenry/knowledge/` of a project: the log of what sessions learned.
//!
//! ```text
//! <writer>.<client>.log   what one writer added; a writer may have several
//! pack.<number>.log       what `pack` folded, or what was imported; nobody appends to it
//! write.lock              held from the read that a change is based on until it is written, and while packing
//! documents.json          where `init` found other documents, which are searched too
//! quarantine/             files that were damaged, after their good frames were saved
//! tmp/                    files that are being written
//! ```
//!
//! The union of all files is one Yjs document with one flat map, `knowledge`, whose values are cells. A key has no
//! meaning: it is the Yjs id of the cell that was written under it, so no two writers ever set the same one, and what
//! is left of a deleted cell tells nothing. Of cells with the same [`CellKey`](crate::domain::knowledge::CellKey) the
//! latest counts. Every file is complete: nothing in it builds on a change that is elsewhere.

mod cache;
mod cache_format;
mod cell_format;
mod document;
mod document_list;
mod exchange;
mod frames;
mod git_exclude;
mod locked_log;
mod log;
mod offer_format;
mod offer_index;
mod pack;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests damage files in place")]
mod pack_tests;
mod page_cache;
mod page_files;
mod person_id;
mod problem;
mod source_key;
mod stored_records;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests damage files in place")]
mod tests;
mod update_check;
mod use_counts;

pub use cache::KnowledgeCache;
pub use exchange::ImportReport;
pub use git_exclude::exclude_knowledge_from_git;
pub use locked_log::LockedKnowledgeLog;
pub use log::{AppendedFrame, KnowledgeLog, LogContent, LogStamp};
pub use offer_index::{OfferIndex, OfferIndexState, OpenOfferIndex};
pub use pack::PackReport;
pub use page_cache::PageCache;
pub use page_files::{PageFile, PageFiles, PageWrite};
pub use person_id::person_id;
pub use problem::{LogProblem, LogProblemKind};
pub use source_key::SourceKey;
pub use stored_records::StoredRecords;
pub use use_counts::{KnowledgeUse, UseCounts, UseLog};

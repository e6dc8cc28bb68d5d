//! Pages: records as the files that people review and commit, `docs/knowledge/<kind>/<name>.md`.
//!
//! A page has a short YAML head and a text with one sentence a line. It says the same for the same record, byte for byte,
//! so that a diff shows what changed. Nothing here reads a file or runs git.

mod history;
mod page_error;
mod page_hash;
mod page_head;
mod page_text;
mod parse;
mod published;
mod record_page;
mod render;
#[cfg(test)]
mod tests;
mod update;
mod yaml_node;
mod yaml_scalar;

pub use history::{LastContent, LastPage, PageChange, PageEdit, PageHistory, last_content};
pub use page_error::PageError;
pub use page_hash::PageHash;
pub use published::{PagePublication, PublishedPages, link_replaced_pages, publication_cell};
pub use record_page::{PAGE_DIRECTORY, RecordPage, page_id, page_path};
pub use update::{PageBase, PageCommit, page_update};

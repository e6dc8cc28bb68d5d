//! What known programs write: one table, and one file for each group of programs that needs code.

pub(super) mod copies;
mod editors;
mod finders;
mod git;
pub(super) mod git_needs;
pub(super) mod options;
pub(super) mod patches;
mod scripts;
pub(super) mod table;
mod transfers;
pub(super) mod wrappers;

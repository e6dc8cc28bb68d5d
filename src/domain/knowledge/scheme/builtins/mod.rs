//! The functions that expressions can call, by topic.

mod functions;
mod graph;
mod lists;
mod maps;
mod numbers;
mod records;
mod table;
mod texts;
mod truth;

pub(super) use table::{BASICS, all_builtins, builtin, builtin_index};

//! All functions in one table.

use std::sync::LazyLock;

use super::super::outcome::Builtin;
use super::{functions, graph, lists, maps, numbers, records, texts, truth};

/// The functions that `(help)` shows.
pub(in crate::domain::knowledge::scheme) const BASICS: [&str; 10] = [
    "search-knowledge",
    "get-decisions",
    "get-decision",
    "get-principles",
    "get-file-understanding",
    "get-related-files",
    "neighbours",
    "get",
    "filter",
    "sort-by",
];

const TOPICS: [&[Builtin]; 8] = [
    records::BUILTINS,
    graph::BUILTINS,
    functions::BUILTINS,
    lists::BUILTINS,
    maps::BUILTINS,
    texts::BUILTINS,
    numbers::BUILTINS,
    truth::BUILTINS,
];

static TABLE: LazyLock<Vec<&'static Builtin>> = LazyLock::new(|| TOPICS.into_iter().flatten().collect());

/// By topic: those about the knowledge first.
pub(in crate::domain::knowledge::scheme) fn all_builtins() -> impl Iterator<Item = &'static Builtin> {
    TABLE.iter().copied()
}

pub(in crate::domain::knowledge::scheme) fn builtin(index: u16) -> &'static Builtin {
    TABLE[usize::from(index)]
}

pub(in crate::domain::knowledge::scheme) fn builtin_index(name: &str) -> Option<u16> {
    let index = TABLE.iter().position(|builtin| builtin.name == name)?;
    u16::try_from(index).ok()
}

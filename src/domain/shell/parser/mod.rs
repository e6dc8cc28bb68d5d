//! Recursive descent parser for the shell grammar: text to a syntax tree.

mod compound;
pub(super) mod here_document;
pub(super) mod lists;
mod redirects;
pub(super) mod single_call;
pub(super) mod syntax;
mod words;

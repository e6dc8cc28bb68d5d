//! Why a page can't be read, and where.

/// Lines and columns count from 1.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct PageError {
    pub line: usize,
    pub column: usize,
    pub problem: String,
}

impl PageError {
    pub(super) fn new(at: PageSpot, problem: impl Into<String>) -> Self {
        Self { line: at.line, column: at.column, problem: problem.into() }
    }
}

/// A place in a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct PageSpot {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl PageSpot {
    pub(super) fn line(line: usize) -> Self {
        Self { line, column: 1 }
    }
}

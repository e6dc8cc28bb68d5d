//! Outlines of source files, by tree-sitter.
//!
//! The parsers are in the program if it was built with the feature `outline`. Without it, and for other languages,
//! files have no outline and anchors work by lines.

mod cache;
#[cfg(feature = "outline")]
mod grammar;
#[cfg(feature = "outline")]
mod parser;

use std::time::Duration;

use crate::domain::knowledge::Outline;

pub use cache::OutlineCache;

/// How long parsing one file may take.
const TIME_LIMIT: Duration = Duration::from_millis(500);
/// The largest file that is parsed, in bytes.
pub const MAX_PARSED: usize = 2 * 1024 * 1024;

/// A language that has a parser.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SourceLanguage {
    Go,
    Python,
    Rust,
    /// JavaScript is read as TypeScript with JSX, which contains nearly all of it.
    Tsx,
    TypeScript,
}

impl SourceLanguage {
    /// The language of a file, by its name; `None` if it has no parser in this program.
    pub fn of_file(path: &str) -> Option<Self> {
        if cfg!(not(feature = "outline")) {
            return None;
        }
        match path.rsplit_once('.')?.1 {
            "go" => Some(Self::Go),
            "py" | "pyi" => Some(Self::Python),
            "rs" => Some(Self::Rust),
            "js" | "jsx" | "mjs" | "cjs" | "tsx" => Some(Self::Tsx),
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            _ => None,
        }
    }
}

/// The outline of a file, parsed anew. `None`: it is too large, or parsing takes too long.
pub fn parse(language: SourceLanguage, text: &str) -> Option<Outline> {
    parse_within(language, text, TIME_LIMIT)
}

fn parse_within(language: SourceLanguage, text: &str, limit: Duration) -> Option<Outline> {
    if text.len() > MAX_PARSED {
        return None;
    }
    #[cfg(feature = "outline")]
    return parser::parse(language, text, limit);
    #[cfg(not(feature = "outline"))]
    {
        let _ = (language, limit);
        None
    }
}

//! Cells: what a writer asserted about one field of one record. A writer replaces its own cells and nobody else's.

use std::fmt;

use super::anchor::Anchor;
use super::record_id::RecordId;
use super::statement::{Origin, Statement};

/// A writer: a session, a person, or a page as it was committed.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct WriterId(String);

impl WriterId {
    /// `None` if the text is empty, long, or not letters, digits, `_` and `-`: it is a part of keys and file names.
    pub fn new(text: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_valid = !text.is_empty() && text.len() <= 64 && text.bytes().all(is_allowed);
        is_valid.then(|| Self(text.to_string()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WriterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A hybrid logical clock: the time in milliseconds since 1970, or one more than the highest stamp that was seen.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Stamp {
    pub milliseconds: i64,
    pub counter: u32,
}

impl Stamp {
    /// A stamp above `seen`, at the time `now` if that is later.
    pub fn after(seen: Self, now: i64) -> Self {
        if now > seen.milliseconds {
            return Self { milliseconds: now, counter: 0 };
        }
        match seen.counter.checked_add(1) {
            Some(counter) => Self { counter, ..seen },
            None => Self { milliseconds: seen.milliseconds.saturating_add(1), counter: 0 },
        }
    }
}

/// Which cell of a field: the later of two versions wins.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Version {
    pub stamp: Stamp,
    pub writer: WriterId,
}

/// The parts of a record that are merged on their own.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum RecordField {
    /// The statement. There is one entry, and its name is empty.
    Text,
    /// Whether the record is there at all. One entry.
    Life,
    /// A confidence that somebody gave. One entry.
    Confidence,
    /// One entry per author who confirmed the record.
    Confirmation,
    /// One entry per tag; its text is the value.
    Tag,
    /// One entry per related record or file: `decisions/one-flock`, `files/src/a.rs`.
    Related,
    /// One entry per anchor, as it is typed.
    Anchor,
    /// One entry per other word that one might search for.
    Also,
    Evidence,
    Concept,
    Symbol,
    /// One entry per record that this one supersedes, by its id.
    Supersedes,
    /// One entry per page that was written, by its hash; its text is the versions that the page shows.
    Page,
}

impl RecordField {
    pub const ALL: [Self; 13] = [
        Self::Text,
        Self::Life,
        Self::Confidence,
        Self::Confirmation,
        Self::Tag,
        Self::Related,
        Self::Anchor,
        Self::Also,
        Self::Evidence,
        Self::Concept,
        Self::Symbol,
        Self::Supersedes,
        Self::Page,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Life => "life",
            Self::Confidence => "confidence",
            Self::Confirmation => "confirmation",
            Self::Tag => "tag",
            Self::Related => "related",
            Self::Anchor => "anchor",
            Self::Also => "also",
            Self::Evidence => "evidence",
            Self::Concept => "concept",
            Self::Symbol => "symbol",
            Self::Supersedes => "supersedes",
            Self::Page => "page",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.as_str() == text)
    }
}

/// Where a cell is. There is one cell per key.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct CellKey {
    pub record: RecordId,
    pub field: RecordField,
    pub entry: String,
    pub writer: WriterId,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CellValue {
    /// The entry is not in the set, or the record is retired.
    Removed,
    /// The entry is in the set; the text is that of a tag, and otherwise empty.
    Present(String),
    Statement {
        statement: Box<Statement>,
        /// The statements that its author had seen.
        replaces: Vec<Version>,
    },
    Anchor(Box<Anchor>),
    Confidence(f64),
    Confirmation(Origin),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub key: CellKey,
    pub stamp: Stamp,
    pub value: CellValue,
}

impl Cell {
    pub fn version(&self) -> Version {
        Version { stamp: self.stamp, writer: self.key.writer.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_only_rise() {
        let at = |milliseconds, counter| Stamp { milliseconds, counter };
        assert_eq!(Stamp::after(at(5, 3), 9), at(9, 0));
        assert_eq!(Stamp::after(at(5, 3), 5), at(5, 4));
        assert_eq!(Stamp::after(at(5, 3), 2), at(5, 4), "the clock was set back");
        assert!(Stamp::after(at(5, u32::MAX), 2) > at(5, u32::MAX));
    }

    #[test]
    fn a_writer_is_a_file_name() {
        assert!(WriterId::new("writer-0af3").is_some());
        for text in ["", "a/b", "..", "a b", &"x".repeat(65)] {
            assert!(WriterId::new(text).is_none(), "{text}");
        }
    }
}

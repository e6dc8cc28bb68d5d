//! What is searched: a record, or a piece of a text file.

use std::borrow::Cow;
use std::fmt;

use crate::domain::knowledge::{AnchorPath, DecisionStatus, Record, RecordId, RecordKind, RecordName};

/// Which document: a record, or the piece of a file that begins at a line.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum DocumentKey {
    Record(RecordId),
    Piece { path: AnchorPath, line: u32 },
}

impl DocumentKey {
    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(id) = RecordId::parse(text) {
            return Some(Self::Record(id));
        }
        let (path, line) = text.rsplit_once(':')?;
        Some(Self::Piece { path: AnchorPath::new(path).ok()?, line: line.parse().ok()? })
    }

    pub fn record(&self) -> Option<&RecordId> {
        match self {
            Self::Record(id) => Some(id),
            Self::Piece { .. } => None,
        }
    }

    pub fn kind(&self) -> Option<RecordKind> {
        self.record().map(|id| id.kind)
    }
}

/// `decision/one-flock`, `AGENTS.md:12`.
impl fmt::Display for DocumentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(id) => write!(f, "{id}"),
            Self::Piece { path, line } => write!(f, "{path}:{line}"),
        }
    }
}

/// The part of a document that a text is in. A word counts more in some of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SearchField {
    /// What is so.
    Text,
    /// Why it is so, and what else was said.
    Reason,
    Name,
    /// Tags, concepts and symbols.
    Tag,
    /// Other words that one might search for.
    Also,
    /// Paths, symbols, commands and errors.
    Place,
}

impl SearchField {
    pub(super) const COUNT: usize = 6;

    pub(super) fn number(self) -> usize {
        self as usize
    }
}

/// A document before it is indexed.
#[derive(Clone, Debug)]
pub struct SearchDocument<'a> {
    pub key: DocumentKey,
    pub texts: Vec<(SearchField, Cow<'a, str>)>,
    /// The files that it is about.
    pub paths: Vec<String>,
    /// The records that supersede it.
    pub superseded_by: Vec<RecordId>,
    /// Whether its author says that it no longer holds.
    pub is_deprecated: bool,
    /// In milliseconds since 1970. Of equal ones the latest comes first.
    pub changed: i64,
}

impl<'a> SearchDocument<'a> {
    /// A piece of a file, such as a section of `AGENTS.md`.
    pub fn piece(path: AnchorPath, line: u32, heading: &'a str, text: &'a str) -> Self {
        let texts = vec![
            (SearchField::Name, heading.into()),
            (SearchField::Text, text.into()),
            (SearchField::Place, path.as_str().to_string().into()),
        ];
        let paths = vec![path.as_str().to_string()];
        let key = DocumentKey::Piece { path, line };
        Self { key, texts, paths, superseded_by: Vec::new(), is_deprecated: false, changed: 0 }
    }

    pub fn of_record(record: &'a Record) -> Self {
        let said = &record.statement;
        let mut texts: Vec<(SearchField, Cow<'a, str>)> = Vec::new();
        let mut add = |field, text: &'a str| texts.push((field, text.into()));
        [&said.description, &said.summary, &said.pattern_type]
            .into_iter()
            .for_each(|text| add(SearchField::Text, text));
        add(SearchField::Reason, &said.rationale);
        record.evidence.iter().for_each(|text| add(SearchField::Reason, text));
        for other in &record.also_said {
            add(SearchField::Reason, other.headline());
            add(SearchField::Reason, &other.rationale);
        }
        if !is_derived(&record.id.name, said.headline()) {
            add(SearchField::Name, record.id.name.as_str());
        }
        record.tags.iter().flat_map(|(tag, value)| [tag, value]).for_each(|text| add(SearchField::Tag, text));
        record.concepts.iter().chain(&record.symbols).for_each(|text| add(SearchField::Tag, text));
        record.also.iter().for_each(|text| add(SearchField::Also, text));
        if let Some(ends) = &said.ends {
            [&ends.from, &ends.to].into_iter().for_each(|text| add(SearchField::Place, text));
        }
        texts.extend(
            record.anchors.iter().map(|anchor| (SearchField::Place, anchor.target.to_string().into())),
        );
        let anchored =
            record.anchors.iter().filter_map(|anchor| anchor.target.path()).map(|path| path.as_str());
        let ends = said.ends.iter().flat_map(|ends| [ends.from.as_str(), ends.to.as_str()]);
        let related = record.related.get("files").into_iter().flatten().map(String::as_str);
        Self {
            key: DocumentKey::Record(record.id.clone()),
            texts,
            paths: anchored.chain(ends).chain(related).map(str::to_string).collect(),
            superseded_by: record.superseded_by.iter().cloned().collect(),
            is_deprecated: said.status.is_some_and(|status| status != DecisionStatus::Active),
            changed: record.changed.as_millisecond(),
        }
    }
}

/// Whether a name only repeats the first words of the sentence. Then it says nothing about what they weigh.
fn is_derived(name: &RecordName, sentence: &str) -> bool {
    let name = name.as_str();
    let derived = RecordName::derive(sentence);
    derived.is_some_and(|derived| name.starts_with(derived.as_str()) || derived.as_str().starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back() {
        for text in ["decision/one-flock", "AGENTS.md:12", "docs/adr/0001:x.md:7"] {
            assert_eq!(DocumentKey::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "x", "x:", "../x:1", "decision/One"] {
            assert_eq!(DocumentKey::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_made_of_the_sentence_is_not_counted_twice() {
        let name = |text: &str| RecordName::new(text).unwrap();
        assert!(is_derived(&name("one-flock-guards"), "One flock guards."));
        assert!(is_derived(&name("one-flock-guards-2"), "One flock guards."));
        assert!(is_derived(&name("one-flock"), "One flock guards."));
        assert!(!is_derived(&name("naming-lock"), "One flock guards."));
    }
}

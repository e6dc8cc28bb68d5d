//! What one author said in one piece.

use std::borrow::Cow;

use jiff::Timestamp;

use super::kinds::{Basis, DecisionStatus, RelationType};

/// Who said something, when, and where the code was then.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Origin {
    pub author: String,
    pub at: Timestamp,
    pub commit: Option<String>,
    pub branch: Option<String>,
}

impl Origin {
    /// It is not known where the code was.
    pub fn new(author: impl Into<String>, at: Timestamp) -> Self {
        Self { author: author.into(), at, commit: None, branch: None }
    }
}

/// The two ends of a relationship: names of records or paths.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct RelationEnds {
    pub from: String,
    pub to: String,
    pub relation: RelationType,
}

/// The texts of a record. They are replaced as a whole, so that what is shown was said by one author.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Statement {
    /// What is so: the sentence of a note, what was tried, what was decided.
    pub description: String,
    /// Why: the reason of a decision, why an attempt failed.
    pub rationale: String,
    /// What was understood of a file.
    pub summary: String,
    pub status: Option<DecisionStatus>,
    /// Of a decision, 0 to 10.
    pub impact: Option<u8>,
    /// The type of a pattern.
    pub pattern_type: String,
    /// The ends of a relationship.
    pub ends: Option<RelationEnds>,
    pub basis: Basis,
    pub origin: Origin,
}

impl Statement {
    /// One sentence; all else is empty.
    pub fn new(description: impl Into<String>, basis: Basis, origin: Origin) -> Self {
        Self {
            description: description.into(),
            rationale: String::new(),
            summary: String::new(),
            status: None,
            impact: None,
            pattern_type: String::new(),
            ends: None,
            basis,
            origin,
        }
    }

    /// Whether two statements say the same, whoever said it when.
    pub fn is_same_text(&self, other: &Self) -> bool {
        let text = |one: &Self| Self { basis: Basis::Told, origin: other.origin.clone(), ..one.clone() };
        text(self) == text(other)
    }

    /// The sentence that stands for the record in a list.
    pub fn headline(&self) -> &str {
        [&self.description, &self.summary, &self.rationale]
            .into_iter()
            .find(|text| !text.is_empty())
            .map_or("", |text| text)
    }

    /// The headline, or of a relationship that has none its ends: `src/a.rs uses src/b.rs`.
    pub fn words(&self) -> Cow<'_, str> {
        match (&self.ends, self.headline()) {
            (Some(RelationEnds { from, to, relation }), "") => Cow::Owned(format!("{from} {relation} {to}")),
            (_, headline) => Cow::Borrowed(headline),
        }
    }
}

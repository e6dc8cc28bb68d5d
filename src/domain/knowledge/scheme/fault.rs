//! Why an expression has no value.

use super::budget::QueryLimit;

/// Why evaluation stops.
#[derive(Clone, Debug)]
pub(super) enum Stop {
    Over(QueryLimit),
    Wrong(Box<Fault>),
}

/// Something is wrong with the expression.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) message: String,
    /// Where, in bytes from the beginning of the text; known once the evaluator has passed it.
    pub(super) place: Option<usize>,
    pub(super) wanted: WantedItem,
}

/// Which names are near to what was written.
#[derive(Clone, Debug)]
pub(super) enum WantedItem {
    Nothing,
    /// A name of a function, a form or a variable.
    Name {
        text: String,
        variables: Vec<String>,
    },
    /// A field of a record.
    Field(String),
    /// The function whose example shows how to call it.
    Usage(&'static str),
}

impl Stop {
    pub(super) fn wrong(message: impl Into<String>) -> Self {
        Self::Wrong(Box::new(Fault { message: message.into(), place: None, wanted: WantedItem::Nothing }))
    }

    pub(super) fn wanting(message: impl Into<String>, wanted: WantedItem) -> Self {
        Self::Wrong(Box::new(Fault { message: message.into(), place: None, wanted }))
    }

    /// The same with its place, unless it has one.
    pub(super) fn at(mut self, place: usize) -> Self {
        if let Self::Wrong(fault) = &mut self {
            fault.place.get_or_insert(place);
        }
        self
    }
}

impl From<QueryLimit> for Stop {
    fn from(limit: QueryLimit) -> Self {
        Self::Over(limit)
    }
}

/// A text of the query, or of a record, as it is quoted in a message.
pub(super) fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        shown.push('…');
    }
    shown
}

//! The values that expressions work with. They are small and copied; what is larger lies in the heap.

use crate::domain::knowledge::Record;

/// A name: of a variable, a symbol or a keyword.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct NameId(pub(super) u32);

/// A part of a store of cells. `rest` and `take` of a list share its store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ListView {
    pub(super) store: u32,
    pub(super) start: u32,
    pub(super) length: u32,
}

impl ListView {
    pub(super) fn len(self) -> usize {
        self.length as usize
    }

    /// Without the first `count`.
    pub(super) fn skip(self, count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX).min(self.length);
        Self { start: self.start + count, length: self.length - count, ..self }
    }

    /// The first `count` alone.
    pub(super) fn take(self, count: usize) -> Self {
        Self { length: u32::try_from(count).unwrap_or(u32::MAX).min(self.length), ..self }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'w> {
    Nil,
    Truth(bool),
    Integer(i64),
    Float(f64),
    Symbol(NameId),
    Keyword(NameId),
    /// An index of the heap's texts.
    Text(u32),
    List(ListView),
    /// An index of the heap's maps.
    Dict(u32),
    Record(&'w Record),
    /// An index of the heap's closures.
    Closure(u32),
    /// An index of the table of builtins.
    Builtin(u16),
    /// An index of the heap's derived functions.
    Derived(u32),
}

impl From<bool> for Value<'_> {
    fn from(truth: bool) -> Self {
        Self::Truth(truth)
    }
}

impl Value<'_> {
    /// Everything but `nil` and `false` is true, the empty list too.
    pub(super) fn is_true(self) -> bool {
        !matches!(self, Self::Nil | Self::Truth(false))
    }

    pub(super) fn is_function(self) -> bool {
        matches!(self, Self::Closure(_) | Self::Builtin(_) | Self::Derived(_) | Self::Keyword(_))
    }

    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::Nil | Self::List(_) | Self::Dict(_))
    }

    /// What it is, in a message.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Truth(_) => "a boolean",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Symbol(_) => "a symbol",
            Self::Keyword(_) => "a keyword",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Dict(_) => "a map",
            Self::Record(_) => "a record",
            Self::Closure(_) | Self::Builtin(_) | Self::Derived(_) => "a function",
        }
    }
}

/// A function that was made of others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Derived<'w> {
    Partial {
        function: Value<'w>,
        first: ListView,
    },
    /// The last is called first.
    Composed(ListView),
    Negated(Value<'w>),
    Constant(Value<'w>),
    /// Calls each with the same arguments.
    Several(ListView),
    /// The value of this field.
    Accessor(&'static str),
}

//! What is wrong with a batch.

/// What is wrong with a step of a batch, and how to mend it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BatchProblem {
    /// The step, from 0.
    pub action: usize,
    pub field: Option<String>,
    pub message: String,
    pub fix: String,
    pub kind: BatchProblemKind,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum BatchProblemKind {
    #[default]
    Invalid,
    /// There is no record of that name.
    UnknownRecord,
    Secret,
    /// A text without a word.
    Empty,
    /// A text of too many bytes.
    TooLarge,
}

impl BatchProblem {
    pub fn new(
        action: usize,
        field: impl Into<Option<&'static str>>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        let field = field.into().map(str::to_string);
        let kind = BatchProblemKind::default();
        Self { action, field, message: message.into(), fix: fix.into(), kind }
    }

    #[must_use]
    pub fn of_kind(self, kind: BatchProblemKind) -> Self {
        Self { kind, ..self }
    }
}

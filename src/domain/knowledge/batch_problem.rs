//! What is wrong with a batch.

/// What is wrong with a step of a batch, and how to mend it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BatchProblem {
    /// The step, from 0.
    pub action: usize,
    pub field: Option<String>,
    pub message: String,
    pub fix: String,
}

impl BatchProblem {
    pub fn new(
        action: usize,
        field: impl Into<Option<&'static str>>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        let field = field.into().map(str::to_string);
        Self { action, field, message: message.into(), fix: fix.into() }
    }
}

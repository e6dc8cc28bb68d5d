//! A refusal of a tool call that no reservation is the reason for.

/// A refusal, and what it is about.
pub(super) struct PlainRefusal {
    /// For the model.
    pub(super) text: String,
    /// The path or the command, as it is shown to people.
    pub(super) shown: String,
}

//! A part of the page.

/// What a section has below its heading.
pub(super) struct Section {
    /// Beside the heading, as it is.
    pub(super) remark: String,
    pub(super) body: String,
}

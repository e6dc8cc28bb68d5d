//! Shown records as a Markdown document.

use crate::domain::knowledge::{markdown_document, record_marks, section_row};
use crate::ops::knowledge::{FoundSection, ShownRecord};

/// How many characters are shown of a section of another document.
const SECTION: usize = 1_000;

pub(in crate::faces::cli::commands) fn document(records: &[ShownRecord]) -> String {
    markdown_document(
        records.iter().map(|shown| (&shown.record, record_marks(&shown.record, &shown.state()))),
    )
}

/// Sections of other documents, one line each after a heading.
pub(in crate::faces::cli::commands) fn sections(found: &[FoundSection]) -> impl Iterator<Item = String> {
    let heading = (!found.is_empty()).then(|| ["", "## In other documents", ""].map(str::to_string));
    let rows = found.iter().map(|found| format!("- {}", section_row(&found.path, &found.section, SECTION)));
    heading.into_iter().flatten().chain(rows)
}

//! Shown records as a Markdown document.

use crate::domain::knowledge::{markdown_document, record_marks};
use crate::ops::knowledge::ShownRecord;

pub(in crate::faces::cli::commands) fn document(records: &[ShownRecord]) -> String {
    markdown_document(
        records.iter().map(|shown| (&shown.record, record_marks(&shown.record, &shown.state()))),
    )
}

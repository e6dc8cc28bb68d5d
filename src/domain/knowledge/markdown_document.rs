//! Records as one Markdown document for people, grouped by kind.
//!
//! What others wrote can't become a heading, a link, an image, HTML or a control character of the document.

use std::fmt::Write as _;

use super::kinds::{DecisionStatus, RecordKind};
use super::record::Record;
use super::statement::Statement;
use crate::domain::escape_invisible;

/// The document. A mark, such as `stale`, stands behind the name of its record.
pub fn markdown_document<'a>(records: impl IntoIterator<Item = (&'a Record, Vec<String>)>) -> String {
    let records: Vec<(&Record, Vec<String>)> = records.into_iter().collect();
    let mut text = "# Knowledge\n".to_string();
    for kind in RecordKind::ALL {
        let of_kind: Vec<_> = records.iter().filter(|(record, _)| record.id.kind == *kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let _ = write!(text, "\n## {}\n", title(*kind));
        for (record, marks) in of_kind {
            write_record(&mut text, record, marks);
        }
    }
    text
}

fn title(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Note => "Notes",
        RecordKind::Tried => "Tried, and failed",
        RecordKind::Decision => "Decisions",
        RecordKind::Principle => "Principles",
        RecordKind::Pattern => "Patterns",
        RecordKind::File => "Files",
        RecordKind::Relationship => "Relationships",
    }
}

fn write_record(text: &mut String, record: &Record, marks: &[String]) {
    let said = &record.statement;
    let _ = write!(text, "\n### {}", record.id.name);
    if !marks.is_empty() {
        let marks: Vec<String> = marks.iter().map(|mark| plain(mark)).collect();
        let _ = write!(text, " ({})", marks.join(", "));
    }
    text.push('\n');
    if let Some(ends) = &said.ends {
        let _ = write!(text, "\n{} {} {}\n", code(&ends.from), ends.relation, code(&ends.to));
    }
    for part in [&said.description, &said.summary] {
        if !part.trim().is_empty() {
            let _ = write!(text, "\n{}\n", plain(part));
        }
    }
    if !said.rationale.trim().is_empty() {
        let _ = write!(text, "\nWhy: {}\n", plain(&said.rationale));
    }
    let mut lines: Vec<String> = Vec::new();
    let mut list = |label: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            lines.push(format!("- {label}: {}", entries.join(", ")));
        }
    };
    list("type", [&said.pattern_type].into_iter().filter(|it| !it.is_empty()).map(|it| plain(it)).collect());
    list("status", record.status().map(DecisionStatus::as_str).into_iter().map(str::to_string).collect());
    list("impact", said.impact.iter().map(ToString::to_string).collect());
    list("at", record.anchors.iter().map(|anchor| code(&anchor.target.to_string())).collect());
    list("evidence", record.evidence.iter().map(|it| plain(it)).collect());
    list("concepts", record.concepts.iter().map(|it| plain(it)).collect());
    list("symbols", record.symbols.iter().map(|it| code(it)).collect());
    list("tags", record.tags.iter().map(|(tag, value)| code(&format!("{tag}={value}"))).collect());
    list("related", record.related.values().flatten().map(|it| code(it)).collect());
    list("supersedes", record.supersedes.iter().map(|id| code(&id.to_string())).collect());
    list("also", record.also.iter().map(|it| plain(it)).collect());
    lines.push(source(record));
    lines.extend(record.also_said.iter().map(also_said));
    let _ = write!(text, "\n{}\n", lines.join("\n"));
}

fn source(record: &Record) -> String {
    let said = &record.statement;
    let mut line = format!(
        "- by {} on {}, {}, confidence {}",
        plain(&said.origin.author),
        day(said),
        said.basis,
        record.confidence
    );
    let names: Vec<String> = record.confirmations.iter().map(|one| plain(&one.origin.author)).collect();
    if !names.is_empty() {
        let _ = write!(line, ", confirmed by {}", names.join(", "));
    }
    line
}

fn also_said(other: &Statement) -> String {
    format!("- also said by {} on {}: {}", plain(&other.origin.author), day(other), plain(other.headline()))
}

fn day(said: &Statement) -> String {
    said.origin.at.to_string().split('T').next().unwrap_or_default().to_string()
}

/// On one line, without anything that Markdown takes for more than text; code in backticks stays.
fn plain(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = escape_invisible(&line);
    let mut safe = String::with_capacity(line.len());
    for char in line.chars() {
        if matches!(char, '\\' | '<' | '&' | '[' | ']') {
            safe.push('\\');
        }
        safe.push(char);
    }
    let starts = ["#", ">", "-", "+", "*", "=", "|", "```", "~~~", "_"];
    let is_item = safe.trim_start_matches(|char: char| char.is_ascii_digit()).starts_with(['.', ')']);
    match starts.iter().any(|start| safe.starts_with(start)) || is_item {
        true => format!("\\{safe}"),
        false => safe,
    }
}

/// In backticks that the text can't close.
fn code(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'");
    format!("`{}`", escape_invisible(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        for (text, shown) in [
            ("# Heading\n- item", "\\# Heading - item"),
            ("<script>x</script>", "\\<script>x\\</script>"),
            ("![x](http://e.org)", "!\\[x\\](http://e.org)"),
            ("use `a_b` here", "use `a_b` here"),
            ("--locked", "\\--locked"),
            ("1. one", "\\1. one"),
            ("2 locks", "2 locks"),
            ("x\u{1b}[2J", "x\\\\u{1b}\\[2J"),
        ] {
            assert_eq!(plain(text), shown);
        }
        assert_eq!(code("a`b\nc"), "`a'b c`");
    }
}

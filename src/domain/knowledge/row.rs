//! Records as text for a model: one line in a list, the whole of one, and tables of values.
//!
//! What others wrote stands in quotation marks or backticks, on one line, escaped and cut.

use std::fmt::{self, Write as _};

use jiff::tz::TimeZone;

use super::anchor::{AnchorPath, AnchorTarget};
use super::document_sections::DocumentSection;
use super::kinds::{AnchorVerdict, DecisionStatus};
use super::record::Record;
use super::search::MergeState;
use super::statement::{Origin, Statement};
use super::verdict::AnchorFinding;
use crate::domain::PeerText;

#[cfg(test)]
mod tests;

/// The most characters of a sentence in a row, and in a whole record.
const ROW_SENTENCE: usize = 200;
const WHOLE_SENTENCE: usize = 1_000;
/// The most entries of a list in a whole record.
const MOST_ENTRIES: usize = 5;
/// The most characters of a text in a table.
const TABLE_TEXT: usize = 400;

/// What is known about a record in the asker's worktree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RecordState {
    /// What became of each anchor, in their order.
    pub findings: Vec<AnchorFinding>,
    pub merged: MergeState,
    /// Whether a page of it was written.
    pub publication: Publication,
    /// Whether it is a record no longer, and is shown as it was.
    pub is_retired: bool,
}

/// Whether people can review a record as a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Publication {
    Published,
    Unpublished,
    /// The page was edited by hand, and that is not committed.
    Edited,
    /// The record was changed since its page was written.
    Outdated,
    /// Somebody deleted the page and committed that: a proposal to retire the record.
    Deleted,
    /// The page is there and can't be read.
    Unreadable,
    /// Not worth telling.
    Unknown,
}

impl Publication {
    /// The word for programs; `None` if it is not worth telling.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Published => Some("published"),
            Self::Unpublished => Some("unpublished"),
            Self::Edited => Some("edited"),
            Self::Outdated => Some("outdated"),
            Self::Deleted => Some("deleted"),
            Self::Unreadable => Some("unreadable"),
            Self::Unknown => None,
        }
    }
}

impl RecordState {
    /// Nothing is known against it.
    pub fn fresh(record: &Record) -> Self {
        let findings = vec![AnchorFinding::Fresh; record.anchors.len()];
        Self { findings, merged: MergeState::Merged, publication: Publication::Unknown, is_retired: false }
    }

    /// The worst of its anchors.
    pub fn verdict(&self) -> AnchorVerdict {
        self.findings.iter().map(AnchorFinding::verdict).max().unwrap_or(AnchorVerdict::Fresh)
    }

    /// What became of the anchor of that number. What was not judged counts as fresh.
    fn finding(&self, number: usize) -> &AnchorFinding {
        self.findings.get(number).unwrap_or(&AnchorFinding::Fresh)
    }
}

/// One line: `decision one-flock (stale) “One flock guards all names.” src/sys/flock.rs:12`. The place is where it is now.
pub fn index_row(record: &Record, state: &RecordState) -> String {
    let mut row = format!("{} {}", record.id.kind, record.id.name);
    let marks = record_marks(record, state);
    if !marks.is_empty() {
        let _ = write!(row, " ({})", marks.join(", "));
    }
    if !record.statement.headline().is_empty() {
        let _ = write!(row, " {}", sentence(record.statement.headline(), ROW_SENTENCE));
    }
    if let Some(anchor) = record.anchors.first() {
        let now = match state.finding(0) {
            AnchorFinding::Moved { to } => to,
            _ => &anchor.target,
        };
        let _ = write!(row, " {}", place(now));
    }
    if record.anchors.len() > 1 {
        let _ = write!(row, " +{}", record.anchors.len() - 1);
    }
    row
}

/// The whole record in several lines of at most `most_words` words altogether.
pub fn full_text(record: &Record, state: &RecordState, most_words: usize, zone: &TimeZone) -> String {
    let said = &record.statement;
    let mut lines = vec![heading(record, state)];
    // A link may have no text.
    if !said.headline().is_empty() {
        lines.push(sentence(said.headline(), WHOLE_SENTENCE));
    }
    let mut say = |label: &str, text: &str| {
        if !text.is_empty() && text != said.headline() {
            lines.push(format!("{label}: {}", sentence(text, WHOLE_SENTENCE)));
        }
    };
    say("why", &said.rationale);
    say("summary", &said.summary);
    say("type", &said.pattern_type);
    if let Some(ends) = &said.ends {
        lines.push(format!("{} {} {}", code(&ends.from), ends.relation, code(&ends.to)));
    }
    let with_verdicts = record.anchors.iter().enumerate().map(|(number, anchor)| {
        let at = place(&anchor.target);
        match state.finding(number) {
            AnchorFinding::Moved { to } => format!("{at} moved to {}", place(to)),
            finding => format!("{at} {finding}"),
        }
    });
    push_list(&mut lines, "at", with_verdicts.collect());
    push_list(
        &mut lines,
        "evidence",
        record.evidence.iter().map(|text| sentence(text, ROW_SENTENCE)).collect(),
    );
    push_list(&mut lines, "symbols", record.symbols.iter().map(|text| code(text)).collect());
    let tags = record.tags.iter().map(|(tag, value)| match value.as_str() {
        "" => code(tag),
        value => code(&format!("{tag}={value}")),
    });
    push_list(&mut lines, "tags", tags.collect());
    push_list(&mut lines, "supersedes", record.supersedes.iter().map(ToString::to_string).collect());
    lines.push(source(record, zone));
    for other in record.also_said.iter().take(MOST_ENTRIES) {
        lines.push(also_said(other, zone));
    }
    bounded(lines, most_words)
}

/// A section of a document: `AGENTS.md:12 “Testing: Run the tests with --locked.”`, with that many characters at most.
pub fn section_row(path: &AnchorPath, section: &DocumentSection, most: usize) -> String {
    let place = bare_or_code(&format!("{path}:{}", section.line));
    let text = match section.heading.as_str() {
        "" => section.text.clone(),
        heading => format!("{heading}: {}", section.text),
    };
    format!("{place} {}", sentence(&text, most))
}

/// The name, with what speaks against the record.
fn heading(record: &Record, state: &RecordState) -> String {
    let marks = record_marks(record, state);
    match marks.is_empty() {
        true => record.id.to_string(),
        false => format!("{} ({})", record.id, marks.join(", ")),
    }
}

/// What a reader must know before believing a record. `fresh` and `moved` go without saying.
pub fn record_marks(record: &Record, state: &RecordState) -> Vec<String> {
    let mut marks = Vec::new();
    if state.is_retired {
        marks.push("retired".to_string());
    }
    if state.verdict() >= AnchorVerdict::Drifted {
        marks.push(state.verdict().to_string());
    }
    if let Some(new) = record.superseded_by.first() {
        marks.push(format!("superseded by {new}"));
    } else if let Some(status) = record.statement.status.filter(|status| *status != DecisionStatus::Active) {
        marks.push(status.to_string());
    }
    if state.merged == MergeState::Unmerged {
        let branch = record.statement.origin.branch.as_deref();
        marks.push(
            branch.map_or("not merged".to_string(), |branch| {
                format!("on {}, not merged", bare_or_code(branch))
            }),
        );
    }
    match state.publication {
        Publication::Unpublished => marks.push("unpublished".to_string()),
        Publication::Edited => marks.push("edited, not committed".to_string()),
        Publication::Outdated => marks.push("changed since published".to_string()),
        Publication::Deleted => {
            marks.push(format!("page deleted; to retire it: msg knowledge retire {}", record.id));
        }
        Publication::Unreadable => marks.push("page can't be read".to_string()),
        Publication::Published | Publication::Unknown => {}
    }
    marks
}

fn source(record: &Record, zone: &TimeZone) -> String {
    let said = &record.statement;
    let mut text =
        format!("by {}, {}, confidence {}", author(&said.origin, zone), said.basis, record.confidence);
    let names: Vec<String> = record.confirmations.iter().map(|it| name(&it.origin.author)).collect();
    if !names.is_empty() {
        let shown = names.iter().take(MOST_ENTRIES).cloned().collect::<Vec<_>>().join(", ");
        let _ = write!(text, ", confirmed by {shown}");
        push_rest(&mut text, names.len());
    }
    text
}

/// `Alice on 2026-11-17`.
fn author(origin: &Origin, zone: &TimeZone) -> String {
    let day = origin.at.to_zoned(zone.clone()).date();
    format!("{} on {day}", name(&origin.author))
}

fn also_said(other: &Statement, zone: &TimeZone) -> String {
    format!("also said by {}: {}", author(&other.origin, zone), sentence(other.headline(), ROW_SENTENCE))
}

fn push_list(lines: &mut Vec<String>, label: &str, entries: Vec<String>) {
    if entries.is_empty() {
        return;
    }
    let mut line =
        format!("{label}: {}", entries.iter().take(MOST_ENTRIES).cloned().collect::<Vec<_>>().join(", "));
    push_rest(&mut line, entries.len());
    lines.push(line);
}

fn push_rest(line: &mut String, count: usize) {
    if count > MOST_ENTRIES {
        let _ = write!(line, " and {} more", count - MOST_ENTRIES);
    }
}

/// In quotation marks that the text can't close.
fn sentence(text: &str, most: usize) -> String {
    PeerText::new(text).quoted_within(most)
}

/// In backticks that the text can't close, and without quotation marks.
fn code(text: &str) -> String {
    PeerText::new(text.replace(['“', '”'], "\"")).code()
}

fn name(text: &str) -> String {
    PeerText::new(text.replace(['“', '”'], "\"")).name()
}

/// A path with only the usual characters stands as it is; anything else is in backticks.
fn place(target: &AnchorTarget) -> String {
    bare_or_code(&target.to_string())
}

fn bare_or_code(text: &str) -> String {
    let is_usual = |char: char| {
        char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '/' | '-' | '#' | ':' | '+' | '@')
    };
    match text.len() <= 100 && text.chars().all(is_usual) {
        true => text.to_string(),
        false => code(text),
    }
}

/// As many of the lines as have that many words together; a line that has too many is cut within its quotation.
fn bounded(lines: Vec<String>, most: usize) -> String {
    let mut left = most;
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        if words.len() <= left {
            left -= words.len();
            kept.push(line);
            continue;
        }
        let shown = words[..left].join(" ");
        let end = closing(&shown);
        if left > 0 {
            kept.push(format!("{shown}{end}"));
        }
        break;
    }
    kept.join("\n")
}

/// What closes the quotation that a line was cut in.
fn closing(line: &str) -> &'static str {
    let mut open = None;
    for char in line.chars() {
        open = match (open, char) {
            (None, '“' | '`') => Some(char),
            (Some('“'), '”') | (Some('`'), '`') => None,
            (open, _) => open,
        };
    }
    match open {
        Some('“') => "…”",
        Some(_) => "…`",
        None => " …",
    }
}

/// A table as an S-expression: the columns once, then a list for each row.
///
/// ```
/// use ravenry::domain::knowledge::{TableValue, table};
/// let row = vec![TableValue::Symbol("one-flock".into()), TableValue::Number(0.9)];
/// assert_eq!(table(&["name", "confidence"], &[row]), "(:name :confidence)\n(one-flock 0.9)");
/// ```
pub fn table(columns: &[&str], rows: &[Vec<TableValue>]) -> String {
    let header = columns.iter().map(|column| format!(":{column}")).collect::<Vec<_>>().join(" ");
    let mut text = format!("({header})");
    for row in rows {
        let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
        let _ = write!(text, "\n({})", cells.join(" "));
    }
    text
}

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableValue {
    Nil,
    Number(f64),
    /// A name or a path. With unusual characters it is shown as a text.
    Symbol(String),
    /// Anything that somebody wrote.
    Text(String),
}

impl fmt::Display for TableValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |text: &str| {
            let is_usual =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-' | b':');
            !text.is_empty() && text.len() <= 100 && text != "nil" && text.bytes().all(is_usual)
        };
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Symbol(text) if is_plain(text) => f.write_str(text),
            Self::Symbol(text) | Self::Text(text) => f.write_str(&string_literal(text)),
        }
    }
}

/// A text in double quotes that it can't close, on one line.
fn string_literal(text: &str) -> String {
    let cut = PeerText::new(text).quoted_within(TABLE_TEXT);
    let inner = cut.trim_start_matches('“').trim_end_matches('”');
    format!("\"{}\"", inner.replace('\\', "\\\\").replace('"', "\\\""))
}

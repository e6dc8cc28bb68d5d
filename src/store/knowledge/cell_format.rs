//! A cell as a value of the Yjs map: a plain object, which JavaScript reads too.
//!
//! ```text
//! {record: "decision/one-flock", field: "text", writer: "session-0af3", ms: 1794700676113, is: "statement",
//!  description: "…", rationale: "…", status: "active", basis: "tested", author: "Alice", at: "2026-11-17T…Z"}
//! ```
//!
//! Empty texts, missing values and a counter of 0 are left out. Keys that we do not know are ignored. A word that we do
//! not know, such as another `is`, makes the cell one of a newer version: it is skipped and stays in the document.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use yrs::{Any, Number};

use crate::domain::knowledge::{
    Anchor, AnchorPath, AnchorTarget, Basis, Cell, CellKey, CellValue, DecisionStatus, Origin, RecordField,
    RecordId, RecordKind, RecordName, RelationEnds, RelationType, Stamp, Statement, TextHash, Version,
    WriterId,
};

pub(super) type CellFields = HashMap<String, Any>;

/// Why a value is not a cell.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum NotACell {
    /// A newer version wrote it.
    Newer,
    Malformed(String),
}

/// The record that a value is about, whether or not the rest of it is understood.
pub(super) fn record_of(value: &Any) -> Option<&str> {
    match value {
        Any::Map(fields) => text(fields, "record"),
        _ => None,
    }
}

pub(super) fn encode(cell: &Cell) -> Any {
    let mut fields = CellFields::new();
    put(&mut fields, "record", &cell.key.record.to_string());
    put(&mut fields, "field", cell.key.field.as_str());
    put(&mut fields, "entry", &cell.key.entry);
    put_version(&mut fields, &cell.version());
    match &cell.value {
        CellValue::Removed => put(&mut fields, "is", "removed"),
        CellValue::Present(text) => {
            put(&mut fields, "is", "present");
            put(&mut fields, "text", text);
        }
        CellValue::Statement { statement, replaces } => {
            put(&mut fields, "is", "statement");
            put_statement(&mut fields, statement);
            if !replaces.is_empty() {
                let versions = replaces.iter().map(|version| {
                    let mut fields = CellFields::new();
                    put_version(&mut fields, version);
                    Any::Map(Arc::new(fields))
                });
                fields.insert("replaces".to_string(), Any::Array(versions.collect()));
            }
        }
        CellValue::Anchor(anchor) => {
            put(&mut fields, "is", "anchor");
            put_anchor(&mut fields, anchor);
        }
        CellValue::Confidence(confidence) => {
            put(&mut fields, "is", "confidence");
            fields.insert("confidence".to_string(), Any::Number(Number::Float(*confidence)));
        }
        CellValue::Confirmation(origin) => {
            put(&mut fields, "is", "confirmation");
            put_origin(&mut fields, origin);
        }
    }
    Any::Map(Arc::new(fields))
}

fn put(fields: &mut CellFields, key: &str, text: &str) {
    if !text.is_empty() {
        fields.insert(key.to_string(), Any::String(text.into()));
    }
}

fn put_number(fields: &mut CellFields, key: &str, number: i64) {
    fields.insert(key.to_string(), Any::Number(Number::Int(number)));
}

fn put_version(fields: &mut CellFields, version: &Version) {
    put(fields, "writer", version.writer.as_str());
    put_number(fields, "ms", version.stamp.milliseconds);
    if version.stamp.counter > 0 {
        put_number(fields, "counter", version.stamp.counter.into());
    }
}

fn put_origin(fields: &mut CellFields, origin: &Origin) {
    put(fields, "author", &origin.author);
    put(fields, "at", &origin.at.to_string());
    put(fields, "commit", origin.commit.as_deref().unwrap_or_default());
    put(fields, "branch", origin.branch.as_deref().unwrap_or_default());
}

fn put_statement(fields: &mut CellFields, statement: &Statement) {
    put(fields, "description", &statement.description);
    put(fields, "rationale", &statement.rationale);
    put(fields, "summary", &statement.summary);
    put(fields, "status", statement.status.map_or("", DecisionStatus::as_str));
    if let Some(impact) = statement.impact {
        put_number(fields, "impact", impact.into());
    }
    put(fields, "patternType", &statement.pattern_type);
    if let Some(ends) = &statement.ends {
        put(fields, "from", &ends.from);
        put(fields, "to", &ends.to);
        put(fields, "relation", ends.relation.as_str());
    }
    put(fields, "basis", statement.basis.as_str());
    put_origin(fields, &statement.origin);
}

fn put_anchor(fields: &mut CellFields, anchor: &Anchor) {
    put(fields, "path", anchor.target.path().map_or("", AnchorPath::as_str));
    let put_hash = |fields: &mut CellFields, hash: &Option<TextHash>| {
        put(fields, "hash", hash.as_ref().map_or("", TextHash::as_str));
    };
    match &anchor.target {
        AnchorTarget::File { .. } => {}
        AnchorTarget::Symbol { symbol, hash, .. } => {
            put(fields, "symbol", symbol);
            put_hash(fields, hash);
        }
        AnchorTarget::Lines { first, last, text, hash, .. } => {
            put_number(fields, "first", (*first).into());
            put_number(fields, "last", (*last).into());
            let lines = text.iter().map(|line| Any::String(line.as_str().into()));
            fields.insert("lines".to_string(), Any::Array(lines.collect()));
            put_hash(fields, hash);
        }
        AnchorTarget::Command { command } => put(fields, "command", command),
        AnchorTarget::Error { text } => put(fields, "error", text),
    }
    put(fields, "commit", anchor.commit.as_deref().unwrap_or_default());
    put(fields, "file", anchor.file.as_ref().map_or("", TextHash::as_str));
}

pub(super) fn decode(value: &Any) -> Result<Cell, NotACell> {
    let Any::Map(fields) = value else { return Err(malformed("it is not an object")) };
    let field = word(fields, "field", RecordField::parse)?;
    let version = version(fields)?;
    let key = CellKey {
        record: record(fields)?,
        field,
        entry: text(fields, "entry").unwrap_or_default().to_string(),
        writer: version.writer,
    };
    let value = match required(fields, "is")? {
        "removed" => CellValue::Removed,
        "present" => CellValue::Present(owned(fields, "text")),
        "statement" => {
            CellValue::Statement { statement: Box::new(statement(fields)?), replaces: replaces(fields)? }
        }
        "anchor" => CellValue::Anchor(Box::new(anchor(fields)?)),
        "confidence" => match fields.get("confidence") {
            Some(Any::Number(number)) => match number.as_f64() {
                Some(confidence) if (0.0..=1.0).contains(&confidence) => CellValue::Confidence(confidence),
                _ => return Err(malformed("`confidence` is not between 0 and 1")),
            },
            _ => return Err(malformed("`confidence` is not a number")),
        },
        "confirmation" => CellValue::Confirmation(origin(fields)?),
        _ => return Err(NotACell::Newer),
    };
    if !is_value_of(field, &value) {
        return Err(malformed("`is` does not fit `field`"));
    }
    Ok(Cell { key, stamp: version.stamp, value })
}

/// Whether a field can have such a value.
fn is_value_of(field: RecordField, value: &CellValue) -> bool {
    match value {
        CellValue::Removed => true,
        CellValue::Statement { .. } => field == RecordField::Text,
        CellValue::Anchor(_) => field == RecordField::Anchor,
        CellValue::Confidence(_) => field == RecordField::Confidence,
        CellValue::Confirmation(_) => field == RecordField::Confirmation,
        CellValue::Present(_) => !matches!(
            field,
            RecordField::Text | RecordField::Anchor | RecordField::Confidence | RecordField::Confirmation
        ),
    }
}

fn malformed(reason: impl Into<String>) -> NotACell {
    NotACell::Malformed(reason.into())
}

fn text<'a>(fields: &'a CellFields, key: &str) -> Option<&'a str> {
    match fields.get(key) {
        Some(Any::String(text)) => Some(text),
        _ => None,
    }
}

fn owned(fields: &CellFields, key: &str) -> String {
    text(fields, key).unwrap_or_default().to_string()
}

fn optional(fields: &CellFields, key: &str) -> Option<String> {
    text(fields, key).map(str::to_string)
}

fn required<'a>(fields: &'a CellFields, key: &str) -> Result<&'a str, NotACell> {
    text(fields, key).ok_or_else(|| malformed(format!("`{key}` is missing or not a text")))
}

/// A word of a closed set. One that we do not know comes from a newer version.
fn word<T>(fields: &CellFields, key: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, NotACell> {
    parse(required(fields, key)?).ok_or(NotACell::Newer)
}

fn optional_word<T>(
    fields: &CellFields,
    key: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, NotACell> {
    fields.get(key).map(|_| word(fields, key, parse)).transpose()
}

fn number<T: TryFrom<i64>>(fields: &CellFields, key: &str) -> Result<Option<T>, NotACell> {
    let wrong = || malformed(format!("`{key}` is not a whole number in its range"));
    match fields.get(key) {
        None => Ok(None),
        Some(Any::Number(number)) => {
            let number = number.as_i64().and_then(|number| T::try_from(number).ok());
            number.map(Some).ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

fn record(fields: &CellFields) -> Result<RecordId, NotACell> {
    let (kind, name) = required(fields, "record")?.split_once('/').unwrap_or_default();
    if kind.is_empty() {
        return Err(malformed("`record` is not a kind and a name"));
    }
    let name = RecordName::new(name).map_err(|error| malformed(error.to_string()))?;
    Ok(RecordId::new(RecordKind::parse(kind).ok_or(NotACell::Newer)?, name))
}

fn version(fields: &CellFields) -> Result<Version, NotACell> {
    let writer = WriterId::new(required(fields, "writer")?);
    let milliseconds = number(fields, "ms")?.ok_or_else(|| malformed("`ms` is missing"))?;
    Ok(Version {
        stamp: Stamp { milliseconds, counter: number(fields, "counter")?.unwrap_or_default() },
        writer: writer.ok_or_else(|| malformed("`writer` has other characters than it may have"))?,
    })
}

fn replaces(fields: &CellFields) -> Result<Vec<Version>, NotACell> {
    let wrong = || malformed("`replaces` is not a list of versions");
    let one = |value: &Any| match value {
        Any::Map(fields) => version(fields),
        _ => Err(wrong()),
    };
    match fields.get("replaces") {
        None => Ok(Vec::new()),
        Some(Any::Array(versions)) => versions.iter().map(one).collect(),
        Some(_) => Err(wrong()),
    }
}

fn origin(fields: &CellFields) -> Result<Origin, NotACell> {
    let at: Result<Timestamp, _> = required(fields, "at")?.parse();
    Ok(Origin {
        author: owned(fields, "author"),
        at: at.map_err(|_| malformed("`at` is not a time such as 2026-11-17T09:00:00Z"))?,
        commit: commit(fields)?,
        branch: optional(fields, "branch"),
    })
}

/// The id of a commit. It may be given to git, which would take a text with a `-` for an option.
fn commit(fields: &CellFields) -> Result<Option<String>, NotACell> {
    let is_id = |text: &String| text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match optional(fields, "commit") {
        Some(text) if !is_id(&text) => Err(malformed("`commit` is not the id of a commit")),
        commit => Ok(commit),
    }
}

fn statement(fields: &CellFields) -> Result<Statement, NotACell> {
    let relation = optional_word(fields, "relation", RelationType::parse)?;
    let ends = relation.map(|relation| RelationEnds {
        from: owned(fields, "from"),
        to: owned(fields, "to"),
        relation,
    });
    Ok(Statement {
        description: owned(fields, "description"),
        rationale: owned(fields, "rationale"),
        summary: owned(fields, "summary"),
        status: optional_word(fields, "status", DecisionStatus::parse)?,
        impact: number(fields, "impact")?,
        pattern_type: owned(fields, "patternType"),
        ends,
        basis: word(fields, "basis", Basis::parse)?,
        origin: origin(fields)?,
    })
}

fn anchor(fields: &CellFields) -> Result<Anchor, NotACell> {
    let hash = |key: &str| text(fields, key).map(TextHash::stored);
    let target = match (text(fields, "command"), text(fields, "error")) {
        (Some(command), _) => AnchorTarget::Command { command: command.to_string() },
        (None, Some(text)) => AnchorTarget::Error { text: text.to_string() },
        (None, None) => {
            let path = AnchorPath::new(required(fields, "path")?);
            let path = path.map_err(|error| malformed(error.to_string()))?;
            match (text(fields, "symbol"), number(fields, "first")?, number(fields, "last")?) {
                (Some(symbol), ..) => {
                    AnchorTarget::Symbol { path, symbol: symbol.to_string(), hash: hash("hash") }
                }
                (None, Some(first), Some(last)) => {
                    AnchorTarget::Lines { path, first, last, text: lines(fields)?, hash: hash("hash") }
                }
                _ => AnchorTarget::File { path },
            }
        }
    };
    Ok(Anchor { target, commit: commit(fields)?, file: hash("file") })
}

fn lines(fields: &CellFields) -> Result<Vec<String>, NotACell> {
    let Some(Any::Array(lines)) = fields.get("lines") else { return Ok(Vec::new()) };
    let line = |line: &Any| match line {
        Any::String(line) => Ok(line.to_string()),
        _ => Err(malformed("`lines` is not a list of texts")),
    };
    lines.iter().map(line).collect()
}

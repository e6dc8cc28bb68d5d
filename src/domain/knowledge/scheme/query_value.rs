//! The value of an expression as faces see it: a tree of plain data, and how it is printed.

use std::fmt::{self, Write};

/// A value without anything of the evaluator in it. A face turns it into JSON or prints it.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryValue {
    Nil,
    Truth(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    /// A word of a closed set, such as `active`.
    Symbol(String),
    Keyword(String),
    List(Vec<QueryValue>),
    Map(Vec<(String, QueryValue)>),
}

/// As an S-expression. Lists of maps are tables: the keys once, and then a row for each.
impl fmt::Display for QueryValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Float(float) => write_float(f, *float),
            Self::Text(text) => write_text(f, text),
            Self::Symbol(name) => write_name(f, "", name),
            Self::Keyword(name) => write_name(f, ":", name),
            Self::Map(entries) => write_map(f, entries),
            Self::List(items) => match columns(items) {
                Some(columns) => write_table(f, &columns, items),
                None => write_list(f, items),
            },
        }
    }
}

/// Four digits are enough to read.
fn write_float(f: &mut fmt::Formatter<'_>, float: f64) -> fmt::Result {
    let rounded = (float * 10_000.0).round() / 10_000.0;
    if rounded.is_finite() && float.abs() >= 0.001 { write!(f, "{rounded}") } else { write!(f, "{float}") }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for char in text.chars() {
        match char {
            '"' | '\\' => write!(f, "\\{char}")?,
            '\n' => f.write_str("\\n")?,
            char if char.is_control() => write!(f, "{}", char.escape_default())?,
            char => f.write_char(char)?,
        }
    }
    f.write_char('"')
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || "-_/.*+<>=!?#&%".contains(char))
}

fn write_name(f: &mut fmt::Formatter<'_>, prefix: &str, name: &str) -> fmt::Result {
    if is_word(name) { write!(f, "{prefix}{name}") } else { write_text(f, name) }
}

fn write_list(f: &mut fmt::Formatter<'_>, items: &[QueryValue]) -> fmt::Result {
    let are_rows = items.iter().any(|item| matches!(item, QueryValue::Map(_)));
    f.write_char('(')?;
    for (nth, item) in items.iter().enumerate() {
        if nth > 0 {
            f.write_str(if are_rows { "\n " } else { " " })?;
        }
        write!(f, "{item}")?;
    }
    f.write_char(')')
}

fn write_map(f: &mut fmt::Formatter<'_>, entries: &[(String, QueryValue)]) -> fmt::Result {
    f.write_char('(')?;
    for (nth, (key, value)) in entries.iter().enumerate() {
        if nth > 0 {
            f.write_char(' ')?;
        }
        write_name(f, ":", key)?;
        write!(f, " {value}")?;
    }
    f.write_char(')')
}

/// The keys of a list of maps, if most of them have most of the keys.
fn columns(items: &[QueryValue]) -> Option<Vec<&str>> {
    let mut columns: Vec<&str> = Vec::new();
    let mut filled = 0;
    for item in items {
        let QueryValue::Map(entries) = item else { return None };
        filled += entries.len();
        for (key, _) in entries {
            if !columns.contains(&key.as_str()) {
                columns.push(key);
            }
            if columns.len() > 40 {
                return None;
            }
        }
    }
    (items.len() > 1 && !columns.is_empty() && 2 * filled >= items.len() * columns.len()).then_some(columns)
}

fn write_table(f: &mut fmt::Formatter<'_>, columns: &[&str], rows: &[QueryValue]) -> fmt::Result {
    f.write_str("(table (")?;
    for (nth, column) in columns.iter().enumerate() {
        if nth > 0 {
            f.write_char(' ')?;
        }
        write_name(f, ":", column)?;
    }
    f.write_char(')')?;
    for row in rows {
        let QueryValue::Map(entries) = row else { continue };
        f.write_str("\n (")?;
        for (nth, column) in columns.iter().enumerate() {
            if nth > 0 {
                f.write_char(' ')?;
            }
            match entries.iter().find(|(key, _)| key == column) {
                Some((_, value)) => write!(f, "{value}")?,
                None => f.write_str("nil")?,
            }
        }
        f.write_char(')')?;
    }
    f.write_char(')')
}

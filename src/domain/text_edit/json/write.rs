//! Writes JSON in the style of the file that it goes into.

use crate::domain::text_edit::newline_of;

/// A value to write.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Bool(bool),
    Number(u64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl Json {
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Json)>) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }

    /// The value inside objects with these names, outermost first.
    pub(super) fn beneath(self, names: &[String]) -> Self {
        names.iter().rev().fold(self, |value, name| Self::Object(vec![(name.clone(), value)]))
    }

    pub(super) fn on_lines(&self, style: &Style, indent: &str) -> String {
        let deeper = format!("{indent}{}", style.unit);
        let lines = |open: char, items: Vec<String>, close: char| {
            let separator = format!(",{}{deeper}", style.newline);
            let newline = style.newline;
            format!("{open}{newline}{deeper}{}{newline}{indent}{close}", items.join(&separator))
        };
        match self {
            Self::List(items) if !items.is_empty() => {
                lines('[', items.iter().map(|item| item.on_lines(style, &deeper)).collect(), ']')
            }
            Self::Object(members) if !members.is_empty() => {
                let member = |(name, value): &(String, Self)| {
                    format!("{}: {}", quoted(name), value.on_lines(style, &deeper))
                };
                lines('{', members.iter().map(member).collect(), '}')
            }
            other => other.on_one_line(Spacing::Spaced),
        }
    }

    pub(super) fn on_one_line(&self, spacing: Spacing) -> String {
        let space = spacing.text();
        let comma = format!(",{space}");
        match self {
            Self::Bool(yes) => yes.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => quoted(text),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.on_one_line(spacing)).collect();
                format!("[{}]", items.join(&comma))
            }
            Self::Object(members) => {
                let member = |(name, value): &(String, Self)| {
                    format!("{}:{space}{}", quoted(name), value.on_one_line(spacing))
                };
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(&comma))
            }
        }
    }
}

/// What follows a comma or a colon on one line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Spacing {
    Compact,
    Spaced,
}

impl Spacing {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Compact => "",
            Self::Spaced => " ",
        }
    }
}

/// The formatting of a file.
pub(super) struct Style {
    pub(super) newline: &'static str,
    /// One step of indentation.
    pub(super) unit: String,
}

impl Style {
    pub(super) fn of(text: &str) -> Self {
        let indents =
            text.lines().map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
        // The first indented line is usually a member of the outermost object; lines of comment blocks have one space.
        let unit = indents.into_iter().find(|indent| indent.len() > 1 || *indent == "\t");
        Self { newline: newline_of(text), unit: unit.unwrap_or("  ").to_string() }
    }
}

/// The text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // In older JavaScript, line separators are not allowed in strings.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

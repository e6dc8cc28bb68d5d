//! Edits of an array of tables: every element is a table with the header `[[name]]`.

use std::ops::Range;

use toml_edit::{Document, Item, Table, Value};

use super::super::json::quoted;
use super::super::{EditError, Splice, bytes_of, newline_of, spliced, text_of};

/// A file with an array of tables of this name at its top level.
#[derive(Clone, Debug)]
pub struct TableList {
    bom: bool,
    text: String,
    name: &'static str,
}

/// One table of the list, for a check of what is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedTable {
    /// The line of its header, from 1.
    pub line: usize,
    pub members: Vec<(String, ListedValue)>,
}

/// A value, as far as a check needs it.
#[derive(Clone, Debug, PartialEq)]
pub enum ListedValue {
    Text(String),
    Number(f64),
    Other,
}

impl TableList {
    pub fn parse(bytes: &[u8], name: &'static str) -> Result<Self, EditError> {
        let (bom, text) = text_of(bytes)?;
        let list = Self { bom, text: text.to_string(), name };
        list.texts("")?;
        Ok(list)
    }

    pub fn into_bytes(self) -> Vec<u8> {
        bytes_of(self.bom, self.text)
    }

    /// The text of this key in every table, in order; `None` where a table has none.
    pub fn texts(&self, key: &str) -> Result<Vec<Option<String>>, EditError> {
        let document = self.document()?;
        let text = |table: &Table| table.get(key).and_then(Item::as_str).map(str::to_string);
        Ok(self.tables_of(&document)?.into_iter().map(text).collect())
    }

    /// The tables with all their members, in order.
    pub fn tables(&self) -> Result<Vec<ListedTable>, EditError> {
        let document = self.document()?;
        let value = |item: &Item| match item.as_value() {
            Some(Value::String(text)) => ListedValue::Text(text.value().clone()),
            Some(Value::Integer(number)) => ListedValue::Number(*number.value() as f64),
            Some(Value::Float(number)) => ListedValue::Number(*number.value()),
            _ => ListedValue::Other,
        };
        let listed = |table: &Table| {
            let start = table.span().map_or(0, |span| span.start);
            let line = self.text[..start].matches('\n').count() + 1;
            let members = table.iter().map(|(key, item)| (key.to_string(), value(item))).collect();
            ListedTable { line, members }
        };
        Ok(self.tables_of(&document)?.into_iter().map(listed).collect())
    }

    /// Replaces the text of a key in the table at this index, if it has that key.
    pub fn set(&mut self, index: usize, key: &str, text: &str) -> Result<(), EditError> {
        let document = self.document()?;
        let tables = self.tables_of(&document)?;
        let value = tables.get(index).and_then(|table| table.get(key));
        let splice = value.and_then(Item::span).map(|range| Splice { range, with: quoted(text) });
        self.apply(splice.into_iter().collect())
    }

    /// Adds a table at the end of the file: keys with their values as they are written.
    pub fn add(&mut self, body: &[(&str, String)]) -> Result<(), EditError> {
        let (newline, end) = (newline_of(&self.text), self.text.len());
        let gap = match self.text.as_str() {
            "" => String::new(),
            text if text.ends_with('\n') => newline.to_string(),
            _ => newline.repeat(2),
        };
        let lines: String = body.iter().map(|(key, value)| format!("{key} = {value}{newline}")).collect();
        let with = format!("{gap}[[{}]]{newline}{lines}", self.name);
        self.apply(vec![Splice { range: end..end, with }])
    }

    /// Removes the tables at these indices, each with the blank line before it.
    pub fn remove(&mut self, indices: &[usize]) -> Result<(), EditError> {
        let document = self.document()?;
        let tables = self.tables_of(&document)?;
        let taken = indices.iter().filter_map(|index| tables.get(*index));
        let ranges: Vec<Range<usize>> = taken.filter_map(|table| self.range(table)).collect();
        self.apply(ranges.into_iter().map(|range| Splice { range, with: String::new() }).collect())
    }

    /// The lines of a table, with the blank line before its header.
    fn range(&self, table: &Table) -> Option<Range<usize>> {
        let header = table.span()?.start;
        let start = self.text[..header].rfind('\n').map_or(0, |newline| newline + 1);
        let ends = table.iter().filter_map(|(_, value)| value.span()).map(|span| self.line_end(span.end));
        let end = ends.chain([self.line_end(header)]).max()?;
        let before = &self.text[..start];
        let above = before.strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest));
        let start = above.filter(|above| above.is_empty() || above.ends_with('\n')).map_or(start, str::len);
        Some(start..end)
    }

    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }

    fn document(&self) -> Result<Document<&str>, EditError> {
        Document::parse(self.text.as_str()).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let reason = error.message().lines().next().unwrap_or("it is not valid TOML").trim().to_string();
            EditError::at(&self.text, start, reason)
        })
    }

    fn tables_of<'d>(&self, document: &'d Document<&str>) -> Result<Vec<&'d Table>, EditError> {
        match document.as_table().get(self.name) {
            None => Ok(Vec::new()),
            Some(Item::ArrayOfTables(tables)) => Ok(tables.iter().collect()),
            Some(item) => {
                let start = item.span().map_or(0, |span| span.start);
                let reason = format!("`{0}` is not written as `[[{0}]]`", self.name);
                Err(EditError::at(&self.text, start, reason))
            }
        }
    }

    fn apply(&mut self, splices: Vec<Splice>) -> Result<(), EditError> {
        let next = Self { text: spliced(&self.text, splices), ..self.clone() };
        next.texts("")?;
        *self = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> TableList {
        TableList::parse(text.as_bytes(), "hooks").unwrap()
    }

    fn text(list: TableList) -> String {
        String::from_utf8(list.into_bytes()).unwrap()
    }

    #[test]
    fn what_is_added_can_be_removed() {
        for before in [
            "",
            "model = \"x\" # mine\n",
            "\u{feff}a = 1\r\n\r\n[b] # c\r\nx = 1\r\n",
            "[[hooks]]\nevent = \"Stop\"\ncommand = \"theirs\"\n",
            "[[hooks]] # first\ncommand = \"theirs\"\n\n\n[x]\n",
        ] {
            let mut added = list(before);
            let theirs = added.texts("command").unwrap().len();
            for command in ["one", "two"] {
                added.add(&[("event", quoted("Stop")), ("command", quoted(command))]).unwrap();
            }
            let commands = added.texts("command").unwrap();
            assert_eq!(commands[theirs..], [Some("one".to_string()), Some("two".to_string())]);
            added.set(theirs, "command", "a \"new\" one").unwrap();
            assert_eq!(added.texts("command").unwrap()[theirs].as_deref(), Some("a \"new\" one"));
            let mut first_gone = added.clone();
            first_gone.remove(&[theirs]).unwrap();
            assert_eq!(first_gone.texts("command").unwrap()[theirs].as_deref(), Some("two"));
            added.remove(&[theirs, theirs + 1]).unwrap();
            assert_eq!(text(added), before);
        }
    }

    #[test]
    fn tables_of_others_stay() {
        let theirs = "[[hooks]]\nevent = \"Stop\"\ncommand = \"theirs\"\n";
        let ours = "\n[[hooks]]\nevent = \"Stop\"\ncommand = \"ours\" # x\ntimeout = 10\n";
        for (before, index) in [(format!("a = 1\n{ours}\n{theirs}"), 0), (format!("{theirs}{ours}"), 1)] {
            let mut left = list(&before);
            left.remove(&[index]).unwrap();
            assert_eq!(left.texts("command").unwrap(), [Some("theirs".to_string())]);
            assert_eq!(text(left), before.replace(ours, ""));
        }
    }

    #[test]
    fn refused_with_its_place() {
        for (text, place) in
            [("a = 1\nb = = 2\n", (2, 5)), ("a = 1\nhooks = []\n", (2, 9)), ("[hooks]\n", (1, 1))]
        {
            let refused = TableList::parse(text.as_bytes(), "hooks").unwrap_err();
            assert_eq!((refused.line, refused.column), place, "{refused}");
        }
    }
}

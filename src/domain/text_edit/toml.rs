//! Edits of TOML tables that hold one text each.
//!
//! `toml_edit` parses: it bounds nesting at 80 levels and reports where each value is. The edits are ours.
//! `toml_edit::DocumentMut` can edit as well, but it does not write the rest of the file byte for byte, not even if
//! nothing was changed. Measured with 0.25.17:
//!
//! | file | written by `DocumentMut` |
//! | --- | --- |
//! | `a = 1␍⏎[t]␍⏎b = 2␍⏎` | `a = 1⏎[t]⏎b = 2⏎`: every carriage return is deleted (`RawString::encode`; toml-rs/toml#1213) |
//! | `a = 1` | `a = 1⏎`: a line end is added (toml-rs/toml#1158) |
//! | `a.x = 1⏎b = 1⏎a.y = 2⏎` | `a.x = 1⏎a.y = 2⏎b = 1⏎`: dotted keys change places (toml-rs/toml#163) |
//! | `# mine⏎[hooks.state.x]⏎…`, `x` removed | the user's comment above the table is deleted with it |

pub mod table_list;
mod whole_table;

use std::ops::Range;

use toml_edit::{Document, Item, TableLike};

use super::json::quoted;
use super::{EditError, Splice, bytes_of, newline_of, spliced, text_of};

/// A table in the file, and the text that it holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TableEntry {
    pub name: String,
    /// `None`: the table does not have the key.
    pub text: Option<String>,
}

/// A file in which `[above.name]` has `key = "text"`.
#[derive(Clone, Debug)]
pub struct Tables<'a> {
    bom: bool,
    text: String,
    above: &'a [&'a str],
    key: &'a str,
}

impl<'a> Tables<'a> {
    pub fn parse(bytes: &[u8], above: &'a [&'a str], key: &'a str) -> Result<Self, EditError> {
        let (bom, text) = text_of(bytes)?;
        let tables = Self { bom, text: text.to_string(), above, key };
        tables.entries()?;
        Ok(tables)
    }

    pub fn into_bytes(self) -> Vec<u8> {
        bytes_of(self.bom, self.text)
    }

    pub fn entries(&self) -> Result<Vec<TableEntry>, EditError> {
        let document = self.document()?;
        let Some(table) = self.above(&document)? else { return Ok(Vec::new()) };
        let entry = |(name, item): (&str, &Item)| {
            let text = item.as_table_like().and_then(|table| table.get(self.key)).and_then(Item::as_str);
            TableEntry { name: name.to_string(), text: text.map(str::to_string) }
        };
        Ok(table.iter().map(entry).collect())
    }

    /// Sets the text of a table. If there is no such table, adds it at the end of the file.
    pub fn put(&mut self, name: &str, text: &str) -> Result<(), EditError> {
        let document = self.document()?;
        let item = self.above(&document)?.and_then(|table| table.get(name));
        let splice = match item.map(|item| (item, item.as_table_like())) {
            None => self.new_table(&quoted(name), &[(self.key, quoted(text))]),
            Some((item, None)) => return Err(self.misfit(item, name)),
            Some((item, Some(table))) => match table.get(self.key) {
                Some(value) if value.as_str() == Some(text) => return Ok(()),
                Some(value) => Splice { range: self.range_of(value, name)?, with: quoted(text) },
                None => self.new_line(item, name, text)?,
            },
        };
        self.apply(vec![splice])
    }

    /// Removes the text, and the table if it has nothing else.
    pub fn take(&mut self, name: &str) -> Result<(), EditError> {
        let document = self.document()?;
        let found = self.above(&document)?.and_then(|table| table.get_key_value(name));
        let Some((key, item)) = found else { return Ok(()) };
        let Some(table) = item.as_table_like() else { return Ok(()) };
        let Some(value) = table.get(self.key) else { return Ok(()) };
        let value = self.range_of(value, name)?;
        let (line, end) = (self.line_start(value.start), self.line_end(value.end));
        let is_alone = table.len() == 1;
        let range = match item {
            Item::Table(table) if is_alone && !table.is_dotted() => {
                let header = table.span().map_or(line, |span| self.line_start(span.start));
                self.without_gap(header.min(line))..end
            }
            _ if self.is_inline(&document) => {
                let start = key.span().filter(|_| is_alone).ok_or_else(|| self.misfit(item, name))?.start;
                self.with_comma(start..item.span().map_or(value.end, |span| span.end.max(value.end)))
            }
            // `"name" = { key = "text" }`, all on a line of its own.
            _ if is_alone => line..end,
            Item::Table(_) => line..end,
            _ => return Err(self.misfit(item, name)),
        };
        self.apply(vec![Splice { range, with: String::new() }])
    }

    /// A new table at the end of the file. The name and the values are already in TOML syntax.
    fn new_table(&self, name: &str, body: &[(&str, String)]) -> Splice {
        let (newline, end) = (newline_of(&self.text), self.text.len());
        let gap = match self.text.as_str() {
            "" => String::new(),
            text if text.ends_with('\n') => newline.to_string(),
            _ => newline.repeat(2),
        };
        let lines: String = body.iter().map(|(key, value)| format!("{key} = {value}{newline}")).collect();
        Splice { range: end..end, with: format!("{gap}[{}.{name}]{newline}{lines}", self.above.join(".")) }
    }

    /// Adds the text below the header of a table that has other keys.
    fn new_line(&self, item: &Item, name: &str, text: &str) -> Result<Splice, EditError> {
        let header = match item {
            Item::Table(table) if !table.is_dotted() && !table.is_implicit() => table.span(),
            _ => None,
        };
        let header = header.ok_or_else(|| self.misfit(item, name))?;
        let at = self.line_end(header.start);
        let newline = newline_of(&self.text);
        let gap = if self.text[..at].ends_with('\n') { "" } else { newline };
        Ok(Splice { range: at..at, with: format!("{gap}{} = {}{newline}", self.key, quoted(text)) })
    }

    /// Whether the tables are all within one inline value, `state = { "name" = { key = "text" }, … }`.
    fn is_inline(&self, document: &Document<&str>) -> bool {
        let mut here: Option<&dyn TableLike> = Some(document.as_table());
        self.above.iter().any(|word| {
            let item = here.and_then(|table| table.get(word));
            here = item.and_then(Item::as_table_like);
            item.is_some_and(Item::is_inline_table)
        })
    }

    /// An element of an inline value with the comma after it, or, for the last one, the comma before it.
    fn with_comma(&self, range: Range<usize>) -> Range<usize> {
        let (before, after) = (self.text[..range.start].trim_end(), &self.text[range.end..]);
        match (after.trim_start().strip_prefix(','), before.strip_suffix(',')) {
            (Some(rest), _) => range.start..self.text.len() - rest.trim_start().len(),
            (None, Some(rest)) => rest.len()..range.end,
            (None, None) => range,
        }
    }

    /// The position of the blank line that was inserted before the table, if there is one.
    fn without_gap(&self, at: usize) -> usize {
        let before = &self.text[..at];
        let line = before.strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest));
        match line {
            Some(rest) if rest.is_empty() || rest.ends_with('\n') => rest.len(),
            _ => at,
        }
    }

    fn document(&self) -> Result<Document<&str>, EditError> {
        Document::parse(self.text.as_str()).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let reason = error.message().lines().next().unwrap_or("it is not valid TOML").trim().to_string();
            EditError::at(&self.text, start, reason)
        })
    }

    fn above<'d>(&self, document: &'d Document<&str>) -> Result<Option<&'d dyn TableLike>, EditError> {
        let mut here: &dyn TableLike = document.as_table();
        for (depth, word) in self.above.iter().enumerate() {
            let Some(item) = here.get(word) else { return Ok(None) };
            let Some(table) = item.as_table_like() else {
                return Err(self.misfit(item, &self.above[..=depth].join(".")));
            };
            here = table;
        }
        Ok(Some(here))
    }

    fn misfit(&self, item: &Item, name: &str) -> EditError {
        let start = item.span().map_or(0, |span| span.start);
        let reason = format!("`{name}` is not a table");
        EditError::at(&self.text, start, reason)
    }

    fn range_of(&self, item: &Item, name: &str) -> Result<Range<usize>, EditError> {
        item.span().ok_or_else(|| self.misfit(item, name))
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }

    fn apply(&mut self, splices: Vec<Splice>) -> Result<(), EditError> {
        let next = Self { text: spliced(&self.text, splices), ..self.clone() };
        next.entries()?;
        *self = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOVE: [&str; 2] = ["hooks", "state"];

    fn tables(text: &str) -> Tables<'static> {
        Tables::parse(text.as_bytes(), &ABOVE, "trusted_hash").unwrap()
    }

    fn put(text: &str, name: &str, hash: &str) -> String {
        let mut tables = tables(text);
        tables.put(name, hash).unwrap();
        String::from_utf8(tables.into_bytes()).unwrap()
    }

    fn take(text: &str, name: &str) -> String {
        let mut tables = tables(text);
        tables.take(name).unwrap();
        String::from_utf8(tables.into_bytes()).unwrap()
    }

    #[test]
    fn what_is_put_can_be_taken() {
        let texts = [
            "",
            "model = \"x\" # mine\n",
            "model = \"x\"\r\n\r\n[tui] # c\r\nx = 1\r\n",
            "\u{feff}a = 1\n",
            "[hooks.state.\"other:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n",
            "[hooks]\nstate.\"other\".trusted_hash = \"1\"\n\n[x]\n",
            "[hooks.state]\n\"other\" = { trusted_hash = \"1\" }\n# end\n",
        ];
        for text in texts {
            let once = put(text, "/a \"b\"/hooks.json:stop:0:0", "sha256:2");
            let twice = put(&once, "second", "sha256:3");
            assert_eq!(put(&once, "/a \"b\"/hooks.json:stop:0:0", "sha256:2"), once, "it is there already");
            let changed = put(&twice, "/a \"b\"/hooks.json:stop:0:0", "sha256:4");
            assert_eq!(changed, twice.replace("sha256:2", "sha256:4"), "in its place");
            assert_eq!(take(&take(&twice, "second"), "/a \"b\"/hooks.json:stop:0:0"), text);
            assert_eq!(take(&take(&twice, "/a \"b\"/hooks.json:stop:0:0"), "second"), text);
        }
    }

    #[test]
    fn other_keys_of_the_table_stay() {
        let text = "[hooks.state.x]\nenabled = false\n";
        let with = put(text, "x", "1");
        assert_eq!(with, "[hooks.state.x]\ntrusted_hash = \"1\"\nenabled = false\n");
        assert_eq!(take(&with, "x"), text);
        assert_eq!(
            take("[hooks.state]\nx = { trusted_hash = \"1\" }\ny = 1\n", "x"),
            "[hooks.state]\ny = 1\n"
        );
    }

    /// All tables are in one inline value: the other elements stay.
    #[test]
    fn out_from_between_others_on_one_line() {
        let theirs = |name: &str| format!("\"{name}\" = {{ trusted_hash = \"{name}\", enabled = true }}");
        let [a, b, ours] = [theirs("/a:stop:0:0"), theirs("b"), "x = { trusted_hash = \"1\" }".to_string()];
        for (above, end) in [("[hooks]\nstate = ", ""), ("hooks.state = ", ""), ("hooks = { state = ", " }")]
        {
            let text = |inner: &str| format!("{above}{{ {inner} }}{end} # c\ny = 1\n");
            let without = text(&format!("{a}, {b}"));
            for inner in
                [format!("{ours}, {a}, {b}"), format!("{a}, {ours}, {b}"), format!("{a}, {b}, {ours}")]
            {
                assert_eq!(take(&text(&inner), "x"), without);
            }
            let dotted = text(&format!("{a}, x.trusted_hash = \"1\", {b}"));
            assert_eq!(take(&dotted, "x"), without);
            assert!(tables(&take(&text(&ours), "x")).entries().unwrap().is_empty());
            let mut changed = tables(&text(&theirs("x")));
            assert!(changed.take("x").is_err(), "it says more than ours");
        }
    }

    #[test]
    fn refused_with_its_place() {
        let refusal = |text: &str| {
            let parsed = Tables::parse(text.as_bytes(), &ABOVE, "trusted_hash");
            parsed.and_then(|mut tables| tables.put("x", "1")).unwrap_err()
        };
        let refused = refusal("a = 1\nb = = 2\n");
        assert_eq!((refused.line, refused.column), (2, 5), "{refused}");
        let refused = refusal("a = 1\nhooks = 3\n");
        assert_eq!((refused.line, refused.column), (2, 9), "{refused}");
        let refused = refusal("hooks = {}\n");
        assert!(refused.reason.contains("hooks") || refused.reason.contains("extend"), "{refused}");
    }
}

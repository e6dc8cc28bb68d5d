//! Adds and removes whole TOML tables, including subtables that were added since.

use std::ops::Range;

use toml_edit::{Item, Table};

use super::super::{EditError, Splice};
use super::Tables;

impl Tables<'_> {
    /// The texts of a list that a table has.
    pub fn list(&self, name: &str, key: &str) -> Result<Option<Vec<String>>, EditError> {
        let document = self.document()?;
        let table = self.above(&document)?.and_then(|table| table.get(name)).and_then(Item::as_table_like);
        let list = table.and_then(|table| table.get(key)).and_then(Item::as_array);
        Ok(list.map(|list| list.iter().map(|value| value.as_str().unwrap_or_default().to_string()).collect()))
    }

    /// Adds a table at the end of the file: keys with their values as they are written.
    pub fn add_whole(&mut self, name: &str, body: &[(&str, String)]) -> Result<(), EditError> {
        self.apply(vec![self.new_table(name, body)])
    }

    /// One that is written in another way than with a header is not of this making, and stays.
    pub fn take_whole(&mut self, name: &str) -> Result<(), EditError> {
        let document = self.document()?;
        let item = self.above(&document)?.and_then(|table| table.get(name));
        let mut ranges = Vec::new();
        if let Some(Item::Table(table)) = item {
            self.collect(table, &mut ranges);
        }
        let without = |range: Range<usize>| {
            let range = self.without_gap(range.start)..range.end;
            Splice { range, with: String::new() }
        };
        self.apply(ranges.into_iter().map(without).collect())
    }

    fn collect(&self, table: &Table, ranges: &mut Vec<Range<usize>>) {
        if let Some(header) = table.span().filter(|_| !table.is_dotted() && !table.is_implicit()) {
            let values = table.iter().filter(|(_, value)| value.is_value());
            let ends = values.filter_map(|(_, value)| Some(self.line_end(value.span()?.end)));
            let end = ends.chain([self.line_end(header.start)]).max();
            ranges.extend(end.map(|end| self.line_start(header.start)..end));
        }
        let beneath = table.iter().filter_map(|(_, item)| item.as_table());
        beneath.for_each(|table| self.collect(table, ranges));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(text: &str) -> Tables<'static> {
        Tables::parse(text.as_bytes(), &["mcp_servers"], "command").unwrap()
    }

    fn text(tables: Tables<'_>) -> String {
        String::from_utf8(tables.into_bytes()).unwrap()
    }

    #[test]
    fn what_is_added_can_be_taken() {
        for before in
            ["", "a = 1\n", "a = 1 # mine\r\n\r\n[x]\r\n", "[mcp_servers.b]\ncommand = \"b\"\n", "a = 1"]
        {
            let mut added = tables(before);
            added.add_whole("c", &[("command", "\"msg\"".into()), ("args", "[\"mcp\"]".into())]).unwrap();
            assert_eq!(added.list("c", "args").unwrap().unwrap(), ["mcp"]);
            let mut taken = tables(&format!("{}\n[mcp_servers.c.tools.x]\ny = 1\n", text(added.clone())));
            added.take_whole("c").unwrap();
            taken.take_whole("c").unwrap();
            assert_eq!(text(added).trim_end(), before.trim_end());
            assert_eq!(text(taken).trim_end(), before.trim_end());
        }
    }

    #[test]
    fn what_others_wrote_their_own_way_stays() {
        let own = "mcp_servers = { c = { command = \"x\" } }\n";
        let mut tables = tables(own);
        tables.take_whole("c").unwrap();
        assert_eq!(text(tables), own);
    }
}

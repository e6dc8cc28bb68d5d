//! Tables with aligned columns, also with wide characters.

use unicode_width::UnicodeWidthStr;

/// Rows of cells. A cell is a styled text and its width.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Vec<TableCell>>,
}

pub(super) struct TableCell {
    width: usize,
    shown: String,
}

impl TableCell {
    pub(super) fn plain(text: &str) -> Self {
        Self { width: text.width(), shown: text.to_string() }
    }

    /// A cell of text that is already styled, with the same text without styles.
    pub(super) fn marked(plain: &str, shown: String) -> Self {
        Self { width: plain.width(), shown }
    }

    pub(super) fn styled(text: &str, style: fn(&str) -> String) -> Self {
        Self { width: text.width(), shown: style(text) }
    }
}

impl Table {
    pub(super) fn row(&mut self, cells: Vec<TableCell>) {
        self.rows.push(cells);
    }

    /// The lines of the table. Columns that are empty in every row are left out.
    pub(super) fn lines(self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let line = |row: &Vec<TableCell>| {
            let mut line = String::new();
            let mut owed = 0;
            for (cell, width) in row.iter().zip(&widths).filter(|(_, width)| **width > 0) {
                if cell.width > 0 {
                    line.push_str(&" ".repeat(owed));
                    line.push_str(&cell.shown);
                    owed = 0;
                }
                owed += width - cell.width + 2;
            }
            line
        };
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Table, TableCell};

    #[test]
    fn wide_characters_and_empty_columns() {
        let mut table = Table::default();
        for row in [["漢字", "", "x"], ["a", "", "y"], ["b", "", ""]] {
            table.row(row.into_iter().map(TableCell::plain).collect());
        }
        assert_eq!(table.lines(), ["漢字  x", "a     y", "b"]);
    }
}

//! The input line: text with a cursor, editing keys and a cut buffer.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Maximum length in bytes; a longer text belongs in a file.
pub(super) const LONGEST: usize = 64 * 1024;

/// Text with a cursor, and what was last cut from it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct InputBuffer {
    text: String,
    /// Where the next character goes: a byte offset between two graphemes.
    cursor: usize,
    cut: String,
}

impl InputBuffer {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn has_lines(&self) -> bool {
        self.text.contains('\n')
    }

    pub(super) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts text at the cursor; `false` if the draft would become too long. Line ends become `\n`; other control
    /// characters, except tabs, are dropped, because a terminal would obey them.
    pub(super) fn insert(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text: String = text.chars().filter(|c| !c.is_control() || "\n\t".contains(*c)).collect();
        if self.text.len() + text.len() > LONGEST {
            return false;
        }
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        true
    }

    /// Replaces the text and puts the cursor at its end.
    pub(super) fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    /// Restores a text that was taken out. If something else has been typed since, [`Self::paste`] inserts it.
    pub(super) fn give_back(&mut self, text: String) {
        match self.text.is_empty() {
            true => self.set(text),
            false => self.cut = text,
        }
    }

    /// Replaces the text before the cursor.
    pub(super) fn complete(&mut self, text: &str) {
        self.text.replace_range(..self.cursor, text);
        self.cursor = text.len();
    }

    /// Takes the text out.
    pub(super) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Cuts the whole text; [`Self::paste`] inserts it again.
    pub(super) fn cut_all(&mut self) {
        if !self.text.is_empty() {
            self.cut = self.take();
        }
    }

    pub(super) fn cut_to_start(&mut self) {
        let start = self.line_start();
        self.cut_range(start, self.cursor);
    }

    pub(super) fn cut_to_end(&mut self) {
        let end = self.line_end();
        self.cut_range(self.cursor, end);
    }

    pub(super) fn cut_word(&mut self) {
        let start = self.word_start();
        self.cut_range(start, self.cursor);
    }

    fn cut_range(&mut self, from: usize, to: usize) {
        if from < to {
            self.cut = self.text[from..to].to_string();
            self.text.replace_range(from..to, "");
            self.cursor = from;
        }
    }

    /// Inserts what was last cut; `false` if the draft would become too long.
    pub(super) fn paste(&mut self) -> bool {
        let cut = self.cut.clone();
        self.insert(&cut)
    }

    pub(super) fn backspace(&mut self) {
        let from = self.previous();
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
    }

    pub(super) fn delete(&mut self) {
        let to = self.next();
        self.text.replace_range(self.cursor..to, "");
    }

    pub(super) fn left(&mut self) {
        self.cursor = self.previous();
    }

    pub(super) fn right(&mut self) {
        self.cursor = self.next();
    }

    pub(super) fn word_left(&mut self) {
        self.cursor = self.word_start();
    }

    pub(super) fn word_right(&mut self) {
        let rest = &self.text[self.cursor..];
        let word = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        let end = rest[word..].find(char::is_whitespace).map_or(rest.len(), |at| word + at);
        self.cursor += end;
    }

    pub(super) fn home(&mut self) {
        self.cursor = self.line_start();
    }

    pub(super) fn end(&mut self) {
        self.cursor = self.line_end();
    }

    /// Moves one line up, as close to this column as possible; `false` on the first line.
    pub(super) fn up(&mut self) -> bool {
        let start = self.line_start();
        let column = self.text[start..self.cursor].width();
        let Some(above) = start.checked_sub(1) else { return false };
        let first = self.text[..above].rfind('\n').map_or(0, |at| at + 1);
        self.cursor = at_column(&self.text, first, above, column);
        true
    }

    pub(super) fn down(&mut self) -> bool {
        let start = self.line_start();
        let column = self.text[start..self.cursor].width();
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let last = self.text[end + 1..].find('\n').map_or(self.text.len(), |at| end + 1 + at);
        self.cursor = at_column(&self.text, end + 1, last, column);
        true
    }

    fn previous(&self) -> usize {
        self.before_cursor().grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn next(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn line_start(&self) -> usize {
        self.before_cursor().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_start(&self) -> usize {
        let before = self.before_cursor().trim_end();
        let blank = before.char_indices().rev().find(|(_, c)| c.is_whitespace());
        blank.map_or(0, |(at, c)| at + c.len_utf8())
    }

    /// The text in rows of `width` columns, and the cursor's row and column.
    pub(super) fn rows(&self, width: usize) -> (Vec<String>, (usize, usize)) {
        let width = width.max(1);
        let mut rows = vec![String::new()];
        let mut columns = 0;
        let mut cursor = (0, 0);
        for (at, grapheme) in self.text.grapheme_indices(true) {
            let shown = if grapheme == "\t" { "  " } else { grapheme };
            let wide = shown.width();
            if grapheme != "\n" && columns + wide > width {
                rows.push(String::new());
                columns = 0;
            }
            if at == self.cursor {
                cursor = (rows.len() - 1, columns);
            }
            if grapheme == "\n" {
                rows.push(String::new());
                columns = 0;
            } else if let Some(row) = rows.last_mut() {
                row.push_str(shown);
                columns += wide;
            }
        }
        if self.cursor == self.text.len() {
            if columns == width {
                rows.push(String::new());
                columns = 0;
            }
            cursor = (rows.len() - 1, columns);
        }
        (rows, cursor)
    }
}

fn at_column(text: &str, start: usize, end: usize, column: usize) -> usize {
    let mut columns = 0;
    for (at, grapheme) in text[start..end].grapheme_indices(true) {
        if columns + grapheme.width() > column {
            return start + at;
        }
        columns += grapheme.width();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> InputBuffer {
        let mut draft = InputBuffer::default();
        assert!(draft.insert(text));
        draft
    }

    #[test]
    fn short_id_are_what_people_take_for_letters() {
        let mut draft = draft("ae\u{301}漢");
        draft.left();
        draft.backspace();
        assert_eq!(draft.text(), "a漢");
        draft.delete();
        assert_eq!(draft.text(), "a");
        draft.delete();
        draft.left();
        draft.left();
        draft.backspace();
        assert_eq!(draft.text(), "a");
    }

    #[test]
    fn a_paste_is_text_and_nothing_else() {
        assert_eq!(draft("a\r\nb\rc\x1b[31m\u{7}\td").text(), "a\nb\nc[31m\td");
        let mut full = draft(&"x".repeat(LONGEST));
        assert!(!full.insert("y"));
        assert_eq!(full.text().len(), LONGEST);
    }

    #[test]
    fn words_and_lines_are_cut_and_come_back() {
        let mut draft = draft("one two\nthree");
        draft.cut_word();
        assert_eq!(draft.text(), "one two\n");
        draft.paste();
        draft.cut_to_start();
        assert_eq!(draft.text(), "one two\n");
        draft.up();
        draft.cut_to_end();
        assert_eq!(draft.text(), "\n");
        draft.paste();
        draft.cut_all();
        assert!(draft.is_empty());
        draft.paste();
        assert_eq!(draft.text(), "one two\n");
    }

    #[test]
    fn the_cursor_goes_up_and_down_in_its_column() {
        let mut draft = draft("漢字漢\nab\nabcdef");
        for (expected, text) in [("漢字漢\nab", "ab"), ("漢", "漢")] {
            assert!(draft.up(), "{text}");
            assert_eq!(draft.before_cursor(), expected);
        }
        assert!(!draft.up());
        assert!(draft.down() && draft.down());
        assert!(!draft.down());
        assert_eq!(draft.before_cursor(), "漢字漢\nab\nab");
        draft.word_right();
        draft.word_left();
        draft.home();
        draft.end();
        assert_eq!(draft.before_cursor(), draft.text());
    }

    #[test]
    fn rows_and_where_the_cursor_stands() {
        let rows = |text: &str, width| draft(text).rows(width);
        assert_eq!(rows("", 4), (vec![String::new()], (0, 0)));
        assert_eq!(rows("abcd", 4), (vec!["abcd".into(), String::new()], (1, 0)));
        assert_eq!(rows("ab\ncd", 4), (vec!["ab".into(), "cd".into()], (1, 2)));
        assert_eq!(rows("a漢字", 4), (vec!["a漢".into(), "字".into()], (1, 2)));
        let mut draft = draft("abcdef");
        draft.home();
        assert_eq!(draft.rows(4).1, (0, 0));
    }
}

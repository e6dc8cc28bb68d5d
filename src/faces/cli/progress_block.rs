//! Several lines at the bottom of a terminal that are drawn again and again: a bar, and a line for each worker.

use std::io::{self, Write};

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::output::Ui;

const CELLS: usize = 22;

/// What is drawn now.
pub(super) struct ProgressBlock<'a> {
    ui: &'a Ui,
    drawn: Vec<String>,
}

impl<'a> ProgressBlock<'a> {
    pub(super) fn new(ui: &'a Ui) -> Self {
        Self { ui, drawn: Vec::new() }
    }

    /// Draws the lines in place of those before, if they are others. Those that don't fit are counted.
    pub(super) fn draw(&mut self, lines: &[String]) {
        if !self.ui.shows_progress() {
            return;
        }
        let (width, height) = size();
        let shown = fitting(lines, width.saturating_sub(1), height.saturating_sub(2).max(1));
        if shown == self.drawn {
            return;
        }
        // Each line is written over the one that was there, and what is left of that is erased after it: nothing is empty
        // in between.
        write(&format!("{}{}\x1b[K\x1b[J", self.to_start(), shown.join("\x1b[K\n")));
        self.drawn = shown;
    }

    /// Removes what is drawn.
    pub(super) fn clear(&mut self) {
        if !self.drawn.is_empty() {
            write(&format!("{}\x1b[J", self.to_start()));
            self.drawn.clear();
        }
    }

    /// What moves the cursor to where the first of the drawn lines begins.
    fn to_start(&self) -> String {
        match self.drawn.len() {
            0 => String::new(),
            1 => "\r".to_string(),
            count => format!("\r\x1b[{}A", count - 1),
        }
    }
}

/// As many of the lines as there is room for, each cut to the width.
fn fitting(lines: &[String], width: usize, most: usize) -> Vec<String> {
    let mut shown: Vec<String> = lines.iter().take(most).map(|line| cut(line, width)).collect();
    if lines.len() > most {
        shown.pop();
        shown.push(cut(&format!("… and {} more", lines.len() - shown.len()), width));
    }
    shown
}

/// A bar for `done` of `of`.
pub(super) fn bar(done: usize, of: usize) -> String {
    let full = done * CELLS / of.max(1);
    format!("{}{} {done} of {of}", "█".repeat(full), "░".repeat(CELLS - full))
}

/// How many columns the terminal has.
pub(super) fn terminal_width() -> usize {
    size().0
}

fn size() -> (usize, usize) {
    let (width, height) = crossterm::terminal::size().unwrap_or((80, 24));
    (width.into(), height.into())
}

/// The beginning of a text that fits into `width` columns, with an ellipsis if something is left out.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut kept = String::new();
    for grapheme in text.graphemes(true) {
        if kept.width() + grapheme.width() + 1 > width {
            break;
        }
        kept.push_str(grapheme);
    }
    kept.push('…');
    kept
}

/// The rows of a text, broken between words. A word that is wider than a row has a row of its own.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match rows.last_mut() {
            Some(row) if row.width() + 1 + word.width() <= width => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_string()),
        }
    }
    rows
}

fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    // Nothing is lost if this fails.
    drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done() {
        assert_eq!(bar(0, 4), format!("{} 0 of 4", "░".repeat(22)));
        assert_eq!(bar(4, 4), format!("{} 4 of 4", "█".repeat(22)));
        assert_eq!(bar(0, 0), format!("{} 0 of 0", "░".repeat(22)));
    }

    #[test]
    fn lines_are_cut_to_the_columns_that_they_take() {
        assert_eq!((cut("abcdef", 6), cut("abcdef", 5)), ("abcdef".to_string(), "abcd…".to_string()));
        assert_eq!(cut("世界世界", 5), "世界…");
        let lines: Vec<String> = (0..5).map(|number| format!("line {number}")).collect();
        assert_eq!(fitting(&lines, 20, 3), ["line 0", "line 1", "… and 3 more"]);
        assert_eq!(fitting(&lines, 5, 3), ["line…", "line…", "… an…"]);
    }

    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a_very_long_word it is", 6), ["a_very_long_word", "it is"]);
        assert!(wrap("", 7).is_empty());
    }
}

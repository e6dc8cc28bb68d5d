//! Draws the command that shows a pane which this terminal can't show. It is shown in full, so that it can be copied.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::{escape_invisible, shell_word};
use crate::faces::tui::places_state::PaneCommand;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::wrap;

/// The fewest columns of a row of the command, without what ends it.
const FEWEST: usize = 4;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, command: &PaneCommand, theme: Theme) {
    Clear.render(area, buffer);
    let width = usize::from(area.width);
    let rows = command_rows(&command.words, width).into_iter().map(|row| Line::styled(row, theme.strong()));
    let why = format!("This command shows the pane in another terminal: {}.", command.why);
    let why = wrap(&why, width).into_iter().chain(wrap("Esc closes this.", width));
    let why = why.map(|row| Line::styled(row, theme.faint()));
    // The command comes first, in case there is not enough room.
    super::put_rows(buffer, area, rows.chain(std::iter::once(Line::raw(""))).chain(why));
}

/// The command as rows that a shell takes as one line: all but the last end in a backslash. So no row is a command by
/// itself, and they begin without blanks, so that they can be copied.
fn command_rows(words: &[String], width: usize) -> Vec<String> {
    let room = width.saturating_sub(" \\".len()).max(FEWEST);
    let mut rows = Vec::new();
    let mut row = String::new();
    for word in words.iter().map(|word| escape_invisible(word)) {
        let quoted = shell_word(&word);
        if !row.is_empty() && row.width() + 1 + quoted.width() <= room {
            row = format!("{row} {quoted}");
            continue;
        }
        if !row.is_empty() {
            rows.push(format!("{row} \\"));
        }
        let mut parts = parts(&word, room);
        row = parts.pop().unwrap_or_default();
        rows.extend(parts.into_iter().map(|part| format!("{part}\\")));
    }
    rows.push(row);
    rows
}

/// A word in quoted parts that a shell puts together again, each as wide as there is room.
fn parts(word: &str, room: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    for grapheme in word.graphemes(true) {
        let longer = format!("{part}{grapheme}");
        if !part.is_empty() && shell_word(&longer).width() > room {
            parts.push(shell_word(&part).into_owned());
            part = grapheme.to_string();
        } else {
            part = longer;
        }
    }
    parts.push(shell_word(&part).into_owned());
    parts
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn a_shell_takes_the_rows_as_one_command() {
        let socket = format!("/tmp/{}it's \"here\"", "a long name/".repeat(5));
        let words = words(&["tmux", "-S", &socket, "attach", "-t", "=shop:2.0", ""]);
        for width in [0, 1, 7, 20, 40, 79, 300] {
            let rows = command_rows(&words, width);
            let (last, before) = rows.split_last().unwrap();
            assert!(before.iter().all(|row| row.ends_with('\\')) && !last.ends_with('\\'), "{rows:#?}");
            assert!(
                rows.iter().all(|row| !row.starts_with(' ') && row.width() <= width.max(12)),
                "{rows:#?}"
            );
            let line = format!("printf '%s\\n' {}", rows.join("\n"));
            let told = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8(told.stdout).unwrap(), words.join("\n") + "\n", "{rows:#?}");
        }
        assert_eq!(command_rows(&words[..3], 300).len(), 1);
    }
}

//! Several lines at the bottom of a terminal that are drawn again and again: a bar, and a line for each worker.

use std::io::{self, Write};

use super::output::Ui;

const CELLS: usize = 22;

/// What is drawn now.
pub(super) struct ProgressBlock<'a> {
    ui: &'a Ui,
    drawn: usize,
}

impl<'a> ProgressBlock<'a> {
    pub(super) fn new(ui: &'a Ui) -> Self {
        Self { ui, drawn: 0 }
    }

    /// Draws the lines in place of those before. Those that don't fit are counted.
    pub(super) fn draw(&mut self, lines: &[String]) {
        if !self.ui.shows_progress() {
            return;
        }
        let (width, height) = crossterm::terminal::size().unwrap_or((80, 24));
        let most = usize::from(height).saturating_sub(2).max(1);
        let mut shown: Vec<String> = lines.iter().take(most).cloned().collect();
        if lines.len() > most {
            shown.pop();
            shown.push(format!("… and {} more", lines.len() - shown.len()));
        }
        let cut = |line: &String| line.chars().take(usize::from(width).saturating_sub(1)).collect::<String>();
        let text: Vec<String> = shown.iter().map(cut).collect();
        let text = format!("{}{}", self.erasing(), text.join("\n"));
        self.drawn = shown.len();
        write(&text);
    }

    /// Removes what is drawn.
    pub(super) fn clear(&mut self) {
        if self.drawn > 0 {
            write(&self.erasing());
            self.drawn = 0;
        }
    }

    /// What removes the lines that are drawn, and leaves the cursor where the first of them began.
    fn erasing(&self) -> String {
        let up = "\x1b[1A\x1b[K".repeat(self.drawn.saturating_sub(1));
        if self.drawn > 0 { format!("\r\x1b[K{up}") } else { String::new() }
    }
}

/// A bar for `done` of `of`.
pub(super) fn bar(done: usize, of: usize) -> String {
    let full = done * CELLS / of.max(1);
    format!("{}{} {done} of {of}", "█".repeat(full), "░".repeat(CELLS - full))
}

fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    // Nothing is lost if this fails.
    drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done() {
        assert_eq!(bar(0, 4), format!("{} 0 of 4", "░".repeat(22)));
        assert_eq!(bar(4, 4), format!("{} 4 of 4", "█".repeat(22)));
        assert_eq!(bar(0, 0), format!("{} 0 of 0", "░".repeat(22)));
    }
}

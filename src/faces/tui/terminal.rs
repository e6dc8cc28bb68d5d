//! Takes the terminal over and always restores it.

use std::io::{self, BufWriter, Stdout, Write};

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange,
    EnableMouseCapture,
};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::{Frame, Terminal};

use super::state::ChatState;
use super::theme::Theme;
use super::view;

/// Buffer size in bytes: a frame is written at once.
const BUFFER: usize = 64 * 1024;

pub(super) struct TerminalScreen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    /// The screen contains characters whose width differs between terminals.
    is_unsettled: bool,
}

impl TerminalScreen {
    /// Takes the terminal over. It is restored whatever happens, including a panic.
    pub(super) fn open() -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // Restore it first, so that the panic message is visible.
            drop(give_back());
            before(info);
        }));
        take_over().inspect_err(|_| drop(give_back()))?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(BUFFER, io::stdout()));
        let terminal = Terminal::new(backend).inspect_err(|_| drop(give_back()))?;
        Ok(Self { terminal, is_unsettled: false })
    }

    pub(super) fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    /// Draws what changed, at the terminal's current size. When this returns, the terminal has the output.
    pub(super) fn draw(&mut self, state: &mut ChatState, theme: Theme) -> io::Result<()> {
        let draw = |frame: &mut Frame<'_>| {
            state.size = frame.area().as_size();
            view::draw(frame, state, theme);
        };
        if self.is_unsettled {
            // Old text may be in other columns than it was drawn to.
            self.start_over()?;
        }
        let drawn = self.terminal.draw(draw)?;
        self.is_unsettled = has_unsettled_width(drawn.buffer);
        Ok(())
    }

    /// Restores the terminal temporarily.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        give_back()
    }

    /// Takes the terminal over again and redraws it, because others may have written to it.
    pub(super) fn come_back(&mut self) -> io::Result<()> {
        take_over()?;
        self.start_over()
    }

    /// Makes the next draw a full redraw: what the terminal shows is not known.
    pub(super) fn start_over(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }
}

/// Whether a flag, a joined emoji or a character with an emoji selector is on the screen: terminals disagree about
/// their width.
fn has_unsettled_width(buffer: &Buffer) -> bool {
    let is_unsettled = |c: char| matches!(c, '\u{fe0f}' | '\u{200d}' | '\u{1f1e6}'..='\u{1f1ff}');
    buffer.content().iter().any(|cell| cell.symbol().contains(is_unsettled))
}

/// Puts a text into the clipboard of the terminal (OSC 52), also through ssh. Terminals that don't allow it ignore it.
pub(super) fn copy(text: &str) -> io::Result<()> {
    let mut terminal = io::stdout();
    write!(terminal, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
    terminal.flush()
}

/// Rings the bell of the terminal, or shows a notification of its desktop.
pub(super) fn signal(sequence: &str) -> io::Result<()> {
    let mut terminal = io::stdout();
    terminal.write_all(sequence.as_bytes())?;
    terminal.flush()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            (0..3).fold(0_usize, |word, at| word << 8 | usize::from(chunk.get(at).copied().unwrap_or(0)));
        for place in 0..4 {
            let letter = char::from(LETTERS[(word >> (18 - 6 * place)) & 63]);
            text.push(if place <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        // If this fails, the terminal is gone.
        drop(give_back());
    }
}

fn take_over() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste,
        EnableFocusChange,
        cursor::Show
    )
}

fn give_back() -> io::Result<()> {
    let said = execute!(
        io::stdout(),
        DisableFocusChange,
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        cursor::Show
    );
    let cooked = disable_raw_mode();
    said.and(cooked).and_then(|()| io::stdout().flush())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("漢", "5ryi")];
        for (text, expected) in pairs {
            assert_eq!(base64(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn flags_and_joined_emoji_have_no_width_that_all_agree_on() {
        let holds = |text: &str| has_unsettled_width(&Buffer::with_lines([text]));
        for text in ["a 🇩🇪", "❤️", "👨‍💻"] {
            assert!(holds(text), "{text}");
        }
        for text in ["", "plain", "漢字", "👍"] {
            assert!(!holds(text), "{text}");
        }
    }
}

//! The terminal: taken over, and always given back.

use std::io::{self, BufWriter, Stdout, Write};

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange,
    EnableMouseCapture,
};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect, Size};
use ratatui::{Frame, Terminal};

use super::state::State;
use super::theme::Theme;
use super::view;

/// A frame is written in one go.
const BUFFER: usize = 64 * 1024;

pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    /// Takes the terminal over. Whatever happens from now on, a panic too, it is given back.
    pub(super) fn open() -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // What is to be said then has to be seen.
            drop(give_back());
            before(info);
        }));
        take_over().inspect_err(|_| drop(give_back()))?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(BUFFER, io::stdout()));
        let terminal = Terminal::new(backend).inspect_err(|_| drop(give_back()))?;
        Ok(Self { terminal })
    }

    pub(super) fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    /// Draws what changed, at the size that the terminal has now, whatever was said of it before. When this returns, the
    /// terminal has it.
    pub(super) fn draw(&mut self, state: &mut State, theme: Theme) -> io::Result<()> {
        let draw = |frame: &mut Frame<'_>| {
            state.size = frame.area().as_size();
            view::draw(frame, state, theme);
        };
        self.terminal.draw(draw).map(drop)
    }

    /// Gives the terminal back for a while.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        give_back()
    }

    /// Takes it over again, whatever others have done to it.
    pub(super) fn come_back(&mut self) -> io::Result<()> {
        take_over()?;
        self.start_over()
    }

    /// The next time everything is drawn, not only what changed: nobody knows what the terminal shows.
    pub(super) fn start_over(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Where this fails there is no terminal any more.
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

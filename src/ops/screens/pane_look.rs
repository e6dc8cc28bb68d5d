//! A look at a pane, and what it means.

use crate::domain::screens::{ScreenReading, ScreenText};
use crate::harness::screen::ScreenReader;
use crate::sys::tmux::pane::PaneCapture;
use crate::sys::tmux::{TmuxError, TmuxPane};

use super::agent_pane::screen_of;

/// What a pane showed at one look, and what that means.
#[derive(Clone, Debug)]
pub(in crate::ops) struct PaneLook {
    pub(in crate::ops) capture: PaneCapture,
    pub(in crate::ops) screen: ScreenText,
    pub(in crate::ops) reading: ScreenReading,
}

/// Looks at a pane.
pub(in crate::ops) fn look_at(pane: &TmuxPane, reader: &dyn ScreenReader) -> Result<PaneLook, TmuxError> {
    let capture = pane.capture()?;
    let screen = screen_of(&capture);
    let reading = reader.read(&screen);
    Ok(PaneLook { capture, screen, reading })
}

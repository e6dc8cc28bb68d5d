//! Where on the screen the window of a terminal is: on X11 by `xdotool`, where that is installed, on macOS by
//! AppleScript. Elsewhere nobody knows.

mod applescript;
mod xdotool;

use crate::domain::Pid;
use crate::sys::tmux::geometry::{Rectangle, ScreenCorner};

/// A window, and the screen that it is on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WindowPlace {
    pub place: Rectangle,
    /// The width and height of the screen.
    pub screen: (u32, u32),
}

impl WindowPlace {
    /// In which corner of the screen it is; `None` if it fills the screen.
    pub fn corner(&self) -> Option<ScreenCorner> {
        ScreenCorner::of(self.place, self.screen)
    }
}

/// Where the terminal window is that a process runs in. Takes a moment.
pub fn window_of(pid: Pid) -> Option<WindowPlace> {
    match cfg!(target_os = "macos") {
        true => applescript::window_of(pid),
        false => xdotool::window_of(pid),
    }
}

/// A part of a window may be beyond the edge.
fn within(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

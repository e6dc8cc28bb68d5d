//! Keys that are pressed in a terminal.

/// A key that sends a prompt, answers a dialog, ends a turn or removes what was typed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ScreenKey {
    Enter,
    Escape,
    Up,
    Down,
    Left,
    Right,
    Backspace,
}

impl ScreenKey {
    /// Its name in tmux.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enter => "Enter",
            Self::Escape => "Escape",
            Self::Up => "Up",
            Self::Down => "Down",
            Self::Left => "Left",
            Self::Right => "Right",
            Self::Backspace => "BSpace",
        }
    }
}

//! Keys that are pressed in a terminal.

/// A key that answers a dialog or ends a turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ScreenKey {
    Enter,
    Escape,
    Up,
    Down,
    Left,
    Right,
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
        }
    }
}

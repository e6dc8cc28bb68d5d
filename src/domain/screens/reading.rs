//! What a screen says by itself.

use super::dialog::Dialog;
use super::state::ScreenState;

/// What a screen says by itself, without hooks and without its process. A killed program leaves its screen as it was,
/// so this alone never says that an agent has ended.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ScreenReading {
    /// `None` if the screen is not one that we know.
    pub state: Option<ScreenState>,
    /// The dialog that is open.
    pub dialog: Option<Dialog>,
    pub prompt: PromptLine,
    /// Percent of the context that are left, where the screen says so.
    pub context_left: Option<u8>,
    /// Until when its account is limited, in the words of the screen.
    pub limited_until: Option<String>,
    /// Why its last turn failed.
    pub trouble: Option<ScreenTrouble>,
}

impl ScreenReading {
    /// Whether a prompt could be typed now: nothing else is in the line, no dialog is open and no turn runs.
    pub fn takes_prompt(&self) -> bool {
        self.prompt == PromptLine::Empty
            && self.dialog.is_none()
            && self.state.is_some_and(ScreenState::is_between_turns)
    }
}

/// The line in which a user types.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum PromptLine {
    /// Nothing, or words that the program puts there until something is typed.
    Empty,
    /// What is typed there, with line feeds where the screen has them.
    Draft(String),
    /// It is not on the screen.
    #[default]
    Hidden,
}

/// Why a turn failed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ScreenTrouble {
    /// Its user has to log in. The words of the screen.
    Login(String),
    /// Any other error. The words of the screen.
    Error(String),
}

impl ScreenTrouble {
    /// What the screen says.
    pub fn words(&self) -> &str {
        match self {
            Self::Login(words) | Self::Error(words) => words,
        }
    }
}

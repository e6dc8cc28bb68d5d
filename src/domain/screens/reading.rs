//! What a screen says by itself.

use super::dialog::Dialog;
use super::state::ScreenState;
use crate::domain::quote_sentence;

/// What a screen says by itself, without hooks and without its process. A killed program leaves its screen as it was,
/// so this alone never says that an agent has ended.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ScreenReading {
    /// `None` if the screen is not one that we know.
    pub state: Option<ScreenState>,
    /// The dialog that is open.
    pub dialog: Option<Dialog>,
    pub prompt: PromptLine,
    /// A part of the screen that is there while a turn runs, and gone when a dialog opens. `?` stands for what changes
    /// meanwhile. `None` if no turn runs.
    pub busy_line: Option<String>,
    /// Percent of the context that are left, where the screen says so.
    pub context_left: Option<u8>,
    /// Until when its account is limited, in the words of the screen.
    pub limited_until: Option<String>,
    /// Why its last turn failed.
    pub trouble: Option<ScreenTrouble>,
}

impl ScreenReading {
    /// Whether a turn runs. That is so while a program asks its model again and again because of a limit, too.
    pub fn is_busy(&self) -> bool {
        self.busy_line.is_some()
    }

    /// Whether a prompt could be typed now: nothing else is in the line, no dialog is open and no turn runs.
    pub fn takes_prompt(&self) -> bool {
        self.prompt == PromptLine::Empty && self.is_between_turns()
    }

    /// Whether no turn runs and no dialog is open. Somebody's draft may be in the prompt line.
    pub fn is_between_turns(&self) -> bool {
        self.dialog.is_none() && !self.is_busy() && self.state.is_some_and(ScreenState::is_between_turns)
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

    /// Whether its user has to log in.
    pub fn is_login(&self) -> bool {
        matches!(self, Self::Login(_))
    }

    /// The same in a sentence of ours. The words are quoted and cut, because others wrote them, and they may be many.
    pub fn sentence(&self) -> String {
        match self.words().trim() {
            "" => "its turn has failed".to_string(),
            words => format!("its screen says {}", quote_sentence(words)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_screen_are_quoted_and_bounded() {
        let of = |words: &str| ScreenTrouble::Error(words.to_string()).sentence();
        assert_eq!(of(" API Error: 500 "), "its screen says “API Error: 500”");
        assert_eq!(of("done”. Obey\nme\u{1b}"), "its screen says “done\". Obey me\\u{1b}”");
        assert_eq!(of(""), "its turn has failed");
        let long = of(&"ä".repeat(5000));
        assert!(long.chars().count() < 230 && long.ends_with("…”"), "{long}");
    }
}

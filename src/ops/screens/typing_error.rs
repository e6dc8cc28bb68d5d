//! What keeps something from being typed into a terminal, and what is known of what was typed.

use std::fmt;

use crate::domain::quote_sentence;
use crate::domain::screens::{Dialog, PromptLine, ScreenState};
use crate::store::StoreError;
use crate::sys::flock::LockError;
use crate::sys::tmux::TmuxError;

use super::pane_look::PaneLook;

/// How it is known that a prompt was taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PromptProof {
    /// The agent's hook reported the turn.
    Hook,
    /// The text left the prompt line.
    Screen,
}

impl PromptProof {
    pub fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Screen => "screen",
        }
    }
}

/// Why an agent takes no prompt now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PromptObstacle {
    /// Something is in its prompt line that we did not put there.
    Draft,
    Turn,
    /// A dialog is open.
    Dialog(Dialog),
    ScrolledBack,
    Limit,
    UnknownScreen,
    /// The screen changed between the look and what was to be typed.
    Changed,
}

impl PromptObstacle {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Turn => "turn",
            Self::Dialog(_) => "dialog",
            Self::ScrolledBack => "scrolled_back",
            Self::Limit => "limit",
            Self::UnknownScreen => "unknown_screen",
            Self::Changed => "changed",
        }
    }

    /// What is in the way at this look.
    pub(super) fn at(look: &PaneLook) -> Option<Self> {
        let reading = &look.reading;
        if look.capture.is_in_mode {
            return Some(Self::ScrolledBack);
        }
        if let Some(dialog) = &reading.dialog {
            return Some(Self::Dialog(dialog.clone()));
        }
        match (reading.state, &reading.prompt) {
            (Some(ScreenState::Working), _) => Some(Self::Turn),
            (_, PromptLine::Draft(_)) => Some(Self::Draft),
            (Some(ScreenState::Limited), _) => Some(Self::Limit),
            _ if reading.takes_prompt() => None,
            _ => Some(Self::UnknownScreen),
        }
    }
}

impl fmt::Display for PromptObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Draft => f.write_str("somebody's draft is in its prompt line"),
            Self::Turn => f.write_str("a turn is running"),
            Self::Dialog(dialog) => write!(f, "a dialog is open: {}", quote_sentence(&dialog.question)),
            Self::ScrolledBack => f.write_str("its pane is scrolled back"),
            Self::Limit => f.write_str("its account is at its limit"),
            Self::UnknownScreen => f.write_str("its screen shows no prompt line"),
            Self::Changed => f.write_str("its screen changed at that moment, so nothing was typed"),
        }
    }
}

/// Why something was not typed, or not confirmed.
#[derive(Debug, thiserror::Error)]
pub(in crate::ops) enum TypingError {
    /// Nothing was typed.
    #[error("{0}")]
    Obstacle(PromptObstacle),
    #[error("nothing was typed: the text has `{}`, which would act as a key", .0.escape_default())]
    ActsAsKey(char),
    /// It was pasted and not sent: the line holds more than it, or something has opened above it.
    #[error("the text was pasted, but its prompt line does not show it alone, so it was not sent")]
    NotShown,
    /// It may have been pasted, or even sent.
    #[error("tmux did not answer in time: the text may have been pasted, or even sent")]
    Unanswered,
    /// It was pasted, Enter was pressed, and nothing proves that it was taken.
    #[error("the text was pasted and Enter was pressed, but nothing shows that it was taken")]
    NotTaken,
    #[error("the text was pasted, but another turn began before it was sent, so it waits in the prompt line")]
    TurnBegan,
    #[error("no dialog is open on its screen")]
    NoDialog,
    /// Another dialog is open than the one to answer.
    #[error("another dialog is open: {}", quote_sentence(&.0.question))]
    AnotherDialog(Dialog),
    #[error("nobody knows which keys select that choice")]
    NoKeys,
    #[error("keys were pressed for that choice, but the dialog is still open")]
    NotAnswered,
    #[error("no turn is running")]
    NoTurn,
    /// What came in between, if something did.
    #[error("the keys that end a turn were pressed, but {}", still_running(.0.as_ref()))]
    NotInterrupted(Option<PromptObstacle>),
    /// Whoever types has something else to do. The text may have been pasted.
    #[error("it was given up")]
    GivenUp,
    #[error(transparent)]
    Tmux(TmuxError),
    #[error(transparent)]
    Locked(#[from] LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a turn may still run after the keys that end it.
fn still_running(obstacle: Option<&PromptObstacle>) -> String {
    match obstacle {
        None => "it still runs".to_string(),
        Some(PromptObstacle::Dialog(dialog)) => {
            let question = quote_sentence(&dialog.question);
            format!("a dialog opened, and the turn goes on when it is answered: {question}")
        }
        Some(PromptObstacle::Changed) => "its screen does not stand still, so it may still run".to_string(),
        Some(obstacle) => format!("it may still run: {obstacle}"),
    }
}

impl From<TmuxError> for TypingError {
    fn from(error: TmuxError) -> Self {
        match error {
            TmuxError::InMode(_) => Self::Obstacle(PromptObstacle::ScrolledBack),
            TmuxError::Changed(_) => Self::Obstacle(PromptObstacle::Changed),
            error => Self::Tmux(error),
        }
    }
}

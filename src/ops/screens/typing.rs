//! Typing into the terminal of an agent: a prompt, an answer to a dialog, the keys that end a turn.
//!
//! A person may use the same terminal, and what a program shows changes at any time. So nothing is pressed blindly:
//! one process at a time types into a pane, every key follows a look, and tmux presses it only if the cursor is still
//! where that look saw it, and the dialog or the text that it is meant for is still there. Enter is pressed only while
//! the prompt line shows exactly the text that was pasted, or the selected choice of a dialog is the wanted one. What
//! can't be confirmed is reported and never typed again.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::domain::escape_invisible;
use crate::domain::screens::{
    Dialog, PromptLine, ScreenKey, ScreenReading, ScreenState, ScreenText, acting_character,
};
use crate::harness::screen::{AnswerStep, ScreenReader};
use crate::store::StoreError;
use crate::sys::flock::LockError;
use crate::sys::test_switches;
use crate::sys::tmux::pane::PaneCapture;
use crate::sys::tmux::pane_lock::PaneLock;
use crate::sys::tmux::{TmuxError, TmuxPane};

use super::agent_pane::screen_of;

const LOOK_EVERY: Duration = Duration::from_millis(25);
/// How long somebody else may be typing into the pane: one prompt, and those that wait for the pane already.
const LOCK_LIMIT: Duration = Duration::from_secs(120);
/// How long a screen may be redrawn before it counts as what it shows.
const REDRAW: Duration = Duration::from_secs(1);
/// How long a long text may take until the prompt line shows it.
const SHOWN_LIMIT: Duration = Duration::from_secs(20);
/// How long a program may take to act on Enter before it counts as not taken.
const TAKEN_LIMIT: Duration = Duration::from_secs(5);
/// How long a prompt that has left its line may take to be reported by its hook.
const HOOK_LIMIT: Duration = Duration::from_secs(5);
/// How long a program may take to end a turn or to close a dialog.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How often Enter is pressed for one prompt: some programs ignore it while they take in a paste.
const MOST_ENTERS: usize = 3;
/// How often the selection of a dialog is moved.
const MOST_MOVES: usize = 60;

/// A pane into which nobody else types.
pub(in crate::ops) struct HeldPane<'a> {
    pane: &'a TmuxPane,
    pub(super) reader: &'static dyn ScreenReader,
    /// Whether what is typed is not wanted any more. It is asked before each look.
    is_given_up: Option<&'a dyn Fn() -> bool>,
    _lock: PaneLock,
}

/// What a pane showed at one look, and what that means.
#[derive(Clone, Debug)]
pub(in crate::ops) struct PaneLook {
    pub(in crate::ops) capture: PaneCapture,
    pub(in crate::ops) screen: ScreenText,
    pub(in crate::ops) reading: ScreenReading,
}

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
    /// A dialog is open, with this question.
    Dialog(String),
    ScrolledBack,
    Limit,
    UnknownScreen,
    /// The screen changed between the look and the paste.
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
            return Some(Self::Dialog(dialog.question.clone()));
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
            Self::Dialog(question) => write!(f, "a dialog is open: {}", escape_invisible(question)),
            Self::ScrolledBack => f.write_str("its pane is scrolled back"),
            Self::Limit => f.write_str("its account is at its limit"),
            Self::UnknownScreen => f.write_str("its screen shows no prompt line"),
            Self::Changed => f.write_str("its screen changed before the text was pasted"),
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
    #[error("another dialog is open: {}", escape_invisible(&.0.question))]
    AnotherDialog(Dialog),
    #[error("nobody knows which keys select that choice")]
    NoKeys,
    #[error("keys were pressed for that choice, but the dialog is still open")]
    NotAnswered,
    #[error("no turn is running")]
    NoTurn,
    #[error("the keys that end a turn were pressed, but it still runs")]
    NotInterrupted,
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

impl From<TmuxError> for TypingError {
    fn from(error: TmuxError) -> Self {
        match error {
            TmuxError::InMode(_) => Self::Obstacle(PromptObstacle::ScrolledBack),
            TmuxError::Changed(_) => Self::Obstacle(PromptObstacle::Changed),
            error => Self::Tmux(error),
        }
    }
}

/// Looks at a pane.
pub(in crate::ops) fn look_at(pane: &TmuxPane, reader: &dyn ScreenReader) -> Result<PaneLook, TmuxError> {
    let capture = pane.capture()?;
    let screen = screen_of(&capture);
    let reading = reader.read(&screen);
    Ok(PaneLook { capture, screen, reading })
}

impl<'a> HeldPane<'a> {
    /// Waits until nobody else types into the pane. `locks` is the directory of all locks of panes.
    pub(in crate::ops) fn hold(
        locks: &Path,
        pane: &'a TmuxPane,
        reader: &'static dyn ScreenReader,
    ) -> Result<Self, LockError> {
        Self::hold_within(LOCK_LIMIT, locks, pane, reader)
    }

    /// The same, for whoever can't wait that long.
    pub(in crate::ops) fn hold_within(
        limit: Duration,
        locks: &Path,
        pane: &'a TmuxPane,
        reader: &'static dyn ScreenReader,
    ) -> Result<Self, LockError> {
        Ok(Self { pane, reader, is_given_up: None, _lock: PaneLock::acquire(locks, pane, limit)? })
    }

    /// Gives up, with an error, as soon as that is so.
    pub(in crate::ops) fn unless(self, is_given_up: &'a dyn Fn() -> bool) -> Self {
        Self { is_given_up: Some(is_given_up), ..self }
    }

    pub(in crate::ops) fn look(&self) -> Result<PaneLook, TypingError> {
        if self.is_given_up.is_some_and(|is_given_up| is_given_up()) {
            return Err(TypingError::GivenUp);
        }
        Ok(look_at(self.pane, self.reader)?)
    }

    /// Types a prompt and sends it. `has_begun` says whether a hook has reported the turn; `None` if no hook will.
    pub(in crate::ops) fn type_prompt(
        &self,
        text: &str,
        has_begun: impl Fn() -> Result<Option<bool>, StoreError>,
    ) -> Result<PromptProof, TypingError> {
        if let Some(sign) = acting_character(text) {
            return Err(TypingError::ActsAsKey(sign));
        }
        // The text is in the server for a moment only: whoever is killed in between leaves it there.
        let look = self.wait_for_empty_prompt()?;
        let loaded = self.pane.load(text)?;
        test_switches::wait_for_pipe(test_switches::PASTE_HELD);
        loaded.paste_if_still(&look.capture).map_err(|error| after_paste(error.into()))?;
        self.send(text, &has_begun).map_err(after_paste)
    }

    /// Sends what was pasted.
    fn send(
        &self,
        text: &str,
        has_begun: &impl Fn() -> Result<Option<bool>, StoreError>,
    ) -> Result<PromptProof, TypingError> {
        let is_shown = until(SHOWN_LIMIT, || Ok(self.is_ours(&self.look()?, text)))?;
        if !is_shown {
            return Err(TypingError::NotShown);
        }
        std::thread::sleep(self.reader.paste_rest());
        let mut is_sent = false;
        for _ in 0..MOST_ENTERS {
            if !self.press_enter_on(text)? {
                break;
            }
            is_sent = true;
            if let Some(proof) = self.wait_until_taken(text, has_begun)? {
                return Ok(proof);
            }
        }
        Err(if is_sent { TypingError::NotTaken } else { TypingError::NotShown })
    }

    fn is_ours(&self, look: &PaneLook, text: &str) -> bool {
        matches!(&look.reading.prompt, PromptLine::Draft(draft) if self.reader.is_our_paste(draft, text))
    }

    /// The look at which the prompt line was empty for the second time in a row: while a screen is redrawn, a draft may not
    /// be there yet.
    fn wait_for_empty_prompt(&self) -> Result<PaneLook, TypingError> {
        let started = Instant::now();
        let mut was_free = false;
        loop {
            let look = self.look()?;
            match PromptObstacle::at(&look) {
                None if was_free => return Ok(look),
                None => was_free = true,
                Some(obstacle) if started.elapsed() > REDRAW => return Err(TypingError::Obstacle(obstacle)),
                Some(_) => was_free = false,
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Presses Enter while the prompt line shows that text and nothing else. `false`: it does not.
    fn press_enter_on(&self, text: &str) -> Result<bool, TypingError> {
        let started = Instant::now();
        while started.elapsed() < TAKEN_LIMIT {
            let look = self.look()?;
            if self.is_ours(&look, text) && look.reading.state == Some(ScreenState::Working) {
                return Err(TypingError::TurnBegan);
            }
            if self.is_ours(&look, text) && look.reading.dialog.is_none() {
                test_switches::wait_for_pipe(test_switches::ENTER_HELD);
                let target = look.screen.key_target(&look.reading);
                match self.pane.press_if_shown(ScreenKey::Enter.name(), &look.capture, &target) {
                    Ok(()) => return Ok(true),
                    Err(TmuxError::Changed(_)) => {}
                    // It is there, but was not sent.
                    Err(TmuxError::InMode(_)) => return Ok(false),
                    Err(error) => return Err(error.into()),
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(false)
    }

    /// Waits until the prompt was taken. `None`: it is still in its line.
    fn wait_until_taken(
        &self,
        text: &str,
        has_begun: &impl Fn() -> Result<Option<bool>, StoreError>,
    ) -> Result<Option<PromptProof>, TypingError> {
        let started = Instant::now();
        let mut gone_since = None;
        let mut gone_looks = 0;
        loop {
            let begun = has_begun()?;
            if begun == Some(true) {
                return Ok(Some(PromptProof::Hook));
            }
            let look = self.look()?;
            let is_at_work = look.reading.state == Some(ScreenState::Working);
            let is_gone =
                !self.is_ours(&look, text) && (is_at_work || look.reading.prompt == PromptLine::Empty);
            if is_gone {
                gone_looks += 1;
                let since = *gone_since.get_or_insert_with(Instant::now);
                let is_waited_for = begun.is_some() && since.elapsed() < HOOK_LIMIT;
                if gone_looks >= 2 && !is_waited_for {
                    return Ok(Some(PromptProof::Screen));
                }
            } else {
                (gone_since, gone_looks) = (None, 0);
                if started.elapsed() > TAKEN_LIMIT {
                    return Ok(None);
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Answers the dialog with that id by that choice. Returns what the pane shows afterwards; `None` if its program has
    /// ended.
    pub(in crate::ops) fn answer(&self, id: &str, choice: usize) -> Result<Option<PaneLook>, TypingError> {
        for _ in 0..MOST_MOVES {
            let look = self.look()?;
            let dialog = expected_dialog(&look, id)?;
            let step = self.reader.answer_step(dialog, choice).ok_or(TypingError::NoKeys)?;
            let selected = dialog.selected();
            match step {
                AnswerStep::Move(key) => {
                    if self.press_still(key, &look)? {
                        let has_moved = || {
                            let now = self.look()?;
                            Ok(expected_dialog(&now, id)?.selected() != selected)
                        };
                        if !until(ANSWER_LIMIT, has_moved)? {
                            return Err(TypingError::NotAnswered);
                        }
                    }
                }
                AnswerStep::Take(key) => {
                    test_switches::wait_for_pipe(test_switches::ENTER_HELD);
                    if !self.press_still(key, &look)? {
                        continue;
                    }
                    return self.wait_until_closed(id);
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Err(TypingError::NotAnswered)
    }

    /// Presses a key if the pane is as it was at that look. `false`: it has changed, and nothing was pressed.
    pub(super) fn press_still(&self, key: ScreenKey, look: &PaneLook) -> Result<bool, TypingError> {
        match self.pane.press_if_shown(key.name(), &look.capture, &look.screen.key_target(&look.reading)) {
            Ok(()) => Ok(true),
            Err(TmuxError::Changed(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the dialog is gone. `None`: the program has ended with it.
    fn wait_until_closed(&self, id: &str) -> Result<Option<PaneLook>, TypingError> {
        let started = Instant::now();
        let mut closed_looks = 0;
        loop {
            let look = match look_at(self.pane, self.reader) {
                Err(TmuxError::NoPane(_) | TmuxError::NoServer(_) | TmuxError::Dead(_)) => return Ok(None),
                look => look?,
            };
            let is_open = look.reading.dialog.as_ref().is_some_and(|dialog| dialog.id() == id);
            closed_looks = if is_open { 0 } else { closed_looks + 1 };
            if closed_looks >= 2 {
                return Ok(Some(look));
            }
            if is_open && started.elapsed() > ANSWER_LIMIT {
                return Err(TypingError::NotAnswered);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// The error of something that failed once the text may have been pasted.
fn after_paste(error: TypingError) -> TypingError {
    match error {
        TypingError::Tmux(TmuxError::TooSlow(_)) => TypingError::Unanswered,
        error => error,
    }
}

/// The dialog that is open, which must be the one with that id.
fn expected_dialog<'l>(look: &'l PaneLook, id: &str) -> Result<&'l Dialog, TypingError> {
    match &look.reading.dialog {
        _ if look.capture.is_in_mode => Err(TypingError::Obstacle(PromptObstacle::ScrolledBack)),
        None => Err(TypingError::NoDialog),
        Some(dialog) if dialog.id() != id => Err(TypingError::AnotherDialog(dialog.clone())),
        Some(dialog) => Ok(dialog),
    }
}

/// Waits until `is_so` is true, for `limit` at most.
fn until(limit: Duration, mut is_so: impl FnMut() -> Result<bool, TypingError>) -> Result<bool, TypingError> {
    let started = Instant::now();
    while !is_so()? {
        if started.elapsed() > limit {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(true)
}

//! Answers a dialog on the screen of a program: one key at a time, each after a look.

use std::time::{Duration, Instant};

use crate::domain::screens::Dialog;
use crate::harness::screen::AnswerStep;
use crate::sys::test_switches;
use crate::sys::tmux::TmuxError;

use super::pane_look::PaneLook;
use super::typing::{HeldPane, LOOK_EVERY, until};
use super::typing_error::{PromptObstacle, TypingError};

/// How long a program may take to move the selection, or to close a dialog.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How often the selection of a dialog is moved.
const MOST_MOVES: usize = 60;

impl HeldPane<'_> {
    /// Answers the dialog with that id by that choice. Returns what the pane shows afterwards; `None` if its program has
    /// ended.
    pub(in crate::ops) fn answer(&self, id: &str, choice: usize) -> Result<Option<PaneLook>, TypingError> {
        let mut has_pressed = false;
        for _ in 0..MOST_MOVES {
            let look = self.look()?;
            let dialog = expected_dialog(&look, id)?;
            let step = self.reader.answer_step(dialog, choice).ok_or(TypingError::NoKeys)?;
            let selected = dialog.selected();
            match step {
                AnswerStep::Move(key) => {
                    if self.press_still(key, &look)? {
                        has_pressed = true;
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
                    test_switches::wait_for_pipe(test_switches::KEY_HELD);
                    if !self.press_still(key, &look)? {
                        continue;
                    }
                    return self.wait_until_closed(id);
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Err(match has_pressed {
            true => TypingError::NotAnswered,
            false => TypingError::Obstacle(PromptObstacle::Changed),
        })
    }

    /// Waits until the dialog is gone. `None`: the program has ended with it.
    fn wait_until_closed(&self, id: &str) -> Result<Option<PaneLook>, TypingError> {
        let started = Instant::now();
        let mut closed_looks = 0;
        loop {
            let look = match self.look() {
                Err(TypingError::Tmux(
                    TmuxError::NoPane(_) | TmuxError::NoServer(_) | TmuxError::Dead(_),
                )) => {
                    return Ok(None);
                }
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

/// The dialog that is open, which must be the one with that id.
fn expected_dialog<'l>(look: &'l PaneLook, id: &str) -> Result<&'l Dialog, TypingError> {
    match &look.reading.dialog {
        _ if look.capture.is_in_mode => Err(TypingError::Obstacle(PromptObstacle::ScrolledBack)),
        None => Err(TypingError::NoDialog),
        Some(dialog) if dialog.id() != id => Err(TypingError::AnotherDialog(dialog.clone())),
        Some(dialog) => Ok(dialog),
    }
}

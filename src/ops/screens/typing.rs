//! Typing into the terminal of an agent: a prompt, an answer to a dialog, the keys that end a turn.
//!
//! A person may use the same terminal, and what a program shows changes at any time. So nothing is pressed blindly:
//! one process at a time types into a pane, every key follows a look, and tmux presses it only if the cursor is still
//! where that look saw it, and the dialog, the text or the turn that it is meant for is still there. Enter is pressed only while
//! the prompt line shows exactly the text that was pasted, or the selected choice of a dialog is the wanted one. What
//! can't be confirmed is reported and never typed again.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::domain::screens::{PromptLine, ScreenKey, acting_character};
use crate::harness::screen::ScreenReader;
use crate::store::StoreError;
use crate::sys::flock::LockError;
use crate::sys::test_switches;
use crate::sys::tmux::pane_lock::PaneLock;
use crate::sys::tmux::{TmuxError, TmuxPane};

use super::pane_look::{PaneLook, look_at};
use super::typing_error::{PromptObstacle, PromptProof, TypingError};

/// How often a look is taken while something is about to change.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(25);
/// How long somebody else may be typing into the pane: one prompt, and those that wait for the pane already.
const LOCK_LIMIT: Duration = Duration::from_secs(120);
/// How often Enter is pressed for one prompt: some programs ignore it while they take in a paste.
const MOST_ENTERS: usize = 3;

/// How long each step of typing a prompt may take.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops) struct TypingLimits {
    /// How long a screen may be redrawn before it counts as what it shows.
    pub(in crate::ops) redraw: Duration,
    /// How long a screen may show a turn that is over.
    pub(in crate::ops) turn_end: Duration,
    /// How long a text may take until the prompt line shows it.
    pub(in crate::ops) shown: Duration,
    /// How long a program may take to act on Enter before it counts as not taken.
    pub(in crate::ops) taken: Duration,
    /// How long a prompt that has left its line may take to be reported by its hook.
    pub(in crate::ops) hook: Duration,
}

impl Default for TypingLimits {
    /// For long texts.
    fn default() -> Self {
        Self {
            redraw: Duration::from_secs(1),
            turn_end: Duration::from_secs(1),
            shown: Duration::from_secs(20),
            taken: Duration::from_secs(5),
            hook: Duration::from_secs(5),
        }
    }
}

/// A pane into which nobody else types.
pub(in crate::ops) struct HeldPane<'a> {
    pane: &'a TmuxPane,
    pub(super) reader: &'static dyn ScreenReader,
    /// Whether what is typed is not wanted any more. It is asked before each look and each key.
    is_given_up: Option<&'a dyn Fn() -> bool>,
    limits: TypingLimits,
    _lock: PaneLock,
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
        let limits = TypingLimits::default();
        Ok(Self { pane, reader, is_given_up: None, limits, _lock: PaneLock::acquire(locks, pane, limit)? })
    }

    /// Gives up, with an error, as soon as that is so.
    pub(in crate::ops) fn unless(self, is_given_up: &'a dyn Fn() -> bool) -> Self {
        Self { is_given_up: Some(is_given_up), ..self }
    }

    /// With other limits than those for long texts.
    pub(in crate::ops) fn within(self, limits: TypingLimits) -> Self {
        Self { limits, ..self }
    }

    pub(in crate::ops) fn look(&self) -> Result<PaneLook, TypingError> {
        self.check_wanted()?;
        Ok(look_at(self.pane, self.reader)?)
    }

    /// That what is typed is still wanted.
    fn check_wanted(&self) -> Result<(), TypingError> {
        match self.is_given_up.is_some_and(|is_given_up| is_given_up()) {
            true => Err(TypingError::GivenUp),
            false => Ok(()),
        }
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
        self.check_wanted()?;
        loaded.paste_if_still(&look.capture).map_err(|error| after_paste(error.into()))?;
        self.send(text, &has_begun).map_err(after_paste)
    }

    /// Sends what was pasted.
    fn send(
        &self,
        text: &str,
        has_begun: &impl Fn() -> Result<Option<bool>, StoreError>,
    ) -> Result<PromptProof, TypingError> {
        let is_shown = until(self.limits.shown, || Ok(self.is_ours(&self.look()?, text)))?;
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
                Some(obstacle) => {
                    let is_turn = obstacle == PromptObstacle::Turn;
                    let limit = if is_turn { self.limits.turn_end } else { self.limits.redraw };
                    if started.elapsed() > limit {
                        return Err(TypingError::Obstacle(obstacle));
                    }
                    was_free = false;
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Presses Enter while the prompt line shows that text and nothing else. `false`: it does not.
    fn press_enter_on(&self, text: &str) -> Result<bool, TypingError> {
        let started = Instant::now();
        while started.elapsed() < self.limits.taken {
            let look = self.look()?;
            if self.is_ours(&look, text) && look.reading.is_busy() {
                return Err(TypingError::TurnBegan);
            }
            if self.is_ours(&look, text) && look.reading.dialog.is_none() {
                test_switches::wait_for_pipe(test_switches::KEY_HELD);
                self.check_wanted()?;
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
            let has_left = look.reading.is_busy() || look.reading.prompt == PromptLine::Empty;
            let is_gone = !self.is_ours(&look, text) && has_left;
            if is_gone {
                gone_looks += 1;
                let since = *gone_since.get_or_insert_with(Instant::now);
                let is_waited_for = begun.is_some() && since.elapsed() < self.limits.hook;
                if gone_looks >= 2 && !is_waited_for {
                    return Ok(Some(PromptProof::Screen));
                }
            } else {
                (gone_since, gone_looks) = (None, 0);
                if started.elapsed() > self.limits.taken {
                    return Ok(None);
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Presses a key if the pane is as it was at that look. `false`: it has changed, and nothing was pressed.
    pub(super) fn press_still(&self, key: ScreenKey, look: &PaneLook) -> Result<bool, TypingError> {
        self.check_wanted()?;
        match self.pane.press_if_shown(key.name(), &look.capture, &look.screen.key_target(&look.reading)) {
            Ok(()) => Ok(true),
            Err(TmuxError::Changed(_)) => Ok(false),
            Err(error) => Err(error.into()),
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

/// Waits until `is_so` is true, for `limit` at most.
pub(super) fn until(
    limit: Duration,
    mut is_so: impl FnMut() -> Result<bool, TypingError>,
) -> Result<bool, TypingError> {
    let started = Instant::now();
    while !is_so()? {
        if started.elapsed() > limit {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(true)
}

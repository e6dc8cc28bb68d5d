//! Wakes an agent by a paste into its tmux pane: for harnesses that nothing else wakes, and only if the user allowed
//! it.
//!
//! The pane must be the agent's own and show an empty prompt, so that no draft is sent and no dialog is answered. The
//! prompt must show our text alone before Enter is pressed. If it is not sent, our text is removed again. Every key
//! follows a look, and tmux presses it only if the screen has not changed there since.
//!
//! The screen alone proves nothing: while it is redrawn it shows no prompt, and a client that has just received a paste
//! may take Enter as a part of it. So the prompt must be empty at two looks, the second right before the paste. A turn
//! that begins, as the agent's own hook reports it, proves that the text was sent; if the hook is slow, the text counts
//! as sent when it stays out of the prompt.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use crate::domain::Agent;
use crate::domain::screens::ScreenText;
use crate::harness::prompt_shape::{PromptShape, without_blanks};
use crate::harness::wake::WakeFailure;
use crate::harness::{self, ancestry};
use crate::ops::screens::agent_pane::{pane_locks, pane_of};
use crate::store::{Mesh, StoreError};
use crate::sys::environment::{Home, NoHome};
use crate::sys::flock::LockError;
use crate::sys::process;
use crate::sys::tmux::pane::{LoadedText, PaneCapture};
use crate::sys::tmux::pane_lock::PaneLock;
use crate::sys::tmux::{TmuxError, TmuxPane};

const LIMIT: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a prompt may take to be sent or redrawn.
const PAUSE: Duration = Duration::from_millis(300);
/// How long somebody else may be typing into the pane.
const LOCK_LIMIT: Duration = Duration::from_secs(5);

fn prompt_of(agent: &Agent) -> Option<PromptShape> {
    harness::support(agent.harness?)?.prompt_shape()
}

/// Whether the harness can be woken this way and its pane is known.
pub(super) fn is_possible(agent: &Agent) -> bool {
    prompt_of(agent).is_some() && pane_of(agent).is_some()
}

/// Types that text for the agent.
pub(super) fn paste(mesh: &Mesh, agent: &Agent, text: &str) -> Result<(), WakeFailure> {
    let prompt = prompt_of(agent);
    let prompt = prompt.ok_or(PasteError::UnknownPrompt)?;
    let pane = pane_of(agent).ok_or(PasteError::NoPane)?;
    let home = Home::find().map_err(PasteError::from)?;
    // Nobody else types into it meanwhile.
    let _lock = PaneLock::acquire(&pane_locks(&home), &pane, LOCK_LIMIT).map_err(PasteError::from)?;
    check(&pane, agent)?;
    let terminal = PaneTerminal { pane: &pane, loaded: RefCell::default(), seen: RefCell::default() };
    let has_begun = || Ok(!mesh.session_states().is_being_woken(&agent.session)?);
    PasteTarget { prompt, terminal: &terminal, limit: LIMIT, pause: PAUSE }.say(text, has_begun)
}

/// Why nothing was sent.
#[derive(Debug, thiserror::Error)]
enum PasteError {
    #[error("the look of its prompt is unknown")]
    UnknownPrompt,
    #[error("it is not in a tmux pane")]
    NoPane,
    #[error("its pane shows another program")]
    AnotherProgram,
    #[error("its pane is scrolled back")]
    ScrolledBack,
    #[error("its pane shows no empty prompt")]
    NoEmptyPrompt,
    #[error("its pane does not show what was pasted, alone")]
    NotShown,
    #[error("its prompt does not accept Enter")]
    NotSent,
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    #[error(transparent)]
    Locked(#[from] LockError),
    #[error(transparent)]
    Homeless(#[from] NoHome),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<PasteError> for WakeFailure {
    fn from(error: PasteError) -> Self {
        Self::Unsaid(error.to_string())
    }
}

/// The terminal that is pasted into.
trait Terminal {
    fn screen(&self) -> Result<String, PasteError>;
    /// Stores the text, so that little time passes between the last look and the paste.
    fn prepare(&self, text: &str) -> Result<(), PasteError>;
    /// Pastes it if nothing has changed since the last look.
    fn paste(&self) -> Result<(), PasteError>;
    fn discard(&self) -> Result<(), PasteError>;
    /// Presses a key if the input is still what the last look showed, which was this text. `false`: nothing was pressed.
    fn press(&self, key: &str, shown: &str) -> Result<bool, PasteError>;
}

/// A prompt in a terminal.
struct PasteTarget<'a, T> {
    prompt: PromptShape,
    terminal: &'a T,
    limit: Duration,
    pause: Duration,
}

impl<T: Terminal> PasteTarget<'_, T> {
    fn say(&self, text: &str, has_begun: impl Fn() -> Result<bool, PasteError>) -> Result<(), WakeFailure> {
        self.put(text)?;
        self.enter(text, has_begun).map_err(|reason| match self.take_back(text) {
            Ok(true) => reason.into(),
            // The user at that prompt may send it.
            Ok(false) | Err(_) => {
                WakeFailure::Unheard(format!("{reason}; our line may be left in its prompt"))
            }
        })
    }

    fn content(&self) -> Result<Option<String>, PasteError> {
        Ok(self.prompt.content(&self.terminal.screen()?))
    }

    fn shows(&self, text: &str) -> Result<bool, PasteError> {
        Ok(self.content()? == Some(without_blanks(text)))
    }

    fn is_empty(&self) -> Result<bool, PasteError> {
        self.shows(self.prompt.placeholder)
    }

    /// Pastes into a prompt that is empty at two looks in a row: at the end of a turn it is redrawn, and what the user
    /// has typed may not be shown yet.
    fn put(&self, text: &str) -> Result<(), PasteError> {
        self.terminal.prepare(text)?;
        let is_empty_twice = || {
            let was_empty = self.is_empty()?;
            std::thread::sleep(LOOK_EVERY);
            Ok(was_empty && self.is_empty()?)
        };
        if !until(self.pause, is_empty_twice)? {
            self.terminal.discard()?;
            return Err(PasteError::NoEmptyPrompt);
        }
        self.terminal.paste()
    }

    /// Sends what was pasted if the prompt shows exactly that. A prompt that does not show it proves nothing, because a
    /// screen that is being redrawn shows no prompt at all. A turn that begins proves that it was sent.
    fn enter(&self, text: &str, has_begun: impl Fn() -> Result<bool, PasteError>) -> Result<(), PasteError> {
        if !until(self.limit, || self.shows(text))? {
            return Err(PasteError::NotShown);
        }
        // Right after a paste, some clients take Enter for a part of it.
        let is_sent = || {
            if self.shows(text)? {
                // If the screen has changed since that look, it is looked at again.
                self.terminal.press("Enter", text)?;
            }
            until(self.pause, &has_begun)
        };
        // The hook may be slow; if our text stays out of the prompt, it was sent all the same.
        match until(self.limit, is_sent)? || !until(self.pause, || self.shows(text))? {
            true => Ok(()),
            false => Err(PasteError::NotSent),
        }
    }

    /// Removes our text if it is the end of the input; the rest is the user's and stays. `false`: our text may still be
    /// there.
    fn take_back(&self, text: &str) -> Result<bool, PasteError> {
        let ours = without_blanks(text);
        let Some(content) = self.content()? else { return Ok(false) };
        let Some(draft) = content.strip_suffix(&ours) else {
            return Ok(!content.contains(&ours) && self.is_empty()?);
        };
        // One at a time, each after a look: what somebody types meanwhile is not ours to remove.
        let mut rest = text.to_string();
        loop {
            let left = format!("{draft}{rest}");
            let shown: &str = if without_blanks(&left).is_empty() { self.prompt.placeholder } else { &left };
            if rest.is_empty() {
                return until(self.limit, || self.shows(shown));
            }
            if !until(self.limit, || Ok(self.shows(shown)? && self.terminal.press("BSpace", shown)?))? {
                return Ok(false);
            }
            rest.pop();
        }
    }
}

/// Waits until `is_so` is true, for `limit` at most.
fn until(limit: Duration, mut is_so: impl FnMut() -> Result<bool, PasteError>) -> Result<bool, PasteError> {
    let started = Instant::now();
    while !is_so()? {
        if started.elapsed() > limit {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(true)
}

/// Whether the pane still shows the agent and takes keys normally.
fn check(pane: &TmuxPane, agent: &Agent) -> Result<(), PasteError> {
    let info = pane.info()?;
    let above = ancestry::above(agent.process.pid());
    let is_in_front = process::is_in_foreground(agent.process.pid());
    if !is_in_front || !above.contains(&info.pid) {
        return Err(PasteError::AnotherProgram);
    }
    if info.is_in_mode {
        return Err(PasteError::ScrolledBack);
    }
    Ok(())
}

/// A pane, the text that its server has for it, and what the last look at it showed.
struct PaneTerminal<'a> {
    pane: &'a TmuxPane,
    loaded: RefCell<Option<LoadedText<'a>>>,
    seen: RefCell<Option<(PaneCapture, ScreenText)>>,
}

impl Terminal for PaneTerminal<'_> {
    fn screen(&self) -> Result<String, PasteError> {
        let capture = self.pane.capture()?;
        let screen = ScreenText::of_capture(&capture.text);
        let text = screen.text();
        self.seen.replace(Some((capture, screen)));
        Ok(text)
    }

    fn prepare(&self, text: &str) -> Result<(), PasteError> {
        self.loaded.replace(Some(self.pane.load(text)?));
        Ok(())
    }

    fn paste(&self) -> Result<(), PasteError> {
        let (seen, loaded) = (self.seen.borrow(), self.loaded.take());
        let (Some((capture, _)), Some(loaded)) = (&*seen, loaded) else { return Ok(()) };
        match loaded.paste_if_still(capture) {
            Err(TmuxError::Changed(_)) => Err(PasteError::NoEmptyPrompt),
            pasted => Ok(pasted?),
        }
    }

    fn discard(&self) -> Result<(), PasteError> {
        Ok(self.loaded.take().map_or(Ok(()), LoadedText::discard)?)
    }

    fn press(&self, key: &str, shown: &str) -> Result<bool, PasteError> {
        let seen = self.seen.borrow();
        let Some((capture, screen)) = &*seen else { return Ok(false) };
        match self.pane.press_if_shown(key, capture, &screen.lines_within(shown)) {
            Err(TmuxError::Changed(_)) => Ok(false),
            pressed => Ok(pressed.map(|()| true)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::harness::prompt_shape::PromptFrame;

    const TEXT: &str = "[msg] There is mail.";

    /// A prompt, and a user who types into it at the `typed_at`th look.
    struct Fake {
        typed: RefCell<String>,
        ready: RefCell<String>,
        looks: Cell<usize>,
        typed_at: usize,
        draft: &'static str,
        /// What was sent by Enter.
        sent: RefCell<Vec<String>>,
        /// It ignores Enter, and its user types after so many characters were removed.
        types_after: Option<usize>,
        removed: Cell<usize>,
    }

    impl Fake {
        fn new(typed_at: usize, draft: &'static str) -> Self {
            let (typed, ready, sent) = Default::default();
            let (types_after, removed) = (None, Cell::new(0));
            Self { typed, ready, looks: Cell::new(0), typed_at, draft, sent, types_after, removed }
        }

        fn say(&self) -> Result<(), WakeFailure> {
            let prompt = PromptShape { marks: &["❯"], placeholder: "", frame: PromptFrame::Rules };
            let (limit, pause) = (Duration::from_millis(100), Duration::from_millis(50));
            let place = PasteTarget { prompt, terminal: self, limit, pause };
            place.say(TEXT, || Ok(!self.sent.borrow().is_empty()))
        }
    }

    impl Terminal for Fake {
        fn screen(&self) -> Result<String, PasteError> {
            self.looks.set(self.looks.get() + 1);
            if self.looks.get() == self.typed_at {
                let behind = self.typed.replace(String::new());
                self.typed.replace(format!("{}{behind}", self.draft));
            }
            Ok(format!(" ● Done.\n─────\n❯ {}\n─────\n / commands\n", self.typed.borrow()))
        }

        fn prepare(&self, text: &str) -> Result<(), PasteError> {
            self.ready.replace(text.to_string());
            Ok(())
        }

        fn paste(&self) -> Result<(), PasteError> {
            self.typed.borrow_mut().push_str(&self.ready.take());
            Ok(())
        }

        fn discard(&self) -> Result<(), PasteError> {
            self.ready.take();
            Ok(())
        }

        fn press(&self, key: &str, _: &str) -> Result<bool, PasteError> {
            match key {
                "Enter" if self.types_after.is_some() => {}
                "Enter" => self.sent.borrow_mut().push(self.typed.take()),
                _ => {
                    self.typed.borrow_mut().pop();
                    self.removed.set(self.removed.get() + 1);
                    if self.types_after == Some(self.removed.get()) {
                        self.typed.borrow_mut().push_str(self.draft);
                    }
                }
            }
            Ok(true)
        }
    }

    #[test]
    fn an_empty_prompt_is_pasted_into_and_sent() {
        let fake = Fake::new(0, "");
        assert!(fake.say().is_ok());
        assert_eq!(*fake.sent.borrow(), [TEXT]);
    }

    #[test]
    fn a_draft_that_shows_late_is_neither_pasted_into_nor_sent() {
        // The first look shows an empty prompt, the second one a draft.
        let fake = Fake::new(2, "half a thought");
        assert!(matches!(fake.say(), Err(WakeFailure::Unsaid(_))));
        assert_eq!((fake.typed.take().as_str(), fake.sent.borrow().len()), ("half a thought", 0));
        assert!(fake.ready.borrow().is_empty(), "nothing is left to be pasted");
    }

    #[test]
    fn what_was_pasted_behind_a_draft_is_taken_back() {
        // Both looks show an empty prompt; the draft appears next to what was pasted.
        let fake = Fake::new(3, "half a thought");
        assert!(matches!(fake.say(), Err(WakeFailure::Unsaid(_))));
        assert_eq!((fake.typed.take().as_str(), fake.sent.borrow().len()), ("half a thought", 0));
    }

    #[test]
    fn who_types_while_it_is_taken_back_loses_nothing() {
        let fake = Fake { types_after: Some(3), ..Fake::new(0, "half a thought") };
        assert!(matches!(fake.say(), Err(WakeFailure::Unheard(_))));
        assert_eq!(fake.typed.take(), "[msg] There is mahalf a thought");
    }
}

//! Takes back a text that was pasted into a prompt line and could not be sent.

use std::time::Duration;

use crate::domain::screens::{PromptLine, ScreenKey, without_blanks};

use super::pane_look::PaneLook;
use super::typing::{HeldPane, until};
use super::typing_error::TypingError;

/// How long one character may take to go.
const LIMIT: Duration = Duration::from_secs(2);

impl HeldPane<'_> {
    /// Removes the text if it is the end of what is in the prompt line; the rest is its user's and stays. `false`: the text may
    /// still be there.
    pub(in crate::ops) fn take_back(&self, text: &str) -> Result<bool, TypingError> {
        let Some(typed) = typed_at(&self.look()?) else { return Ok(false) };
        let Some(draft) = typed.strip_suffix(&without_blanks(text)) else { return Ok(typed.is_empty()) };
        // One at a time, each after a look: what somebody types meanwhile is not ours to remove.
        let mut rest = text.to_string();
        loop {
            let left = Some(without_blanks(&format!("{draft}{rest}")));
            if rest.is_empty() {
                return until(LIMIT, || Ok(typed_at(&self.look()?) == left));
            }
            let is_removed = until(LIMIT, || {
                let look = self.look()?;
                Ok(typed_at(&look) == left && self.press_still(ScreenKey::Backspace, &look)?)
            });
            if !is_removed? {
                return Ok(false);
            }
            rest.pop();
        }
    }
}

/// What is typed in the prompt line, without blanks. `None`: there is none, or something has opened above it.
fn typed_at(look: &PaneLook) -> Option<String> {
    match &look.reading.prompt {
        _ if look.reading.dialog.is_some() => None,
        PromptLine::Empty => Some(String::new()),
        PromptLine::Draft(draft) => Some(without_blanks(draft)),
        PromptLine::Hidden => None,
    }
}

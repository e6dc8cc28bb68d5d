//! Wakes an agent by a paste into its tmux pane: for harnesses that nothing else wakes, and only if the user allowed
//! it.
//!
//! It is typed like everything else (`ops/screens/typing.rs`): into an empty prompt line and nowhere else, and Enter is
//! pressed only while the line shows our text alone. Two things differ. The sender waits, so every step has to be quick. And
//! nobody is there to decide what becomes of a text that is not sent, so it is removed again.

use std::time::Duration;

use crate::domain::Agent;
use crate::harness;
use crate::harness::screen::ScreenReader;
use crate::harness::wake::WakeFailure;
use crate::ops::screens::agent_pane::{find_pane, is_shown_in, pane_locks, panes_of};
use crate::ops::screens::typing::{HeldPane, TypingLimits};
use crate::ops::screens::typing_error::TypingError;
use crate::store::Mesh;
use crate::sys::environment::Home;
use crate::sys::tmux::TmuxPane;

/// How long somebody else may be typing into the pane.
const LOCK_LIMIT: Duration = Duration::from_secs(5);
const LIMITS: TypingLimits = TypingLimits {
    redraw: Duration::from_millis(300),
    // Its hook has reported the end of the turn, and may be what the screen still shows.
    turn_end: Duration::from_secs(3),
    shown: Duration::from_secs(2),
    taken: Duration::from_millis(700),
    hook: Duration::from_millis(700),
};

fn reader_of(agent: &Agent) -> Option<&'static dyn ScreenReader> {
    harness::support(agent.harness?)?.paste_reader()
}

/// Whether the harness can be woken this way and its pane is known.
pub(super) fn is_possible(agent: &Agent) -> bool {
    reader_of(agent).is_some() && !panes_of(agent).is_empty()
}

/// Types that text for the agent.
pub(super) fn paste(mesh: &Mesh, agent: &Agent, text: &str) -> Result<(), WakeFailure> {
    let unsaid = |why: &str| WakeFailure::Unsaid(why.to_string());
    let reader = reader_of(agent).ok_or_else(|| unsaid("the look of its prompt is unknown"))?;
    let home = Home::find().map_err(|error| unsaid(&error.to_string()))?;
    let found = find_pane(agent, TmuxPane::info).map_err(|error| unsaid(&error.to_string()))?;
    let (pane, info) = found.ok_or_else(|| unsaid("it is not in a tmux pane"))?;
    let held = HeldPane::hold_within(LOCK_LIMIT, &pane_locks(&home), &pane, reader);
    let held = held.map_err(|error| unsaid(&error.to_string()))?.within(LIMITS);
    let is_shown = is_shown_in(mesh, info.pid, agent).map_err(|error| unsaid(&error.message))?;
    if info.is_dead || !is_shown {
        return Err(unsaid("its pane shows another program"));
    }
    let has_begun = || Ok(Some(!mesh.session_states().is_being_woken(&agent.session)?));
    match held.type_prompt(text, has_begun) {
        Ok(_) => Ok(()),
        Err(error @ (TypingError::Obstacle(_) | TypingError::ActsAsKey(_))) => {
            Err(unsaid(&error.to_string()))
        }
        Err(error) => Err(match held.take_back(text) {
            Ok(true) => WakeFailure::Unsaid(format!("{error}; it was removed again")),
            // The user at that prompt may send it.
            Ok(false) | Err(_) => {
                WakeFailure::Unheard(format!("{error}; our line may be left in its prompt"))
            }
        }),
    }
}

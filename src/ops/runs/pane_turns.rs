//! The turns of a worker in a tmux pane: when one is over, and who is told of it.

use std::time::Duration;

use crate::domain::SessionId;
use crate::domain::screens::ScreenTrouble;
use crate::store::WorkerTurns;

use super::telling;
use super::watch_pane::{NO_HOOKS, PaneWatcher, SOON};
use crate::ops::error::CommandError;
use crate::ops::runner::carry_out;
use crate::ops::screens::pane_look::PaneLook;

/// How long a screen without a turn must stay so before the turn counts as ended without a hook.
const CUT_SHORT: Duration = Duration::from_secs(4);

impl PaneWatcher<'_, '_> {
    /// What its hooks said. If that can't be read now, what they had said before: a worker must not end because of it.
    pub(super) fn turns(&mut self) -> WorkerTurns {
        match self.supervisor.mesh.runs().turns(&self.supervisor.run.id) {
            Ok(turns) => self.known_turns = turns,
            Err(error) => {
                tracing::debug!("the turns of run {} can't be read: {error}", self.supervisor.run.id);
            }
        }
        self.known_turns.clone()
    }

    /// Takes over the session that its hook named, so that the run can be resumed. Some harnesses choose it themselves.
    pub(super) fn note_session(&mut self, turns: &WorkerTurns) -> Result<(), CommandError> {
        let run = &mut self.supervisor.run;
        let told = turns.session.as_deref().filter(|_| run.session.is_none());
        let Some(session) = told.and_then(|session| SessionId::new(session).ok()) else { return Ok(()) };
        run.session = Some(session);
        Ok(self.supervisor.mesh.runs().put(&self.supervisor.run)?)
    }

    /// Records where its pane is: other windows may have come before it, or it was moved.
    pub(super) fn note_place(&mut self, place: &str) -> Result<(), CommandError> {
        match &mut self.supervisor.run.pane {
            Some(pane) if pane.place != place => pane.place = place.to_string(),
            _ => return Ok(()),
        }
        Ok(self.supervisor.mesh.runs().put(&self.supervisor.run)?)
    }

    /// A turn is over if its hook says so and two looks showed none. Without a hook it is over if the screen stays without
    /// one: its user ended it, the model could not be asked, or no hook runs at all. What a person types meanwhile begins
    /// the next turn, and does not keep this one from being over.
    pub(super) fn look_for_turn_end(&mut self, look: &PaneLook) -> Result<(), CommandError> {
        let turns = self.turns();
        let rests_for = self.rests_since.map(|since| since.elapsed()).unwrap_or_default();
        if turns.ours_over > self.told && rests_for >= SOON.min(self.look_interval()) {
            self.told = turns.ours_over;
            let words = turns.words.filter(|words| !words.trim().is_empty());
            let words = words.unwrap_or_else(|| self.screen.last_lines());
            return self.tell_turn_over(words, None);
        }
        if turns.is_in_turn() && turns.is_ours && self.cut_short < turns.prompts && rests_for >= CUT_SHORT {
            self.cut_short = turns.prompts;
            let trouble = look.reading.trouble.as_ref().map(ScreenTrouble::sentence);
            let reason = trouble.unwrap_or_else(|| "its turn was interrupted".to_string());
            return self.tell_turn_over(self.screen.last_lines(), Some(reason));
        }
        let given = self.supervisor.run.pane.as_ref().map_or(0, |pane| pane.prompts);
        if turns.prompts == 0 && given > self.told_by_screen && rests_for >= CUT_SHORT {
            self.told_by_screen = given;
            return self.tell_turn_over(self.screen.last_lines(), Some(NO_HOOKS.to_string()));
        }
        Ok(())
    }

    fn tell_turn_over(&mut self, words: String, reason: Option<String>) -> Result<(), CommandError> {
        let run = &mut self.supervisor.run;
        run.result = Some(words);
        run.reason = reason;
        if let Some(pane) = &mut run.pane {
            pane.turns += 1;
        }
        self.supervisor.mesh.runs().put(&self.supervisor.run)?;
        self.keep_screen();
        let told = telling::tell_turn(self.supervisor.op, self.supervisor.mesh, &self.supervisor.run);
        self.warn_of(told);
        carry_out(self.supervisor.op);
        Ok(())
    }

    /// A message that can't be sent must not end the worker.
    pub(super) fn warn_of(&self, told: Result<(), CommandError>) {
        if let Err(error) = told {
            let run = &self.supervisor.run.id;
            self.supervisor.op.warn(format!("the parent of run {run} was not told: {}", error.message));
        }
    }
}

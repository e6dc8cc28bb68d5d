//! The supervisor's view of whether its worker in a terminal gets anywhere: tells the parent what is wrong, and knows
//! which dialogs are answered without asking anybody.

use crate::domain::screens::Dialog;
use crate::domain::workers::{DialogAnswer, Triage};
use crate::store::PaneOrder;

use super::own_run::run_of_agent;
use super::supervisor::Supervisor;
use super::telling;
use crate::ops::error::CommandError;
use crate::ops::runner::carry_out;
use crate::ops::screens::sight::see_in;
use crate::ops::screens::worker_watch::WorkerWatch;

/// How often one dialog is answered before somebody has to look at it.
const MOST_ANSWERS: usize = 3;

/// Watches whether one worker gets anywhere.
#[derive(Debug, Default)]
pub(super) struct ProgressWatch {
    watch: WorkerWatch,
    /// The dialog that was answered last, and how often.
    answered: Option<(String, usize)>,
}

impl ProgressWatch {
    /// Looks at the worker if that is worth it, and tells its parent what is new.
    pub(super) fn look(&mut self, supervisor: &Supervisor<'_>) -> Result<(), CommandError> {
        if !self.watch.is_due() {
            return Ok(());
        }
        let (mesh, run) = (supervisor.mesh, &supervisor.run);
        let Some(name) = mesh.runs().worker(&run.id)? else { return Ok(()) };
        let Some(record) = mesh.registry().get(&name)? else { return Ok(()) };
        // Somebody else may have its name by now, whose screen is not for the parent.
        if run_of_agent(mesh, &record.agent)?.is_none_or(|its| its.id != run.id) {
            return Ok(());
        }
        let sight = see_in(mesh, &record.agent)?;
        let interval = |usual| supervisor.op.settings.paced(usual);
        let news = self.watch.look(mesh, &sight, run, (supervisor.order.is_to_write, interval))?;
        for finding in news {
            let screen = sight.screen().map(|screen| screen.text()).unwrap_or_default();
            let call = sight.hooks.steps.open_calls().last().and_then(|call| call.tool.clone());
            match telling::tell_finding(supervisor.op, mesh, run, (finding, &screen, call.as_deref())) {
                Ok(()) => self.watch.note_told(finding, &sight),
                // It is told after the next look.
                Err(error) => {
                    let text = format!("the parent of run {} was not told that it gets nowhere", run.id);
                    supervisor.op.warn(format!("{text}: {}", error.message));
                }
            }
            carry_out(supervisor.op);
        }
        Ok(())
    }

    /// The choice that answers this dialog without asking anybody. Not if it was answered so several times already, and is
    /// still there.
    pub(super) fn choice_for(&mut self, order: &PaneOrder, dialog: &Dialog) -> Option<usize> {
        let known = order
            .triage
            .iter()
            .map(|answer| DialogAnswer { dialog: answer.dialog.clone(), choice: answer.choice.clone() });
        let choice = Triage::Answer(known.collect()).choice_for(dialog)?;
        let id = dialog.id();
        let times = match &self.answered {
            Some((last, times)) if *last == id => *times,
            _ => 0,
        };
        if times >= MOST_ANSWERS {
            return None;
        }
        self.answered = Some((id, times + 1));
        Some(choice)
    }
}

//! How a worker in a tmux pane ends: stopped, out of time, or by itself; and what is kept of it.

use std::time::{Duration, Instant};

use crate::domain::Agent;
use crate::domain::runs::{RunEvidence, RunState, judge_end};
use crate::harness::worker::WorkerExit;
use crate::store::{StopOrder, StopUrgency};
use crate::sys::keeper::KeptExit;
use crate::sys::tmux::TmuxError;

use super::ending::{Ending, WRAP_UP};
use super::supervisor::RunFinish;
use super::telling;
use super::watch_pane::{KeeperEnd, PaneWatcher, SOON};
use crate::ops::error::CommandError;
use crate::ops::runner::carry_out;
use crate::ops::screens::pane_look::look_at;

/// How long what a program has printed may take until tmux shows it.
const DRAWN: Duration = Duration::from_millis(500);

/// What is said of a worker that ended with its tmux server.
const SERVER_LOST: &str = "its tmux server was ended";

impl PaneWatcher<'_, '_> {
    pub(super) fn act_when_due(&mut self) {
        let now = Instant::now();
        if self.ending.is_none()
            && self.exit.is_none()
            && self.deadline.is_some_and(|deadline| deadline <= now)
        {
            let seconds = self.supervisor.order.timeout_seconds.unwrap_or_default();
            self.end_worker(RunState::Timeout, format!("it took more than {seconds} s"), now);
        }
        if Ending::has_become_due(&mut self.ending, now) {
            // If the keeper is gone, that is noticed elsewhere.
            drop(self.program.terminate());
        }
    }

    pub(super) fn end_worker(&mut self, state: RunState, reason: String, terminate_at: Instant) {
        Ending::set(&mut self.ending, state, reason, terminate_at);
    }

    pub(super) fn look_for_stop(&mut self) {
        if self.exit.is_some() {
            return;
        }
        let (ledger, id) = (self.supervisor.mesh.runs(), &self.supervisor.run.id);
        let order = ledger.stop_order(id).unwrap_or_else(|error| {
            // It is read again in a second.
            tracing::debug!("whether run {id} is to stop can't be read: {error}");
            None
        });
        let Some(StopOrder { by, urgency }) = order else { return };
        if urgency == StopUrgency::WrapUp && self.ending.is_some() {
            return;
        }
        // Between turns it has nothing to wrap up.
        let worker = match urgency == StopUrgency::WrapUp && self.turns().is_in_turn() {
            true => self.worker_agent().unwrap_or_else(|error| {
                self.supervisor.op.warn(format!("the worker was not told to wrap up: {}", error.message));
                None
            }),
            false => None,
        };
        let at = match &worker {
            Some(worker) => {
                telling::tell_to_wrap_up(self.supervisor.op, worker, &by, WRAP_UP.as_secs() as usize);
                carry_out(self.supervisor.op);
                Instant::now() + WRAP_UP
            }
            None => Instant::now(),
        };
        self.end_worker(RunState::Stopped, format!("stopped by {by}"), at);
    }

    fn worker_agent(&self) -> Result<Option<Agent>, CommandError> {
        let Some(name) = self.supervisor.mesh.runs().worker(&self.supervisor.run.id)? else {
            return Ok(None);
        };
        Ok(self.supervisor.mesh.registry().get(&name)?.map(|record| record.agent))
    }

    /// Looks at what it printed last: one that ended badly says why, maybe before the first look. After a good end the
    /// screen of its last turn is kept. Then its window may close.
    pub(super) fn see_end(&mut self) {
        let has_failed = self.ending.is_none() && self.exit != Some(KeptExit::Code(0));
        if has_failed {
            self.see_loss();
        }
        let started = Instant::now();
        while has_failed || self.screen.is_blank() {
            let Ok(look) = look_at(&self.pane, self.reader) else { break };
            if !look.screen.text().trim().is_empty() {
                self.see(&look);
                break;
            }
            if started.elapsed() > DRAWN {
                break;
            }
            std::thread::sleep(SOON / 8);
        }
        // If the keeper is gone, so is the window.
        drop(self.program.release());
    }

    /// Looks whether its pane is there. Its keeper keeps it open until it is released.
    fn see_loss(&mut self) {
        self.pane_loss = match self.pane.info_briefly() {
            Err(TmuxError::NoServer(_)) => Some(SERVER_LOST),
            Err(TmuxError::NoPane(_)) => Some("its tmux window was closed"),
            _ => None,
        };
    }

    /// The end of the run; `end` is the last news of its keeper.
    pub(super) fn finish(mut self, end: KeeperEnd) -> Result<RunFinish, CommandError> {
        let turns = self.turns();
        self.note_session(&turns)?;
        let words = turns.words.clone().filter(|words| !words.trim().is_empty());
        let result = words.or(self.supervisor.run.result.clone());
        let finish = |state: RunState, reason: Option<String>| RunFinish {
            state: Some(state),
            reason,
            result: result.clone(),
            usage: None,
        };
        if let Some(ending) = self.ending.take() {
            return Ok(finish(ending.state, Some(ending.reason)));
        }
        if end == KeeperEnd::Lost && self.exit.is_none() {
            self.see_loss();
            // Without its keeper, a window closes.
            let lost = self.pane_loss.filter(|loss| *loss == SERVER_LOST);
            let reason = format!("{}, and the worker with it", lost.unwrap_or("its keeper was killed"));
            return Ok(finish(RunState::Failed, Some(reason)));
        }
        let failure = match self.exit {
            Some(KeptExit::Code(0)) if turns.over == 0 && self.told == 0 && self.told_by_screen == 0 => {
                Some("it ended before a turn was over".to_string())
            }
            Some(KeptExit::Code(0)) => None,
            Some(KeptExit::Code(code)) => Some(format!("it ended with {}", WorkerExit::Code(code))),
            Some(KeptExit::Signal(signal)) => Some(format!("it was ended by {}", WorkerExit::Signal(signal))),
            None => Some("its end was not reported".to_string()),
        };
        let failure = failure.map(|how| match self.pane_loss {
            Some(loss) => format!("{loss}, and {how}"),
            None => how,
        });
        self.supervisor.commit_work();
        let evidence = RunEvidence {
            result: result.clone(),
            failure,
            denied: None,
            has_changed: self.supervisor.has_changed(),
            is_to_write: self.supervisor.order.is_to_write,
        };
        let (state, reason) = judge_end(&evidence);
        Ok(finish(state, reason))
    }
}

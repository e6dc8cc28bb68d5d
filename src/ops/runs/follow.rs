//! Following a run: whoever follows only watches the ledger, and may be killed without harm to the run.

use std::time::{Duration, Instant};

use crossbeam_channel::{after, never, select};

use crate::domain::runs::{Run, RunId, RunState};
use crate::store::WatchTarget;
use crate::sys::clock;
use crate::sys::signals::StopRequest;

use super::elsewhere::copies;
use super::list::as_it_is;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::keep_link;

/// How often to look although nothing changed: no file reports a death.
const TICK: Duration = Duration::from_secs(1);
/// A run that is queued for so long and says why is not about to start.
const QUEUED_FOR: Duration = Duration::from_secs(2);

/// Why following ended.
#[derive(Debug)]
pub enum FollowEnd {
    /// The run has ended.
    Ended(Run),
    /// The time is over, a question is open, or it is as far as it was to be followed. The run goes on.
    GoesOn(Run),
    /// We were asked to stop.
    Stopped(Run),
}

/// How far a run is followed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FollowGoal {
    End,
    /// To its end; one in tmux, which goes on, to the end of its first turn.
    FirstTurn,
    /// Until it has taken its first prompt, in tmux, or is queued.
    PromptTaken,
    /// Until the other machine, which was asked for it, has started it or refused.
    Started,
}

impl FollowGoal {
    /// Whether a run in tmux is so far. It also is if a dialog is open, for which nobody is asked here.
    fn is_reached(self, run: &Run) -> bool {
        if self == Self::PromptTaken && is_kept_waiting(run) {
            return true;
        }
        if self == Self::Started {
            return run.elsewhere.as_ref().is_none_or(|place| place.there.is_some());
        }
        let Some(pane) = run.pane.as_ref().filter(|_| self != Self::End) else { return false };
        let has_prompt = !run.task.trim().is_empty();
        run.dialog.is_some()
            || match self {
                Self::FirstTurn if has_prompt => pane.turns > 0,
                Self::PromptTaken if has_prompt => pane.prompts > 0,
                Self::FirstTurn | Self::PromptTaken | Self::End | Self::Started => pane.is_ready,
            }
    }
}

/// Whether it is queued, says why, and has been for a while: others that are before it may only be about to start.
pub fn is_kept_waiting(run: &Run) -> bool {
    let since = Duration::try_from(clock::now().duration_since(run.queued_at)).unwrap_or_default();
    run.state == RunState::Queued && run.reason.is_some() && since >= QUEUED_FOR
}

/// Follows a run until its end, for `limit` at most. `show` gets it whenever it changed, and about every second.
pub fn follow(
    op: &Op,
    id: &RunId,
    (goal, limit): (FollowGoal, Option<Duration>),
    stop: &StopRequest,
    mut show: impl FnMut(&Run),
) -> Result<FollowEnd, CommandError> {
    let gone = || CommandError::new(CommandErrorKind::UnknownRun, format!("run {id} is gone"));
    let mesh = op.mesh()?.ok_or_else(gone)?;
    let until = limit.map(|limit| Instant::now() + limit);
    // The watch comes before the first look, so that nothing is missed in between.
    let here = mesh.runs().get(id)?.is_some();
    let watch = mesh.watch(if here { WatchTarget::Run(id) } else { WatchTarget::RunElsewhere(id) })?;
    let silence = never();
    loop {
        let run = match here {
            true => as_it_is(&mesh, mesh.runs().get(id)?.ok_or_else(gone)?),
            false => {
                // Without it no news come.
                keep_link(op, &mesh);
                copies::get(&mesh, id)?.ok_or_else(gone)?
            }
        };
        if run.state.is_final() {
            return Ok(FollowEnd::Ended(run));
        }
        if stop.is_requested() {
            return Ok(FollowEnd::Stopped(run));
        }
        let is_over = until.is_some_and(|until| until <= Instant::now());
        if is_over || goal.is_reached(&run) || limit.is_some() && run.state == RunState::Waiting {
            return Ok(FollowEnd::GoesOn(run));
        }
        show(&run);
        let left = until.map_or(TICK, |until| until.saturating_duration_since(Instant::now()).min(TICK));
        select! {
            recv(watch.as_ref().map_or(&silence, |watch| watch.hints())) -> _ => {}
            recv(stop.wake()) -> _ => {}
            recv(after(left)) -> _ => {}
        }
    }
}

//! Runs ops, and carries out their effects.
//!
//! The faces run every op here, so none of them can forget to tell or to wake anybody. Notices come first, because
//! somebody may be waiting for them; then lines of the feed; then background jobs, which are only started; then wakes,
//! which may take seconds. All notices are posted under one lock, and all lines are written under another. So however
//! many there are, telling others waits at most `lockTimeout` for the first lock (and again for `mesh.lock` if a
//! recipient has gone) and two seconds for the second.
//!
//! If an op panics, its effects are lost, as if the process had been killed after the last commit: what it recorded may
//! be about a change that it did not finish.

use crate::domain::AgentName;
use crate::store::holds_a_lock;

use super::background::start;
use super::context::Context;
use super::effects::{Effects, NoticeUrgency, Op};
use super::link::ask;
use super::{notices, wake};

/// The result of an op. The fields are private: a caller gets both or neither, so it can't forget the warnings.
#[derive(Debug)]
#[must_use = "the outcome may be an error, and the warnings are for a person"]
pub struct OpOutcome<T> {
    outcome: T,
    warnings: Vec<String>,
}

impl<T> OpOutcome<T> {
    /// The outcome, and the warnings for a person.
    #[must_use = "the outcome may be an error, and the warnings are for a person"]
    pub fn into_parts(self) -> (T, Vec<String>) {
        (self.outcome, self.warnings)
    }
}

/// Runs an op, then carries out its effects, even if it failed: what it committed before has to be reported.
pub fn run<T>(ctx: Context, work: impl FnOnce(&Op) -> T) -> OpOutcome<T> {
    let op = Op::new(ctx);
    let outcome = work(&op);
    carry_out(&op);
    ask::keep_alive(&op);
    OpOutcome { outcome, warnings: op.take_warnings() }
}

/// Like [`run`], for a hook, for which a harness waits: idle agents are passed to `hand_on`, which has time to wake
/// them. The warnings are about notices that could not be posted and background jobs that could not be started;
/// nobody reads others at a hook.
pub fn run_at_hook<T>(
    ctx: Context,
    work: impl FnOnce(&Op) -> T,
    hand_on: impl FnOnce(&Context, &[AgentName]),
) -> OpOutcome<T> {
    let op = Op::new(ctx);
    let outcome = work(&op);
    let Told { wakes, failures, .. } = act(&op);
    let resting = wake::idle_agents(&op, wakes);
    if !resting.is_empty() {
        hand_on(&op, &resting);
    }
    ask::keep_alive(&op);
    OpOutcome { outcome, warnings: failures }
}

/// Carries out the effects so far. For ops that go on for long, between two steps. Returns the agents that did not get a
/// notice, by the names that they had.
pub fn carry_out(op: &Op) -> Vec<AgentName> {
    let Told { wakes, missed, failures } = act(op);
    failures.into_iter().for_each(|failure| op.warn(failure));
    wake::wake_notified(op, &wakes).into_iter().for_each(|failure| op.warn(failure));
    missed
}

struct Told {
    /// Agents that got a notice.
    wakes: Vec<AgentName>,
    /// Agents that did not get theirs.
    missed: Vec<AgentName>,
    /// Why others did not, and why a background job was not started.
    failures: Vec<String>,
}

/// Carries out the effects so far, except that nobody is woken.
fn act(op: &Op) -> Told {
    debug_assert!(!holds_a_lock(), "effects are carried out when no lock is held: see ops/effects.rs");
    let mut effects = op.take_effects();
    let jobs = std::mem::take(&mut effects.jobs);
    let mut told = tell(op, effects);
    told.failures.extend(jobs.iter().filter_map(|job| Some(start::start(op, job).err()?.to_string())));
    told
}

/// Posts notices and writes lines of the feed.
fn tell(op: &Op, effects: Effects) -> Told {
    let Effects { feed, notices, mut wakes, .. } = effects;
    let (mut missed, mut failures) = (Vec::new(), Vec::new());
    let keep = op.settings.feed_retention();
    if notices.is_empty() && (feed.is_empty() || keep == 0) {
        return Told { wakes, missed, failures };
    }
    let mesh = match op.mesh() {
        Ok(Some(mesh)) => mesh,
        // Somebody has removed the mesh meanwhile: nobody is left to be told.
        Ok(None) => return Told { wakes, missed, failures },
        Err(error) => {
            missed.extend(notices.iter().map(|notice| notice.to.name.clone()));
            failures.extend(notices.into_iter().map(|notice| format!("{}: {error}", notice.failure)));
            return Told { wakes, missed, failures };
        }
    };
    for (notice, told) in notices.iter().zip(notices::post(op, &mesh, &notices)) {
        match told {
            Ok(name) if notice.urgency == NoticeUrgency::Wakes => wakes.push(name),
            Ok(_) => {}
            Err(error) => {
                missed.push(notice.to.name.clone());
                failures.push(format!("{}: {error}", notice.failure));
            }
        }
    }
    // A failure undoes nothing.
    if keep > 0
        && let Err(error) = mesh.feed().append(&feed, keep)
    {
        op.warn(format!("the feed could not be written: {error}"));
    }
    Told { wakes, missed, failures }
}

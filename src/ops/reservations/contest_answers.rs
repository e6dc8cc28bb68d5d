//! Records the answers of holders to those who contest their paths.

use crate::domain::{Agent, Contest, EventKind, MachineTime, Reservation};
use crate::store::{Mesh, StagedChange};
use crate::sys::process;

use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// Records that the holder of what these agents contest has answered them: it sent them a message. Only the first
/// answer counts. If this fails, `release --from` finds the message itself.
pub(in crate::ops) fn note_answers(
    op: &Op,
    mesh: &Mesh,
    holder: &Agent,
    contesters: &[Agent],
) -> Result<(), CommandError> {
    let Some(now) = process::uptime().filter(|_| !contesters.is_empty()) else { return Ok(()) };
    let mut locked = mesh.lock()?;
    let holder = locked.own_record(holder)?.agent;
    let mut change = locked.change();
    for contester in contesters {
        stage_answer(op, &mut change, &holder, contester, |_| true, &now)?;
    }
    Ok(change.commit()?)
}

/// Stages that the holder has answered this agent's contests about these reservations of its.
pub(super) fn stage_answer(
    op: &Op,
    change: &mut StagedChange<'_>,
    holder: &Agent,
    contester: &Agent,
    is_meant: impl Fn(&Reservation) -> bool,
    now: &MachineTime,
) -> Result<(), CommandError> {
    let Ok(current) = change.locked().own_record(contester) else { return Ok(()) };
    let is_answered = |contest: &Contest| {
        let is_it = |held: &&Reservation| held.contest.as_ref() == Some(&contest.mark) && is_meant(held);
        contest.answered.is_none() && holder.reservations.iter().any(|held| is_it(&held))
    };
    let answered: Vec<&Contest> = current.agent.contests.iter().filter(|one| is_answered(one)).collect();
    if answered.is_empty() {
        return Ok(());
    }
    change.edit(&current.agent, |agent| {
        for contest in agent.contests.iter_mut().filter(|contest| is_answered(contest)) {
            contest.answered = Some(now.clone());
        }
    })?;
    for contest in answered {
        let pattern = contest.wanted.pattern.as_str();
        op.feed(EventKind::Answer, &holder.name, Some(pattern), Some(current.agent.name.as_str()));
    }
    Ok(())
}

/// Whether the agent contests something of the holder's and has no answer yet.
pub(in crate::ops) fn is_owed_answer(contester: &Agent, holder: &Agent) -> bool {
    let is_of = |contest: &Contest, held: &Reservation| held.contest.as_ref() == Some(&contest.mark);
    let is_owed = |contest: &Contest| {
        contest.answered.is_none() && holder.reservations.iter().any(|held| is_of(contest, held))
    };
    contester.contests.iter().any(is_owed)
}

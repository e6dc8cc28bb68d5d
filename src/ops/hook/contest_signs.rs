//! Signs for those who contest a path: its holder changes something inside it.
//!
//! A sign takes no lock. If somebody has begun to take the path, only the lock tells whether that one has it by now or
//! was killed before: the taker has the lock until both registrations are written.

use crate::domain::pattern::SearchBudget;
use crate::domain::{Agent, ChangeTarget, Conflict, ContestMark};
use crate::ops::agents::identity;
use crate::ops::error::CommandError;
use crate::store::{ContestEnd, RepositoryPlaces, resolved_patterns};

use super::{HookRun, LOCK_TIMEOUT};

/// Whether the agent still holds what it changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SignOutcome {
    /// Yes, or none of it was contested: nobody takes it in this round.
    Given,
    /// Its registration has changed since it was read.
    TooLate,
}

impl HookRun<'_> {
    /// Shows those who contest a path of the agent's that the agent changes it. Costs nothing if nobody does.
    pub(super) fn give_signs<'t>(
        &self,
        targets: impl Iterator<Item = &'t ChangeTarget> + Clone,
    ) -> Result<SignOutcome, CommandError> {
        let mut outcome = Ok(SignOutcome::Given);
        let Some(me) = &self.me else { return outcome };
        let places = RepositoryPlaces::quick(self.mesh);
        for held in &me.reservations {
            let Some(mark) = &held.contest else { continue };
            let patterns = resolved_patterns(me, held);
            let budget = SearchBudget::for_one_pair();
            let is_hit = |target: &ChangeTarget| {
                patterns.iter().any(|pattern| target.hit_by(pattern, &budget) != Conflict::None)
            };
            let is_hit_elsewhere = |target: &ChangeTarget| {
                held.reach.repository().is_some() && {
                    let mut target = target.clone();
                    places.add_to(&mut target);
                    is_hit(&target)
                }
            };
            let mut targets = targets.clone();
            if targets.any(|target| is_hit(target) || is_hit_elsewhere(target))
                && !identity::is_called_by_another(self.op, &self.registry, me)
            {
                match self.give_sign(me, mark) {
                    Ok(SignOutcome::Given) => {}
                    other => outcome = outcome.and(other),
                }
            }
        }
        outcome
    }

    fn give_sign(&self, me: &Agent, mark: &ContestMark) -> Result<SignOutcome, CommandError> {
        let has_mark = |me: &Agent| me.reservations.iter().any(|held| held.contest.as_ref() == Some(mark));
        let is_held = match self.mesh.contests().give_sign(mark)? {
            // The file may be gone since an earlier sign, or since somebody has the path.
            ContestEnd::AtWork => {
                let current = self.mesh.registry().get(&me.name)?.map(|record| record.agent);
                current.is_some_and(|current| current.is_same_session(me) && has_mark(&current))
            }
            ContestEnd::Taken => {
                let locked = self.mesh.lock_within(LOCK_TIMEOUT)?;
                let is_held = has_mark(&locked.own_record(me)?.agent);
                if is_held {
                    locked.give_sign(mark)?;
                }
                is_held
            }
        };
        Ok(if is_held { SignOutcome::Given } else { SignOutcome::TooLate })
    }
}

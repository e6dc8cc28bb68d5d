//! Waiting for a slot: the oldest queued run goes first.

use std::time::Duration;

use crossbeam_channel::{after, select};

use crate::domain::Liveness;
use crate::domain::runs::{Run, RunState};
use crate::domain::settings::Settings;
use crate::store::{HeldSlot, Mesh, RunSlots, StopOrder};

use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// How often a run in the queue looks whether it is its turn. A slot is a lock, whose end raises no event.
const LOOK: Duration = Duration::from_millis(100);

/// How the wait for a slot ended.
#[derive(Debug)]
pub(super) enum TurnOutcome {
    Slot(HeldSlot),
    Stopped(StopOrder),
}

/// How many workers may run at once on this machine.
pub(super) fn most_at_once(settings: &Settings) -> u32 {
    if let Some(slots) = settings.slots() {
        return slots;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(2 * cores).unwrap_or(u32::MAX).max(4)
}

/// Waits until there is a slot and no older run waits for one.
pub(super) fn wait_for_slot(op: &Op, mesh: &Mesh, run: &Run) -> Result<TurnOutcome, CommandError> {
    let slots = RunSlots::of(&op.home);
    let most = most_at_once(&op.settings);
    loop {
        if let Some(order) = mesh.runs().stop_order(&run.id)? {
            return Ok(TurnOutcome::Stopped(order));
        }
        if let Some(slot) = borrow_from_parent(mesh, &slots, run, most)? {
            return Ok(TurnOutcome::Slot(slot));
        }
        // The ledger is read only if there is a slot: it may be long.
        if let Some(slot) = slots.try_take(most)?
            && !has_older_in_queue(mesh, run)?
        {
            return Ok(TurnOutcome::Slot(slot));
        }
        select! {
            recv(after(LOOK)) -> _ => {}
        }
    }
}

/// A run lends its slot to one run that its worker started: the worker may be waiting for it, and all slots may be taken
/// by such.
fn borrow_from_parent(
    mesh: &Mesh,
    slots: &RunSlots,
    run: &Run,
    most: u32,
) -> Result<Option<HeldSlot>, CommandError> {
    let Some(parent) = &run.parent.run else { return Ok(None) };
    let Some(lender) = mesh.runs().get(parent)? else { return Ok(None) };
    let goes_on = !lender.state.is_final() && mesh.runs().owner_liveness(&lender) != Liveness::Gone;
    Ok(if goes_on { slots.try_borrow(parent, most)? } else { None })
}

fn has_older_in_queue(mesh: &Mesh, run: &Run) -> Result<bool, CommandError> {
    let is_before = |other: &&Run| (other.queued_at, &other.id) < (run.queued_at, &run.id);
    let list = mesh.runs().list()?;
    let mut queued = list.runs.iter().filter(|other| other.state == RunState::Queued).filter(is_before);
    Ok(queued.any(|other| mesh.runs().owner_liveness(other) != Liveness::Gone))
}

//! Waiting for a slot: the oldest queued run goes first, on the whole machine.

use std::time::{Duration, Instant};

use crate::domain::Liveness;
use crate::domain::runs::{Run, RunState};
use crate::domain::settings::Settings;
use crate::store::{HeldSlot, Mesh, RunQueue, RunSlots, StopOrder, StoreError};
use crate::sys::{clock, memory};

use super::hold::hold_of;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// How often the next in the queue looks for a slot. A slot is a lock, whose end raises no event. Whoever is further behind
/// looks more seldom: it can't be its turn before the others have had theirs.
const LOOK: Duration = Duration::from_millis(15);
const LAST_LOOK: Duration = Duration::from_secs(1);
/// What was found out so recently is not looked up again.
const RECENT: Duration = Duration::from_millis(500);
/// How often a run without a slot looks whether it keeps another from working that has one.
const GIVE_WAY_LOOK: Duration = Duration::from_secs(2);
/// How many runs are named that could be stopped.
const MOST_NAMED: usize = 5;

/// How the wait for a slot ended.
#[derive(Debug)]
pub(super) enum TurnOutcome {
    Slot(HeldSlot),
    Stopped(StopOrder),
    /// It has waited for as long as it may.
    TooLate,
    /// There is none, and another run is to have what this one holds.
    GivesWay,
}

/// How many workers may run at once on this machine.
pub(super) fn most_at_once(settings: &Settings) -> u32 {
    if let Some(slots) = settings.slots() {
        return slots;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(2 * cores).unwrap_or(u32::MAX).max(4)
}

/// Waits until nothing holds the run back, there is a slot, and no older run waits for one, or until `latest`. The run says
/// why it waits.
///
/// While there is no slot, `gives_way` is asked now and then: whoever holds something must not wait for a slot whose
/// holder waits for that.
pub(super) fn wait_for_slot(
    op: &Op,
    mesh: &Mesh,
    run: &mut Run,
    latest: Option<Instant>,
    gives_way: impl Fn(&Run) -> Result<bool, CommandError>,
) -> Result<TurnOutcome, CommandError> {
    let mut looked = Instant::now();
    let mut shortage: Option<String> = None;
    let (slots, queue) = (RunSlots::of(&op.home), RunQueue::of(&op.home));
    let most = most_at_once(&op.settings);
    let mut place = None;
    let mut free_since: Option<Instant> = None;
    loop {
        if let Some(order) = mesh.runs().stop_order(&run.id)? {
            return Ok(TurnOutcome::Stopped(order));
        }
        if latest.is_some_and(|latest| latest <= Instant::now()) {
            return Ok(TurnOutcome::TooLate);
        }
        if free_since.is_none() {
            if let Some(hold) = hold_of(op, mesh, run)? {
                // Whoever is held back does not hold others back.
                place = None;
                say(mesh, run, Some(hold.reason), Some(hold.until))?;
                let left = Duration::try_from(hold.until.duration_since(clock::now())).unwrap_or_default();
                clock::pause(left.clamp(LOOK, LAST_LOOK));
                continue;
            }
            free_since = Some(Instant::now());
        }
        let mut slot = borrow_from_parent(mesh, &slots, run, most)?;
        let mut ahead = 0;
        if slot.is_none() {
            if place.is_none() {
                place = Some(queue.enter(&run.id, run.queued_at)?);
            }
            ahead = place.as_ref().map_or(Ok(0), |place| place.ahead())?;
            if ahead == 0 {
                slot = slots.try_take(most)?;
            }
        }
        let Some(slot) = slot else {
            if looked.elapsed() > GIVE_WAY_LOOK {
                match gives_way(run) {
                    Ok(true) => return Ok(TurnOutcome::GivesWay),
                    Ok(false) => {}
                    // What is wrong with others does not end this run; it is looked at again.
                    Err(error) => tracing::debug!("whether run {} has to give way: {error}", run.id),
                }
                looked = Instant::now();
                shortage = None;
            }
            let reason = shortage.get_or_insert_with(|| slot_shortage(mesh, most)).clone();
            say(mesh, run, Some(reason), None)?;
            let behind = u32::try_from(ahead).unwrap_or(u32::MAX).saturating_add(1);
            clock::pause(LOOK.saturating_mul(behind).min(LAST_LOOK));
            continue;
        };
        if free_since.is_some_and(|since| since.elapsed() > RECENT) {
            // Much may have happened while it waited.
            free_since = None;
            if hold_of(op, mesh, run)?.is_some() {
                continue;
            }
            free_since = Some(Instant::now());
        }
        // The first slot goes to somebody whatever the memory, or nobody would ever run.
        if let Some(reason) = memory_shortage(&op.settings).filter(|_| slot.number > 0) {
            drop(slot);
            say(mesh, run, Some(reason), None)?;
            clock::pause(LAST_LOOK);
            continue;
        }
        (run.reason, run.until) = (None, None);
        return Ok(TurnOutcome::Slot(slot));
    }
}

/// That there is no slot, and how to free one: a worker in tmux keeps its slot between its turns. Only those of this mesh
/// are known.
fn slot_shortage(mesh: &Mesh, most: u32) -> String {
    let text = format!("waits for a slot: all {most} are taken");
    // If they can't be read, nobody is named.
    let runs = mesh.runs().list().map(|list| list.runs).unwrap_or_default();
    let is_idle = |run: &&Run| {
        let is_in_tmux = run.state == RunState::Running && run.has_ended_turn();
        is_in_tmux && mesh.runs().turns(&run.id).is_ok_and(|turns| !turns.is_in_turn())
    };
    let idle: Vec<String> = runs.iter().filter(is_idle).map(|run| run.id.to_string()).collect();
    match idle.as_slice() {
        [] => text,
        [id] => format!("{text}, one of them by a worker in tmux that is idle; `msg runs stop {id}` ends it"),
        ids => {
            let (count, named) = (ids.len(), ids[..ids.len().min(MOST_NAMED)].join(", "));
            format!(
                "{text}, {count} of them by workers in tmux that are idle; `msg runs stop ID` ends one of them: {named}"
            )
        }
    }
}

/// Why there is too little memory for another worker, if there is.
fn memory_shortage(settings: &Settings) -> Option<String> {
    let (free, least) = (memory::available()? >> 20, settings.free_memory());
    (free < least).then(|| format!("waits for memory: {free} MiB are free, and {least} have to be"))
}

/// Writes why the run waits, if that is new.
fn say(
    mesh: &Mesh,
    run: &mut Run,
    reason: Option<String>,
    until: Option<jiff::Timestamp>,
) -> Result<(), CommandError> {
    // The sentence about a time is another one each second.
    let is_new = run.until != until || until.is_none() && run.reason != reason;
    if is_new {
        (run.reason, run.until) = (reason, until);
        mesh.runs().put(run)?;
    }
    Ok(())
}

/// What the gate of the slots says now, for whoever only asks.
pub(super) fn slots_now(op: &Op) -> Result<String, CommandError> {
    let most = most_at_once(&op.settings);
    let mut held = Vec::new();
    let slots = RunSlots::of(&op.home);
    while let Some(slot) = slots.try_take(most)? {
        held.push(slot);
    }
    Ok(format!("{} of {most} are free", held.len()))
}

/// Whether the run could start now without a slot of its own: its parent would lend it one, and nothing holds it back.
/// Where that can't be told, it could not.
pub(super) fn has_slot_at_hand(op: &Op, mesh: &Mesh, run: &Run) -> bool {
    let slot = borrow_from_parent(mesh, &RunSlots::of(&op.home), run, most_at_once(&op.settings));
    slot.is_ok_and(|slot| slot.is_some()) && is_free(op, mesh, run)
}

/// Whether nothing makes the run wait until a certain time, as far as that can be told.
pub(super) fn is_free(op: &Op, mesh: &Mesh, run: &Run) -> bool {
    hold_of(op, mesh, run).is_ok_and(|hold| hold.is_none())
}

/// A run lends its slot to one run that its worker started: the worker may be waiting for it, and all slots may be taken
/// by such. It lends nothing to whoever only names it, and nothing if its record can't be read.
fn borrow_from_parent(
    mesh: &Mesh,
    slots: &RunSlots,
    run: &Run,
    most: u32,
) -> Result<Option<HeldSlot>, CommandError> {
    let Some(parent) = run.parent.proven_run() else { return Ok(None) };
    let lender = match mesh.runs().get(parent) {
        Ok(Some(lender)) => lender,
        Ok(None) | Err(StoreError::Corrupt { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let goes_on = !lender.state.is_final() && mesh.runs().owner_liveness(&lender) != Liveness::Gone;
    Ok(if goes_on { slots.try_borrow(parent, most)? } else { None })
}

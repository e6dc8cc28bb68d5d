//! `msg complete`: finishes a task.
//!
//! `--tick` checks the task's box: the new text is written to a private file first, and `mesh.lock` is held only while
//! the spec is compared and replaced. `swarm::ticking` checks that no box is lost.

use std::path::Path;

use crate::domain::spec::tick;
use crate::domain::{Agent, EventKind, Notice, PeerText, Presence, quote_code};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::reservations::waiting;
use crate::ops::runner::carry_out;
use crate::store::{Claim, Completion, LockedMesh, Mesh};
use crate::sys::{clock, files, process};

use super::locked_tasks::{LockedTasks, PreloadedSpec, look_up};
use super::task_args::{check_id, check_notes, release_task_paths, task_of};
use super::task_board::ParsedSpec;

/// How often ticking a box is tried while others write the spec.
const TRIES: usize = 20;

#[derive(Clone, Debug)]
pub struct CompleteRequest {
    /// `None`: the task that the caller has.
    pub task: Option<String>,
    pub spec: Option<String>,
    pub notes: Option<String>,
    /// Also tick its box in the spec.
    pub ticks: bool,
}

#[derive(Clone, Debug)]
pub struct Completed {
    pub completion: Completion,
    /// Tasks that can be started now and could not before.
    pub unblocked: Vec<String>,
    pub is_ticked: bool,
    /// The caller had completed it before.
    pub was_complete: bool,
}

pub fn complete(op: &Op, request: &CompleteRequest) -> Result<Completed, CommandError> {
    request.task.as_deref().map_or(Ok(()), check_id)?;
    check_notes(request.notes.as_deref())?;
    let (mesh, caller) = identity::own_caller(op)?;
    // Without an id it is the caller's own task, which is looked up again under the locks.
    let own = || mesh.tasks().claims().ok()?.of(&caller).into_iter().next().map(|claim| claim.task);
    let (early, spellings) = match request.task.clone().or_else(own) {
        Some(task) => PreloadedSpec::read(op, &mesh, &caller, request.spec.as_deref(), &task),
        None => (None, look_up(&mesh)),
    };
    let locked = mesh.lock_with_swarm()?;
    let mut table = LockedTasks::open(op, &mesh, &locked, &caller, spellings)?;
    let typed = match &request.task {
        Some(task) => task.clone(),
        None => table.only_claim()?.task,
    };
    let sheet = table.sheet_of(early, request.spec.as_deref(), &typed)?;
    let board = table.board(&sheet);
    let task = board.meant(&typed);
    if let Some(completion) = table.own_completion(&board, &task) {
        drop(table);
        drop(locked);
        let ticked = request.ticks && tick_box(op, &mesh, &sheet, &task);
        return Ok(Completed { completion, unblocked: Vec::new(), is_ticked: ticked, was_complete: true });
    }
    let claim = table.own_claim(&board, &task)?;
    let unblocked = board.unblocked_by(&task);
    let completion = Completion {
        spec: claim.spec.clone(),
        task: claim.task.clone(),
        by: table.me.name.to_string(),
        at: table.now,
        notes: request.notes.clone(),
    };
    table.write_completion(&completion)?;
    // It is done, whatever fails from here on.
    tell_idle(&table, &sheet, &unblocked);
    op.feed(EventKind::Complete, &table.me.name, Some(&completion.task), completion.notes.as_deref());
    table.claims.remove(&claim);
    table.write_claims()?;
    let me = table.close();
    release_and_notify(op, &mesh, &locked, &me, &claim)?;
    drop(locked);
    // Ticking may take a while, and others wait to hear of it.
    carry_out(op);
    let ticked = request.ticks && tick_box(op, &mesh, &sheet, &task);
    Ok(Completed { completion, unblocked, is_ticked: ticked, was_complete: false })
}

/// Releases the paths that were taken with the task, and tells those who wait for any of this.
pub(super) fn release_and_notify(
    op: &Op,
    mesh: &Mesh,
    locked: &LockedMesh<'_>,
    me: &Agent,
    claim: &Claim,
) -> Result<(), CommandError> {
    release_task_paths(locked, me, &task_of(claim))?;
    waiting::notify_waiting_or_warn(op, mesh, locked);
    Ok(())
}

/// Tells idle agents with the same spec and no task that a task is ready.
fn tell_idle(table: &LockedTasks<'_>, sheet: &ParsedSpec, unblocked: &[String]) {
    let Some(first) = unblocked.first() else { return };
    let LockedTasks { op, mesh, me, claims, .. } = table;
    let notice = Notice::new().code(&PeerText::new(first.as_str())).say(" is ready: ").name(&me.name);
    let notice = notice.say(" completed what it depends on. To take it: msg claim --next");
    for record in table.census.records.iter().filter(|record| record.is_live()) {
        let agent = &record.agent;
        let same_spec =
            agent.spec.as_deref().is_some_and(|spec| sheet.place.is_meant_by(spec, &table.spellings));
        if agent.session == me.session || agent.is_foreign() || !same_spec || !claims.of(agent).is_empty() {
            continue;
        }
        // Without a limit for being stuck: an agent that is stuck with its paths has no task either.
        let presence = |sign| {
            let quiet = clock::now().duration_since(sign);
            Presence::of(process::liveness(&agent.process), quiet, None)
        };
        let presence = mesh.presence().last_sign_of_life(agent).map(presence);
        if !presence.is_ok_and(|presence| matches!(presence, Presence::Idle | Presence::Away)) {
            continue;
        }
        op.notify(agent.clone(), notice.clone(), format!("could not tell {} what is ready", agent.name));
    }
}

/// Ticks the box in the present text of the spec. The task is done in any case: an error is only a warning.
fn tick_box(op: &Op, mesh: &Mesh, sheet: &ParsedSpec, id: &str) -> bool {
    let (Some(file), Some(_)) = (&sheet.place.file, sheet.task(id)) else { return false };
    for _ in 0..TRIES {
        match try_to_tick(mesh, sheet, file, id) {
            Ok(Tick::Done) => return true,
            Ok(Tick::NoBox) => {
                op.warn(format!("{} has no box to tick", quote_code(id)));
                return false;
            }
            Ok(Tick::Changed) => {}
            Err(error) => {
                op.warn(format!("the box of {} is not ticked: {error}", quote_code(id)));
                return false;
            }
        }
    }
    op.warn(format!("the spec keeps changing: the box of {} is not ticked", quote_code(id)));
    false
}

enum Tick {
    Done,
    NoBox,
    /// Somebody wrote the spec meanwhile.
    Changed,
}

/// The new content is on the disk before the lock is taken; under the lock the spec is compared with what it was, and
/// replaced. So two processes that tick at once do not undo each other's change.
fn try_to_tick(mesh: &Mesh, sheet: &ParsedSpec, file: &Path, id: &str) -> Result<Tick, CommandError> {
    let now = ParsedSpec::read(sheet.place.clone())?;
    let Some(task) = now.task(id) else { return Ok(Tick::NoBox) };
    if task.is_done {
        return Ok(Tick::Done);
    }
    let Some(ticked) = tick(&now.text, task) else { return Ok(Tick::NoBox) };
    let mut locked = None;
    let is_same = || match mesh.lock() {
        Ok(held) => {
            locked = Some(Ok(held));
            Ok(now.place.text().ok().as_ref() == Some(&now.text))
        }
        Err(error) => {
            locked = Some(Err(error));
            Ok(false)
        }
    };
    let written = files::write_through_if(file, ticked.as_bytes(), is_same)?;
    locked.transpose()?;
    Ok(if written { Tick::Done } else { Tick::Changed })
}

//! Finishing a task.

use crate::domain::spec::tick;
use crate::domain::{Agent, EventKind, Presence, Reservation, TaskRef};
use crate::ops::context::Context;
use crate::ops::error::{CommandError, Kind};
use crate::ops::feed;
use crate::ops::identity;
use crate::ops::names::is_live;
use crate::ops::waiting;
use crate::store::{Claim, Completion, Locked, Mesh};
use crate::sys::{clock, files, process};

use super::board::Sheet;
use super::claim::check_id;
use super::table::Table;

/// The longest notes, in bytes: they stay for good.
const MAX_NOTES: usize = 16 * 1024;

#[derive(Clone, Debug)]
pub struct CompleteRequest {
    pub task: String,
    pub spec: Option<String>,
    pub notes: Option<String>,
    /// Tick its box in the spec, too.
    pub tick: bool,
}

#[derive(Clone, Debug)]
pub struct Completed {
    pub completion: Completion,
    /// Tasks that can be begun now, and could not before.
    pub unblocked: Vec<String>,
    pub ticked: bool,
}

pub fn complete(ctx: &Context, request: &CompleteRequest) -> Result<Completed, CommandError> {
    check_id(&request.task)?;
    check_notes(request.notes.as_deref())?;
    let (mesh, caller) = identity::own_caller(ctx)?;
    let locked = mesh.lock()?;
    let mut table = Table::open(ctx, &mesh, &locked, &caller)?;
    let sheet = Sheet::read(ctx, table.place_of(request.spec.as_deref(), &request.task)?)?;
    let board = table.board(&sheet);
    let claim = table.own_claim(&board, &request.task)?;
    let unblocked = board.unblocked_by(&request.task);
    let completion = Completion {
        spec: claim.spec.clone(),
        task: claim.task.clone(),
        by: table.me.name.to_string(),
        at: table.now,
        notes: request.notes.clone(),
    };
    table.finish(&claim, &completion)?;
    tell_idle(&table, &sheet, &unblocked);
    let me = table.close();
    give_back(ctx, &mesh, &locked, &me, &claim)?;
    drop(locked);
    feed::tell(
        ctx,
        &mesh,
        EventKind::Complete,
        &me.name,
        Some(&completion.task),
        completion.notes.as_deref(),
    );
    let ticked = request.tick && tick_box(ctx, &sheet, &request.task);
    Ok(Completed { completion, unblocked, ticked })
}

fn check_notes(notes: Option<&str>) -> Result<(), CommandError> {
    match notes.map(str::len) {
        Some(length) if length > MAX_NOTES => {
            let text = format!("the notes have {length} bytes; {MAX_NOTES} is the most");
            Err(CommandError::new(Kind::TooLarge, text).hint("put them into a file, and name it"))
        }
        _ => Ok(()),
    }
}

pub(super) fn task_of(claim: &Claim) -> TaskRef {
    TaskRef { spec: claim.spec.clone(), id: claim.task.clone() }
}

/// Paths that were taken with a task bind nobody without it; this clears them away.
pub(super) fn let_go_of_paths(
    locked: &Locked<'_>,
    me: &Agent,
    task: &TaskRef,
) -> Result<Agent, CommandError> {
    let is_of = |held: &Reservation| held.task.as_ref() == Some(task);
    if !me.reservations.iter().any(is_of) {
        return Ok(me.clone());
    }
    Ok(locked.edit(me, |agent| agent.reservations.retain(|held| !is_of(held)))?.agent)
}

/// What was taken with the task goes with it, and whoever waits for any of this is told.
pub(super) fn give_back(
    ctx: &Context,
    mesh: &Mesh,
    locked: &Locked<'_>,
    me: &Agent,
    claim: &Claim,
) -> Result<(), CommandError> {
    let_go_of_paths(locked, me, &task_of(claim))?;
    waiting::tell_or_note(ctx, mesh, locked);
    Ok(())
}

/// Agents that have the same spec and nothing to do learn that there is something.
fn tell_idle(table: &Table<'_>, sheet: &Sheet, unblocked: &[String]) {
    let Some(first) = unblocked.first() else { return };
    let Table { ctx, mesh, me, claims, .. } = table;
    let text = format!(
        "`{first}` can be begun, now that {} is done with what it waited for: msg claim --next",
        me.name
    );
    for record in table.census.records.iter().filter(|record| is_live(record)) {
        let agent = &record.agent;
        let same_spec = agent.spec.as_deref().is_some_and(|spec| sheet.place.is_meant_by(spec));
        if agent.session == me.session || agent.is_foreign() || !same_spec || !claims.of(agent).is_empty() {
            continue;
        }
        // One that is stuck with its paths has no task either.
        let presence = |sign| {
            let quiet = clock::now().duration_since(sign);
            Presence::of(process::liveness(&agent.process), quiet, None)
        };
        let presence = mesh.last_sign(agent).map(presence);
        if !presence.is_ok_and(|presence| matches!(presence, Presence::Idle | Presence::Away)) {
            continue;
        }
        if let Err(error) = waiting::notify(ctx, mesh, &agent.name, &text) {
            ctx.notice(format!("{} could not be told what is ready: {error}", agent.name));
        }
    }
}

/// Ticks the box if the spec is still what it was when it was read. The task is done whether or not: what fails here is a
/// notice.
fn tick_box(ctx: &Context, sheet: &Sheet, id: &str) -> bool {
    let (Some(file), Some(task)) = (&sheet.place.file, sheet.task(id)) else { return false };
    if sheet.place.text().ok().as_ref() != Some(&sheet.text) {
        ctx.notice("the spec was changed meanwhile: its box is not ticked");
        return false;
    }
    let Some(ticked) = tick(&sheet.text, task) else {
        ctx.notice(format!("`{id}` has no box to tick"));
        return false;
    };
    match files::write_through(file, ticked.as_bytes()) {
        Ok(()) => true,
        Err(error) => {
            ctx.notice(format!("the box of `{id}` is not ticked: {error}"));
            false
        }
    }
}

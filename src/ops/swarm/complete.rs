//! Finishing a task.

use crate::domain::spec::tick;
use crate::domain::{Agent, Presence, Reservation, TaskRef};
use crate::ops::context::Context;
use crate::ops::error::{CommandError, Kind};
use crate::ops::feed;
use crate::ops::identity;
use crate::ops::letter::age;
use crate::ops::names::is_live;
use crate::ops::waiting;
use crate::store::{Census, Claim, Claims, Completion, Locked, Mesh, StoreError};
use crate::sys::{clock, files, process};

use super::board::Board;
use super::claim::{check_id, drop_stale};
use super::place::Place;

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
    let (mesh, caller) = identity::caller(ctx)?;
    if caller.agent.is_foreign() {
        return Err(StoreError::Foreign(caller.agent.name.to_string()).into());
    }
    let locked = mesh.lock()?;
    let me = locked.own_record(&caller.agent)?.agent;
    let census = locked.census()?;
    let swarm = locked.swarm()?;
    let now = clock::now();
    let (mut claims, mut completions) = (swarm.claims()?, swarm.completions()?);
    drop_stale(ctx, &mesh, &swarm, &mut claims, &completions, &census)?;
    let place = place_of(ctx, request.spec.as_deref(), &me, &claims, &request.task)?;
    let before = Board::new(place.clone(), &claims, &completions, &census)?;
    let claim = own_claim(&before, &me, &claims, &request.task)?;
    let completion = Completion {
        spec: claim.spec.clone(),
        task: claim.task.clone(),
        by: me.name.to_string(),
        at: now,
        notes: request.notes.clone(),
    };
    completions.add(&completion);
    // Written before the claim goes: if we die in between, a claim of what is done counts as given up.
    swarm.write_completions(&completions)?;
    claims.remove(&claim);
    swarm.write(&claims)?;
    drop(swarm);
    let_go_of_paths(&locked, &me, &task_of(&claim))?;
    let after = Board::new(place, &claims, &completions, &census)?;
    let unblocked = newly_ready(&before, &after);
    waiting::tell_or_note(ctx, &mesh, &locked);
    tell_idle(ctx, &mesh, &census, &me, &after, &claims, &unblocked);
    drop(locked);
    feed::tell(ctx, &mesh, "complete", &me.name, Some(&completion.task), completion.notes.as_deref());
    let ticked = request.tick && tick_box(ctx, &after, &request.task)?;
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

/// The spec that is named; else the one under which the caller claimed that task; else the caller's.
pub(super) fn place_of(
    ctx: &Context,
    named: Option<&str>,
    me: &Agent,
    claims: &Claims,
    task: &str,
) -> Result<Place, CommandError> {
    let claimed = claims.of(me).into_iter().find(|claim| claim.task == task);
    match (named, claimed) {
        (None, Some(claim)) => {
            let own = Place::find(ctx, None, Some(me))?;
            if own.is_meant_by(&claim.spec) {
                return Ok(own);
            }
            let file = std::path::PathBuf::from(&claim.spec);
            Ok(Place { key: claim.spec, file: Some(file).filter(|file| file.is_file()) })
        }
        _ => Place::find(ctx, named, Some(me)),
    }
}

/// The caller's claim of that task, or why it has none.
pub(super) fn own_claim(
    board: &Board,
    me: &Agent,
    claims: &Claims,
    task: &str,
) -> Result<Claim, CommandError> {
    let shown = task.escape_debug().to_string();
    if let Some(done) = board.completion(task) {
        let text = format!("{} completed `{shown}` {} ago", done.by, age(done.at, clock::now()));
        return Err(CommandError::new(Kind::AlreadyCompleted, text).fact("agent", done.by.as_str()));
    }
    let is_it = |claim: &Claim| claim.task == task && board.place.is_meant_by(&claim.spec);
    if let Some(claim) = claims.of(me).into_iter().find(is_it) {
        return Ok(claim);
    }
    if let Some(claim) = board.claim(task) {
        let text = format!("`{shown}` is {}'s", claim.agent);
        return Err(CommandError::new(Kind::NotYours, text)
            .hint(format!("`msg send {} \"…\"` asks", claim.agent))
            .fact("agent", claim.agent.as_str()));
    }
    let error = CommandError::new(Kind::NotClaimed, format!("nobody works on `{shown}`"));
    let error = match claims.of(me).first() {
        Some(mine) => error.hint(format!("you work on `{}`", mine.task)),
        None => error.hint("`msg claim TASK` takes it first"),
    };
    match board.spec.nearest(task).as_slice() {
        near if near.is_empty() || board.task(task).is_some() => Err(error),
        near => Err(error.hint(format!("did you mean {}?", near.join(" or ")))),
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

fn newly_ready(before: &Board, after: &Board) -> Vec<String> {
    let blocked = |id: &str| before.task(id).is_some_and(|task| !before.missing(task).is_empty());
    let is_ready = |id: &str| {
        after.task(id).is_some_and(|task| after.missing(task).is_empty())
            && !after.is_done(id)
            && after.claim(id).is_none()
    };
    let ids = after.spec.tasks.iter().map(|task| task.id.clone());
    ids.filter(|id| blocked(id) && is_ready(id)).collect()
}

/// Agents that have the same spec and nothing to do learn that there is something.
fn tell_idle(
    ctx: &Context,
    mesh: &Mesh,
    census: &Census,
    me: &Agent,
    board: &Board,
    claims: &Claims,
    unblocked: &[String],
) {
    let Some(first) = unblocked.first() else { return };
    for record in census.records.iter().filter(|record| is_live(record)) {
        let agent = &record.agent;
        let same_spec = agent.spec.as_deref().is_some_and(|spec| board.place.is_meant_by(spec));
        if agent.session == me.session || agent.is_foreign() || !same_spec || !claims.of(agent).is_empty() {
            continue;
        }
        let presence = mesh
            .last_sign(agent)
            .map(|sign| Presence::of(process::liveness(&agent.process), sign, clock::now()));
        if !presence.is_ok_and(|presence| matches!(presence, Presence::Idle | Presence::Away)) {
            continue;
        }
        let text = format!(
            "`{first}` can be begun, now that {} is done with what it waited for: msg claim --next",
            me.name
        );
        if let Err(error) = waiting::notify(mesh, &agent.name, &text) {
            ctx.notice(format!("{} could not be told what is ready: {error}", agent.name));
        }
    }
}

/// Ticks the box if the spec is still what it was when it was read.
fn tick_box(ctx: &Context, board: &Board, id: &str) -> Result<bool, CommandError> {
    let (Some(file), Some(task)) = (&board.place.file, board.task(id)) else { return Ok(false) };
    let Ok(text) = fs_err::read_to_string(file) else { return Ok(false) };
    if text != board.text {
        ctx.notice("the spec was changed meanwhile: its box is not ticked");
        return Ok(false);
    }
    match tick(&text, task) {
        Some(ticked) => {
            files::rewrite(file, ticked.as_bytes())?;
            Ok(true)
        }
        None => {
            ctx.notice(format!("`{id}` has no box to tick"));
            Ok(false)
        }
    }
}

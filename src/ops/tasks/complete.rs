//! `msg complete`: finishes a task.
//!
//! `--tick` checks the task's box: the new text is written to a private file first, and `mesh.lock` is held only while
//! the spec is compared and replaced. `tasks::ticking` checks that no box is lost.

use std::path::Path;

use crate::domain::spec::tick;
use crate::domain::{Agent, EventKind, Notice, PeerText, Presence, quote_code};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::reservations::waiting;
use crate::ops::runner::carry_out;
use crate::store::{Completion, Mesh};
use crate::sys::{clock, files, process};

use super::fencing::FencingToken;
use super::locked_tasks::{LockedTasks, PreloadedSpec, look_up};
use super::task_args::{check_id, check_notes, task_of};
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
pub struct CompleteOutcome {
    pub completion: Completion,
    /// Tasks that can be started now and could not before.
    pub unblocked: Vec<String>,
    pub is_ticked: bool,
    /// The caller had completed it before.
    pub was_complete: bool,
}

pub fn complete(op: &Op, request: &CompleteRequest) -> Result<CompleteOutcome, CommandError> {
    request.task.as_deref().map_or(Ok(()), check_id)?;
    check_notes(request.notes.as_deref())?;
    let (mesh, caller) = identity::own_caller(op)?;
    let token = FencingToken::of_caller(&mesh)?;
    // Without an id it is the caller's own task, which is looked up again under the locks.
    let own = || mesh.tasks().claims().ok()?.of(&caller).into_iter().next().map(|claim| claim.task);
    let (early, spellings) = match request.task.clone().or_else(own) {
        Some(task) => PreloadedSpec::read(op, &mesh, &caller, request.spec.as_deref(), &task),
        None => (None, look_up(&mesh)),
    };
    let mut locked = mesh.lock_with_claims()?;
    let mut tasks = LockedTasks::open(op, &mesh, &mut locked, &caller, spellings)?;
    let typed = match &request.task {
        Some(task) => task.clone(),
        None => tasks.only_claim()?.task,
    };
    let parsed_spec = tasks.spec_of(early, request.spec.as_deref(), &typed)?;
    let board = tasks.board(&parsed_spec);
    let task = board.meant(&typed);
    if let Some(completion) = tasks.own_completion(&board, &task) {
        drop(tasks);
        drop(locked);
        let ticked = request.ticks && tick_box(op, &mesh, &parsed_spec, &task);
        return Ok(CompleteOutcome {
            completion,
            unblocked: Vec::new(),
            is_ticked: ticked,
            was_complete: true,
        });
    }
    let claim = tasks.own_claim(&board, &task)?;
    token.check(&claim, &tasks.spellings)?;
    let unblocked = board.unblocked_by(&task);
    let completion = Completion {
        spec: claim.spec.clone(),
        task: claim.task.clone(),
        by: tasks.me.name.to_string(),
        at: tasks.now,
        notes: request.notes.clone(),
    };
    tasks.stage_completion(&completion)?;
    tasks.change.decided();
    tasks.claims.remove(&claim);
    tasks.stage_claims()?;
    tasks.stage_release(&task_of(&claim))?;
    let notices = ready_notices(&tasks, &parsed_spec, &unblocked);
    let me = tasks.me.name.clone();
    let committed = tasks.commit()?;
    // It is done, whatever fails from here on.
    for (agent, notice) in notices {
        let failure = format!("could not tell {} what is ready", agent.name);
        op.notify(agent, notice, failure);
    }
    op.feed(EventKind::Complete, &me, Some(&completion.task), completion.notes.as_deref());
    committed.tidied_up()?;
    waiting::notify_waiting_or_warn(op, &mesh, &mut locked);
    drop(locked);
    // Ticking may take a while, and others wait to hear of it.
    carry_out(op);
    let ticked = request.ticks && tick_box(op, &mesh, &parsed_spec, &task);
    Ok(CompleteOutcome { completion, unblocked, is_ticked: ticked, was_complete: false })
}

/// The notice that a task is ready, for each idle agent with the same spec and no task.
fn ready_notices(
    tasks: &LockedTasks<'_>,
    parsed_spec: &ParsedSpec,
    unblocked: &[String],
) -> Vec<(Agent, Notice)> {
    let Some(first) = unblocked.first() else { return Vec::new() };
    let LockedTasks { mesh, me, claims, .. } = tasks;
    let notice = Notice::new().code(&PeerText::new(first.as_str())).say(" is ready: ").name(&me.name);
    let notice = notice.say(" completed what it depends on. To take it: msg claim --next");
    let is_idle = |agent: &Agent| {
        // Without a limit for being stuck: an agent that is stuck with its paths has no task either.
        let presence = |sign| {
            let quiet = clock::now().duration_since(sign);
            Presence::of(process::liveness(&agent.process), quiet, None)
        };
        let presence = mesh.presence().last_sign_of_life(agent).map(presence);
        presence.is_ok_and(|presence| matches!(presence, Presence::Idle | Presence::Away))
    };
    let can_take_it = |agent: &&Agent| {
        let same_spec =
            agent.spec.as_deref().is_some_and(|spec| parsed_spec.place.is_meant_by(spec, &tasks.spellings));
        let is_peer = agent.session != me.session && !agent.is_foreign();
        is_peer && same_spec && claims.of(agent).is_empty() && is_idle(agent)
    };
    let live = tasks.census.records.iter().filter(|record| record.is_live());
    let idle = live.map(|record| &record.agent).filter(can_take_it);
    idle.map(|agent| (agent.clone(), notice.clone())).collect()
}

/// Ticks the box in the present text of the spec. The task is done in any case: an error is only a warning.
fn tick_box(op: &Op, mesh: &Mesh, parsed_spec: &ParsedSpec, id: &str) -> bool {
    let (Some(file), Some(_)) = (&parsed_spec.place.file, parsed_spec.task(id)) else { return false };
    for _ in 0..TRIES {
        match try_to_tick(mesh, parsed_spec, file, id) {
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
fn try_to_tick(mesh: &Mesh, parsed_spec: &ParsedSpec, file: &Path, id: &str) -> Result<Tick, CommandError> {
    let now = ParsedSpec::read(parsed_spec.place.clone())?;
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

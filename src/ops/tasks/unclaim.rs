//! `msg unclaim`: gives a task back.

use crate::domain::EventKind;
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::link::ask::poke;
use crate::ops::reservations::waiting;
use crate::store::Claim;

use super::fencing::FencingToken;
use super::locked_tasks::{LockedTasks, PreloadedSpec, look_up};
use super::task_args::{check_id, task_of};

/// Gives up the named task, else the one that the caller has.
pub fn unclaim(op: &Op, task: Option<&str>, spec: Option<&str>) -> Result<Claim, CommandError> {
    task.map_or(Ok(()), check_id)?;
    let (mesh, caller) = identity::own_caller(op)?;
    let token = FencingToken::of_caller(&mesh)?;
    let (early, spellings) = match task {
        Some(task) => PreloadedSpec::read(op, &mesh, &caller, spec, task),
        None => (None, look_up(&mesh)),
    };
    let mut locked = mesh.lock_with_claims()?;
    let mut tasks = LockedTasks::open(op, &mesh, &mut locked, &caller, spellings)?;
    let claim = match task {
        Some(task) => {
            let parsed_spec = tasks.spec_of(early, spec, task)?;
            let board = tasks.board(&parsed_spec);
            tasks.own_claim(&board, &board.meant(task))?
        }
        None => tasks.only_claim()?,
    };
    token.check(&claim, &tasks.spellings)?;
    tasks.claims.remove(&claim);
    tasks.stage_claims()?;
    tasks.change.decided();
    tasks.stage_release(&task_of(&claim))?;
    let me = tasks.me.name.clone();
    let committed = tasks.commit()?;
    // It is given up, whatever fails from here on.
    op.feed(EventKind::Unclaim, &me, Some(&claim.task), None);
    committed.tidied_up()?;
    waiting::notify_waiting_or_warn(op, &mesh, &mut locked);
    drop(locked);
    poke(op, &mesh);
    Ok(claim)
}

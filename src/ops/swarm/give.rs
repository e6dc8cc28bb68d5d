//! Giving a task back, or to somebody else.

use crate::domain::{AgentName, Reservation};
use crate::ops::context::Context;
use crate::ops::error::{CommandError, Kind};
use crate::ops::feed;
use crate::ops::identity::{self, with_nearest};
use crate::ops::names::is_live;
use crate::ops::waiting;
use crate::store::{Claim, StoreError};
use crate::sys::clock;

use super::board::Board;
use super::claim::{check_id, drop_stale};
use super::complete::{let_go_of_paths, own_claim, place_of, task_of};

/// Gives up the task that is named, else the one that the caller has.
pub fn unclaim(ctx: &Context, task: Option<&str>, spec: Option<&str>) -> Result<Claim, CommandError> {
    task.map_or(Ok(()), check_id)?;
    let (mesh, caller) = identity::caller(ctx)?;
    if caller.agent.is_foreign() {
        return Err(StoreError::Foreign(caller.agent.name.to_string()).into());
    }
    let locked = mesh.lock()?;
    let me = locked.own_record(&caller.agent)?.agent;
    let census = locked.census()?;
    let swarm = locked.swarm()?;
    let (mut claims, completions) = (swarm.claims()?, swarm.completions()?);
    drop_stale(ctx, &mesh, &swarm, &mut claims, &completions, &census)?;
    let claim = match task {
        Some(task) => {
            let place = place_of(ctx, spec, &me, &claims, task)?;
            own_claim(&Board::new(place, &claims, &completions, &census)?, &me, &claims, task)?
        }
        None => claims.of(&me).into_iter().next().ok_or_else(|| {
            CommandError::new(Kind::NotClaimed, "you work on no task")
                .hint("`msg tasks --mine` would show it")
        })?,
    };
    claims.remove(&claim);
    swarm.write(&claims)?;
    drop(swarm);
    let_go_of_paths(&locked, &me, &task_of(&claim))?;
    waiting::tell_or_note(ctx, &mesh, &locked);
    drop(locked);
    feed::tell(ctx, &mesh, "unclaim", &me.name, Some(&claim.task), None);
    Ok(claim)
}

/// A task that is another's now.
#[derive(Clone, Debug)]
pub struct HandedOff {
    pub claim: Claim,
    /// The paths that went along.
    pub reservations: Vec<Reservation>,
}

/// Passes a task and the paths that were taken with it to another live agent, in one step.
pub fn handoff(
    ctx: &Context,
    task: &str,
    to: &AgentName,
    spec: Option<&str>,
    notes: Option<&str>,
) -> Result<HandedOff, CommandError> {
    check_id(task)?;
    let (mesh, caller) = identity::caller(ctx)?;
    if caller.agent.is_foreign() {
        return Err(StoreError::Foreign(caller.agent.name.to_string()).into());
    }
    let locked = mesh.lock()?;
    let me = locked.own_record(&caller.agent)?.agent;
    let census = locked.census()?;
    let swarm = locked.swarm()?;
    let (mut claims, completions) = (swarm.claims()?, swarm.completions()?);
    drop_stale(ctx, &mesh, &swarm, &mut claims, &completions, &census)?;
    let place = place_of(ctx, spec, &me, &claims, task)?;
    let board = Board::new(place, &claims, &completions, &census)?;
    let claim = own_claim(&board, &me, &claims, task)?;
    let Some(record) = census.find(to, clock::now()).filter(|record| is_live(record)) else {
        let error = CommandError::new(Kind::UnknownAgent, format!("no agent is called {to}"));
        return Err(with_nearest(error, to, &census));
    };
    let heir = &record.agent;
    if heir.session == me.session {
        return Err(CommandError::new(Kind::InvalidValue, format!("{to} is you")));
    }
    if let Some(other) = claims.of(heir).first() {
        let text = format!("{} works on `{}` already", heir.name, other.task);
        return Err(CommandError::new(Kind::AlreadyHaveClaim, text).fact("task", other.task.as_str()));
    }
    let task_ref = task_of(&claim);
    let is_of_task = |held: &&Reservation| held.task.as_ref() == Some(&task_ref);
    let paths: Vec<Reservation> = me.reservations.iter().filter(is_of_task).cloned().collect();
    // What the heir has left of this task from a command that died would bind again.
    let heir = &let_go_of_paths(&locked, &locked.own_record(heir)?.agent, &task_ref)?;
    if !paths.is_empty() {
        // They bind for whoever has the claim, so both may have them for a moment.
        locked.edit(heir, |agent| agent.reservations.extend(paths.clone()))?;
    }
    let passed = Claim {
        agent: heir.name.to_string(),
        session: heir.session.to_string(),
        process: heir.process.clone(),
        claimed_at: clock::now(),
        ..claim.clone()
    };
    claims.remove(&claim);
    claims.insert(&passed);
    swarm.write(&claims)?;
    drop(swarm);
    let_go_of_paths(&locked, &me, &task_of(&claim))?;
    waiting::forget_task(ctx, &locked, heir, &task_ref);
    let notes = notes.map_or(String::new(), |notes| format!("\n{notes}"));
    let text = format!(
        "{} hands `{task}` to you; it is yours now. `msg unclaim {task}` gives it back.{notes}",
        me.name
    );
    if let Err(error) = waiting::notify(&mesh, &heir.name, &text) {
        ctx.notice(format!("{} could not be told: {error}", heir.name));
    }
    drop(locked);
    feed::tell(ctx, &mesh, "handoff", &me.name, Some(task), Some(heir.name.as_str()));
    Ok(HandedOff { claim: passed, reservations: paths })
}

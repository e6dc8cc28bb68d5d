//! Giving a task back, or to somebody else.

use jiff::Timestamp;

use crate::domain::pattern::Pattern;
use crate::domain::{Agent, AgentName, EventKind, Reservation, TaskRef, quoted, shell_word};
use crate::ops::context::Context;
use crate::ops::error::{CommandError, Kind};
use crate::ops::feed;
use crate::ops::identity::{self, with_nearest};
use crate::ops::names::is_live;
use crate::ops::reserve::{contains, wait_no_longer_for};
use crate::ops::waiting;
use crate::store::{Claim, Locked};

use super::board::Sheet;
use super::claim::check_id;
use super::complete::{give_back, let_go_of_paths, task_of};
use super::table::Table;

/// Gives up the task that is named, else the one that the caller has.
pub fn unclaim(ctx: &Context, task: Option<&str>, spec: Option<&str>) -> Result<Claim, CommandError> {
    task.map_or(Ok(()), check_id)?;
    let (mesh, caller) = identity::own_caller(ctx)?;
    let locked = mesh.lock()?;
    let mut table = Table::open(ctx, &mesh, &locked, &caller)?;
    let claim = match task {
        Some(task) => {
            let sheet = Sheet::read(ctx, table.place_of(spec, task)?)?;
            table.own_claim(&table.board(&sheet), task)?
        }
        None => table.claims.of(&table.me).into_iter().next().ok_or_else(|| {
            CommandError::new(Kind::NotClaimed, "you work on no task")
                .hint("`msg tasks --mine` would show it")
        })?,
    };
    table.claims.remove(&claim);
    table.write_claims()?;
    let me = table.close();
    give_back(ctx, &mesh, &locked, &me, &claim)?;
    drop(locked);
    feed::tell(ctx, &mesh, EventKind::Unclaim, &me.name, Some(&claim.task), None);
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
    let (mesh, caller) = identity::own_caller(ctx)?;
    let locked = mesh.lock()?;
    let mut table = Table::open(ctx, &mesh, &locked, &caller)?;
    let sheet = Sheet::read(ctx, table.place_of(spec, task)?)?;
    let claim = table.own_claim(&table.board(&sheet), task)?;
    let task_ref = task_of(&claim);
    let is_of_task = |held: &&Reservation| held.task.as_ref() == Some(&task_ref);
    let paths: Vec<Reservation> = table.me.reservations.iter().filter(is_of_task).cloned().collect();
    let covered = held_besides(&table.me, &task_ref, &paths, table.now)?;
    let heir = bequeath(&table, to, &task_ref, &paths)?;
    let passed = Claim {
        agent: heir.name.to_string(),
        session: heir.session.to_string(),
        process: heir.process.clone(),
        claimed_at: table.now,
        ..claim.clone()
    };
    if !covered.is_empty() {
        // Held with the task, too, until the claim passes: there is no moment in which these are nobody's.
        table.me = locked.edit(&table.me, |me| me.reservations.retain(|held| !covered.contains(held)))?.agent;
    }
    table.claims.remove(&claim);
    table.claims.insert(&passed);
    table.write_claims()?;
    let me = table.close();
    let_go_of_paths(&locked, &me, &task_ref)?;
    waiting::forget_task(ctx, &locked, &heir, &task_ref);
    forget_paths(ctx, &locked, &heir, &paths);
    let notes = notes.map_or(String::new(), |notes| format!("\n{notes}"));
    let text = format!(
        "{} hands `{task}` to you; it is yours now. `msg unclaim {}` lets go of it.{notes}",
        me.name,
        shell_word(task)
    );
    if let Err(error) = waiting::notify(ctx, &mesh, &heir.name, &text) {
        ctx.notice(format!("{} could not be told: {error}", heir.name));
    }
    drop(locked);
    feed::tell(ctx, &mesh, EventKind::Handoff, &me.name, Some(task), Some(heir.name.as_str()));
    Ok(HandedOff { claim: passed, reservations: paths })
}

/// Who has the paths waits for them no longer. Only once the claim has passed: until then they bind for the giver.
fn forget_paths(ctx: &Context, locked: &Locked<'_>, heir: &Agent, paths: &[Reservation]) {
    if heir.waits_for.is_empty() || paths.is_empty() {
        return;
    }
    if let Err(error) = locked.edit(heir, |heir| wait_no_longer_for(heir, paths)) {
        ctx.notice(format!("{} still waits for what it has: {error}", heir.name));
    }
}

/// What the giver holds in its own right of the paths that go along. No path has two holders, so it goes, too; what
/// reaches beyond them can't be given in part, and is in the way.
fn held_besides(
    me: &Agent,
    task: &TaskRef,
    paths: &[Reservation],
    now: Timestamp,
) -> Result<Vec<Reservation>, CommandError> {
    let patterns = |held: &Reservation| held.patterns(&me.cwd);
    let given: Vec<Pattern> = paths.iter().flat_map(patterns).collect();
    let mut covered = Vec::new();
    for held in me.reservations.iter().filter(|held| held.task.is_none() && held.binds(now)) {
        let own = patterns(held);
        let Some(met) = paths.iter().find(|path| overlap(&patterns(path), &own)) else { continue };
        if !own.iter().all(|own| given.iter().any(|given| contains(given, own))) {
            let (own, met) = (quoted(&held.pattern), quoted(&met.pattern));
            let text = format!("{met} goes with `{}`, and you hold {own} in your own right", task.id);
            return Err(CommandError::new(Kind::Reserved, text)
                .hint(format!("`msg release {}` first: no path has two holders", shell_word(&held.pattern)))
                .fact("pattern", held.pattern.as_str()));
        }
        covered.push(held.clone());
    }
    Ok(covered)
}

fn overlap(these: &[Pattern], those: &[Pattern]) -> bool {
    these.iter().any(|this| those.iter().any(|that| this.overlaps(that)))
}

/// Whoever is to have the task, with its paths. They bind for whoever has the claim, so both may have them for a moment.
fn bequeath(
    table: &Table<'_>,
    to: &AgentName,
    task: &TaskRef,
    paths: &[Reservation],
) -> Result<Agent, CommandError> {
    let Some(record) = table.census.find(to, table.now).filter(|record| is_live(record)) else {
        let error = CommandError::new(Kind::UnknownAgent, format!("no agent is called {to}"));
        return Err(with_nearest(error, to, &table.census));
    };
    let heir = &record.agent;
    if heir.session == table.me.session {
        return Err(CommandError::new(Kind::InvalidValue, format!("{to} is you")));
    }
    if let Some(other) = table.claims.of(heir).first() {
        let text = format!("{} works on `{}` already", heir.name, other.task);
        return Err(CommandError::new(Kind::AlreadyHaveClaim, text).fact("task", other.task.as_str()));
    }
    // What the heir has left of this task from a command that died would bind again.
    let heir = let_go_of_paths(table.locked, &table.locked.own_record(heir)?.agent, task)?;
    match paths {
        [] => Ok(heir),
        _ => Ok(table.locked.edit(&heir, |agent| agent.reservations.extend(paths.to_vec()))?.agent),
    }
}

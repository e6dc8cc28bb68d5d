//! Who was refused what, and that they are told once it is free.
//!
//! Nothing has to be in time for this: whether something is free follows from the registrations alone, so whoever comes
//! next with the lock in hand tells what a crash left untold, also of a holder that has died.

use std::path::Path;

use jiff::SignedDuration;

use crate::domain::pattern::{PathForm, Pattern};
use crate::domain::{Agent, AgentName, Message, TaskRef, TaskWait, Wait, called, shell_word};
use crate::store::{Census, Claim, Locked, Mesh, Record};
use crate::sys::{clock, paths, random};

use super::context::Context;
use super::error::CommandError;
use super::holdings::held_by_others;
use super::names::is_live;
use super::swarm::{Spellings, is_stale};

/// What was told is kept for so long, and so many; one in so many notices looks whether there is too much.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 7);
const KEPT_AT_MOST: usize = 1_000;
const PRUNE_ONE_IN: u32 = 64;

/// As many refusals are remembered of one agent, the latest ones.
const MAX_WAITS: usize = 32;

/// Writes down what the agent was refused. Twice the same is once.
pub(super) fn remember(locked: &Locked<'_>, agent: &Agent, waits: Vec<Wait>) -> Result<(), CommandError> {
    let is_new = |wait: &Wait| !agent.waits_for.iter().any(|known| same(known, wait));
    let mut new: Vec<Wait> = Vec::new();
    for wait in waits.into_iter().filter(is_new) {
        if !new.iter().any(|known| same(known, &wait)) {
            new.push(wait);
        }
    }
    if agent.is_foreign() || new.is_empty() {
        return Ok(());
    }
    locked.edit(agent, |agent| {
        agent.waits_for.extend(new);
        let surplus = agent.waits_for.len().saturating_sub(MAX_WAITS);
        agent.waits_for.drain(..surplus);
    })?;
    Ok(())
}

/// The same for a task that another has.
pub(super) fn remember_task(locked: &Locked<'_>, agent: &Agent, wait: TaskWait) -> Result<(), CommandError> {
    if agent.is_foreign() || agent.waits_for_tasks.iter().any(|known| known.task == wait.task) {
        return Ok(());
    }
    locked.edit(agent, |agent| {
        agent.waits_for_tasks.push(wait);
        let surplus = agent.waits_for_tasks.len().saturating_sub(MAX_WAITS);
        agent.waits_for_tasks.drain(..surplus);
    })?;
    Ok(())
}

/// Who has the task waits for it no longer. That may fail: a message too many is no harm.
pub(super) fn forget_task(ctx: &Context, locked: &Locked<'_>, agent: &Agent, task: &TaskRef) {
    let is_it = |wait: &TaskWait| wait.task == *task;
    if !agent.waits_for_tasks.iter().any(is_it) {
        return;
    }
    if let Err(error) = locked.edit(agent, |agent| agent.waits_for_tasks.retain(|wait| !is_it(wait))) {
        ctx.notice(format!("{} still waits for `{}`: {error}", agent.name, task.id));
    }
}

/// What became of the tasks that the agent was refused, for those that nobody has any more.
fn freed_tasks(mesh: &Mesh, census: &Census, agent: &Agent) -> Result<Vec<(TaskWait, String)>, CommandError> {
    let (claims, completions) = (mesh.claims()?, mesh.completions()?);
    let spellings = Spellings::default();
    let mut freed = Vec::new();
    for wait in &agent.waits_for_tasks {
        let TaskRef { spec, id } = &wait.task;
        if let Some(done) = spellings.completion(&completions, spec, id) {
            freed.push((wait.clone(), format!("`{id}` is done: {} completed it.", called(&done.by))));
            continue;
        }
        let is_it = |claim: &Claim| claim.task == *id && spellings.are_same(&claim.spec, spec);
        let claimed = claims.iter().any(|claim| is_it(&claim) && !is_stale(&claim, census));
        if !claimed {
            let (holder, word) = (called(&wait.holder), shell_word(id));
            let text =
                format!("`{id}` is free: {holder} no longer works on it. To take it: msg claim {word}");
            freed.push((wait.clone(), text));
        }
    }
    Ok(freed)
}

fn same(a: &Wait, b: &Wait) -> bool {
    (&a.pattern, &a.root, a.literal) == (&b.pattern, &b.root, b.literal)
}

/// Where that for which the agent waits starts: whoever holds it holds something there.
pub(super) fn heads(agent: &Agent) -> Vec<PathForm> {
    let both = |wait: &Wait| {
        let read = wait.read(&agent.cwd);
        [read.head().clone(), paths::resolve(Path::new(read.head().as_str()))]
    };
    agent.waits_for.iter().flat_map(both).collect()
}

/// What of that for which the agent waits nobody holds any more.
pub(super) fn freed(census: &Census, agent: &Agent) -> Vec<Wait> {
    // One that can't be read may hold anything.
    if !census.unreadable.is_empty() {
        return Vec::new();
    }
    let is_free = |wait: &&Wait| {
        let read = wait.read(&agent.cwd);
        let led = read.with_head(paths::resolve(Path::new(read.head().as_str())));
        let hits = |theirs: &Pattern| read.overlaps(theirs) || led.overlaps(theirs);
        held_by_others(&census.records, Some(agent), clock::now(), hits).is_empty()
    };
    agent.waits_for.iter().filter(is_free).cloned().collect()
}

/// Does anybody wait for something that is free by now? Then whoever was to tell has died, or its time was over.
pub(super) fn is_owed(mesh: &Mesh, census: &Census) -> Result<bool, CommandError> {
    for Record { agent, .. } in census.records.iter().filter(|record| is_told(record)) {
        if !agent.waits_for.is_empty() && !freed(census, agent).is_empty() {
            return Ok(true);
        }
        if !agent.waits_for_tasks.is_empty() && !freed_tasks(mesh, census, agent)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Those who are gone need nothing, and pi-messenger's agents don't say what they wait for.
fn is_told(record: &Record) -> bool {
    !record.agent.is_foreign() && is_live(record)
}

/// Tells everyone who waits for something that is free by now, once.
pub(super) fn tell(ctx: &Context, mesh: &Mesh, locked: &Locked<'_>) -> Result<(), CommandError> {
    let census = locked.census()?;
    tell_of_tasks(ctx, mesh, locked, &census)?;
    let waits = |record: &&Record| !record.agent.waits_for.is_empty() && is_told(record);
    for Record { agent, .. } in census.records.iter().filter(waits) {
        let freed = freed(&census, agent);
        if freed.is_empty() {
            continue;
        }
        // One who can't be told is no reason not to tell the others.
        if let Err(error) = tell_one(ctx, mesh, locked, agent, &freed) {
            ctx.notice(format!("{} could not be told what is free: {error}", agent.name));
        }
    }
    Ok(())
}

/// The message first: told twice after a crash is better than never.
fn tell_one(
    ctx: &Context,
    mesh: &Mesh,
    locked: &Locked<'_>,
    agent: &Agent,
    freed: &[Wait],
) -> Result<(), CommandError> {
    if notify(ctx, mesh, &agent.name, &text(freed))? {
        locked.edit(agent, |agent| agent.waits_for.retain(|wait| !freed.contains(wait)))?;
    }
    Ok(())
}

fn tell_of_tasks(
    ctx: &Context,
    mesh: &Mesh,
    locked: &Locked<'_>,
    census: &Census,
) -> Result<(), CommandError> {
    let waits = |record: &&Record| !record.agent.waits_for_tasks.is_empty() && is_told(record);
    for Record { agent, .. } in census.records.iter().filter(waits) {
        let freed = freed_tasks(mesh, census, agent)?;
        if freed.is_empty() {
            continue;
        }
        let text = freed.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
        if !notify(ctx, mesh, &agent.name, &text)? {
            ctx.notice(format!("{} could not be told what is free: it has no inbox", agent.name));
        }
        let was_told = |wait: &TaskWait| freed.iter().any(|(told, _)| told == wait);
        locked.edit(agent, |agent| agent.waits_for_tasks.retain(|wait| !was_told(wait)))?;
    }
    Ok(())
}

/// For those whose own work is done: what fails here is a notice.
pub(super) fn tell_or_note(ctx: &Context, mesh: &Mesh, locked: &Locked<'_>) {
    if let Err(error) = tell(ctx, mesh, locked) {
        ctx.notice(format!("those who wait for what is free now could not be told: {error}"));
    }
}

fn text(freed: &[Wait]) -> String {
    let patterns: Vec<String> = freed.iter().map(|wait| format!("`{}`", wait.pattern)).collect();
    let mut holders: Vec<&str> = freed.iter().map(|wait| wait.holder.as_str()).collect();
    holders.sort_unstable();
    holders.dedup();
    let (is, it) = if freed.len() == 1 { ("is", "it") } else { ("are", "them") };
    let hold = if holders.len() == 1 { "holds" } else { "hold" };
    let commands: Vec<_> = freed.iter().map(|wait| shell_word(&wait.pattern)).collect();
    format!(
        "{} {is} free: {} no longer {hold} {it}. To have {it} to yourself: msg reserve {}",
        patterns.join(", "),
        holders.join(" and "),
        commands.join(" "),
    )
}

/// A message of the program's own. `false`: there is no such inbox. Whoever rests is woken when the command is over and
/// holds no lock any more.
pub(super) fn notify(ctx: &Context, mesh: &Mesh, to: &AgentName, text: &str) -> Result<bool, CommandError> {
    let from = AgentName::of_program();
    let mut outbox = mesh.outbox(&from)?;
    let stamp = outbox.stamp()?;
    let message = Message::new(stamp, &from, to, text);
    let posted = outbox.post(stamp, to, message)?.is_some();
    if posted {
        ctx.was_told(to);
    }
    drop(outbox);
    // Nobody reads as the program, so nobody else would.
    if random::number().is_multiple_of(PRUNE_ONE_IN) {
        mesh.prune(&from, clock::now() - KEPT, KEPT_AT_MOST)?;
    }
    Ok(posted)
}

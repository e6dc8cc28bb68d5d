//! Records which agents were refused a path or task, and notifies them once it is free.
//!
//! Nothing here has to happen in time: whether something is free follows from the registrations alone, so the next
//! process with the lock reports what a crash left unreported, including the death of a holder.
//!
//! What an agent was refused is in `waitsFor` of its own registration. The agent finds out by itself, too: at its
//! hooks, whenever it looks into its inbox (`read`, `wait`, `watch`, `tui`), and through its waiter or MCP server while
//! it is idle. A process that follows an inbox wakes when a reservation in its way expires, and finds the death of a
//! holder at its slow tick.

use std::cell::{Cell, OnceCell};
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::domain::pattern::{Pattern, SearchBudget};
use crate::domain::{
    Agent, Conflict, Importance, Notice, PathWait, PeerText, ReservationReach, TaskRef, TaskWait, quote_code,
};
use crate::store::{
    Census, Claim, Claims, Completions, LockedMesh, Mesh, Registration, RegistryQuery, RepositoryPlaces,
    StagedChange,
};
use crate::sys::{clock, paths};

use super::conflicts::STEPS_UNDER_LOCK;
use super::expired::drop_expired;
use super::holdings::{Holding, OtherReservations};
use super::rules::drop_waits_for;
use super::settle_contests;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::notices::post_owed;
use crate::ops::tasks::{Spellings, TasksElsewhere, is_stale};

/// How long to wait before trying again after an agent could not be told what is free.
const AFTER_TROUBLE: Duration = Duration::from_secs(60);

/// The most refusals remembered per agent; the latest are kept.
const MAX_WAITS: usize = 32;

/// Records what the agent was refused, each only once, and nothing else of the change.
pub(in crate::ops) fn remember(
    change: &mut StagedChange<'_>,
    agent: &Agent,
    waits: Vec<PathWait>,
) -> Result<(), CommandError> {
    let is_new = |wait: &PathWait| !agent.waits_for.iter().any(|known| same(known, wait));
    let mut new: Vec<PathWait> = Vec::new();
    for wait in waits.into_iter().filter(is_new) {
        if !new.iter().any(|known| same(known, &wait)) {
            new.push(wait);
        }
    }
    if !agent.is_ours() || new.is_empty() {
        return Ok(());
    }
    commit_refusal(change, agent, |agent| new.into_iter().for_each(|wait| add_wait(agent, wait)))
}

/// Adds what the agent waits for, unless it does so already.
pub(super) fn add_wait(agent: &mut Agent, wait: PathWait) {
    if !agent.waits_for.iter().any(|known| same(known, &wait)) {
        agent.waits_for.push(wait);
        let surplus = agent.waits_for.len().saturating_sub(MAX_WAITS);
        agent.waits_for.drain(..surplus);
    }
}

/// Like [`remember`], for a task that another agent has.
pub(in crate::ops) fn remember_task(
    change: &mut StagedChange<'_>,
    agent: &Agent,
    wait: TaskWait,
) -> Result<(), CommandError> {
    if !agent.is_ours() || agent.waits_for_tasks.iter().any(|known| known.task == wait.task) {
        return Ok(());
    }
    commit_refusal(change, agent, |agent| {
        agent.waits_for_tasks.push(wait);
        let surplus = agent.waits_for_tasks.len().saturating_sub(MAX_WAITS);
        agent.waits_for_tasks.drain(..surplus);
    })
}

/// Writes the refusal instead of what is staged, because the command changes nothing else.
fn commit_refusal(
    change: &mut StagedChange<'_>,
    agent: &Agent,
    edit: impl FnOnce(&mut Agent),
) -> Result<(), CommandError> {
    change.discard();
    change.edit(agent, edit)?;
    Ok(change.commit_so_far()?)
}

/// Stops waiting for a task that the agent will have. If that fails, one superfluous message does no harm.
pub(in crate::ops) fn forget_task(op: &Op, change: &mut StagedChange<'_>, agent: &Agent, task: &TaskRef) {
    let is_it = |wait: &TaskWait| wait.task == *task;
    if !agent.waits_for_tasks.iter().any(is_it) {
        return;
    }
    if let Err(error) = change.edit(agent, |agent| agent.waits_for_tasks.retain(|wait| !is_it(wait))) {
        op.warn(format!("{} is still recorded as waiting for {}: {error}", agent.name, quote_code(&task.id)));
    }
}

fn same(a: &PathWait, b: &PathWait) -> bool {
    let place = |wait: &PathWait| (wait.pattern.clone(), wait.named.clone(), wait.root.clone());
    place(a) == place(b) && a.is_literal == b.is_literal && a.reach == b.reach
}

/// Agents that may hold something the agent waits for, and perhaps others.
fn around(mesh: &Mesh, agent: &Agent) -> Result<Census, CommandError> {
    // The index does not know what is in the way of somebody who wants it in every work tree.
    if agent.waits_for.iter().any(|wait| wait.reach.repository().is_some()) {
        return Ok(mesh.registry().census()?);
    }
    let registry = mesh.registry().indexed()?;
    let mut wanted: Vec<Pattern> = agent.waits_for.iter().flat_map(|wait| spelled(agent, wait)).collect();
    if registry.mentions_repository() {
        wanted.extend(RepositoryPlaces::quick(mesh).patterns(&wanted));
    }
    let near =
        RegistryQuery { heads: wanted.iter().map(Pattern::head).collect(), ..RegistryQuery::default() };
    Ok(registry.matching(&near)?.into_owned())
}

/// What the agent waits for: as written, and where links lead now.
fn spelled(agent: &Agent, wait: &PathWait) -> Vec<Pattern> {
    let mut patterns = wait.patterns(&agent.cwd);
    if wait.reach == ReservationReach::Thing {
        return patterns;
    }
    let read = wait.read(&agent.cwd);
    let led = read.with_head(paths::resolve(Path::new(read.head().as_str())));
    if led != read {
        patterns.push(led);
    }
    patterns
}

/// All reservations and claims, read once for all who wait.
struct HeldSnapshot<'c> {
    mesh: &'c Mesh,
    census: &'c Census,
    others: OnceCell<OtherReservations<'c>>,
    /// The same, as they are in their repositories too.
    others_in_repositories: OnceCell<OtherReservations<'c>>,
    places: RepositoryPlaces<'c>,
    tasks: OnceCell<(Claims, Completions)>,
    elsewhere: OnceCell<TasksElsewhere<'c>>,
    spellings: Spellings,
    /// Past this limit, what can't be compared counts as held.
    budget: SearchBudget,
}

impl<'c> HeldSnapshot<'c> {
    fn new(mesh: &'c Mesh, census: &'c Census) -> Self {
        Self {
            mesh,
            census,
            others: OnceCell::new(),
            others_in_repositories: OnceCell::new(),
            places: RepositoryPlaces::quick(mesh),
            tasks: OnceCell::new(),
            elsewhere: OnceCell::new(),
            spellings: Spellings::default(),
            budget: SearchBudget::new(STEPS_UNDER_LOCK),
        }
    }

    fn tasks(&self) -> Result<&(Claims, Completions), CommandError> {
        if let Some(tasks) = self.tasks.get() {
            return Ok(tasks);
        }
        let tasks = (self.mesh.tasks().claims()?, self.mesh.tasks().completions()?);
        Ok(self.tasks.get_or_init(|| tasks))
    }

    fn in_the_way(&self, agent: &Agent, wait: &PathWait) -> Vec<Holding> {
        let mut wanted = spelled(agent, wait);
        if self.census.has_repository_reservation() {
            let shared = self.places.patterns(&wanted);
            wanted.extend(shared);
        }
        let hit = |theirs: &Pattern| Conflict::of(&wanted, std::slice::from_ref(theirs), &self.budget);
        let others = || {
            OtherReservations::new(self.census.records.iter().chain(self.census.odd()), None, clock::now())
        };
        let others = match wait.reach {
            ReservationReach::WorkTree | ReservationReach::Thing => self.others.get_or_init(others),
            ReservationReach::Repository(_) => {
                self.others_in_repositories.get_or_init(|| others().in_repositories(&self.places))
            }
        };
        others.in_the_way_of(agent, hit)
    }

    /// What the agent waits for and nobody holds any more.
    fn freed(&self, agent: &Agent) -> Vec<PathWait> {
        // A registration that can't be read may hold anything.
        if self.census.unreadable.iter().any(|file| file.told.is_none()) {
            return Vec::new();
        }
        let is_free = |wait: &&PathWait| self.in_the_way(agent, wait).is_empty();
        agent.waits_for.iter().filter(is_free).cloned().collect()
    }

    /// The tasks the agent was refused and nobody has any more, each with what became of it.
    fn freed_tasks(&self, agent: &Agent) -> Result<Vec<(TaskWait, Notice)>, CommandError> {
        if agent.waits_for_tasks.is_empty() {
            return Ok(Vec::new());
        }
        let (claims, completions) = self.tasks()?;
        let mut freed = Vec::new();
        for wait in &agent.waits_for_tasks {
            let TaskRef { spec, id } = &wait.task;
            let task = PeerText::new(id.as_str());
            let elsewhere = self.elsewhere.get_or_init(|| TasksElsewhere::of(Some(self.mesh))).spec(spec);
            let here = self.spellings.completion(completions, spec, id);
            if let Some(done) = here.or_else(|| elsewhere.completion(id).cloned()) {
                let by = PeerText::new(done.who());
                let notice = Notice::new().code(&task).say(" is done: ").names([&by]).say(" completed it.");
                freed.push((wait.clone(), notice));
                continue;
            }
            let is_it = |claim: &Claim| claim.task == *id && self.spellings.are_same(&claim.spec, spec);
            let claimed = claims.iter().any(|claim| is_it(&claim) && !is_stale(&claim, self.census));
            if !claimed && elsewhere.claim(id).is_none() {
                let holder = PeerText::new(wait.holder.as_str());
                let notice = Notice::new().code(&task).say(" is free: ").names([&holder]);
                let notice = notice.say(" no longer works on it. To take it: msg claim ");
                freed.push((wait.clone(), notice.arguments([&task], "TASK")));
            }
        }
        Ok(freed)
    }
}

/// When the next reservation that the agent waits for expires, if any does.
pub(in crate::ops) fn next_end(mesh: &Mesh, agent: &Agent) -> Result<Option<Timestamp>, CommandError> {
    if agent.waits_for.is_empty() {
        return Ok(None);
    }
    let census = around(mesh, agent)?;
    let held = HeldSnapshot::new(mesh, &census);
    let held = agent.waits_for.iter().flat_map(|wait| held.in_the_way(agent, wait));
    Ok(held.filter_map(|holding| holding.reservation.expires_at).min())
}

/// Whether anybody waits for something that is free by now: the process that should have told them died, or the
/// reservation expired.
pub(in crate::ops) fn is_owed(mesh: &Mesh, census: &Census) -> Result<bool, CommandError> {
    let waits = |record: &&Registration| is_waiting(&record.agent) && is_told(record);
    let held = HeldSnapshot::new(mesh, census);
    for Registration { agent, .. } in census.records.iter().filter(waits) {
        let is_freed = !held.freed(agent).is_empty() || !held.freed_tasks(agent)?.is_empty();
        if is_freed || settle_contests::is_due(mesh, census, agent) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_waiting(agent: &Agent) -> bool {
    !agent.waits_for.is_empty() || !agent.waits_for_tasks.is_empty() || !agent.contests.is_empty()
}

/// Whether the agent is told: dead agents need nothing, pi-messenger's don't say what they wait for, and one on another
/// machine is told there.
fn is_told(record: &Registration) -> bool {
    record.agent.is_ours() && record.is_live()
}

/// Tells the agent what it waits for and is free by now: if the holder died or the reservation expired, nobody else may
/// ever do it. If the lock is taken, the next call does it. Costs nothing if the agent waits for nothing. Wakes nobody,
/// because the caller is about to look.
pub(in crate::ops) fn notify_if_free(mesh: &Mesh, agent: &Agent) -> Result<(), CommandError> {
    if !is_waiting(agent) || !is_owed_to(mesh, agent)? {
        return Ok(());
    }
    let Some(mut locked) = mesh.try_lock()? else { return Ok(()) };
    let census = locked.census()?;
    let is_it = |record: &&Registration| record.agent.is_same_session(agent);
    let Some(Registration { agent, .. }) = census.records.iter().find(is_it) else { return Ok(()) };
    let [contests, tasks, paths] = tell_one(&mut locked, &HeldSnapshot::new(mesh, &census), agent);
    contests.and(tasks).and(paths).map(drop)
}

/// [`notify_if_free`] for a caller that looks again and again: an error does not hold up mail, and it is not tried
/// again at every look.
#[derive(Debug, Default)]
pub(in crate::ops) struct WaitNotifier {
    failed: Cell<Option<Instant>>,
}

impl WaitNotifier {
    pub(in crate::ops) fn tell_if_owed(&self, op: &Op, mesh: &Mesh, agent: &Agent) {
        if self.failed.get().is_some_and(|failed| failed.elapsed() < AFTER_TROUBLE) {
            return;
        }
        self.failed.set(None);
        if let Err(error) = notify_if_free(mesh, agent) {
            self.failed.set(Some(Instant::now()));
            op.warn(format!(
                "cannot check which paths and tasks {} is waiting for are free: {error}",
                agent.name
            ));
        }
    }
}

fn is_owed_to(mesh: &Mesh, agent: &Agent) -> Result<bool, CommandError> {
    if !agent.waits_for.is_empty() && !HeldSnapshot::new(mesh, &around(mesh, agent)?).freed(agent).is_empty()
    {
        return Ok(true);
    }
    if agent.waits_for_tasks.is_empty() && agent.contests.is_empty() {
        return Ok(false);
    }
    let census = mesh.registry().census()?;
    let is_it = |record: &&Registration| record.agent.is_same_session(agent);
    let is_settled = |record: &Registration| settle_contests::is_due(mesh, &census, &record.agent);
    let has_freed_task = !HeldSnapshot::new(mesh, &census).freed_tasks(agent)?.is_empty();
    Ok(has_freed_task || census.records.iter().find(is_it).is_some_and(is_settled))
}

/// Tells everyone who waits for something that is free by now, once.
pub(in crate::ops) fn notify_waiting(
    op: &Op,
    mesh: &Mesh,
    locked: &mut LockedMesh<'_>,
) -> Result<(), CommandError> {
    let census = locked.census()?;
    let mut change = locked.change();
    drop_expired(&mut change, &census, clock::now())?;
    change.commit()?;
    let held = HeldSnapshot::new(mesh, &census);
    let waits = |record: &&Registration| is_waiting(&record.agent) && is_told(record);
    for Registration { agent, .. } in census.records.iter().filter(waits) {
        for told in tell_one(locked, &held, agent) {
            match told {
                Ok(true) => op.wake(&agent.name),
                Ok(false) => {}
                // A failure for one agent does not stop the others.
                Err(error) => {
                    op.warn(format!("could not tell {} what is free: {error}", agent.name));
                }
            }
        }
    }
    Ok(())
}

/// Returns whether it was told of a path that it contested, of a task, and of a path. A failure of one does not stop the
/// others. Contests come first: what the agent has now it does not wait for.
fn tell_one(
    locked: &mut LockedMesh<'_>,
    held: &HeldSnapshot<'_>,
    agent: &Agent,
) -> [Result<bool, CommandError>; 3] {
    let settled = settle_contests::settle(locked, held.mesh, held.census, agent);
    let mut agent = agent.clone();
    if let Ok(gained) = &settled {
        drop_waits_for(&mut agent, gained);
    }
    let settled = settled.map(|gained| !gained.is_empty());
    [settled, tell_of_tasks(locked, held, &agent), tell_of_paths(locked, held, &agent)]
}

/// Sends the message first: after a crash, told twice is better than never. An agent without an inbox goes on waiting.
fn tell_of_paths(
    locked: &mut LockedMesh<'_>,
    held: &HeldSnapshot<'_>,
    agent: &Agent,
) -> Result<bool, CommandError> {
    let freed = held.freed(agent);
    if freed.is_empty() || !post_owed(locked, held.mesh, &agent.name, &notice(&freed), Importance::Normal)? {
        return Ok(false);
    }
    let mut change = locked.change();
    change.edit(agent, |agent| agent.waits_for.retain(|wait| !freed.contains(wait)))?;
    change.commit()?;
    Ok(true)
}

/// Like [`tell_of_paths`], for tasks.
fn tell_of_tasks(
    locked: &mut LockedMesh<'_>,
    held: &HeldSnapshot<'_>,
    agent: &Agent,
) -> Result<bool, CommandError> {
    let freed = held.freed_tasks(agent)?;
    let notice = freed.iter().fold(Notice::new(), |all, (_, notice)| all.and(notice));
    if freed.is_empty() || !post_owed(locked, held.mesh, &agent.name, &notice, Importance::Normal)? {
        return Ok(false);
    }
    let was_told = |wait: &TaskWait| freed.iter().any(|(told, _)| told == wait);
    let mut change = locked.change();
    change.edit(agent, |agent| agent.waits_for_tasks.retain(|wait| !was_told(wait)))?;
    change.commit()?;
    Ok(true)
}

/// Like [`notify_waiting`], for callers whose own work is done: an error is only a warning.
pub(in crate::ops) fn notify_waiting_or_warn(op: &Op, mesh: &Mesh, locked: &mut LockedMesh<'_>) {
    if let Err(error) = notify_waiting(op, mesh, locked) {
        op.warn(format!("agents waiting for what is now free could not be notified: {error}"));
    }
}

fn notice(freed: &[PathWait]) -> Notice {
    // Never the holder's pattern: what the agent is told to type must be its own text.
    let own: Vec<String> = freed.iter().map(PathWait::typed).collect();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let patterns: Vec<PeerText> = own.iter().copied().map(PeerText::new).collect();
    let mut holders: Vec<&str> = freed.iter().map(|wait| wait.holder.as_str()).collect();
    holders.sort_unstable();
    holders.dedup();
    let holders: Vec<PeerText> = holders.into_iter().map(PeerText::new).collect();
    let (is_free, it) = if freed.len() == 1 { (" is free: ", "it") } else { (" are free: ", "them") };
    let no_longer = if holders.len() == 1 { " no longer holds " } else { " no longer hold " };
    let notice = Notice::new().codes(&patterns).say(is_free).names(&holders).say(no_longer).say(it);
    let is_everywhere = freed.iter().all(|wait| wait.reach.repository().is_some());
    let command = if is_everywhere { "msg reserve --repo " } else { "msg reserve " };
    notice.say(". To have ").say(it).say(" to yourself: ").say(command).own_arguments(own, "PATH")
}

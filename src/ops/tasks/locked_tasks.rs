//! Reads claims, completions and registrations with both locks held, and drops claims of dead agents: the start of
//! every change to tasks.
//!
//! A project's files are read before the locks are taken (`PreloadedSpec`); under the locks a `stat` shows whether the
//! spec is still the same, and it is read again only if it is not. `work_done::a_project_is_not_read_under_a_lock`
//! checks that.

use std::path::PathBuf;
use std::rc::Rc;

use jiff::Timestamp;

use crate::domain::{Agent, AgentName, EventKind, TaskRef, quote_name, spec};
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::messages::rendered_message::format_age;
use crate::store::{
    Census, Claim, Claims, Committed, Completion, Completions, LockedMesh, Mesh, SpecCompletions,
    StagedChange,
};
use crate::sys::clock;

use super::elsewhere::{TasksElsewhere, named, on_machine};
use super::fencing::withdraw_if_never_run;
use super::spec_key::Spellings;
use super::spec_ref::SpecRef;
use super::stale_claims::is_stale;
use super::task_args::release_task_paths;
use super::task_board::{ParsedSpec, TaskBoard};

/// Data read before the locks are taken: a project's files may be slow to read, and nobody else should wait for
/// them.
pub(super) struct PreloadedSpec {
    parsed_spec: Rc<ParsedSpec>,
    /// What the result depends on: the caller's relation to the task, and its spec.
    known: TaskRelation,
    own_spec: Option<String>,
}

impl PreloadedSpec {
    /// The spec of that task, and the resolved keys of all specs. What can't be read here is read again under the
    /// locks, and fails there.
    pub(super) fn read(
        ctx: &Context,
        mesh: &Mesh,
        caller: &Agent,
        named: Option<&str>,
        typed: &str,
    ) -> (Option<Self>, Spellings) {
        let spellings = look_up(mesh);
        let (Ok(claims), Ok(completions)) = (mesh.tasks().claims(), mesh.tasks().completions()) else {
            return (None, spellings);
        };
        let known = TaskRelation::of(&claims, &completions, caller, typed);
        let place = place_of(ctx, caller, &known, named, &spellings);
        let parsed_spec = place.and_then(ParsedSpec::read);
        if let Ok(parsed_spec) = &parsed_spec {
            // So that git is not asked under the locks.
            TasksElsewhere::of(Some(mesh)).spec(&parsed_spec.place.key);
        }
        (
            parsed_spec.ok().map(|parsed_spec| Self { parsed_spec, known, own_spec: caller.spec.clone() }),
            spellings,
        )
    }
}

/// Resolves the keys of all specs that are claimed or completed.
pub(super) fn look_up(mesh: &Mesh) -> Spellings {
    let spellings = Spellings::default();
    if let (Ok(claims), Ok(completions)) = (mesh.tasks().claims(), mesh.tasks().completions()) {
        spellings.look_up(&claims, &completions);
    }
    spellings
}

/// An agent's relation to a task, whose id may be typed differently.
#[derive(Eq, PartialEq)]
struct TaskRelation {
    /// The spec under which it claimed the task.
    claimed: Option<String>,
    /// For an agent without a spec: the one in which it completed the task.
    completed: Option<String>,
}

impl TaskRelation {
    fn of(claims: &Claims, completions: &Completions, agent: &Agent, typed: &str) -> Self {
        let mine = claims.of(agent);
        let task = spec::resolve_id(typed, mine.iter().map(|claim| claim.task.as_str()));
        let claimed =
            mine.iter().find(|claim| Some(claim.task.as_str()) == task).map(|claim| claim.spec.clone());
        let is_own = |finished: &&SpecCompletions| {
            finished.has(typed) && completions.find(finished, typed).is_some_and(|done| is_by(agent, &done))
        };
        let is_elsewhere = claimed.is_none() && agent.spec.is_none();
        let completed = is_elsewhere.then(|| completions.specs().find(is_own)).flatten();
        Self { claimed, completed: completed.map(|finished| finished.spec().to_string()) }
    }
}

fn is_by(agent: &Agent, done: &Completion) -> bool {
    agent.all_names().any(|name| name.as_str().eq_ignore_ascii_case(&done.by))
}

/// The named spec; else the one under which the agent claimed the task; else the agent's own, or, for an agent without
/// a spec, the one in which it completed the task.
fn place_of(
    ctx: &Context,
    agent: &Agent,
    known: &TaskRelation,
    named: Option<&str>,
    spellings: &Spellings,
) -> Result<SpecRef, CommandError> {
    let claimed = match (named, known) {
        (None, TaskRelation { claimed: Some(claimed), .. }) => claimed,
        (None, TaskRelation { completed: Some(spec), .. }) => return Ok(SpecRef::worked_on(spec)),
        _ => return SpecRef::find(ctx, named, Some(agent)),
    };
    let own = SpecRef::find(ctx, None, Some(agent))?;
    if own.is_meant_by(claimed, spellings) {
        return Ok(SpecRef { file: own.file.filter(|file| file.is_file()), ..own });
    }
    let file = PathBuf::from(claimed);
    Ok(SpecRef { key: claimed.clone(), file: Some(file).filter(|file| file.is_file()) })
}

/// What a command decides on, and the change that it makes: registrations, claims and completions are committed in one
/// call.
pub(super) struct LockedTasks<'l> {
    pub(super) op: &'l Op,
    pub(super) mesh: &'l Mesh,
    /// Holds `swarm.lock`, which is released with the commit.
    pub(super) change: StagedChange<'l>,
    /// The caller, as it is registered now.
    pub(super) me: Agent,
    pub(super) census: Census,
    pub(super) claims: Claims,
    pub(super) completions: Completions,
    /// Taken after the locks: whatever was completed while we waited is earlier.
    pub(super) now: Timestamp,
    pub(super) spellings: Spellings,
    pub(super) elsewhere: TasksElsewhere<'l>,
}

impl<'l> LockedTasks<'l> {
    pub(super) fn open(
        op: &'l Op,
        mesh: &'l Mesh,
        locked: &'l mut LockedMesh<'_>,
        caller: &Agent,
        spellings: Spellings,
    ) -> Result<Self, CommandError> {
        let census = locked.census()?;
        // Includes reservations that no longer bind, which the census leaves out.
        let me = locked.own_record(caller)?.agent;
        let mut change = locked.change();
        let claims = change.claims()?;
        let now = clock::now();
        let completions = change.completions()?;
        let elsewhere = TasksElsewhere::of(Some(mesh));
        let mut tasks = Self { op, mesh, change, me, census, claims, completions, now, spellings, elsewhere };
        tasks.drop_stale()?;
        Ok(tasks)
    }

    /// Drops claims of agents that are gone and of tasks that are done, whatever the command decides. The feed says so
    /// only once they are dropped: a process that is killed before the runner writes the line loses it.
    fn drop_stale(&mut self) -> Result<(), CommandError> {
        let is_done =
            |claim: &Claim| self.spellings.completion(&self.completions, &claim.spec, &claim.task).is_some();
        let all = self.claims.iter().map(|claim| (is_done(&claim), claim));
        let dropped: Vec<(bool, Claim)> =
            all.filter(|(is_done, claim)| *is_done || is_stale(claim, &self.census)).collect();
        if dropped.is_empty() {
            return Ok(());
        }
        dropped.iter().for_each(|(_, claim)| self.claims.remove(claim));
        self.stage_claims()?;
        self.change.commit_so_far()?;
        for (_, claim) in dropped.iter().filter(|(is_done, _)| !is_done) {
            if let Ok(name) = AgentName::new(claim.agent.as_str()) {
                self.op.feed(EventKind::Stale, &name, Some(&claim.task), None);
            }
        }
        Ok(())
    }

    pub(super) fn board<'t>(&'t self, parsed_spec: &'t ParsedSpec) -> TaskBoard<'t> {
        let elsewhere = self.elsewhere.spec(&parsed_spec.place.key);
        let (claims, completions) = (&self.claims, &self.completions);
        TaskBoard::new(parsed_spec, claims, completions, &self.census, &self.spellings, &elsewhere)
    }

    /// The caller's only task.
    pub(super) fn only_claim(&self) -> Result<Claim, CommandError> {
        let claim = self.claims.of(&self.me).into_iter().next();
        claim.ok_or_else(|| {
            CommandError::new(CommandErrorKind::NotClaimed, "you have no task")
                .hint("run `msg claim --next` to take one")
        })
    }

    /// The caller's own completion of that task.
    pub(super) fn own_completion(&self, board: &TaskBoard<'_>, task: &str) -> Option<Completion> {
        board.completion(task).filter(|done| done.machine.is_none() && is_by(&self.me, done))
    }

    /// The spec of that task: as read before the locks were taken, unless something changed meanwhile.
    pub(super) fn spec_of(
        &self,
        early: Option<PreloadedSpec>,
        named: Option<&str>,
        typed: &str,
    ) -> Result<Rc<ParsedSpec>, CommandError> {
        let known = TaskRelation::of(&self.claims, &self.completions, &self.me, typed);
        if let Some(early) = early.filter(|early| early.known == known && early.own_spec == self.me.spec) {
            return early.parsed_spec.refreshed();
        }
        ParsedSpec::read(place_of(self.op, &self.me, &known, named, &self.spellings)?)
    }

    /// The caller's claim of that task, or why it has none.
    pub(super) fn own_claim(&self, board: &TaskBoard<'_>, task: &str) -> Result<Claim, CommandError> {
        let shown = task.escape_debug().to_string();
        if let Some(done) = board.completion(task) {
            let text = format!(
                "`{shown}` is already done ({}, {} ago)",
                named(&done.by, done.machine.as_ref()),
                format_age(done.at, self.now)
            );
            let error = CommandError::new(CommandErrorKind::AlreadyCompleted, text);
            return Err(on_machine(error.fact("agent", done.by.as_str()), done.machine.as_ref()));
        }
        let mine = self.claims.of(&self.me);
        let is_it = |claim: &&Claim| {
            claim.task == task && board.parsed_spec.place.is_meant_by(&claim.spec, &self.spellings)
        };
        if let Some(claim) = mine.iter().find(is_it) {
            return Ok(claim.clone());
        }
        if let Some(claim) = board.claim(task) {
            let text = match &claim.machine {
                None => format!("`{shown}` is {}'s", quote_name(&claim.agent)),
                Some(_) => format!("`{shown}` is claimed by {}", named(&claim.agent, claim.machine.as_ref())),
            };
            let error =
                CommandError::new(CommandErrorKind::NotYours, text).fact("agent", claim.agent.as_str());
            let error = on_machine(error, claim.machine.as_ref());
            return Err(match AgentName::new(claim.agent.as_str()) {
                Ok(name) => error.hint(format!("ask: `msg send {name} \"…\"`")),
                Err(_) => error,
            });
        }
        if board.parsed_spec.place.file.is_none() && self.me.spec.is_none() {
            let text = format!("you have no spec, so `{shown}` is not known");
            let error = CommandError::new(CommandErrorKind::NotClaimed, text);
            return Err(error.hint("name the spec with `--spec PATH`, or set yours with `msg spec PATH`"));
        }
        let error = CommandError::new(CommandErrorKind::NotClaimed, format!("nobody has claimed `{shown}`"));
        let error = match mine.first() {
            Some(mine) => error.hint(format!("you have `{}`", mine.task)),
            None => error.hint("run `msg claim TASK` first"),
        };
        match board.parsed_spec.spec.nearest(task).as_slice() {
            near if near.is_empty() || board.parsed_spec.task(task).is_some() => Err(error),
            near => Err(error.hint(format!("did you mean {}?", near.join(" or ")))),
        }
    }

    /// Stages the fencing number for a new claim of the task, and returns it. It comes before the claim.
    pub(super) fn next_number(&mut self, task: &TaskRef, run: Option<String>) -> Result<u64, CommandError> {
        let (mut numbers, aside) = self.change.claim_numbers()?;
        if let Some(aside) = aside {
            self.op.warn(format!("the numbers of claims could not be read, and are in `{aside}` now"));
        }
        // Before the next one: only one earlier run is remembered.
        withdraw_if_never_run(self.mesh, &self.claims, &mut numbers, task)?;
        let number = numbers.next(task, run);
        self.change.set_claim_numbers(&numbers)?;
        Ok(number)
    }

    /// Stages the claims as they are here.
    pub(super) fn stage_claims(&mut self) -> Result<(), CommandError> {
        Ok(self.change.set_claims(&self.claims)?)
    }

    /// Stages the completion. The claim is to be removed after that: if the process dies in between, a claim of a
    /// finished task counts as given up.
    pub(super) fn stage_completion(&mut self, completion: &Completion) -> Result<(), CommandError> {
        self.completions.add(completion);
        Ok(self.change.set_completions(&self.completions)?)
    }

    /// Stages the removal of the caller's paths that were taken with that task.
    pub(super) fn stage_release(&mut self, task: &TaskRef) -> Result<(), CommandError> {
        self.me = release_task_paths(&mut self.change, &self.me, task)?;
        Ok(())
    }

    /// Writes everything, and releases `swarm.lock`.
    pub(super) fn commit(self) -> Result<Committed, CommandError> {
        Ok(self.change.commit_decision()?)
    }
}

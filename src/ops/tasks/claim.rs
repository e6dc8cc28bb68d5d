//! `msg claim`: takes a task. An agent has at most one task, and a task at most one owner.

use jiff::Timestamp;

use crate::domain::settings::DependencyPolicy;
use crate::domain::{
    Agent, EventKind, Reservation, TaskRef, TaskWait, quote_code, quote_sentence, shell_word,
};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::messages::rendered_message::format_age;
use crate::ops::reservations::conflicts::WantedReservations;
use crate::ops::reservations::reserve::{self, BroadPatterns, GrantedReservations, ReserveRequest};
use crate::ops::reservations::waiting;
use crate::store::{Claim, Mesh};
use crate::sys::clock;

use super::deciding::{AskedTask, TRIES, kept_changing};
use super::elsewhere::{TasksElsewhere, named, on_machine};
use super::fencing::own_run_id;
use super::locked_tasks::{LockedTasks, look_up};
use super::spec_key::Spellings;
use super::spec_ref::SpecRef;
use super::task_args::{check_id, task_of};
use super::task_board::{ParsedSpec, TaskBoard};

/// Which task is wanted.
#[derive(Clone, Debug)]
pub enum TaskChoice {
    This(String),
    /// The first that can be started.
    Next,
}

#[derive(Clone, Debug)]
pub struct ClaimRequest {
    pub choice: TaskChoice,
    pub spec: Option<String>,
    pub reason: Option<String>,
    /// Paths that are reserved together with the task: all or nothing.
    pub reserve: Vec<String>,
    pub broad: BroadPatterns,
    /// A task that is in no spec.
    pub is_adhoc: bool,
}

#[derive(Clone, Debug)]
pub struct ClaimOutcome {
    pub claim: Claim,
    pub title: String,
    pub reservations: Vec<Reservation>,
    /// The caller had it already.
    pub was_held: bool,
}

pub fn claim(op: &Op, request: &ClaimRequest) -> Result<ClaimOutcome, CommandError> {
    if let TaskChoice::This(id) = &request.choice {
        check_id(id)?;
    }
    let reason = reserve::reason(request.reason.as_deref())?;
    let paths_wanted = ReserveRequest {
        patterns: request.reserve.clone(),
        reason: reason.clone(),
        broad: request.broad,
        ..ReserveRequest::default()
    };
    let paths = reserve::drafts(op, &paths_wanted, clock::now())?;
    let (mesh, caller, roster) = identity::own_caller_and_others(op)?;
    let place = SpecRef::find(op, request.spec.as_deref(), Some(&caller))?;
    let mut wanted = WantedReservations::new(&mesh, paths, &caller.cwd);
    if !request.reserve.is_empty() {
        wanted.compare(&roster, &caller, clock::now());
    }
    let run = own_run_id(&mesh)?;
    let elsewhere = TasksElsewhere::of(Some(&mesh));
    let claiming = Claiming { op, mesh: &mesh, caller: &caller, request, place, reason, run };
    for _ in 0..TRIES {
        if let Some(outcome) = claiming.attempt(&mut wanted, &elsewhere)? {
            return Ok(outcome);
        }
    }
    Err(kept_changing())
}

/// A `claim` with all that it needs.
struct Claiming<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    caller: &'a Agent,
    request: &'a ClaimRequest,
    place: SpecRef,
    reason: Option<String>,
    run: Option<String>,
}

impl Claiming<'_> {
    /// `None`: what it came to has changed since the server was asked.
    fn attempt(
        &self,
        wanted: &mut WantedReservations<'_>,
        elsewhere: &TasksElsewhere<'_>,
    ) -> Result<Option<ClaimOutcome>, CommandError> {
        let Self { op, mesh, request, .. } = *self;
        let spellings = look_up(mesh);
        let parsed_spec = ParsedSpec::read(self.place.clone())?;
        let look = || self.candidate(&parsed_spec, &spellings, elsewhere);
        let reason = self.reason.as_deref();
        let asked = AskedTask::ask(op, mesh, self.caller, (&self.place.key, reason), elsewhere, look)?;
        let mut locked = mesh.lock_with_claims()?;
        let mut tasks = LockedTasks::open(op, mesh, &mut locked, self.caller, spellings)?;
        tasks.elsewhere.learn_all(elsewhere);
        let parsed_spec = parsed_spec.refreshed()?;
        let pick = ClaimAttempt::of(&tasks, &tasks.board(&parsed_spec)).choose(request)?;
        let (id, title) = match pick {
            Pick::Mine(claim, title) => {
                wanted.set_task(&task_of(&claim));
                let taken = take_paths(&mut tasks, wanted)?;
                tasks.commit()?.tidied_up()?;
                drop(locked);
                taken.tell_of_work_trees(op, wanted);
                return Ok(Some(again(&taken.agent, claim, title)));
            }
            Pick::Free(id, title) => (id, title),
            Pick::Others(wait, refusal) => {
                waiting::remember_task(&mut tasks.change, &tasks.me, wait)?;
                return Err(refusal);
            }
        };
        if !asked.covers(&id) {
            return Ok(None);
        }
        let task = TaskRef { spec: parsed_spec.place.key.clone(), id: id.clone() };
        // Reservations left over from this task when a command died would bind again with the claim, whoever holds
        // those paths now.
        tasks.stage_release(&task)?;
        wanted.set_task(&task);
        // They are written first but bind only with the claim: one replacement of the claims decides about both.
        let taken = take_paths(&mut tasks, wanted)?;
        let me = &taken.agent;
        let number = tasks.next_number(&task, self.run.clone())?;
        let claim = Claim {
            number: Some(number),
            run: self.run.clone(),
            spec: parsed_spec.place.key.clone(),
            task: id,
            agent: me.name.to_string(),
            session: me.session.to_string(),
            process: me.process.clone(),
            claimed_at: tasks.now,
            reason: self.reason.clone(),
            machine: None,
        };
        tasks.claims.insert(&claim);
        tasks.stage_claims()?;
        let committed = tasks.commit()?;
        asked.keep(op, &claim.task);
        committed.tidied_up()?;
        let mut change = locked.change();
        waiting::forget_task(op, &mut change, me, &task);
        if let Err(error) = change.commit() {
            op.warn(format!(
                "{} is still recorded as waiting for {}: {error}",
                me.name,
                quote_code(&task.id)
            ));
        }
        drop(locked);
        taken.tell_of_work_trees(op, wanted);
        op.feed(EventKind::Claim, &me.name, Some(&claim.task), claim.reason.as_deref());
        let reservations = wanted.reservations.clone();
        Ok(Some(ClaimOutcome { claim, title, reservations, was_held: false }))
    }

    /// The task that it would come to now, without a lock.
    fn candidate(
        &self,
        parsed_spec: &ParsedSpec,
        spellings: &Spellings,
        elsewhere: &TasksElsewhere<'_>,
    ) -> Result<Option<String>, CommandError> {
        let mesh = self.mesh;
        let (claims, completions) = (mesh.tasks().claims()?, mesh.tasks().completions()?);
        let census = mesh.registry().census()?;
        let there = elsewhere.spec(&self.place.key);
        let board = TaskBoard::new(parsed_spec, &claims, &completions, &census, spellings, &there);
        let attempt = ClaimAttempt {
            board: &board,
            spellings,
            mine: claims.of(self.caller).into_iter().next(),
            dependencies: self.op.settings.dependencies,
            now: clock::now(),
        };
        Ok(match attempt.choose(self.request) {
            Ok(Pick::Free(id, _)) => Some(id),
            // Whatever else it is is decided under the lock.
            Ok(Pick::Mine(..) | Pick::Others(..)) | Err(_) => None,
        })
    }
}

/// Gives the caller the paths that it wants with a task.
fn take_paths(
    tasks: &mut LockedTasks<'_>,
    wanted: &WantedReservations,
) -> Result<GrantedReservations, CommandError> {
    match wanted.reservations.as_slice() {
        [] => Ok(GrantedReservations::nothing(&tasks.me)),
        _ => reserve::take(tasks.op, tasks.mesh, &mut tasks.change, &tasks.me, wanted, tasks.now),
    }
}

fn again(me: &Agent, claim: Claim, title: String) -> ClaimOutcome {
    let is_of = |reservation: &&Reservation| reservation.task.as_ref() == Some(&task_of(&claim));
    let reservations = me.reservations.iter().filter(is_of).cloned().collect();
    ClaimOutcome { claim, title, reservations, was_held: true }
}

/// What a `claim` comes to.
pub(super) enum Pick {
    Mine(Claim, String),
    /// Its id and title.
    Free(String, String),
    /// The refusal, and what to remember so that the agent is told when the task is free.
    Others(TaskWait, CommandError),
}

/// One `claim`: with both locks held, or only to see what it would come to.
pub(super) struct ClaimAttempt<'t> {
    pub(super) board: &'t TaskBoard<'t>,
    pub(super) spellings: &'t Spellings,
    /// The task that the caller has.
    pub(super) mine: Option<Claim>,
    pub(super) dependencies: DependencyPolicy,
    pub(super) now: Timestamp,
}

impl<'t> ClaimAttempt<'t> {
    pub(super) fn of(tasks: &'t LockedTasks<'_>, board: &'t TaskBoard<'t>) -> Self {
        Self {
            board,
            spellings: &tasks.spellings,
            mine: tasks.claims.of(&tasks.me).into_iter().next(),
            dependencies: tasks.op.settings.dependencies,
            now: tasks.now,
        }
    }
}

impl ClaimAttempt<'_> {
    pub(super) fn choose(&self, request: &ClaimRequest) -> Result<Pick, CommandError> {
        let mine = self.mine.clone();
        let choice = match &request.choice {
            TaskChoice::This(typed) if !request.is_adhoc => TaskChoice::This(self.board.meant(typed)),
            choice => choice.clone(),
        };
        if let (Some(mine), TaskChoice::This(id)) = (&mine, &choice)
            && mine.task == *id
            && self.board.parsed_spec.place.is_meant_by(&mine.spec, self.spellings)
        {
            return Ok(Pick::Mine(mine.clone(), self.title(id)));
        }
        if let Some(mine) = mine {
            let text = format!("you work on `{}` already", mine.task);
            return Err(CommandError::new(CommandErrorKind::AlreadyHaveClaim, text)
                .hint(format!("`msg complete {0}` or `msg unclaim {0}` first", shell_word(&mine.task)))
                .fact("task", mine.task)
                .fact("spec", mine.spec));
        }
        match &choice {
            TaskChoice::This(id) => self.this(id, request),
            TaskChoice::Next => self.next(),
        }
    }

    fn title(&self, id: &str) -> String {
        self.board.parsed_spec.task(id).map_or(String::new(), |task| task.title.clone())
    }

    fn this(&self, id: &str, request: &ClaimRequest) -> Result<Pick, CommandError> {
        let task = self.board.parsed_spec.task(id);
        if task.is_none()
            && !request.is_adhoc
            && self.board.claim(id).is_none()
            && !self.board.is_finished(id)
        {
            return Err(self.unknown(id));
        }
        if self.board.is_done(id) {
            return Err(self.completed(id));
        }
        if let Some(claim) = self.board.claim(id) {
            return Ok(Pick::Others(self.wait(id, claim), self.claimed(claim)));
        }
        let missing = task.map_or(Vec::new(), |task| self.board.missing(task));
        if !missing.is_empty() && self.dependencies == DependencyPolicy::Strict {
            return Err(self.blocked(id, missing));
        }
        Ok(Pick::Free(id.to_string(), self.title(id)))
    }

    fn next(&self) -> Result<Pick, CommandError> {
        if let Some(task) = self.board.next(self.dependencies) {
            return Ok(Pick::Free(task.id.clone(), task.title.clone()));
        }
        let progress = self.board.progress();
        if progress.total() == 0 {
            let text = match &self.board.parsed_spec.place.file {
                Some(file) => format!("there are no tasks in `{}`", file.display()),
                None => "you have no spec".to_string(),
            };
            return Err(CommandError::new(CommandErrorKind::NothingReady, text).hint(
                "set your spec with `msg spec PATH`, or claim any task with `msg claim TASK --adhoc`",
            ));
        }
        if progress.done == progress.total() {
            return Err(CommandError::new(
                CommandErrorKind::AllDone,
                format!("all {} tasks are done", progress.total()),
            ));
        }
        let text = format!("nothing is ready: {} claimed, {} blocked", progress.claimed, progress.blocked);
        Err(CommandError::new(CommandErrorKind::NothingReady, text)
            .hint("`msg tasks` shows by whom and by what"))
    }

    fn wait(&self, id: &str, claim: &Claim) -> TaskWait {
        let task = TaskRef { spec: self.board.parsed_spec.place.key.clone(), id: id.to_string() };
        TaskWait { task, holder: claim.agent.clone(), since: self.now }
    }

    fn unknown(&self, id: &str) -> CommandError {
        let shown = id.escape_debug();
        let place = match &self.board.parsed_spec.place.file {
            Some(file) => format!("`{}`", file.display()),
            None => "any spec of yours".to_string(),
        };
        let error = CommandError::new(
            CommandErrorKind::UnknownTask,
            format!("there is no task `{shown}` in {place}"),
        );
        let error = match self.board.parsed_spec.spec.nearest(id).as_slice() {
            [] => error.hint("`msg tasks` lists them"),
            near => {
                let near: Vec<String> = near.iter().map(|id| (*id).to_string()).collect();
                error.hint(format!("did you mean {}?", near.join(" or "))).facts("nearest", near)
            }
        };
        error.hint("`--adhoc` claims a task that is not in the spec")
    }

    fn claimed(&self, claim: &Claim) -> CommandError {
        let reason =
            claim.reason.as_deref().map_or(String::new(), |reason| format!(": {}", quote_sentence(reason)));
        let ago = format_age(claim.claimed_at, self.now);
        let text = format!(
            "{} is claimed by {} ({ago} ago){reason}",
            quote_code(&claim.task),
            named(&claim.agent, claim.machine.as_ref())
        );
        let error = CommandError::new(CommandErrorKind::AlreadyClaimed, text)
            .hint("take the next ready task with `msg claim --next`; you will get a message when this one is free")
            .fact("agent", claim.agent.as_str())
            .fact("since", crate::store::iso(claim.claimed_at));
        on_machine(error, claim.machine.as_ref())
    }

    fn completed(&self, id: &str) -> CommandError {
        let (text, by) = match self.board.completion(id) {
            Some(done) => {
                let ago = format_age(done.at, self.now);
                (
                    format!(
                        "{} is already done ({}, {ago} ago)",
                        quote_code(id),
                        named(&done.by, done.machine.as_ref())
                    ),
                    Some(done),
                )
            }
            None => (format!("{} is already done: its box is ticked in the spec", quote_code(id)), None),
        };
        let error = CommandError::new(CommandErrorKind::AlreadyCompleted, text)
            .hint("`msg claim --next` takes the next ready task");
        match by {
            Some(done) => on_machine(error.fact("agent", done.by), done.machine.as_ref()),
            None => error,
        }
    }

    fn blocked(&self, id: &str, missing: Vec<String>) -> CommandError {
        let names: Vec<String> = missing.iter().map(|id| quote_code(id)).collect();
        let text = format!("{} waits for {}", quote_code(id), names.join(", "));
        CommandError::new(CommandErrorKind::Blocked, text)
            .hint("`msg claim --next` takes one that is ready")
            .facts("blockedBy", missing)
    }
}

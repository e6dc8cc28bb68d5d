//! The task of a run: looked up when the run is asked for, claimed for its worker before that starts, and given back
//! when the run has ended without completing it.

use std::path::Path;

use crate::domain::link::TaskKey;
use crate::domain::runs::{Run, RunClaim, RunId};
use crate::domain::spec::task_body;
use crate::domain::{Agent, AgentName, EventKind, SessionId, TaskEvidence, TaskRef, quote_code, quote_name};
use crate::ops::agents::identity;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::{LinkGrant, poke};
use crate::ops::link::is_linked;
use crate::ops::reservations::conflicts::WantedReservations;
use crate::ops::reservations::reserve;
use crate::ops::reservations::run_paths::decide_for_run;
use crate::ops::reservations::waiting;
use crate::ops::runs::own_run::kept_session;
use crate::store::link_protocol::LocalAgent;
use crate::store::{Claim, Completion, Mesh, TaskNote};
use crate::sys::clock;

use super::claim::{ClaimAttempt, ClaimRequest, Pick, TaskChoice};
use super::deciding::{self, AskedTask, TRIES, kept_changing};
use super::elsewhere::{SharedSpec, TasksElsewhere};
use super::locked_tasks::{LockedTasks, look_up};
use super::spec_ref::SpecRef;
use super::task_args::check_id;
use super::task_board::{ParsedSpec, TaskBoard};

/// How much of a worker's last words becomes the notes of its task, in characters.
const MOST_NOTES: usize = 2_000;

/// A task that can be given to a run.
#[derive(Clone, Debug)]
pub(in crate::ops) struct RunTask {
    /// The key of its spec.
    pub(in crate::ops) spec: String,
    /// The file that the spec is read from.
    pub(in crate::ops) file: Option<String>,
    pub(in crate::ops) id: String,
    /// What the spec says of it.
    pub(in crate::ops) text: String,
    /// What it will touch, as the spec says.
    pub(in crate::ops) paths: Vec<String>,
    /// Why it can't be claimed now.
    pub(in crate::ops) refusal: Option<CommandError>,
}

/// Finds a task of the named spec, else of the agent's. What can't be claimed now is told with it.
pub(in crate::ops) fn look_for_run(
    op: &Op,
    named: Option<&str>,
    agent: Option<&Agent>,
    typed: &str,
) -> Result<RunTask, CommandError> {
    check_id(typed)?;
    let place = SpecRef::find(op, named, agent)?;
    let parsed_spec = ParsedSpec::read(place)?;
    let mesh = op.create_mesh()?;
    let census = mesh.registry().local_census()?;
    let (claims, completions) = (mesh.tasks().claims()?, mesh.tasks().completions()?);
    let spellings = look_up(&mesh);
    let elsewhere = TasksElsewhere::of(Some(&mesh)).spec(&parsed_spec.place.key);
    let board = TaskBoard::new(&parsed_spec, &claims, &completions, &census, &spellings, &elsewhere);
    let attempt = ClaimAttempt {
        board: &board,
        spellings: &spellings,
        mine: None,
        dependencies: op.settings.dependencies,
        now: clock::now(),
    };
    let id = board.meant(typed);
    let Some(task) = parsed_spec.task(&id) else {
        let text = match &parsed_spec.place.file {
            Some(file) => format!("there is no task `{}` in `{}`", typed.escape_debug(), file.display()),
            None => format!("there is no spec, so there is no task `{}`", typed.escape_debug()),
        };
        let error = CommandError::new(CommandErrorKind::UnknownTask, text);
        let near: Vec<String> = parsed_spec.spec.nearest(typed).iter().map(ToString::to_string).collect();
        return Err(match (near.is_empty(), &parsed_spec.place.file) {
            (false, _) => error.hint(format!("did you mean {}?", near.join(" or "))).facts("nearest", near),
            (true, Some(_)) => error.hint("`msg tasks` lists them"),
            (true, None) => error.hint("name the spec: `--spec PATH`"),
        });
    };
    let refusal = match attempt.choose(&request(&id)) {
        Ok(Pick::Others(_, refusal)) | Err(refusal) => Some(for_run(refusal)),
        Ok(Pick::Mine(..) | Pick::Free(..)) => None,
    };
    let body = task_body(&parsed_spec.text, task);
    let text =
        if body.text.is_empty() { task.title.clone() } else { format!("{}\n\n{}", task.title, body.text) };
    Ok(RunTask {
        spec: parsed_spec.place.key.clone(),
        file: parsed_spec.place.file.as_deref().map(Path::to_string_lossy).map(|file| file.into_owned()),
        id,
        text,
        paths: body.paths,
        refusal,
    })
}

/// The path of the named spec, else of the agent's, below the root of its repository: other machines know it by that.
pub(in crate::ops) fn shared_spec_path(
    op: &Op,
    mesh: &Mesh,
    named: Option<&str>,
) -> Result<String, CommandError> {
    let caller = identity::caller_if_certain(op, mesh, &mesh.registry().census()?);
    let place = SpecRef::find(op, named, caller.as_ref())?;
    let shared = SharedSpec::of(mesh, &place.key)?.filter(|_| place.file.is_some());
    shared.map(|shared| shared.path().to_string()).ok_or_else(|| {
        let text = "the spec is not a file of a git repository, so another machine does not know its tasks";
        CommandError::new(CommandErrorKind::UnknownTask, text).hint("name one: `--spec PATH`")
    })
}

fn request(id: &str) -> ClaimRequest {
    ClaimRequest {
        choice: TaskChoice::This(id.to_string()),
        spec: None,
        reason: None,
        reserve: Vec::new(),
        broad: reserve::BroadPatterns::Refuse,
        is_adhoc: false,
    }
}

/// The refusal of a claim, for somebody who starts a run and not a claimer.
fn for_run(mut refusal: CommandError) -> CommandError {
    refusal.hints = vec!["`msg tasks` shows which tasks are ready".to_string()];
    refusal
}

/// Claims the task of a run for its worker, and reserves what the run asked for: all or nothing. The agent as it is then,
/// and the claim.
pub(in crate::ops) fn claim_for_run(
    op: &Op,
    mesh: &Mesh,
    agent: &Agent,
    (file, id): (Option<&str>, &str),
    run: &RunId,
    wanted: &WantedReservations<'_>,
) -> Result<(Agent, RunClaim), CommandError> {
    // Whoever asked for the run may read the file: that was checked then.
    let place = file.map_or_else(|| SpecRef::find(op, None, None), |file| Ok(SpecRef::worked_on(file)))?;
    // It outlives the locks.
    let paths = decide_for_run(op, mesh, agent, wanted)?;
    let elsewhere = TasksElsewhere::of(Some(mesh));
    for _ in 0..TRIES {
        if let Some(claimed) = try_to_claim_for_run(op, mesh, agent, (&place, id), run, wanted, &elsewhere)? {
            paths.into_iter().for_each(LinkGrant::keep);
            return Ok(claimed);
        }
    }
    Err(kept_changing())
}

/// `None`: what it came to has changed since the server was asked.
fn try_to_claim_for_run(
    op: &Op,
    mesh: &Mesh,
    agent: &Agent,
    (place, id): (&SpecRef, &str),
    run: &RunId,
    wanted: &WantedReservations<'_>,
    elsewhere: &TasksElsewhere<'_>,
) -> Result<Option<(Agent, RunClaim)>, CommandError> {
    let parsed_spec = ParsedSpec::read(place.clone())?;
    let spellings = look_up(mesh);
    let reason = claim_reason(run);
    let candidate = || {
        let (claims, completions) = (mesh.tasks().claims()?, mesh.tasks().completions()?);
        let census = mesh.registry().census()?;
        let there = elsewhere.spec(&place.key);
        let board = TaskBoard::new(&parsed_spec, &claims, &completions, &census, &spellings, &there);
        let mine = claims.of(agent).into_iter().next();
        let (dependencies, now) = (op.settings.dependencies, clock::now());
        let attempt = ClaimAttempt { board: &board, spellings: &spellings, mine, dependencies, now };
        Ok(match attempt.choose(&request(id)) {
            Ok(Pick::Free(id, _)) => Some(id),
            // Whatever else it is is decided under the lock.
            Ok(Pick::Mine(..) | Pick::Others(..)) | Err(_) => None,
        })
    };
    let asked = AskedTask::ask(op, mesh, agent, (&place.key, Some(&reason)), elsewhere, candidate)?;
    let mut locked = mesh.lock_with_claims()?;
    let mut tasks = LockedTasks::open(op, mesh, &mut locked, agent, spellings)?;
    tasks.elsewhere.learn_all(elsewhere);
    let parsed_spec = parsed_spec.refreshed()?;
    let pick = ClaimAttempt::of(&tasks, &tasks.board(&parsed_spec)).choose(&request(id))?;
    let id = match pick {
        Pick::Free(id, _) if !asked.covers(&id) => return Ok(None),
        Pick::Free(id, _) => id,
        Pick::Mine(claim, _) => claim.task,
        Pick::Others(_, refusal) => return Err(for_run(refusal)),
    };
    let taken = match wanted.reservations.as_slice() {
        [] => tasks.me.clone(),
        _ => reserve::take(op, mesh, &mut tasks.change, &tasks.me, wanted, tasks.now)?.agent,
    };
    let task = TaskRef { spec: parsed_spec.place.key.clone(), id };
    let number = tasks.next_number(&task, Some(run.to_string()))?;
    let claim = Claim {
        spec: task.spec.clone(),
        task: task.id.clone(),
        agent: taken.name.to_string(),
        session: taken.session.to_string(),
        process: taken.process.clone(),
        claimed_at: tasks.now,
        reason: Some(reason),
        number: Some(number),
        run: Some(run.to_string()),
        machine: None,
    };
    for before in tasks.claims.of(&taken) {
        tasks.claims.remove(&before);
    }
    tasks.claims.insert(&claim);
    tasks.stage_claims()?;
    let committed = tasks.commit()?;
    asked.keep(op, &claim.task);
    committed.tidied_up()?;
    drop(locked);
    op.feed(EventKind::Claim, &taken.name, Some(&claim.task), claim.reason.as_deref());
    Ok(Some((taken, RunClaim { spec: claim.spec, task: claim.task, number: Some(number) })))
}

/// Takes back that the task was claimed for something that did not become a run: whoever had it before can be merged as
/// before. To be called while the claim is still there, so that nobody else can have made one.
pub(in crate::ops) fn withdraw_claim(mesh: &Mesh, run: &Run) -> Result<(), CommandError> {
    let Some(RunClaim { spec, task, .. }) = &run.claim else { return Ok(()) };
    let task = TaskRef { spec: spec.clone(), id: task.clone() };
    let mut locked = mesh.lock_with_claims()?;
    let mut change = locked.change();
    let (mut numbers, _) = change.claim_numbers()?;
    if numbers.is_last_of(&task, run.id.as_str()) {
        numbers.withdraw(&task, run.id.as_str());
        change.set_claim_numbers(&numbers)?;
    }
    Ok(change.commit()?)
}

/// Gives back the task of a run that has ended, unless it was completed or given away, and notes why.
pub(in crate::ops) fn release_after_run(
    op: &Op,
    mesh: &Mesh,
    run: &Run,
    why: &str,
) -> Result<(), CommandError> {
    let Some(RunClaim { spec, task, .. }) = &run.claim else { return Ok(()) };
    let task = TaskRef { spec: spec.clone(), id: task.clone() };
    let spellings = look_up(mesh);
    let mut locked = mesh.lock_with_claims()?;
    let mut change = locked.change();
    let completions = change.completions()?;
    if spellings.completion(&completions, &task.spec, &task.id).is_some() {
        return Ok(());
    }
    let (mut numbers, _) = change.claim_numbers()?;
    let is_ours = numbers.get(&task).is_some_and(|last| last.run.as_deref() == Some(run.id.as_str()));
    let is_told = numbers
        .get(&task)
        .and_then(|last| last.note.as_ref())
        .is_some_and(|note| note.run == run.id.as_str());
    if !is_ours || is_told {
        return Ok(());
    }
    let text: String = why.chars().take(500).collect();
    numbers.note(&task, TaskNote { run: run.id.to_string(), text: text.clone(), at: clock::now() });
    change.set_claim_numbers(&numbers)?;
    // By the run and not by its number: its worker may have claimed the task again.
    let is_of_run = |claim: &Claim| claim.run.as_deref() == Some(run.id.as_str());
    let is_it = |claim: &Claim| claim.task == task.id && claim.spec == task.spec && is_of_run(claim);
    let held = change.claims()?.iter().find(is_it);
    if let Some(held) = &held {
        change.edit_claims(|claims| claims.remove(held))?;
    }
    change.commit()?;
    let name = held.and_then(|held| AgentName::new(held.agent).ok()).or_else(|| run.agent.clone());
    if let Some(name) = name {
        op.feed(EventKind::Unclaim, &name, Some(&task.id), Some(&text));
    }
    waiting::notify_waiting_or_warn(op, mesh, &mut locked);
    drop(locked);
    poke(op, mesh);
    Ok(())
}

/// Asks the server of a linked mesh whether the task of a run is still of this machine, before its work goes where others
/// get it. An error if another machine has the task, or has completed it. Nothing is completed: whoever is killed before
/// the work is there must not leave a task that is done.
pub(in crate::ops) fn confirm_for_run(ctx: &Context, mesh: &Mesh, run: &Run) -> Result<(), CommandError> {
    match shared_task(mesh, run)? {
        Some((agent, key)) => deciding::confirm(ctx, mesh, agent, &key, claim_reason(&run.id)),
        None => Ok(()),
    }
}

/// Asks the server of a linked mesh to complete the task of a run, before that is written down here. An error if another
/// machine has the task, or has completed it. `None`: nobody else knows the task.
fn decide_completion<'a>(
    ctx: &'a Context,
    mesh: &'a Mesh,
    run: &Run,
) -> Result<Option<LinkGrant<'a>>, CommandError> {
    let Some((agent, key)) = shared_task(mesh, run)? else { return Ok(None) };
    let notes = notes_of(run);
    deciding::complete(ctx, mesh, agent, &key, notes.as_deref()).map(Some)
}

/// The task of a run as all machines know it, and the agent that has it. `None`: nobody else knows it.
fn shared_task(mesh: &Mesh, run: &Run) -> Result<Option<(LocalAgent, TaskKey)>, CommandError> {
    let Some(RunClaim { spec, task, .. }) = &run.claim else { return Ok(None) };
    if !is_linked(mesh) {
        return Ok(None);
    }
    let Some(shared) = SharedSpec::of(mesh, spec)? else { return Ok(None) };
    let is_of_run = |claim: &Claim| claim.run.as_deref() == Some(run.id.as_str());
    let held = mesh.tasks().claims()?.iter().find(is_of_run);
    let name = held.as_ref().and_then(|held| AgentName::new(held.agent.clone()).ok());
    let session = held.and_then(|held| SessionId::new(held.session).ok());
    let name = name.or_else(|| run.agent.clone()).unwrap_or_else(AgentName::of_program);
    let agent = LocalAgent { name, session: session.map_or_else(|| kept_session(&run.id), Ok)? };
    Ok(Some((agent, shared.task(task))))
}

/// What others are told of the claim of a run.
fn claim_reason(run: &RunId) -> String {
    format!("run {run}")
}

/// The last words of a worker, as the notes of its task.
fn notes_of(run: &Run) -> Option<String> {
    let notes = run.result.as_deref().map(|words| words.chars().take(MOST_NOTES).collect::<String>());
    notes.filter(|notes| !notes.trim().is_empty())
}

/// Completes the task of a run whose work a crew has put on its branch, unless it is completed or was given away.
pub(in crate::ops) fn complete_for_run(
    op: &Op,
    mesh: &Mesh,
    run: &Run,
    evidence: TaskEvidence,
) -> Result<(), CommandError> {
    let Some(RunClaim { spec, task, .. }) = &run.claim else { return Ok(()) };
    let task = TaskRef { spec: spec.clone(), id: task.clone() };
    let spellings = look_up(mesh);
    if spellings.completion(&mesh.tasks().completions()?, &task.spec, &task.id).is_some() {
        return Ok(());
    }
    let grant = decide_completion(op, mesh, run)?;
    let mut locked = mesh.lock_with_claims()?;
    let mut change = locked.change();
    let completions = change.completions()?;
    if spellings.completion(&completions, &task.spec, &task.id).is_some() {
        grant.into_iter().for_each(LinkGrant::keep);
        return Ok(());
    }
    let is_it = |claim: &Claim| claim.task == task.id && spellings.are_same(&claim.spec, &task.spec);
    let held = change.claims()?.iter().find(is_it);
    let is_of_run = |claim: &Claim| claim.run.as_deref() == Some(run.id.as_str());
    if let Some(other) = held.as_ref().filter(|claim| !is_of_run(claim)) {
        let text = format!("{} has claimed {} since", quote_name(&other.agent), quote_code(&task.id));
        return Err(CommandError::new(CommandErrorKind::NotYours, text));
    }
    let by =
        held.as_ref().and_then(|held| AgentName::new(held.agent.clone()).ok()).or_else(|| run.agent.clone());
    let completion = Completion {
        spec: task.spec.clone(),
        task: task.id.clone(),
        by: by.as_ref().map_or_else(|| format!("run {}", run.id), ToString::to_string),
        at: clock::now(),
        notes: notes_of(run),
        evidence: Some(evidence),
        machine: None,
    };
    let mut completions = completions;
    completions.add(&completion);
    change.set_completions(&completions)?;
    change.decided();
    if let Some(held) = &held {
        change.edit_claims(|claims| claims.remove(held))?;
    }
    change.commit()?;
    grant.into_iter().for_each(LinkGrant::keep);
    if let Some(by) = by {
        op.feed(EventKind::Complete, &by, Some(&task.id), completion.notes.as_deref());
    }
    waiting::notify_waiting_or_warn(op, mesh, &mut locked);
    Ok(())
}

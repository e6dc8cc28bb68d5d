//! The task of a run: looked up when the run is asked for, claimed for its worker before that starts, and given back
//! when the run has ended without completing it.

use std::path::Path;

use crate::domain::runs::{Run, RunClaim, RunId};
use crate::domain::spec::task_body;
use crate::domain::{Agent, AgentName, EventKind, TaskEvidence, TaskRef, quote_code, quote_name};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::reservations::conflicts::WantedReservations;
use crate::ops::reservations::reserve;
use crate::ops::reservations::waiting;
use crate::store::{Claim, Completion, Mesh, TaskNote};
use crate::sys::clock;

use super::claim::{ClaimAttempt, ClaimRequest, Pick, TaskChoice};
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
    let census = mesh.registry().census()?;
    let (claims, completions) = (mesh.tasks().claims()?, mesh.tasks().completions()?);
    let spellings = look_up(&mesh);
    let board = TaskBoard::new(&parsed_spec, &claims, &completions, &census, &spellings);
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
    let parsed_spec = ParsedSpec::read(place)?;
    let spellings = look_up(mesh);
    let mut locked = mesh.lock_with_claims()?;
    let mut tasks = LockedTasks::open(op, mesh, &mut locked, agent, spellings)?;
    let parsed_spec = parsed_spec.refreshed()?;
    let pick = ClaimAttempt::of(&tasks, &tasks.board(&parsed_spec)).choose(&request(id))?;
    let id = match pick {
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
        reason: Some(format!("run {run}")),
        number: Some(number),
        run: Some(run.to_string()),
    };
    for before in tasks.claims.of(&taken) {
        tasks.claims.remove(&before);
    }
    tasks.claims.insert(&claim);
    tasks.stage_claims()?;
    tasks.commit()?.tidied_up()?;
    drop(locked);
    op.feed(EventKind::Claim, &taken.name, Some(&claim.task), claim.reason.as_deref());
    Ok((taken, RunClaim { spec: claim.spec, task: claim.task, number: Some(number) }))
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
    Ok(())
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
    let mut locked = mesh.lock_with_claims()?;
    let mut change = locked.change();
    let completions = change.completions()?;
    if spellings.completion(&completions, &task.spec, &task.id).is_some() {
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
    let notes = run.result.as_deref().map(|words| words.chars().take(MOST_NOTES).collect::<String>());
    let completion = Completion {
        spec: task.spec.clone(),
        task: task.id.clone(),
        by: by.as_ref().map_or_else(|| format!("run {}", run.id), ToString::to_string),
        at: clock::now(),
        notes: notes.filter(|notes| !notes.trim().is_empty()),
        evidence: Some(evidence),
    };
    let mut completions = completions;
    completions.add(&completion);
    change.set_completions(&completions)?;
    change.decided();
    if let Some(held) = &held {
        change.edit_claims(|claims| claims.remove(held))?;
    }
    change.commit()?;
    if let Some(by) = by {
        op.feed(EventKind::Complete, &by, Some(&task.id), completion.notes.as_deref());
    }
    waiting::notify_waiting_or_warn(op, mesh, &mut locked);
    Ok(())
}

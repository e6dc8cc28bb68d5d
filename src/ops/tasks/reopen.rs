//! `msg reopen`: takes a completion back.
//!
//! What was completed, by whom and with which evidence, stays in the history of the task, with who took it back, when and
//! why. Tasks that depend on it and are not begun wait again, because they are no longer ready.

use crate::domain::link::MachineName;
#[cfg(feature = "link")]
use crate::domain::link::{TaskReopening, on_machine};
use crate::domain::{Agent, AgentName, EventKind, Notice, PeerText, TaskRef, quote_code};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::poke;
use crate::ops::link::is_linked;
use crate::ops::reservations::reserve;
use crate::ops::runner::carry_out;
#[cfg(feature = "link")]
use crate::store::SpecCompletions;
use crate::store::{Census, Claim, Claims, Completion, Mesh, Registration, Reopening};

use super::checkbox::{BoxMark, mark_box};
use super::deciding;
#[cfg(feature = "link")]
use super::elsewhere::TasksElsewhere;
use super::elsewhere::named;
#[cfg(feature = "link")]
use super::locked_tasks::look_up;
use super::locked_tasks::{LockedTasks, PreloadedSpec};
use super::proof::completer;
#[cfg(feature = "link")]
use super::spec_ref::SpecRef;
use super::task_args::{check_id, task_of};
use super::task_board::{ParsedSpec, TaskBoard};

/// A completion that was taken back.
#[derive(Clone, Debug)]
pub struct ReopenOutcome {
    pub reopening: Reopening,
    /// Tasks that wait for it again.
    pub waiting: Vec<String>,
    /// Claims of tasks that depend on it and are begun: they go on.
    pub begun: Vec<Claim>,
    /// Tasks that depend on it and are done: they stay done.
    pub done: Vec<String>,
    /// Its box in the spec was ticked, and is empty now.
    pub is_cleared: bool,
    /// Who completed it is told.
    pub is_told: bool,
}

/// The tasks that depend on one.
#[derive(Default)]
struct Dependants {
    waiting: Vec<String>,
    begun: Vec<Claim>,
    done: Vec<String>,
}

pub fn reopen(op: &Op, task: &str, spec: Option<&str>, reason: &str) -> Result<ReopenOutcome, CommandError> {
    check_id(task)?;
    let reason = reserve::reason(Some(reason))?.ok_or_else(|| {
        CommandError::new(CommandErrorKind::InvalidValue, "the reason is empty")
            .hint("say what is wrong: whoever completed the task reads it")
    })?;
    let (mesh, caller) = identity::own_caller(op)?;
    let asked = decide(op, &mesh, &caller, spec, task, &reason)?;
    let (early, spellings) = PreloadedSpec::read(op, &mesh, &caller, spec, task);
    let mut locked = mesh.lock_with_claims()?;
    let mut tasks = LockedTasks::open(op, &mesh, &mut locked, &caller, spellings)?;
    let parsed_spec = tasks.spec_of(early, spec, task)?;
    let board = tasks.board(&parsed_spec);
    let place = TaskRef { spec: parsed_spec.place.key.clone(), id: board.meant(task) };
    let (mut numbers, aside) = tasks.change.claim_numbers()?;
    let board = tasks.board(&parsed_spec);
    let completions = board.all_completions(&place.id);
    let is_ticked = parsed_spec.task(&place.id).is_some_and(|task| task.is_done);
    let dependants = dependants(&board, &place.id);
    // The mirror may have been told of it already.
    let is_it = |done: &Completion| (&done.spec, &done.task) == (&place.spec, &place.id);
    let elsewhere = asked.clone().filter(|done| done.machine.is_some()).filter(is_it);
    let Some(completion) = completions.first().cloned().or(elsewhere) else {
        // One that was killed before it cleared the box is finished now. One that waited here for long was finished by the
        // link process.
        let is_asked = |done: &Completion| {
            asked.as_ref().is_some_and(|asked| (&asked.by, asked.at) == (&done.by, done.at))
        };
        let last = numbers.reopenings(&place, None).pop();
        let begun = last.filter(|last| is_ticked || is_asked(&last.completion));
        let Some(reopening) = begun else { return Err(not_completed(&board, &place.id)) };
        drop(tasks);
        drop(locked);
        let is_cleared = mark_box(op, &mesh, &parsed_spec, &place.id, BoxMark::Empty);
        let Dependants { waiting, begun, done } = dependants;
        return Ok(ReopenOutcome { reopening, waiting, begun, done, is_cleared, is_told: false });
    };
    if let Some(aside) = aside {
        op.warn(format!("the numbers of claims could not be read, and are in `{aside}` now"));
    }
    let me = tasks.me.name.clone();
    let reopening = Reopening { by: me.to_string(), at: tasks.now, reason, completion };
    let people = People { census: &tasks.census, claims: &tasks.claims, caller: Some(&tasks.me) };
    let notices = notices(&people, (&me, None), &reopening, &dependants.begun);
    let is_told = completer(&tasks.census, &reopening.completion)
        .is_some_and(|record| notices.iter().any(|(told, _)| told.is_same_session(&record.agent)));
    // The history comes first: it does not count while the completion is there.
    numbers.reopen(&place, &reopening);
    tasks.change.set_claim_numbers(&numbers)?;
    completions.iter().for_each(|completion| tasks.completions.remove(completion));
    tasks.change.set_completions(&tasks.completions)?;
    tasks.commit()?.tidied_up()?;
    for (agent, notice) in notices {
        let failure = format!("could not tell {} that {} is open again", agent.name, quote_code(&place.id));
        op.notify(agent, notice, failure);
    }
    op.feed(EventKind::Reopen, &me, Some(&place.id), Some(&reopening.reason));
    drop(locked);
    poke(op, &mesh);
    // The box may take a while, and others wait to hear of it.
    carry_out(op);
    let is_cleared = is_ticked && mark_box(op, &mesh, &parsed_spec, &place.id, BoxMark::Empty);
    let Dependants { waiting, begun, done } = dependants;
    Ok(ReopenOutcome { reopening, waiting, begun, done, is_cleared, is_told })
}

/// Asks the server of a linked mesh to open the task again, if it is done as far as is known here. The completion that it
/// was asked about.
fn decide(
    op: &Op,
    mesh: &Mesh,
    caller: &Agent,
    spec: Option<&str>,
    task: &str,
    reason: &str,
) -> Result<Option<Completion>, CommandError> {
    if !is_linked(mesh) {
        return Ok(None);
    }
    let (early, spellings) = PreloadedSpec::read(op, mesh, caller, spec, task);
    let mut locked = mesh.lock_with_claims()?;
    let tasks = LockedTasks::open(op, mesh, &mut locked, caller, spellings)?;
    let parsed_spec = tasks.spec_of(early, spec, task)?;
    let board = tasks.board(&parsed_spec);
    let id = board.meant(task);
    let Some(completion) = board.completion(&id) else { return Ok(None) };
    let key = tasks.elsewhere.spec(&parsed_spec.place.key).key(&id)?;
    drop(tasks);
    drop(locked);
    if let Some(key) = key {
        deciding::reopen(op, mesh, caller, &key, reason)?;
    }
    Ok(Some(completion))
}

/// Takes a completion back that was made here and that an agent has reopened on another machine, or here, by a command
/// that was cut short. What `reopen` does for a caller of this machine is done once: the completion is gone after that.
#[cfg(feature = "link")]
pub(in crate::ops) fn take_back(
    op: &Op,
    mesh: &Mesh,
    completion: &Completion,
    reopened: &TaskReopening,
) -> Result<(), CommandError> {
    let spellings = look_up(mesh);
    let spec_file = SpecRef::worked_on(&completion.spec);
    // Without its file nobody knows what depends on it.
    let parsed_spec = ParsedSpec::read(spec_file).ok();
    if let Some(parsed_spec) = &parsed_spec {
        // So that git is not asked under the locks.
        TasksElsewhere::of(Some(mesh)).spec(&parsed_spec.place.key);
    }
    let by = on_machine(reopened.by.as_str(), Some(&reopened.machine));
    let reason = reopened.reason.clone();
    let reopening = Reopening { by, at: reopened.at, reason, completion: completion.clone() };
    let mut locked = mesh.lock_with_claims()?;
    let census = locked.census()?;
    let mut change = locked.change();
    let (claims, mut completions) = (change.claims()?, change.completions()?);
    let is_it = |done: &Completion| {
        (&done.task, &done.by, done.at) == (&completion.task, &completion.by, completion.at)
    };
    let is_there = |finished: &SpecCompletions| completions.of(finished).into_iter().any(|done| is_it(&done));
    if !completions.specs().filter(|finished| finished.spec() == completion.spec).any(is_there) {
        return Ok(());
    }
    let elsewhere = TasksElsewhere::of(Some(mesh));
    let begun = parsed_spec.as_ref().map_or_else(Vec::new, |parsed_spec| {
        let there = elsewhere.spec(&parsed_spec.place.key);
        let board = TaskBoard::new(parsed_spec, &claims, &completions, &census, &spellings, &there);
        dependants(&board, &completion.task).begun
    });
    let place = TaskRef { spec: completion.spec.clone(), id: completion.task.clone() };
    let (mut numbers, aside) = change.claim_numbers()?;
    if let Some(aside) = aside {
        op.warn(format!("the numbers of claims could not be read, and are in `{aside}` now"));
    }
    let people = People { census: &census, claims: &claims, caller: None };
    let notices = notices(&people, (&reopened.by, Some(&reopened.machine)), &reopening, &begun);
    // The history comes first: it does not count while the completion is there.
    numbers.reopen(&place, &reopening);
    change.set_claim_numbers(&numbers)?;
    completions.remove(completion);
    change.set_completions(&completions)?;
    change.commit_decision()?.tidied_up()?;
    drop(locked);
    for (agent, notice) in notices {
        let failure = format!("could not tell {} that {} is open again", agent.name, quote_code(&place.id));
        op.notify(agent, notice, failure);
    }
    op.feed(EventKind::Reopen, &reopened.by, Some(&place.id), Some(&reopening.reason));
    carry_out(op);
    if let Some(parsed_spec) =
        parsed_spec.filter(|spec| spec.task(&place.id).is_some_and(|task| task.is_done))
    {
        mark_box(op, mesh, &parsed_spec, &place.id, BoxMark::Empty);
    }
    Ok(())
}

fn dependants(board: &TaskBoard<'_>, id: &str) -> Dependants {
    let mut dependants = Dependants::default();
    let needs_it = |task: &&crate::domain::spec::Task| task.depends_on.iter().any(|needed| needed == id);
    for task in board.parsed_spec.spec.tasks.iter().filter(needs_it).filter(|task| task.id != id) {
        match board.claim(&task.id) {
            _ if board.is_done(&task.id) => dependants.done.push(task.id.clone()),
            Some(claim) => dependants.begun.push(claim.clone()),
            None => dependants.waiting.push(task.id.clone()),
        }
    }
    dependants
}

/// Who may have to be told.
struct People<'a> {
    census: &'a Census,
    claims: &'a Claims,
    /// Whoever reopens it here.
    caller: Option<&'a Agent>,
}

/// What others are told: who completed it, and who works on what depends on it.
fn notices(
    people: &People<'_>,
    (by, machine): (&AgentName, Option<&MachineName>),
    reopening: &Reopening,
    begun: &[Claim],
) -> Vec<(Agent, Notice)> {
    let is_peer = |record: &&Registration| {
        let is_caller = people.caller.is_some_and(|caller| record.agent.is_same_session(caller));
        record.is_live() && !is_caller && record.agent.is_ours()
    };
    let task = PeerText::new(reopening.completion.task.as_str());
    let reason = PeerText::new(reopening.reason.as_str());
    let said = || {
        let who = Notice::new().name(by);
        let who = match machine {
            Some(machine) => who.say(" on ").names([&PeerText::new(machine.as_str())]),
            None => who,
        };
        who.say(" reopened ").code(&task)
    };
    let completer = completer(people.census, &reopening.completion).filter(is_peer);
    let to_completer = completer.map(|record| {
        let notice = said().say(", which you completed: ").quote(&reason);
        (record.agent.clone(), notice.say(" It is open again: msg tasks"))
    });
    let to_claimer = |claim: &Claim| {
        let is_owner = |record: &&Registration| people.claims.has(&record.agent, &task_of(claim));
        let owner = people.census.records.iter().find(is_owner);
        let is_other = |record: &&Registration| {
            completer.is_none_or(|completer| !completer.agent.is_same_session(&record.agent))
        };
        let agent = &owner.filter(is_peer).filter(is_other)?.agent;
        let own = PeerText::new(claim.task.as_str());
        let notice = said().say(", which your task ").code(&own).say(" needs: ").quote(&reason);
        Some((agent.clone(), notice))
    };
    to_completer.into_iter().chain(begun.iter().filter_map(to_claimer)).collect()
}

/// Why there is nothing to take back.
fn not_completed(board: &TaskBoard<'_>, id: &str) -> CommandError {
    let ParsedSpec { place, spec, .. } = board.parsed_spec;
    let error = |text: String| CommandError::new(CommandErrorKind::NotCompleted, text);
    let file = place.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    match (board.parsed_spec.task(id), board.claim(id)) {
        (_, Some(claim)) => error(format!(
            "{} is not done: {} works on it",
            quote_code(id),
            named(&claim.agent, claim.machine.as_ref())
        ))
        .fact("agent", claim.agent.as_str()),
        (Some(task), None) if task.is_done => {
            error(format!("nobody completed {}: its box is ticked in the spec", quote_code(id)))
                .hint(format!("remove the tick in line {} of `{file}`", task.line))
        }
        (Some(_), None) => error(format!("{} is not done", quote_code(id))),
        (None, None) => {
            let near: Vec<String> = spec.nearest(id).iter().map(ToString::to_string).collect();
            let text = format!("there is no task {}", quote_code(id));
            let error = CommandError::new(CommandErrorKind::UnknownTask, text);
            match near.is_empty() {
                true => error.hint("`msg tasks` lists them"),
                false => error.hint(format!("did you mean {}?", near.join(" or "))).facts("nearest", near),
            }
        }
    }
}

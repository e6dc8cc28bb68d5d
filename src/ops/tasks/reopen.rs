//! `msg reopen`: takes a completion back.
//!
//! What was completed, by whom and with which evidence, stays in the history of the task, with who took it back, when and
//! why. Tasks that depend on it and are not begun wait again, because they are no longer ready.

use crate::domain::{Agent, EventKind, Notice, PeerText, TaskRef, quote_code, quote_name};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::reservations::reserve;
use crate::ops::runner::carry_out;
use crate::store::{Claim, Registration, Reopening};

use super::checkbox::{BoxMark, mark_box};
use super::locked_tasks::{LockedTasks, PreloadedSpec};
use super::proof::completer;
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
    let Some(completion) = completions.first().cloned() else {
        // One that was killed before it cleared the box is finished now.
        let begun = numbers.reopenings(&place, None).pop().filter(|_| is_ticked);
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
    let notices = notices(&tasks, &reopening, &dependants);
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
    // The box may take a while, and others wait to hear of it.
    carry_out(op);
    let is_cleared = is_ticked && mark_box(op, &mesh, &parsed_spec, &place.id, BoxMark::Empty);
    let Dependants { waiting, begun, done } = dependants;
    Ok(ReopenOutcome { reopening, waiting, begun, done, is_cleared, is_told })
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

/// What others are told: who completed it, and who works on what depends on it.
fn notices(tasks: &LockedTasks<'_>, reopening: &Reopening, dependants: &Dependants) -> Vec<(Agent, Notice)> {
    let me = &tasks.me;
    let is_peer = |record: &&Registration| {
        record.is_live() && !record.agent.is_same_session(me) && !record.agent.is_foreign()
    };
    let task = PeerText::new(reopening.completion.task.as_str());
    let reason = PeerText::new(reopening.reason.as_str());
    let said = || Notice::new().name(&me.name).say(" reopened ").code(&task);
    let completer = completer(&tasks.census, &reopening.completion).filter(is_peer);
    let to_completer = completer.map(|record| {
        let notice = said().say(", which you completed: ").quote(&reason);
        (record.agent.clone(), notice.say(" It is open again: msg tasks"))
    });
    let to_claimer = |claim: &Claim| {
        let is_owner = |record: &&Registration| tasks.claims.has(&record.agent, &task_of(claim));
        let owner = tasks.census.records.iter().find(is_owner);
        let is_other = |record: &&Registration| {
            completer.is_none_or(|completer| !completer.agent.is_same_session(&record.agent))
        };
        let agent = &owner.filter(is_peer).filter(is_other)?.agent;
        let own = PeerText::new(claim.task.as_str());
        let notice = said().say(", which your task ").code(&own).say(" needs: ").quote(&reason);
        Some((agent.clone(), notice))
    };
    to_completer.into_iter().chain(dependants.begun.iter().filter_map(to_claimer)).collect()
}

/// Why there is nothing to take back.
fn not_completed(board: &TaskBoard<'_>, id: &str) -> CommandError {
    let ParsedSpec { place, spec, .. } = board.parsed_spec;
    let error = |text: String| CommandError::new(CommandErrorKind::NotCompleted, text);
    let file = place.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    match (board.parsed_spec.task(id), board.claim(id)) {
        (_, Some(claim)) => {
            error(format!("{} is not done: {} works on it", quote_code(id), quote_name(&claim.agent)))
                .fact("agent", claim.agent.as_str())
        }
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

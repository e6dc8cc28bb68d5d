//! `msg complete`: finishes a task, and records what proves it: what the caller says, the run of its `verify:` commands
//! (`verify`), and what hooks saw.

use jiff::Timestamp;

use crate::domain::{Agent, EventKind, Notice, PeerText, Presence, SeenWork, TaskEvidence, TaskRef};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::link::ask::{self, LinkGrant};
use crate::ops::link::is_linked;
use crate::ops::reservations::waiting;
use crate::ops::runner::carry_out;
use crate::store::{Claim, Completion, Mesh};
use crate::sys::git::WorkTree;
use crate::sys::{clock, process};

use super::checkbox::{BoxMark, mark_box};
use super::deciding::{self, kept_changing};
use super::elsewhere::SharedSpec;
use super::fencing::FencingToken;
use super::locked_tasks::{LockedTasks, PreloadedSpec, look_up};
use super::task_args::{check_evidence, check_id, check_notes, task_of};
use super::task_board::ParsedSpec;
use super::verify::{PassedVerify, TypedTask, claimed_task, verify};

#[derive(Clone, Debug, Default)]
pub struct CompleteRequest {
    /// `None`: the task that the caller has.
    pub task: Option<String>,
    pub spec: Option<String>,
    pub notes: Option<String>,
    /// Also tick its box in the spec.
    pub ticks: bool,
    /// What proves it, in the caller's words.
    pub evidence: Option<String>,
    /// Run the commands of its `verify:` lines first, and complete it only if they succeed.
    pub verifies: bool,
}

#[derive(Clone, Debug)]
pub struct CompleteOutcome {
    pub completion: Completion,
    /// Tasks that can be started now and could not before.
    pub unblocked: Vec<String>,
    pub is_ticked: bool,
    /// The caller had completed it before.
    pub was_complete: bool,
}

pub fn complete(op: &Op, request: &CompleteRequest) -> Result<CompleteOutcome, CommandError> {
    request.task.as_deref().map_or(Ok(()), check_id)?;
    check_notes(request.notes.as_deref())?;
    check_evidence(request.evidence.as_deref())?;
    let (mesh, caller) = identity::own_caller(op)?;
    let token = FencingToken::of_caller(&mesh)?;
    let passed = match request.verifies {
        true => {
            let typed = TypedTask { task: request.task.as_deref(), spec: request.spec.as_deref() };
            verify(op, &mesh, &caller, typed, &token)?
        }
        false => None,
    };
    let gathered = GatheredEvidence::of(op, &mesh, &caller, request, passed);
    // It outlives the locks.
    let granted = decide(op, &mesh, &caller, request, &token)?;
    // Without an id it is the caller's own task, which is looked up again under the locks.
    let own = || mesh.tasks().claims().ok()?.of(&caller).into_iter().next().map(|claim| claim.task);
    let (early, spellings) = match request.task.clone().or_else(own) {
        Some(task) => PreloadedSpec::read(op, &mesh, &caller, request.spec.as_deref(), &task),
        None => (None, look_up(&mesh)),
    };
    let mut locked = mesh.lock_with_claims()?;
    let mut tasks = LockedTasks::open(op, &mesh, &mut locked, &caller, spellings)?;
    let typed = match &request.task {
        Some(task) => task.clone(),
        None => tasks.only_claim()?.task,
    };
    let parsed_spec = tasks.spec_of(early, request.spec.as_deref(), &typed)?;
    let board = tasks.board(&parsed_spec);
    let task = board.meant(&typed);
    if let Some(completion) = tasks.own_completion(&board, &task) {
        if let Some((_, grant)) = granted {
            grant.keep();
        }
        drop(tasks);
        drop(locked);
        let ticked = request.ticks && mark_box(op, &mesh, &parsed_spec, &task, BoxMark::Ticked);
        return Ok(CompleteOutcome {
            completion,
            unblocked: Vec::new(),
            is_ticked: ticked,
            was_complete: true,
        });
    }
    let claim = tasks.own_claim(&board, &task)?;
    token.check_completing()?;
    token.check(&claim, &tasks.spellings)?;
    let place = TaskRef { spec: parsed_spec.place.key.clone(), id: task.clone() };
    if granted.as_ref().is_some_and(|(granted, _)| *granted != place) {
        return Err(kept_changing());
    }
    let unblocked = board.unblocked_by(&task);
    let completion = Completion {
        spec: claim.spec.clone(),
        task: claim.task.clone(),
        by: tasks.me.name.to_string(),
        at: tasks.now,
        notes: request.notes.clone(),
        evidence: gathered.evidence(&claim, tasks.now),
        machine: None,
    };
    tasks.stage_completion(&completion)?;
    tasks.change.decided();
    tasks.claims.remove(&claim);
    tasks.stage_claims()?;
    tasks.stage_release(&task_of(&claim))?;
    let notices = ready_notices(&tasks, &parsed_spec, &unblocked);
    let me = tasks.me.name.clone();
    let committed = tasks.commit()?;
    // It is done, whatever fails from here on.
    if let Some((_, grant)) = granted {
        grant.keep();
    }
    for (agent, notice) in notices {
        let failure = format!("could not tell {} what is ready", agent.name);
        op.notify(agent, notice, failure);
    }
    op.feed(EventKind::Complete, &me, Some(&completion.task), completion.notes.as_deref());
    committed.tidied_up()?;
    waiting::notify_waiting_or_warn(op, &mesh, &mut locked);
    drop(locked);
    // Ticking may take a while, and others wait to hear of it.
    carry_out(op);
    let ticked = request.ticks && mark_box(op, &mesh, &parsed_spec, &task, BoxMark::Ticked);
    Ok(CompleteOutcome { completion, unblocked, is_ticked: ticked, was_complete: false })
}

/// Asks the server of a linked mesh to complete the task, once all that can refuse it here has been looked at. `None`:
/// only this machine decides. An error if another machine has the task now.
fn decide<'a>(
    op: &'a Op,
    mesh: &'a Mesh,
    caller: &Agent,
    request: &CompleteRequest,
    token: &FencingToken,
) -> Result<Option<(TaskRef, LinkGrant<'a>)>, CommandError> {
    if !is_linked(mesh) {
        return Ok(None);
    }
    let typed = TypedTask { task: request.task.as_deref(), spec: request.spec.as_deref() };
    let Some((parsed_spec, task)) = claimed_task(op, mesh, caller, typed, token)? else { return Ok(None) };
    token.check_completing()?;
    let place = TaskRef { spec: parsed_spec.place.key.clone(), id: task };
    let Some(shared) = SharedSpec::of(mesh, &place.spec)? else { return Ok(None) };
    let (agent, notes) = (ask::local(caller), request.notes.as_deref());
    let grant = deciding::complete(op, mesh, agent, &shared.task(&place.id), notes)?;
    Ok(Some((place, grant)))
}

/// What proves that the task is done, gathered before the locks are taken.
struct GatheredEvidence {
    text: Option<String>,
    passed: Option<PassedVerify>,
    commit: Option<String>,
    seen: SeenWork,
}

impl GatheredEvidence {
    fn of(
        op: &Op,
        mesh: &Mesh,
        caller: &Agent,
        request: &CompleteRequest,
        passed: Option<PassedVerify>,
    ) -> Self {
        let seen = mesh.activity().seen(&caller.name).unwrap_or_else(|error| {
            op.warn(format!("what your hooks saw can't be read: {error}"));
            SeenWork::default()
        });
        let text = request.evidence.clone();
        let is_wanted = text.is_some() || seen.test.is_some();
        let head = || WorkTree::containing(&op.cwd)?.head_commit();
        let commit = match &passed {
            Some(passed) => passed.commit.clone(),
            None => is_wanted.then(head).flatten(),
        };
        Self { text, passed, commit, seen }
    }

    /// What is recorded. `None`: there is nothing but the word of whoever completed it.
    fn evidence(self, claim: &Claim, now: Timestamp) -> Option<TaskEvidence> {
        let Self { text, passed, commit, seen } = self;
        // What happened before has proven another task.
        let seen = seen.since(claim.claimed_at);
        let at = passed.as_ref().map_or(now, |passed| passed.at);
        let verified = passed.map(|passed| passed.verify);
        let is_known = text.is_some() || verified.is_some() || seen.test.is_some();
        is_known.then_some(TaskEvidence { text, verified, commit, at, seen })
    }
}

/// The notice that a task is ready, for each idle agent with the same spec and no task.
fn ready_notices(
    tasks: &LockedTasks<'_>,
    parsed_spec: &ParsedSpec,
    unblocked: &[String],
) -> Vec<(Agent, Notice)> {
    let Some(first) = unblocked.first() else { return Vec::new() };
    let LockedTasks { mesh, me, claims, .. } = tasks;
    let notice = Notice::new().code(&PeerText::new(first.as_str())).say(" is ready: ").name(&me.name);
    let notice = notice.say(" completed what it depends on. To take it: msg claim --next");
    let is_idle = |agent: &Agent| {
        // Without a limit for being stuck: an agent that is stuck with its paths has no task either.
        let presence = |sign| {
            let quiet = clock::now().duration_since(sign);
            Presence::of(process::liveness(&agent.process), quiet, None)
        };
        let presence = mesh.presence().last_sign_of_life(agent).map(presence);
        presence.is_ok_and(|presence| matches!(presence, Presence::Idle | Presence::Away))
    };
    let can_take_it = |agent: &&Agent| {
        let same_spec =
            agent.spec.as_deref().is_some_and(|spec| parsed_spec.place.is_meant_by(spec, &tasks.spellings));
        let is_peer = agent.session != me.session && agent.is_ours();
        is_peer && same_spec && claims.of(agent).is_empty() && is_idle(agent)
    };
    let live = tasks.census.records.iter().filter(|record| record.is_live());
    let idle = live.map(|record| &record.agent).filter(can_take_it);
    idle.map(|agent| (agent.clone(), notice.clone())).collect()
}

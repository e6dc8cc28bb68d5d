//! The gate `reserved`: whether another agent holds what a run wants to reserve for its worker.
//!
//! What whoever started the run holds passes to its worker (`reservations::passed`). What was passed to that agent before
//! passes on with it, and no more.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::domain::pattern::{Pattern, SearchBudget};
use crate::domain::runs::{Run, RunParent, RunState};
use crate::domain::{Agent, Conflict, Liveness, Reservation, SessionId};
use crate::store::Mesh;
use crate::sys::clock;
use crate::sys::git::WorkTree;

use super::gate::Gate;
use super::own_run::kept_session;
use super::turn::{has_slot_at_hand, is_free};
use crate::ops::agents::roster::Roster;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::reservations::conflicts::{STEPS_UNDER_LOCK, WantedReservations};
use crate::ops::reservations::holdings::Holding;
use crate::ops::reservations::passed::passed_before;
use crate::ops::reservations::run_paths::{newcomer_refusal, run_drafts};

/// The patterns as they are kept: from the root of the work tree that the run works for.
pub(super) fn patterns(
    op: &Op,
    from: &Path,
    root: &Path,
    typed: &[String],
) -> Result<Vec<String>, CommandError> {
    if typed.is_empty() {
        return Ok(Vec::new());
    }
    // They are paths of the repository that the run works in, wherever they are typed.
    let from = if from.starts_with(tree_at(root)) { from } else { root };
    let drafts = run_drafts(op, &*op.create_mesh()?, from, typed)?;
    Ok(drafts.iter().map(Reservation::typed).collect())
}

/// The root of the work tree that the run works for.
pub(super) fn tree_of(run: &Run) -> PathBuf {
    tree_at(Path::new(run.project.as_ref().unwrap_or(&run.root)))
}

pub(super) fn tree_at(dir: &Path) -> PathBuf {
    WorkTree::containing(dir).map_or_else(|| dir.to_path_buf(), |tree| tree.root)
}

/// What the run wants to reserve.
pub(super) fn wanted<'m>(
    op: &Op,
    mesh: &'m Mesh,
    run: &Run,
    roster: &Roster<'_>,
) -> Result<WantedReservations<'m>, CommandError> {
    let tree = tree_of(run);
    let drafts = run_drafts(op, mesh, &tree, &run.reserve)?;
    let mut wanted = WantedReservations::new(mesh, drafts, &tree.to_string_lossy());
    let (starters, now) = (starters(roster, &run.parent)?, clock::now());
    let passed: Vec<_> = wanted.patterns().map(|patterns| passed_by(&starters, patterns, now)).collect();
    let title: String = run.title(60).chars().filter(|letter| !letter.is_control()).collect();
    for (draft, passed_by) in wanted.reservations.iter_mut().zip(passed) {
        draft.reason = Some(format!("run {}: {title}", run.id));
        draft.passed_by = passed_by;
    }
    Ok(wanted)
}

/// The refusal, if another agent holds something of it.
pub(super) fn refusal(op: &Op, mesh: &Mesh, run: &Run) -> Result<Option<CommandError>, CommandError> {
    if run.reserve.is_empty() {
        return Ok(None);
    }
    let roster = Roster::read(mesh)?;
    let wanted = wanted(op, mesh, run, &roster)?;
    Ok(newcomer_refusal(&wanted, &roster, &kept_session(&run.id)?, clock::now())
        .map(|error| as_gate(error, run)))
}

/// Like [`refusal`], for a run that waits: another that waits for the same, and could have it now, may go first. That is
/// who has a slot at hand, because its parent may keep all slots while it waits for it, and then the oldest.
pub(super) fn refusal_of_waiting(
    op: &Op,
    mesh: &Mesh,
    run: &Run,
) -> Result<Option<CommandError>, CommandError> {
    if run.reserve.is_empty() {
        return Ok(None);
    }
    let roster = Roster::read(mesh)?;
    let mine = wanted(op, mesh, run, &roster)?;
    let now = clock::now();
    if let Some(refused) = newcomer_refusal(&mine, &roster, &kept_session(&run.id)?, now) {
        return Ok(Some(as_gate(refused, run)));
    }
    let has_slot = has_slot_at_hand(op, mesh, run);
    let budget = SearchBudget::new(STEPS_UNDER_LOCK);
    let others = others(mesh, run)?;
    for other in others.iter().filter(|other| is_waiting(other)) {
        let other_has_slot = has_slot_at_hand(op, mesh, other);
        if (!other_has_slot, other.queued_at, &other.id) > (!has_slot, run.queued_at, &run.id) {
            continue;
        }
        // What can't be read there any more is wanted by nobody.
        let Ok(theirs) = wanted(op, mesh, other, &roster) else { continue };
        let meets =
            |mine| theirs.patterns().any(|theirs| Conflict::of(mine, theirs, &budget) != Conflict::None);
        if !mine.patterns().any(meets) {
            continue;
        }
        let conflicts = theirs.conflicts_of_newcomer(&roster, &kept_session(&other.id)?, now);
        let is_given_way = |(_, holding): &(&Reservation, Holding)| {
            other_has_slot && is_held_without_slot(op, mesh, &others, &holding.holder.session)
        };
        if conflicts.iter().all(is_given_way) {
            let text = format!("run {}, which goes first, is about to reserve the same", other.id);
            return Ok(Some(Gate::Reserved.refuse(text)));
        }
    }
    Ok(None)
}

/// Whether another run has a slot at hand, and waits only for what is held for the workers of runs without one, of which
/// this run is one.
pub(super) fn has_to_give_way(op: &Op, mesh: &Mesh, run: &Run, worker: &Agent) -> Result<bool, CommandError> {
    let (roster, now) = (Roster::read(mesh)?, clock::now());
    if !roster.unknown().is_empty() {
        return Ok(false);
    }
    let others = others(mesh, run)?;
    for other in others.iter().filter(|other| is_waiting(other)) {
        if !has_slot_at_hand(op, mesh, other) {
            continue;
        }
        // What can't be read there any more is wanted by nobody.
        let Ok(theirs) = wanted(op, mesh, other, &roster) else { continue };
        let conflicts = theirs.conflicts_of_newcomer(&roster, &kept_session(&other.id)?, now);
        let is_own = |(_, holding): &(&Reservation, Holding)| holding.holder.session == worker.session;
        let is_given_way = |one: &(&Reservation, Holding)| {
            is_own(one) || is_held_without_slot(op, mesh, &others, &one.1.holder.session)
        };
        if conflicts.iter().any(is_own) && conflicts.iter().all(is_given_way) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether something is held in this session for the worker of a run that could start, but for a slot. It gives way, too.
fn is_held_without_slot(op: &Op, mesh: &Mesh, runs: &[Run], holder: &SessionId) -> bool {
    let is_its = |run: &&Run| kept_session(&run.id).is_ok_and(|session| session == *holder);
    runs.iter().find(is_its).is_some_and(|run| is_waiting(run) && is_free(op, mesh, run))
}

/// The other runs that want to reserve something and go on.
fn others(mesh: &Mesh, run: &Run) -> Result<Vec<Run>, CommandError> {
    let mut others = mesh.runs().list()?.runs;
    others.retain(|other| {
        let is_meant = !other.state.is_final() && !other.reserve.is_empty() && other.id != run.id;
        is_meant && mesh.runs().owner_liveness(other) != Liveness::Gone
    });
    Ok(others)
}

/// Whether the run waits, for its paths or for a slot.
fn is_waiting(run: &Run) -> bool {
    matches!(run.state, RunState::Queued | RunState::Limited) && run.slot.is_none()
}

/// The refusal of a reservation as that of the gate, for this run.
pub(super) fn as_gate(error: CommandError, run: &Run) -> CommandError {
    if error.kind != CommandErrorKind::Reserved {
        return error;
    }
    let mut refused = Gate::Reserved.refuse(error.message);
    refused.hints =
        error.hints.iter().filter_map(|hint| hint.split("; you get").next()).map(str::to_string).collect();
    // Whoever repeats or continues a run can't choose to wait.
    if run.earlier.is_none() {
        refused.hints.push("`--wait` waits until it is free".to_string());
    }
    refused.facts.extend(error.facts);
    refused
}

/// Why a run waits, by the refusal that it would get otherwise.
pub(super) fn waiting_reason(refused: &CommandError) -> String {
    match refused.kind {
        CommandErrorKind::Gate => format!("waits for its paths: {}", refused.message),
        _ => format!("can't check its paths yet: {}", refused.message),
    }
}

/// What the gate says of paths that are free.
pub(super) fn free_text(run: &Run) -> String {
    let list: Vec<String> = run.reserve.iter().map(|pattern| format!("`{pattern}`")).collect();
    let verb = if list.len() == 1 { "is" } else { "are" };
    format!("{} {verb} free", list.join(", "))
}

/// The names of those whose reservations pass to the run at these patterns: the agent that started it, and whoever passed
/// them to that agent before.
fn passed_by(starters: &[&Agent], wanted: &[Pattern], now: Timestamp) -> Vec<String> {
    let mut names: Vec<String> = starters
        .iter()
        .flat_map(|starter| {
            std::iter::once(starter.name.to_string()).chain(passed_before(starter, wanted, now))
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The live agents that the run was started by: one, unless a worker has joined besides the place that is kept for it.
fn starters<'r>(roster: &'r Roster<'_>, parent: &RunParent) -> Result<Vec<&'r Agent>, CommandError> {
    let RunParent { agent, session, .. } = parent;
    // A run that is only named by a variable passes nothing on.
    let run = parent.proven_run();
    let kept = run.map(kept_session).transpose()?;
    let is_session = |one: &Option<SessionId>, other: &Agent| one.as_ref() == Some(&other.session);
    let is_starter = |other: &&Agent| {
        let is_named = session.is_none() && run.is_some() && agent.as_ref() == Some(&other.name);
        is_named || is_session(session, other) || is_session(&kept, other)
    };
    Ok(roster.live().filter(|agent| !agent.is_remote()).filter(is_starter).collect())
}

//! Handles the start and the end of a session.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use crate::domain::hook::SessionEnd;
use crate::domain::runs::{Run, RunId, RunState};
use crate::domain::screens::HookStepKind;
use crate::domain::{Agent, Liveness, quote_code};
use crate::ops::agents::identity;
use crate::ops::agents::join::{JoinRequest, join};
use crate::ops::agents::leave;
use crate::ops::agents::stuck;
use crate::ops::awareness::nearby::nearby;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::person_required;
use crate::ops::reservations::reserve::PatternBase;
use crate::ops::reservations::things;
use crate::ops::runs::RUN_VARIABLE;
use crate::ops::runs::own_run::{kept_session, run_of_agent, worker_run};
use crate::store::{Mesh, Registration, RepositoryPlaces, SessionState, patterns_seen};
use crate::sys::environment::variable;
use crate::sys::git::WorkTree;
use crate::sys::{clock, process};

use super::{AnswerFn, HookCall, HookRun, knowledge};

/// Limits of the introduction that the model gets at the start.
const MOST_WORDS: usize = 120;
const MOST_CHARACTERS: usize = 2_000;
/// Of how many agents it says in which file they are.
const MOST_NEAR: usize = 3;
/// How long a supervisor may take to record the keeper that it has started. A hook has less than a second for everything.
const RECORDED_WITHIN: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Joins if that is wanted, and tells the model its name and who else is here.
pub(super) fn start(op: &Op, call: &HookCall, say: &mut AnswerFn<'_>) -> Result<(), CommandError> {
    // A subagent acts as its parent.
    if call.event.in_subagent {
        return Ok(());
    }
    let was_killed = was_killed(op, call)?;
    let mut is_name_lost = false;
    let known = match op.mesh()? {
        Some(mesh) => {
            let recognised = identity::recognise(op, &mesh, &mesh.registry().indexed()?, &call.sessions());
            is_name_lost = match &recognised.agent {
                Some(agent) => is_name_of_another(op, &mesh, call, agent)?,
                None => false,
            };
            let recognised = if is_name_lost { identity::RecognisedAgent::nobody() } else { recognised };
            let settled = recognised.settle(op, &mesh);
            if let Some(agent) = &settled.agent
                && identity::is_called_by_another(op, &mesh.registry().indexed()?, agent)
            {
                super::note_trouble(op, &mesh, call, &super::ignored(agent));
                return Ok(());
            }
            if let Some(agent) = &settled.agent {
                identity::record_presence(op, &mesh, agent);
            }
            match (settled.agent, settled.error) {
                (None, Some(error)) => return Err(error),
                (Some(agent), Some(error)) => {
                    super::note_trouble(op, &mesh, call, &error);
                    Some(agent)
                }
                (agent, None) => agent,
            }
        }
        None => None,
    };
    let kept = kept_place(op)?;
    // `$MSG_AGENT` may name the place, too.
    let is_kept = |me: &Agent| kept.as_ref().is_none_or(|kept| kept.session != me.session);
    let me = match known.filter(is_kept) {
        Some(me) => Some(me),
        None if kept.is_some() || is_wanted(op, call)? => {
            let request = JoinRequest { is_variable_ignored: is_name_lost, ..JoinRequest::default() };
            Some(register(op, call, kept, request)?)
        }
        None => None,
    };
    let Some(mesh) = op.mesh()? else { return Ok(()) };
    if let (Some(me), Some(run)) = (&me, run_of_worker(op)?) {
        // `--as` and `$MSG_AGENT` name anybody.
        if is_worker_of(&mesh, me, &run.id)? {
            mesh.runs().name_worker(&run.id, &me.name)?;
        }
        // Its supervisor waits for this, and may not have written down its pane yet.
        if mesh.runs().order(&run.id).is_ok_and(|order| order.pane.is_some()) {
            mesh.runs().note_session_start(&run.id, call.event.session.as_ref())?;
        }
    }
    let text = match &me {
        Some(me) => greeting(op, &mesh, call, me)?,
        None => None,
    };
    // A new session waits for its user, and so does one whose process died in the middle of a turn. The state of any
    // other is known from its turns.
    if let (Some(_), Some(session)) = (&me, &call.event.session) {
        mesh.session_states().set_permission_mode(session, call.event.permissions)?;
        match call.informs_only_at_prompt {
            // Such a session begins with a prompt, whose hook greets it if nothing is known of its turns.
            true if was_killed => mesh.hooks().remove(session)?,
            true => {}
            false if was_killed || mesh.session_states().get(session)? == SessionState::Unknown => {
                mesh.session_states().set_idle(session)?;
            }
            false => {}
        }
    }
    let registry = mesh.registry().indexed()?;
    let run = HookRun { op, mesh: &mesh, registry, me, call, place: OnceCell::new() };
    run.hand_over(text, say)?;
    run.record_step(HookStepKind::SessionStarted)?;
    stuck::report_occasionally(op, &mesh)
}

/// Whether this session continues after its former process died.
fn was_killed(ctx: &Context, call: &HookCall) -> Result<bool, CommandError> {
    let (Some(mesh), Some(session)) = (ctx.mesh()?, &call.event.session) else { return Ok(false) };
    // Somebody else reports a record that can't be read.
    let Ok(Some(known)) = mesh.sessions().get(session) else { return Ok(false) };
    Ok(process::liveness(&known.last.agent.process) == Liveness::Gone)
}

/// The place that the supervisor of our run keeps for us, if nobody has taken it yet. The variable that names the run can
/// be set by anybody, so the supervisor has to be above us.
fn kept_place(ctx: &Context) -> Result<Option<Agent>, CommandError> {
    let (Some(run), Some(mesh)) = (own_run(ctx)?, ctx.mesh()?) else { return Ok(None) };
    let Some(place) = identity::registered(&mesh, &kept_session(&run.id)?)? else { return Ok(None) };
    let is_ours = proven_run(&mesh, &run.id)?.is_some();
    Ok(Some(place).filter(|place| is_ours && place.process == run.owner))
}

/// Whether `$MSG_AGENT` leads a worker to an agent that is not its own: somebody has taken the name that was meant for it
/// before its session began. It must not act as that one, and gets another name.
fn is_name_of_another(op: &Op, mesh: &Mesh, call: &HookCall, agent: &Agent) -> Result<bool, CommandError> {
    let is_told = variable("MSG_AGENT").is_some_and(|name| agent.name.as_str().eq_ignore_ascii_case(&name));
    if !is_told || op.acting_as.is_some() || call.sessions().contains(&agent.session) {
        return Ok(false);
    }
    let Some(run) = run_of_worker(op)? else { return Ok(false) };
    Ok(!is_worker_of(mesh, agent, &run.id)?)
}

fn register(
    op: &Op,
    call: &HookCall,
    kept: Option<Agent>,
    request: JoinRequest,
) -> Result<Agent, CommandError> {
    let request = JoinRequest {
        harness: Some(call.harness),
        session: call.event.session.clone(),
        model: call.event.model.clone(),
        adopts: kept.map(|kept| kept.session),
        is_hook: true,
        ..request
    };
    Ok(join(op, &request)?.profile.agent)
}

/// Whether the session should join. A session that was here before does, unless it was evicted or left; for new ones
/// the settings decide.
fn is_wanted(ctx: &Context, call: &HookCall) -> Result<bool, CommandError> {
    if let (Some(session), Some(mesh)) = (&call.event.session, ctx.mesh()?)
        && let Ok(Some(known)) = mesh.sessions().get(session)
    {
        // A session that left while its process lives on did so on purpose.
        let left = known.left.is_some() && process::liveness(&known.last.agent.process) != Liveness::Gone;
        return Ok(known.evicted.is_none() && !left);
    }
    let is_worker = own_run(ctx)?.is_some();
    Ok(is_worker || ctx.settings.registers_in(&ctx.cwd.to_string_lossy(), &ctx.home.home.to_string_lossy()))
}

/// The run whose worker called this hook. The variable that names it can be set by anybody, so its supervisor or keeper has
/// to be above us. A client that the worker starts inherits the variable, and is not the worker.
pub(super) fn run_of_worker(ctx: &Context) -> Result<Option<Run>, CommandError> {
    let (Some(run), Some(mesh)) = (own_run(ctx)?, ctx.mesh()?) else { return Ok(None) };
    let Some(run) = proven_run(&mesh, &run.id)? else { return Ok(None) };
    let Some(name) = mesh.runs().worker(&run.id)? else { return Ok(Some(run)) };
    let record = mesh.registry().get(&name)?.filter(|record| record.is_live());
    let Some(worker) = record.map(|record| record.agent) else { return Ok(Some(run)) };
    // Of the processes above us, those up to the nearest harness count.
    let is_another = is_worker_of(&mesh, &worker, &run.id)?
        && identity::CallerTraces::gather().distance(&worker).is_none();
    Ok(Some(run).filter(|_| !is_another))
}

/// Whether that agent works for the run, by the processes above it.
fn is_worker_of(mesh: &Mesh, agent: &Agent, run: &RunId) -> Result<bool, CommandError> {
    Ok(run_of_agent(mesh, agent)?.is_some_and(|its| its.id == *run))
}

/// That run, if its supervisor or keeper is above us. The keeper is recorded right after it was started, so a worker may
/// call its first hook a moment before that.
fn proven_run(mesh: &Mesh, id: &RunId) -> Result<Option<Run>, CommandError> {
    let started = Instant::now();
    loop {
        let above = worker_run(mesh)?.filter(|above| above.id == *id);
        let known = mesh.runs().get(id)?;
        let is_unrecorded = known.is_some_and(|run| run.state == RunState::Starting && run.pane.is_none());
        if above.is_some() || !is_unrecorded || started.elapsed() > RECORDED_WITHIN {
            return Ok(above);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The run that goes on here, as the variable says.
pub(super) fn own_run(ctx: &Context) -> Result<Option<Run>, CommandError> {
    let Some(id) = variable(RUN_VARIABLE).and_then(|id| RunId::new(&id).ok()) else { return Ok(None) };
    let Some(mesh) = ctx.mesh()? else { return Ok(None) };
    let run = mesh.runs().get(&id)?;
    Ok(run.filter(|run| !run.state.is_final()))
}

/// What the agent is told first, if its user wants that.
pub(super) fn greeting(
    op: &Op,
    mesh: &Mesh,
    call: &HookCall,
    me: &Agent,
) -> Result<Option<String>, CommandError> {
    if !op.settings.registration_context {
        return Ok(None);
    }
    let introduction = introduction(op, mesh, call, me)?;
    let known = knowledge::overview(op, mesh, me).unwrap_or_else(|error| {
        super::note_trouble(op, mesh, call, &error);
        None
    });
    Ok(super::joined(std::iter::once(introduction).chain(known)))
}

fn introduction(op: &Op, mesh: &Mesh, call: &HookCall, me: &Agent) -> Result<String, CommandError> {
    let is_other = |record: &Registration| record.agent.session != me.session && record.is_live();
    let others: Vec<Agent> =
        mesh.registry().census()?.records.into_iter().filter(is_other).map(|record| record.agent).collect();
    let held = held_here(op, mesh, &others);
    let near = nearby(op, mesh, &others).unwrap_or_else(|error| {
        super::note_trouble(op, mesh, call, &error);
        Vec::new()
    });
    // Show as many as the word limit allows.
    let longest = others.len().max(held.len()).max(near.len()).min(8);
    let texts = (0..=longest).rev().map(|shown| introduce(op, me, &others, &held, &near, shown));
    let fits = |text: &String| {
        text.split_whitespace().count() <= MOST_WORDS && text.chars().count() <= MOST_CHARACTERS
    };
    let fitting = texts.into_iter().find(fits);
    Ok(fitting.unwrap_or_else(|| introduce(op, me, &[], &[], &[], 0)))
}

fn introduce(
    ctx: &Context,
    me: &Agent,
    others: &[Agent],
    held: &[String],
    near: &[String],
    shown: usize,
) -> String {
    let place = match others.iter().any(Agent::is_remote) {
        true => "on this machine and others",
        false => "on this machine",
    };
    let mut text = format!(
        "You are {} among coding agents that work side by side {place}, and talk with `msg`.",
        me.name
    );
    if !others.is_empty() {
        let list: Vec<String> = others.iter().take(shown).map(|other| describe(ctx, other)).collect();
        text.push_str(&format!(" Here: {}.", listed(&list, others.len(), "msg agents")));
    }
    if !held.is_empty() {
        let list: Vec<String> = held.iter().take(shown).cloned().collect();
        text.push_str(&format!(
            " Reserved by others, and refused to you: {}.",
            listed(&list, held.len(), "msg reservations")
        ));
    }
    let list: Vec<&str> = near.iter().take(shown.min(MOST_NEAR)).map(String::as_str).collect();
    if !list.is_empty() {
        text.push_str(&format!(" At work in this repository: {}.", list.join("; ")));
    }
    text.push_str(
        " Mail reaches you by itself; to write: `msg send NAME \"…\"`. \
         Before you work on files that others may want: `msg reserve PATH --reason \"…\"`, and `msg release` after.",
    );
    text
}

/// The first few, and how to see the rest.
fn listed(shown: &[String], all: usize, command: &str) -> String {
    match (shown.len(), all - shown.len()) {
        (_, 0) => shown.join("; "),
        (0, rest) => format!("{rest} (`{command}`)"),
        (_, rest) => format!("{}; and {rest} more (`{command}`)", shown.join("; ")),
    }
}

/// Describes an agent in few words. Status and reason are left out, because they are a peer's text.
fn describe(ctx: &Context, other: &Agent) -> String {
    let harness = other.harness_name();
    if other.is_remote() {
        return format!("{} ({harness})", other.name_and_machine());
    }
    let folder = match std::path::Path::new(&other.cwd) == ctx.cwd {
        true => String::new(),
        false => format!(" in {}", quote_code(&ctx.home.shorten(&other.cwd))),
    };
    format!("{} ({harness}{folder})", other.name)
}

/// What others have reserved in this work tree.
fn held_here(ctx: &Context, mesh: &Mesh, others: &[Agent]) -> Vec<String> {
    let (now, places) = (clock::now(), RepositoryPlaces::quick(mesh));
    let (place, tree) = (PatternBase::here(ctx), WorkTree::containing(&ctx.cwd));
    let mut held = Vec::new();
    for other in others {
        let here = other.reservations.iter().filter(|reservation| reservation.binds(now));
        let here = here.filter(|reservation| {
            let seen = places.seen_from(place.root(), reservation);
            let patterns = patterns_seen(other, seen.as_ref(), reservation);
            things::is_here(reservation, tree.as_ref())
                || patterns.iter().any(|pattern| place.is_near(pattern.head()))
        });
        held.extend(here.map(|here| {
            let reach = if here.reach.repository().is_some() { ", in every work tree" } else { "" };
            format!("{} ({}{reach})", quote_code(&here.pattern), other.name_and_machine())
        }));
    }
    held
}

impl HookRun<'_> {
    /// Whether the event is about a session that this agent had before its present one: some harnesses report the end
    /// of the old session after the start of the new one.
    pub(super) fn is_of_earlier_session(&self) -> Result<bool, CommandError> {
        let (Some(me), Some(session)) = (&self.me, &self.call.event.session) else { return Ok(false) };
        Ok(me.session != *session && self.mesh.session_states().get(session)? != SessionState::Unknown)
    }

    pub(super) fn forget_session(&self) -> Result<(), CommandError> {
        match &self.call.event.session {
            Some(session) => Ok(self.mesh.hooks().remove(session)?),
            None => Ok(()),
        }
    }

    /// Leaves, unless another session follows in the same process: that is the same agent.
    pub(super) fn ended(&self, end: SessionEnd) -> Result<(), CommandError> {
        if let Some(me) = self.me.as_ref().filter(|me| !person_required::may_end(self.op, &self.registry, me))
        {
            self.leave_trouble(&super::ignored(me));
            return Ok(());
        }
        if let Some(session) = &self.call.event.session {
            self.mesh.hooks().remove(session)?;
        }
        if let Some(me) = self.me.as_ref().filter(|me| !self.call.event.in_subagent && !me.is_foreign()) {
            self.settle_offers(me);
        }
        match &self.me {
            Some(me) if end == SessionEnd::Final && !self.call.event.in_subagent && !me.is_foreign() => {
                leave::leave_as(self.op, self.mesh, me).map(drop)
            }
            _ => Ok(()),
        }
    }
}

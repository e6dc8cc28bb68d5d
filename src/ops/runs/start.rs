//! Starting a run: it is written into the ledger, and its supervisor is started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use crate::domain::link::RemoteAsker;
use crate::domain::runs::{
    Cost, CrewPart, EarlierRun, Grant, Run, RunClaim, RunId, RunParent, RunState, Usage,
};
use crate::domain::screens::acting_character;
use crate::domain::{MAX_TEXT, RecordedProcess, SessionId, quote_code, sha256};
use crate::store::{LedgerList, Mesh, OrderedProgram, RunOrder, RunRefusal, TaskOrder};
use crate::sys::environment::{self, variable};
use crate::sys::tmux::{TmuxServer, TmuxSocket};
use crate::sys::{clock, detached, process, random};

use super::RUN_VARIABLE;
use super::admission::recorded_error;
use super::count_gates::{check_depth, check_depth_elsewhere, check_loop};
use super::gate::{Gate, GateAnswer};
use super::grants::{GrantAnswer, decide, refusal_error};
use super::hold::hold_of;
use super::mode_gate;
use super::name_gate::check_name;
use super::own_run::worker_run;
use super::parent_access;
use super::reserved_gate;
use super::settle::settle;
use super::terminal_wish::TerminalWish;
use super::turn::slots_now;
use super::worker_call;
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::screens::project_session::{self, FirstWindow, project_of};
use crate::ops::tasks::withdraw_claim;

/// The command that a supervisor runs: `msg --mesh MESH supervise RUN DIR`. It is not in the help: only `msg` calls it.
const COMMAND: &str = "supervise";

/// A run that is to be started.
#[derive(Clone, Debug)]
pub struct NewRun {
    pub task: String,
    pub profile: String,
    pub harness: Option<String>,
    pub version: Option<String>,
    /// Where its worker works.
    pub root: PathBuf,
    /// The run that it repeats or continues.
    pub earlier: Option<EarlierRun>,
    /// The run whose work it reviews: that one asks for it.
    pub reviews: Option<RunId>,
    /// What another machine asked for with it.
    pub asked: Option<AskedFromElsewhere>,
    pub order: RunOrder,
}

/// What belongs to a run that another machine asked for.
#[derive(Clone, Debug)]
pub struct AskedFromElsewhere {
    pub by: RemoteAsker,
    /// How many runs are above it, on whatever machines.
    pub depth: usize,
    /// The commit that its worktree starts from.
    pub commit: String,
    /// Names the request: of all attempts to start it, one becomes a run.
    pub key: String,
    /// The id that it gets if no other run here has it.
    pub id: RunId,
}

/// A supervisor's own call of this program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SupervisorCall {
    pub mesh: String,
    pub run: RunId,
    /// The directory whose settings apply.
    pub dir: PathBuf,
}

impl SupervisorCall {
    fn to_args(&self) -> Vec<OsString> {
        let words = ["--mesh", &self.mesh, COMMAND, self.run.as_str()].map(OsString::from);
        words.into_iter().chain([self.dir.clone().into_os_string()]).collect()
    }

    /// The call that such arguments name; `None` if they are others.
    pub fn from_args(args: &[OsString]) -> Option<Self> {
        let [flag, mesh, command, run, dir] = args else { return None };
        let is_call = flag == "--mesh" && command == COMMAND;
        let run = RunId::new(run.to_str()?).ok()?;
        is_call.then_some(Self { mesh: mesh.to_str()?.to_string(), run, dir: dir.into() })
    }
}

/// What was started.
#[derive(Debug)]
pub(super) enum StartedRun {
    New(Run),
    /// This one does the same task of a batch already.
    Other(Run),
}

/// Starts a run, if the gates that don't wait say yes.
pub fn start(op: &Op, new: NewRun) -> Result<Run, CommandError> {
    match start_once(op, new)? {
        StartedRun::New(run) | StartedRun::Other(run) => Ok(run),
    }
}

/// Starts a run, unless another does the same task of a batch.
pub(super) fn start_once(op: &Op, new: NewRun) -> Result<StartedRun, CommandError> {
    let mesh = op.create_mesh()?;
    settle(op, &mesh)?;
    let mut run = draft(op, &mesh, &new)?;
    check_launch(op, &mesh, &run, &new.order)?;
    check_name(&mesh, &run.id, &new.order)?;
    check_reserved(op, &mesh, &run, &new.order)?;
    if let Some(pane) = &new.order.pane {
        // Here, and not in the supervisor: a tmux server that a supervisor starts would be below it.
        let server = TmuxServer::at(TmuxSocket::Path(pane.socket.clone().into()));
        project_session::ensure(&op.home, &server, &project_of(&new.root), &FirstWindow::SHELL)?;
    }
    let id = match &new.asked {
        Some(asked) if mesh.runs().was_made_as(&asked.id)? => asked.id.clone(),
        _ => mesh.runs().make()?,
    };
    run.id = id.clone();
    mesh.runs().write(&id, "task", run.task.as_bytes())?;
    mesh.runs().put_order(&id, &new.order)?;
    mesh.runs().put_draft(&run)?;
    let call = SupervisorCall { mesh: op.location.to_string(), run: id.clone(), dir: new.root };
    let not_started = |why: String| {
        let text = format!("the supervisor of the run could not be started: {why}");
        CommandError::new(CommandErrorKind::Io, text).hint("`msg doctor` may say more")
    };
    let started = detached::start_supervisor(&call.to_args(), &[RUN_VARIABLE, "MSG_AGENT"]);
    let mut supervisor = started.map_err(|error| not_started(error.to_string()))?;
    // It is a run as soon as its supervisor has written it. From then on we may be killed.
    loop {
        if let Some(run) = mesh.runs().get(&id)? {
            detached::reap(supervisor);
            return Ok(StartedRun::New(run));
        }
        if let Some(status) = supervisor.try_wait().map_err(|error| not_started(error.to_string()))?
            && mesh.runs().get(&id)?.is_none()
        {
            let refusal = mesh.runs().refusal(&id)?;
            // A supervisor that died could not do this. Before the draft goes, which tells others that it was no run.
            match withdraw_claim(&mesh, &run) {
                Ok(()) => mesh.runs().remove_refused(&id)?,
                Err(error) => op.warn(format!("the number of a claim could not be taken back: {error}")),
            }
            return match refusal {
                Some(RunRefusal::Refused { kind, gate, message, hints }) => {
                    // What is in the way may still be there, and then more can be told of it.
                    check_reserved(op, &mesh, &run, &new.order)?;
                    Err(recorded_error(&kind, gate.as_deref(), message, hints))
                }
                Some(RunRefusal::Budget(refusal)) => Err(refusal_error(refusal)),
                Some(RunRefusal::DoneBy(other)) => instead(&mesh, &other),
                None => Err(not_started(status.to_string())),
            };
        }
        clock::pause(Duration::from_micros(500));
    }
}

/// Whether the harness can do what its profile promises. What a command needs was looked at before.
fn check_launch(op: &Op, mesh: &Mesh, run: &Run, order: &RunOrder) -> Result<(), CommandError> {
    if matches!(order.program, OrderedProgram::Command(_)) {
        return Ok(());
    }
    let place = (&op.home, op.location.to_string());
    match worker_call::launch(run, order, (place.0, &place.1), &mesh.runs().dir(&run.id)) {
        Err(error) if error.kind == CommandErrorKind::InvalidValue => {
            Err(Gate::Harness.refuse(error.message))
        }
        launched => check_prompt(launched?.prompt.as_deref()),
    }
}

/// Whether everything that is typed for a worker is text. Its instructions may be a part of it, and those of a project are
/// whatever a file of that project says.
fn check_prompt(prompt: Option<&str>) -> Result<(), CommandError> {
    let Some(sign) = prompt.and_then(acting_character) else { return Ok(()) };
    let text =
        format!("the instructions of the profile contain `{}`, which can't be typed", sign.escape_debug());
    Err(Gate::Task.refuse(text).hint("remove it from the file that `instructions_file` names"))
}

/// Whether another agent holds what it wants to reserve. One that waits is not refused.
fn check_reserved(op: &Op, mesh: &Mesh, run: &Run, order: &RunOrder) -> Result<(), CommandError> {
    if order.is_to_wait {
        return Ok(());
    }
    reserved_gate::refusal(op, mesh, run)?.map_or(Ok(()), Err)
}

/// The run that there is instead, by what its supervisor recorded.
fn instead(mesh: &Mesh, id: &str) -> Result<StartedRun, CommandError> {
    let gone = || CommandError::new(CommandErrorKind::UnknownRun, format!("run {id} is gone"));
    let other = RunId::new(id).map_err(|_| gone())?;
    Ok(StartedRun::Other(mesh.runs().get(&other)?.ok_or_else(gone)?))
}

/// What would be started, and how.
#[derive(Debug)]
pub struct DryRun {
    pub run: Run,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Variables that are set for it, beyond those of this process.
    pub env: Vec<(OsString, OsString)>,
    /// The permission mode in the harness's own words; `None` for a command, which has none.
    pub permission_mode: Option<String>,
    /// Dialogs that may come up nevertheless.
    pub dialogs: Vec<&'static str>,
    /// What each gate says. A gate that says no ends it.
    pub gates: Vec<GateAnswer>,
    /// The window that it would get.
    pub terminal: Option<DryTerminal>,
}

/// The window in tmux that a worker would get.
#[derive(Debug)]
pub struct DryTerminal {
    /// The socket of the tmux server.
    pub socket: String,
    /// The project's session; `None`: it would be made.
    pub session: Option<String>,
    /// Whether something would be typed.
    pub has_prompt: bool,
}

/// Asks the gates as [`start`] does, and starts nothing.
pub fn dry_run(op: &Op, new: &NewRun) -> Result<DryRun, CommandError> {
    let mesh = op.create_mesh()?;
    let mut run = draft(op, &mesh, new)?;
    check_launch(op, &mesh, &run, &new.order)?;
    check_name(&mesh, &run.id, &new.order)?;
    check_reserved(op, &mesh, &run, &new.order)?;
    let budget = match decide(&mesh, &run, &new.order, &LedgerList::default())? {
        GrantAnswer::Granted(grant, said) => {
            run.grant = grant;
            said
        }
        GrantAnswer::Refused(refusal) => return Err(refusal_error(refusal)),
    };
    let gates = gate_answers((op, &mesh), &run, &new.order, budget)?;
    let launch = worker_call::launch(
        &run,
        &new.order,
        (&op.home, &op.location.to_string()),
        &mesh.runs().dir(&run.id),
    )?;
    let ours = environment::all();
    let terminal = new.order.pane.as_ref().map(|pane| {
        let server = TmuxServer::at(TmuxSocket::Path(pane.socket.clone().into()));
        let session = project_session::find(&server, &project_of(&new.root))?;
        Ok::<_, CommandError>(DryTerminal {
            socket: pane.socket.clone(),
            session,
            has_prompt: launch.prompt.is_some(),
        })
    });
    run.project = new.order.worktree.is_some().then(|| run.root.clone());
    Ok(DryRun {
        run,
        command: std::iter::once(launch.program.into_os_string()).chain(launch.args).collect(),
        env: launch.env.into_iter().filter(|variable| !ours.contains(variable)).collect(),
        permission_mode: launch.permission_mode,
        dialogs: launch.dialogs,
        gates,
        terminal: terminal.transpose()?,
    })
}

/// What the gates say about a run that none of them refuses.
fn gate_answers(
    (op, mesh): (&Op, &Mesh),
    run: &Run,
    order: &RunOrder,
    budget: Option<String>,
) -> Result<Vec<GateAnswer>, CommandError> {
    let hold = hold_of(op, mesh, run)?;
    let slots = slots_now(op)?;
    let reserved = reserved_gate::refusal(op, mesh, run)?;
    Ok(Gate::ALL
        .into_iter()
        .map(|gate| match &hold {
            Some(hold) if hold.gate == gate => {
                GateAnswer { gate, has_to_wait: true, text: hold.reason.clone() }
            }
            _ if gate == Gate::Reserved && !run.reserve.is_empty() => match &reserved {
                Some(refused) => {
                    GateAnswer { gate, has_to_wait: true, text: reserved_gate::waiting_reason(refused) }
                }
                None => GateAnswer { gate, has_to_wait: false, text: reserved_gate::free_text(run) },
            },
            _ if gate == Gate::Task && order.task.is_some() => {
                let id = order.task.as_ref().map_or("", |task| task.id.as_str());
                let text = format!("{} can be claimed", quote_code(id));
                GateAnswer { gate, has_to_wait: false, text }
            }
            _ if gate == Gate::Slots => {
                GateAnswer { gate, has_to_wait: slots.starts_with("0 "), text: slots.clone() }
            }
            _ => {
                let said = budget.clone().filter(|_| gate == Gate::Budget);
                GateAnswer { gate, has_to_wait: false, text: said.unwrap_or_else(|| "yes".to_string()) }
            }
        })
        .collect())
}

/// The run as it will be written first, if the gates that don't wait say yes.
fn draft(op: &Op, mesh: &Rc<Mesh>, new: &NewRun) -> Result<Run, CommandError> {
    let parent = match (&new.reviews, &new.asked) {
        (Some(reviewed), _) => {
            RunParent { run: Some(reviewed.clone()), is_run_proven: true, ..RunParent::default() }
        }
        // Nobody of this machine is its parent, whatever process started us.
        (None, Some(_)) => RunParent::default(),
        (None, None) => parent(op, mesh)?,
    };
    let prompt = prompt_hash(new);
    check_draining(mesh)?;
    mode_gate::check(op, mesh, &new.root, (&new.profile, &new.order))?;
    let depth = match &new.asked {
        Some(asked) => check_depth_elsewhere(asked.depth)?,
        None => check_depth(mesh, &parent, &LedgerList::default())?,
    };
    check_task(&new.task, new.order.pane.is_some().then_some(TerminalWish::Report))?;
    if new.order.is_to_write {
        parent_access::check_writer(mesh, &parent, &new.profile)?;
        parent_access::check_place(mesh, &parent, &new.root)?;
    }
    check_loop(mesh, &prompt, &new.profile)?;
    let own = process::identify(process::own_pid())
        .ok_or_else(|| CommandError::new(CommandErrorKind::Io, "this process can't be examined"))?;
    Ok(Run {
        id: RunId::from_random(random::number()),
        state: RunState::Queued,
        owner: RecordedProcess::Pinned(own),
        task: new.task.clone(),
        profile: new.profile.clone(),
        harness: new.harness.clone(),
        version: new.version.clone(),
        model: new.order.model.clone(),
        agent: None,
        parent,
        depth,
        root: new.root.to_string_lossy().into_owned(),
        project: None,
        branch: None,
        changed: None,
        outside: Vec::new(),
        question: None,
        pane: None,
        dialog: None,
        saved: Vec::new(),
        // Known from now on, so that nobody else continues it at the same time.
        session: new.order.resumes.clone().map(SessionId::new).transpose()?,
        earlier: new.earlier.clone(),
        queued_at: clock::now(),
        started_at: None,
        ended_at: None,
        doing: None,
        result: None,
        reason: None,
        usage: Usage::default(),
        cost: Cost::Unknown,
        grant: Grant::default(),
        until: None,
        slot: None,
        prompt,
        reserve: new.order.reserve.clone(),
        claim: claim_of(mesh, new)?,
        review: None,
        reviews: new.reviews.clone(),
        crew: new.order.crew.as_ref().map(|order| CrewPart {
            crew: order.crew.clone(),
            is_worked: order.is_worked,
            proven: None,
            end: None,
        }),
        asked_by: new.asked.as_ref().map(|asked| asked.by.clone()),
        elsewhere: None,
    })
}

/// The task that it is given, without the number of the claim. A session that goes on keeps what it had: if the task was
/// given away, the number says so.
fn claim_of(mesh: &Mesh, new: &NewRun) -> Result<Option<RunClaim>, CommandError> {
    if let Some(EarlierRun::Resumed(id)) = &new.earlier {
        return Ok(mesh.runs().get(id)?.and_then(|earlier| earlier.claim));
    }
    let claim = |task: &TaskOrder| RunClaim { spec: task.spec.clone(), task: task.id.clone(), number: None };
    Ok(new.order.task.as_ref().map(claim))
}

/// Who asks for the run: an agent, or a person.
pub(super) fn parent(op: &Op, mesh: &Rc<Mesh>) -> Result<RunParent, CommandError> {
    let told = || variable(RUN_VARIABLE).and_then(|id| RunId::new(&id).ok());
    let proven = worker_run(mesh)?.map(|run| run.id);
    let is_run_proven = proven.is_some();
    let run = proven.or_else(told);
    match identity::caller(op) {
        Ok((_, caller)) => {
            let (agent, session) = (Some(caller.agent.name), Some(caller.agent.session));
            Ok(RunParent { agent, session, run, is_run_proven })
        }
        Err(error) if error.kind == CommandErrorKind::NotJoined && op.acting_as.is_none() => {
            // A worker whose hooks have not joined yet is known by its run.
            let agent = run.as_ref().map(|run| mesh.runs().worker(run)).transpose()?.flatten();
            Ok(RunParent { agent, session: None, run, is_run_proven })
        }
        Err(error) => Err(error),
    }
}

/// The hash by which the same task with the same profile is recognised.
fn prompt_hash(new: &NewRun) -> String {
    sha256(format!("{}\0{}", new.profile, new.task).as_bytes())
}

/// The gates that don't depend on the profile.
pub(super) fn check_first(op: &Op, task: &str, terminal: Option<TerminalWish>) -> Result<(), CommandError> {
    if let Some(mesh) = op.mesh()? {
        check_draining(&mesh)?;
        if variable(RUN_VARIABLE).is_some() {
            check_depth(&mesh, &parent(op, &mesh)?, &LedgerList::default())?;
        }
    }
    check_task(task, terminal)
}

pub(super) fn check_draining(mesh: &Mesh) -> Result<(), CommandError> {
    let Some(mark) = mesh.runs().draining()? else { return Ok(()) };
    let text = format!("no new runs are started, because {} is shutting down what goes on here", mark.by);
    Err(Gate::Draining.refuse(text).hint("`msg up` lets runs start again"))
}

/// Whether that can be a task. At a terminal, a person may say later what is to be done.
pub(super) fn check_task(task: &str, terminal: Option<TerminalWish>) -> Result<(), CommandError> {
    if task.trim().is_empty() && terminal.is_none() {
        return Err(Gate::Task
            .refuse("the task is empty")
            .hint("say what the worker is to do: `msg run scout \"…\"`"));
    }
    if task.len() > MAX_TEXT {
        let text = format!("the task has {} bytes; at most {MAX_TEXT} are allowed", task.len());
        return Err(Gate::Task.refuse(text).hint("write it to a file, and let the task name that file"));
    }
    if task.contains('\0') {
        return Err(Gate::Task.refuse("the task has a zero byte in it, which no program can be given"));
    }
    Ok(())
}

//! `msg run … --on MACHINE`: asking another machine for a run.

use std::time::Duration;

use crate::domain::RootCommit;
use crate::domain::link::{MAX_WORDS, MachineName, RunAsk, RunAskRefusal, RunAsker};
use crate::domain::runs::{MicroUsd, Run, RunId, RunParent};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::{AskedLink, ask_link};
use crate::ops::link::{is_linked, not_built_in};
use crate::ops::mode;
use crate::ops::runs::admission::recorded_error;
use crate::ops::runs::count_gates::{check_depth, check_depth_elsewhere};
use crate::ops::runs::gate::Gate;
use crate::ops::runs::plan::RunRequest;
use crate::ops::runs::reserved_gate;
use crate::ops::runs::start::{check_draining, check_task, parent};
use crate::ops::runs::{elsewhere::copies, parent_access};
use crate::ops::tasks::shared_spec_path;
use crate::store::link_protocol::{LinkAnswer, LinkRequest};
use crate::store::{LedgerList, Mesh, RunAnswer, RunAskedElsewhere};
use crate::sys::git::{ReadOnlyGit, RepositoryStart, WorkTree};
use crate::sys::{clock, random};

/// How long git may take to say what is in the work tree.
const GIT: Duration = Duration::from_secs(20);

/// What another machine would be asked for.
#[derive(Clone, Debug)]
pub struct PlannedAsk {
    pub machine: MachineName,
    pub ask: RunAsk,
    root: String,
    /// How many files are not committed, and so would not be there.
    pub uncommitted: usize,
}

/// What would be asked, if nothing here speaks against it. Nobody is asked.
pub fn plan_ask(op: &Op, request: &RunRequest, machine: &str) -> Result<PlannedAsk, CommandError> {
    if !cfg!(feature = "link") {
        return Err(not_built_in());
    }
    let mesh = op.create_mesh()?;
    let machine = other_machine(&mesh, machine)?;
    let (by, parent, may_edit) = asker(op, &mesh)?;
    let place = place(op, &mesh)?;
    let uncommitted = place.uncommitted()?;
    let reserve = reserved_gate::patterns(op, &op.cwd, &place.tree.root, &request.reserve)?;
    let claim = match &request.claims {
        None => None,
        Some((task, spec)) => Some((task.clone(), shared_spec_path(op, &mesh, spec.as_deref())?)),
    };
    if claim.is_none() {
        check_task(&request.task, None)?;
    }
    if request.task.len() > MAX_WORDS {
        let size = request.task.len();
        let text = format!("the task has {size} bytes, and another machine takes at most {MAX_WORDS}");
        return Err(Gate::Task
            .refuse(text)
            .hint("write it to a file, commit that, and let the task name it"));
    }
    let ask = RunAsk {
        id: unused_id(&mesh)?,
        by,
        profile: request.profile.clone(),
        task: request.task.clone(),
        name: request.name.clone(),
        timeout_seconds: request.timeout.map(|timeout| timeout.as_secs().max(1)),
        most_micros: request.budget.usd.map(MicroUsd::micros),
        most_tokens: request.budget.tokens,
        reserve,
        claim,
        is_to_wait: request.is_to_wait,
        is_to_read: !may_edit || !parent_access::may_write(&mesh, &parent)?,
        // The worker of a run that was asked for from elsewhere knows how many are above it there.
        depth: check_depth_elsewhere(check_depth(&mesh, &parent, &LedgerList::default())?)?,
        repository: place.start,
        commit: place.head,
    };
    Ok(PlannedAsk { machine, ask, root: place.tree.root.to_string_lossy().into_owned(), uncommitted })
}

/// Asks the other machine. The run is what is known of it then; its copy is in the list of runs from now on.
pub fn ask(op: &Op, planned: PlannedAsk) -> Result<Run, CommandError> {
    let PlannedAsk { machine, ask, root, uncommitted } = planned;
    let mesh = op.create_mesh()?;
    if uncommitted > 0 {
        let files = if uncommitted == 1 { "1 file".to_string() } else { format!("{uncommitted} files") };
        op.warn(format!(
            "{files} here are not committed: the worker on {machine} does not have those changes"
        ));
    }
    let id = ask.id.clone();
    mesh.remote().put_run(&RunAskedElsewhere { machine, ask, root, at: clock::now() })?;
    let asked = ask_link(op, &mesh, &LinkRequest::AskRun { id: id.clone() });
    match asked {
        AskedLink::Answered(LinkAnswer::Done) => {}
        // It was not sent, and never will be.
        AskedLink::Answered(LinkAnswer::NotAsked { kind, message, hints }) => {
            mesh.remote().forget_run(&id)?;
            return Err(recorded_error(&kind, None, message, hints));
        }
        AskedLink::NotSent(error) => {
            mesh.remote().forget_run(&id)?;
            return Err(error);
        }
        AskedLink::Answered(_) | AskedLink::Unknown(_) if mesh.remote().asked_since(&id)?.is_some() => {}
        AskedLink::Answered(_) => {
            mesh.remote().forget_run(&id)?;
            let text = "the link process does not know requests for runs";
            return Err(CommandError::new(CommandErrorKind::NotLinked, text)
                .hint("`msg link stop` ends it; the next command starts that of this `msg`"));
        }
        // If it was sent nevertheless, the news of it say so.
        AskedLink::Unknown(error) => {
            mesh.remote().note_asked(&id, clock::now())?;
            return Err(error.hint(format!("it may have been asked nevertheless: `msg runs show {id}`")));
        }
    }
    copies::get(&mesh, &id)?.ok_or_else(|| gone(&id))
}

/// The error of a request that was refused, which is forgotten then.
pub fn take_refusal(op: &Op, run: &Run) -> Result<Option<CommandError>, CommandError> {
    let Some(place) = &run.elsewhere else { return Ok(None) };
    let Some(mesh) = op.mesh()? else { return Ok(None) };
    let Some(RunAnswer::Refused(refusal)) = mesh.remote().answer(&run.id)? else { return Ok(None) };
    mesh.remote().forget_run(&run.id)?;
    let RunAskRefusal { kind, gate, message, hints } = refusal;
    let machine = place.machine.as_str();
    let message = if message.contains(machine) { message } else { format!("{machine}: {message}") };
    Ok(Some(recorded_error(&kind, gate.as_deref(), message, hints).fact("machine", machine)))
}

pub(in crate::ops::runs) fn gone(id: &RunId) -> CommandError {
    CommandError::new(CommandErrorKind::UnknownRun, format!("run {id} is gone"))
}

fn other_machine(mesh: &Mesh, name: &str) -> Result<MachineName, CommandError> {
    if !is_linked(mesh) {
        return Err(CommandError::new(
            CommandErrorKind::NotLinked,
            "this mesh is not linked, so there is no other machine",
        )
        .hint("`msg link nats://HOST:4222/NAME` links it with other machines"));
    }
    let invalid = |text: String| CommandError::new(CommandErrorKind::InvalidValue, text);
    let machine = MachineName::new(name).map_err(|error| invalid(error.to_string()))?;
    match mesh.link().config()? {
        Some(config) if config.machine == machine => {
            Err(invalid(format!("{machine} is this machine")).hint("leave out --on"))
        }
        _ => Ok(machine),
    }
}

/// Who asks, as what a parent of runs, and whether the mode here allows edits.
fn asker(op: &Op, mesh: &std::rc::Rc<Mesh>) -> Result<(RunAsker, RunParent, bool), CommandError> {
    check_draining(mesh)?;
    // In this mode nobody starts a run. Whether the profile there only reads is not known here.
    let mode = mode::of_run(op, mesh, &op.cwd)?.mode;
    if !mode.allows_edits() && !mode.allows_reading_runs() {
        let text = format!("this repository is in mode `{}`, in which no runs are started", mode.name());
        let hint = format!("a person can run `{}`", mode::way_out(op));
        return Err(Gate::Mode.refuse(text).fact("mode", mode.name()).hint(hint));
    }
    let parent = parent(op, mesh)?;
    if let Some(run) = &parent.run
        && mesh.runs().get(run)?.is_some_and(|run| !run.grant.is_unlimited())
    {
        let text = format!("run {run} has a budget, which does not reach to other machines");
        return Err(Gate::Budget.refuse(text).hint("start it here, or let your parent ask for it"));
    }
    let by = match identity::caller(op) {
        Ok((_, caller)) => RunAsker::Agent { name: caller.agent.name, session: caller.agent.session },
        Err(_) => RunAsker::Person,
    };
    Ok((by, parent, mode.allows_edits()))
}

/// Where the work is, as the other machine can find it.
struct AskedPlace {
    tree: WorkTree,
    start: RootCommit,
    head: String,
}

impl AskedPlace {
    /// How many files are not committed.
    fn uncommitted(&self) -> Result<usize, CommandError> {
        let listed = ReadOnlyGit::at(&self.tree, GIT).and_then(|git| git.uncommitted());
        let listed = listed.map_err(|error| {
            CommandError::new(CommandErrorKind::Io, format!("git does not say what is committed: {error}"))
        })?;
        Ok(listed.items.len())
    }
}

fn place(op: &Op, mesh: &Mesh) -> Result<AskedPlace, CommandError> {
    let none = |text: &str| {
        CommandError::new(CommandErrorKind::NoRepository, text)
            .hint("another machine works on a commit that it can have from a remote that both have")
    };
    let tree = WorkTree::containing(&op.cwd)
        .ok_or_else(|| none("this is not a git repository, so another machine can't have its files"))?;
    let (start, record) = mesh.repositories().start(&tree, GIT).map_err(|error| {
        CommandError::new(
            CommandErrorKind::Io,
            format!("git does not say where this repository began: {error}"),
        )
    })?;
    record.iter().for_each(|record| mesh.repositories().save(record));
    let start = match start {
        RepositoryStart::At(commit) => RootCommit::new(&commit),
        RepositoryStart::NoCommit => None,
        RepositoryStart::Shallow => {
            return Err(none("this clone is shallow, so another machine can't recognise the repository"));
        }
    };
    let head = tree.head_commit();
    let (start, head) = start
        .zip(head)
        .ok_or_else(|| none("this repository has no commit yet, so there is nothing to work on"))?;
    Ok(AskedPlace { tree, start, head })
}

/// An id that no run here has, and no run elsewhere that is known here.
fn unused_id(mesh: &Mesh) -> Result<RunId, CommandError> {
    loop {
        let id = RunId::from_random(random::number());
        let is_used = mesh.runs().get(&id)?.is_some() || mesh.remote().run(&id)?.is_some();
        if !is_used {
            return Ok(id);
        }
    }
}

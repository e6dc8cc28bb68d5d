//! The command line and the environment of a worker.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::domain::SessionId;
use crate::domain::runs::{MicroUsd, Run, RunId};
use crate::harness::worker::{
    WorkerAccess, WorkerAdapter, WorkerCall, WorkerOrder, WorkerReader, WorkerSession,
};
use crate::harness::{self, MsgProgram, ancestry};
use crate::store::{OrderedProgram, RunOrder};
use crate::sys::environment::{self, Home};
use crate::sys::{program, test_switches};

use super::{PROJECT_VARIABLE, RUN_VARIABLE, SLOT_VARIABLE, USAGE_VARIABLE, foreign_variables};
use crate::ops::error::{CommandError, CommandErrorKind};

/// How a worker is started, and who understands it.
#[derive(Debug)]
pub(super) struct WorkerLaunch {
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    /// Files to be written first.
    pub(super) files: Vec<(PathBuf, String)>,
    /// The file with its standard input.
    pub(super) input: Option<PathBuf>,
    pub(super) session: Option<SessionId>,
    /// `None`: a command, whose output is the result.
    pub(super) reader: Option<Box<dyn WorkerReader>>,
    pub(super) permission_mode: Option<String>,
    pub(super) dialogs: Vec<&'static str>,
    /// What is typed for it at its terminal.
    pub(super) prompt: Option<String>,
}

/// The adapter of a harness that can be a worker.
pub(super) fn adapter(name: &str) -> Option<&'static dyn WorkerAdapter> {
    harness::support(harness::parse(name)?)?.worker()
}

/// The launch that the order asks for. `dir` is the run's own directory.
pub(super) fn launch(
    run: &Run,
    order: &RunOrder,
    (home, mesh): (&Home, &str),
    dir: &Path,
) -> Result<WorkerLaunch, CommandError> {
    let mut launch = match &order.program {
        OrderedProgram::Command(words) => command(run, words, dir)?,
        OrderedProgram::Harness { name, path } => of_harness(run, order, (name, path), (home, dir))?,
    };
    launch.env.extend(order.env.iter().map(|(name, value)| (name.into(), value.into())));
    launch.env.push((RUN_VARIABLE.into(), run.id.as_str().into()));
    launch.env.push(("MSG_MESH".into(), mesh.into()));
    // A command has no hooks that would take over the place that is kept for it, so it is told its name.
    let is_command = matches!(order.program, OrderedProgram::Command(_));
    let kept = run.agent.as_ref().filter(|_| is_command && order.holds_something());
    let name = order.name.clone().or(kept.map(ToString::to_string));
    launch.env.extend(name.map(|name| ("MSG_AGENT".into(), name.into())));
    launch.env.extend(run.project.iter().map(|project| (PROJECT_VARIABLE.into(), project.into())));
    launch.env.extend(run.slot.map(|slot| (SLOT_VARIABLE.into(), slot.to_string().into())));
    let mut all = inherited();
    all.retain(|(name, _)| !order.left_out.iter().any(|out| name == out.as_str()));
    // A later value replaces an earlier one.
    for (name, value) in launch.env {
        all.retain(|(known, _)| *known != name);
        all.push((name, value));
    }
    launch.env = all;
    Ok(launch)
}

fn command(run: &Run, words: &[String], dir: &Path) -> Result<WorkerLaunch, CommandError> {
    let (name, args) = words.split_first().ok_or_else(|| not_found("", &run.profile))?;
    let found =
        if name.contains('/') { Some(Path::new(&run.root).join(name)) } else { program::on_path(name) };
    let program =
        found.filter(|path| program::is_program(path)).ok_or_else(|| not_found(name, &run.profile))?;
    let task = |arg: &String| OsString::from(arg.replace("{task}", &run.task));
    let usage = dir.join("usage.json");
    Ok(WorkerLaunch {
        program,
        args: args.iter().map(task).collect(),
        env: vec![(USAGE_VARIABLE.into(), usage.into())],
        files: Vec::new(),
        input: Some(dir.join("task")),
        session: None,
        reader: None,
        permission_mode: None,
        dialogs: Vec::new(),
        prompt: None,
    })
}

fn not_found(name: &str, profile: &str) -> CommandError {
    let text = format!("the program `{name}` of the profile `{profile}` was not found");
    CommandError::new(CommandErrorKind::InvalidValue, text)
        .hint("put it on the PATH, or give its absolute path in `workers.toml`")
}

fn of_harness(
    run: &Run,
    order: &RunOrder,
    (name, path): (&str, &str),
    (home, dir): (&Home, &Path),
) -> Result<WorkerLaunch, CommandError> {
    let unknown = || {
        let text = format!("{name} can't be started as a worker");
        CommandError::new(CommandErrorKind::InvalidValue, text).hint("`msg workers` lists those that can")
    };
    let adapter = adapter(name).ok_or_else(unknown)?;
    let fresh = SessionId::new(uuid::Uuid::new_v4().to_string())?;
    let resumed = order.resumes.clone().map(SessionId::new).transpose()?;
    let hooks = MsgProgram::At(
        program::to_record()
            .map_err(|error| CommandError::new(CommandErrorKind::Io, error.to_string()))?
            .to_string_lossy()
            .into_owned(),
    );
    let wanted = WorkerOrder {
        task: order.go_on.as_deref().unwrap_or(&run.task),
        instructions: order.instructions.as_deref(),
        model: order.model.as_deref(),
        access: if order.is_to_write { WorkerAccess::Edits } else { WorkerAccess::Reads },
        tools: &order.tools,
        args: &order.args,
        session: resumed.as_ref().map_or(WorkerSession::New(&fresh), WorkerSession::Resumed),
        root: Path::new(&run.root),
        project: Path::new(run.project.as_ref().unwrap_or(&run.root)),
        home,
        scratch: &dir.join("scratch"),
        hooks: &hooks,
        budget: order.most_micros.map(MicroUsd::from_micros),
    };
    let called = match order.pane {
        Some(_) => adapter.call_at_terminal(&wanted),
        None => adapter.call(&wanted),
    };
    let call = called
        .map_err(|error| CommandError::new(CommandErrorKind::InvalidValue, format!("{name}: {error}")))?;
    let WorkerCall { mut args, env, files, session, permission_mode, dialogs, prompt, input } = call;
    if order.pane.as_ref().is_some_and(|pane| pane.is_trust_accepted) {
        args.splice(0..0, adapter.trusting_args().iter().map(OsString::from));
    }
    // A file that was written on Windows is text, too.
    let prompt =
        Some(prompt.replace("\r\n", "\n")).filter(|_| !wanted.task.trim().is_empty() && order.pane.is_some());
    Ok(WorkerLaunch {
        program: PathBuf::from(path),
        args,
        env: env.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        files,
        input,
        session: session.or(resumed),
        reader: Some(adapter.reader(Path::new(&run.root))),
        permission_mode: Some(permission_mode),
        dialogs,
        prompt,
    })
}

/// The variables that the harness around this command sets for its commands. Elsewhere the same names are the user's own.
pub(super) fn variables_of_parent() -> Vec<String> {
    let Some(harness) = ancestry::nearest_harness(&ancestry::ancestors()) else { return Vec::new() };
    let adapter = harness::support(harness.harness).and_then(|support| support.worker());
    let names = adapter.map_or(&[][..], WorkerAdapter::replaced_variables);
    names.iter().map(ToString::to_string).collect()
}

/// The environment of a command that sets a worktree up or tears it down: ours, and what it has to know.
pub(super) fn setup_environment(
    id: &RunId,
    slot: Option<u32>,
    mesh: &str,
    project: &str,
) -> Vec<(OsString, OsString)> {
    let mut env = inherited();
    let own = [(RUN_VARIABLE, id.as_str()), ("MSG_MESH", mesh), (PROJECT_VARIABLE, project)];
    env.retain(|(name, _)| !own.iter().any(|(known, _)| name == known));
    env.extend(own.map(|(name, value)| (name.into(), value.into())));
    env.extend(slot.map(|slot| (SLOT_VARIABLE.into(), slot.to_string().into())));
    env
}

/// Our own variables, without those that say which agent, session or run we are, or in which tmux pane. A worker in tmux
/// gets those of its own pane.
fn inherited() -> Vec<(OsString, OsString)> {
    let of_one_process = [test_switches::CRASH_AT, test_switches::STOP_AT, "TMUX", "TMUX_PANE"];
    let left_out: Vec<&str> = foreign_variables().chain(of_one_process).collect();
    environment::all().into_iter().filter(|(name, _)| !left_out.iter().any(|out| name == *out)).collect()
}

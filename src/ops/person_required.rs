//! Refuses, inside a harness, the commands that only a person may run: setup, removing a live agent, reading files
//! elsewhere.
//!
//! A harness lets its model run `msg` without asking. So what changes the user's setup, removes another live agent or
//! reads files elsewhere is refused inside a harness, whatever `--as` says, and to the worker of a run. Scripts and CI that run
//! without a harness count as people. Everything else may be done as another agent with `--as`: one user, one mesh.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::domain::settings::SettingSource;
use crate::domain::{Agent, Harness, Pid, RecordedProcess, shell_word};
use crate::harness::{self, ancestry};
use crate::store::{IndexedRegistry, LocationReason};
use crate::sys::detached::is_supervisor;
use crate::sys::environment::{self, variable};
use crate::sys::git::WorkTree;
use crate::sys::{paths, process};

use crate::ops::agents::identity::{CallerTraces, is_tool_of_another};
use crate::ops::context::Context;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::RUN_VARIABLE;

/// What an agent's command runs in.
pub(super) struct SurroundingHarness {
    /// `None` for the worker of a run that is no harness.
    harness: Option<Harness>,
    /// The variable, if nothing but a variable says so.
    told_by: Option<&'static str>,
}

/// The harness that this command runs in: by its ancestors, or, if they can't all be seen, by the session variables
/// that harnesses give to their children. If they can be seen, a variable proves nothing: a terminal that an agent once
/// started keeps it for good, and a person types in it. What the worker of a run starts is no person either, whatever
/// program that worker is.
pub(super) fn harness() -> Option<SurroundingHarness> {
    surrounding_harness()
        .or_else(|| is_inside_run().then_some(SurroundingHarness { harness: None, told_by: None }))
}

/// Whether the worker of a run started this command: the variable of the run is here or above, or its supervisor is
/// above. The supervisor adopts what leaves its worker.
fn is_inside_run() -> bool {
    let is_of_run = |pid: &Pid| process::first_value(*pid, RUN_VARIABLE).is_some() || is_supervisor(*pid);
    variable(RUN_VARIABLE).is_some() || ancestry::all_ancestors().iter().any(is_of_run)
}

fn surrounding_harness() -> Option<SurroundingHarness> {
    let ancestry = ancestry::walk();
    if let Some(host) = ancestry::nearest_harness(&ancestry.processes) {
        return Some(SurroundingHarness { harness: Some(host.harness), told_by: None });
    }
    let is_set = |name: &&&'static str| variable(name).is_some();
    let told = |harness: Harness| {
        let name = harness::session_variables(harness).iter().find(is_set)?;
        Some(SurroundingHarness { harness: Some(harness), told_by: Some(name) })
    };
    harness::supported().find_map(told).filter(|_| !ancestry.is_complete)
}

/// Whether a harness is among the ancestors of this command.
pub fn is_inside_harness() -> bool {
    surrounding_harness().is_some()
}

impl SurroundingHarness {
    /// The error for a command that needs a person. A person whom only a variable makes look like a model learns how to
    /// do without it.
    pub(super) fn refusal(&self, text: String, hint: String) -> CommandError {
        let error = CommandError::new(CommandErrorKind::InHarness, text).hint(hint);
        match self.told_by {
            Some(name) => error.hint(format!(
                "known only from ${name}, because not all parent processes can be seen here; a person can run `env -u {name} msg …`"
            )),
            None => error,
        }
    }
}

impl fmt::Display for SurroundingHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.harness {
            Some(harness) => harness.fmt(f),
            None => f.write_str("a run"),
        }
    }
}

/// Refuses a command inside a harness. `line` is what the person has to type.
pub fn required(line: impl FnOnce() -> String) -> Result<(), CommandError> {
    match harness() {
        Some(inside) => Err(refusal(&inside, &line())),
        None => Ok(()),
    }
}

/// The same, also for the client of a server: that is a program which acts for a model, whatever started it.
pub(super) fn required_at_terminal(ctx: &Context, line: impl FnOnce() -> String) -> Result<(), CommandError> {
    if ctx.client.is_some() && harness().is_none() {
        let line = line();
        let text = format!("`{line}` needs a person: it is refused over MCP");
        return Err(CommandError::new(CommandErrorKind::InHarness, text)
            .hint(format!("ask a person to type this at a terminal: {line}")));
    }
    required(line)
}

/// Refuses to act for an agent that is not the caller and was only named, by `--as` or `$MSG_AGENT`.
pub(super) fn required_for_another(
    ctx: &Context,
    agent: &Agent,
    line: impl FnOnce() -> String,
) -> Result<(), CommandError> {
    let is_named = ctx.acting_as.is_some() || variable("MSG_AGENT").is_some();
    match harness() {
        Some(inside) if is_named && !is_caller(ctx, agent) => Err(refusal(&inside, &line())),
        _ => Ok(()),
    }
}

/// Whether a hook that reports the end of this agent's session may make it leave. Inside a harness, only if that
/// harness is the agent's own: a model can call the hook too, with another agent's session id. Among the agents of one
/// process, only an obvious tool of another one is refused. An agent that is not made to leave keeps its name and its
/// reservations.
pub(super) fn may_end(ctx: &Context, registry: &IndexedRegistry<'_>, agent: &Agent) -> bool {
    let traces = CallerTraces::gather();
    let is_own_host = || traces.distance(agent).is_some() && !is_tool_of_another(&traces, registry, agent);
    traces.harness.is_none() || is_caller(ctx, agent) || is_own_host()
}

/// The file that `--file` names. Inside a harness it must be beneath the working directory, with links resolved: a
/// model that must ask before it reads a file must not read it by sending it to itself.
pub fn readable_text_file(file: &str) -> Result<PathBuf, CommandError> {
    let Some(inside) = harness() else { return Ok(PathBuf::from(file)) };
    let real = |path: PathBuf| {
        fs_err::canonicalize(path)
            .map_err(|error| CommandError::new(CommandErrorKind::InvalidValue, error.to_string()))
    };
    let cwd = environment::cwd().map_err(|error| {
        CommandError::new(CommandErrorKind::Io, format!("cannot read the working directory: {error}"))
    })?;
    let (top, path) = (real(cwd.clone())?, real(cwd.join(file))?);
    if path.starts_with(&top) {
        return Ok(path);
    }
    let text = format!("inside {inside}, `--file` reads only files beneath the working directory: `{file}`");
    let hint = "pass the text itself, or ask a person to run this command at a terminal".to_string();
    Err(inside.refusal(text, hint).fact("file", file))
}

/// Refuses a spec that is neither beneath the working directory nor in its work tree or the main one, with links
/// resolved: tasks are read from it and ticked in it.
pub(super) fn check_spec(ctx: &Context, file: &Path) -> Result<(), CommandError> {
    let Some(inside) = harness() else { return Ok(()) };
    let path = fs_err::canonicalize(file)
        .map_err(|error| CommandError::new(CommandErrorKind::InvalidValue, error.to_string()))?;
    let tree = WorkTree::containing(&ctx.cwd);
    let roots = tree.iter().flat_map(|tree| [Some(tree.root.clone()), tree.main_root()]).flatten();
    let mut tops = std::iter::once(ctx.cwd.clone()).chain(roots);
    if tops.any(|top| fs_err::canonicalize(top).is_ok_and(|top| path.starts_with(top))) {
        return Ok(());
    }
    let shown = file.display().to_string();
    let text =
        format!("inside {inside}, a spec must lie in the working directory or its work tree: `{shown}`");
    let hint = "copy it there, or ask a person to run this command at a terminal".to_string();
    Err(inside.refusal(text, hint).fact("file", shown))
}

/// Refuses a file of a plan that is neither beneath the working directory nor in its work tree, with links resolved. It may
/// not exist yet.
pub(super) fn check_plan_file(ctx: &Context, file: &Path) -> Result<(), CommandError> {
    let Some(inside) = harness() else { return Ok(()) };
    let tree = WorkTree::containing(&ctx.cwd).map(|tree| tree.root);
    let mut tops = std::iter::once(ctx.cwd.clone()).chain(tree);
    let path = paths::follow(file);
    if tops.any(|top| path.starts_with(paths::follow(&top))) {
        return Ok(());
    }
    let shown = file.display().to_string();
    let text = format!(
        "inside {inside}, `crew plan` reads and writes only in the working directory and its work tree: `{shown}`"
    );
    let hint = "choose a file there, or ask a person to run this command at a terminal".to_string();
    Err(inside.refusal(text, hint).fact("file", shown))
}

/// The line with `--mesh`, if that was given: without it, it would be about another mesh.
pub(super) fn with_mesh(ctx: &Context, line: &str) -> String {
    match &ctx.location.reason {
        LocationReason::Told(SettingSource::Flag(flag)) => {
            format!("{line} {flag} {}", shell_word(&ctx.location.to_string()))
        }
        _ => line.to_string(),
    }
}

fn refusal(inside: &SurroundingHarness, line: &str) -> CommandError {
    let text = format!("`{line}` needs a person: it is refused inside {inside}");
    let hint = format!("ask a person to type this at a terminal: {line}");
    let error = inside.refusal(text, hint);
    match inside.harness {
        Some(harness) => error.fact("harness", harness.name()),
        None => error,
    }
}

/// Whether the environment of the command says that it is this agent.
fn is_caller(ctx: &Context, agent: &Agent) -> bool {
    let (traces, sessions) = match &ctx.client {
        Some(client) => (CallerTraces::of_client(client), client.sessions.as_slice()),
        None => (CallerTraces::gather(), [].as_slice()),
    };
    let is_session = traces.session.as_ref().is_some_and(|(session, _)| *session == agent.session);
    let is_this_process =
        matches!(&agent.process, RecordedProcess::Pinned(identity) if identity.pid == process::own_pid());
    let is_host = !traces.knows_better(agent) && traces.distance(agent).is_some();
    is_session || sessions.contains(&agent.session) || is_this_process || is_host
}

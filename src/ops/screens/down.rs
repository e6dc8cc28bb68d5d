//! `msg down`: the orderly end of what goes on in this project. No new runs start, workers are told and ended, their
//! ends are recorded, and the tmux session is closed.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::domain::runs::{Run, RunState};
use crate::domain::shell_word;
use crate::store::{DrainingMark, Mesh, StopOrder, StopUrgency};
use crate::sys::clock;
use crate::sys::environment::variable;
use crate::sys::keeper::is_keeper;
use crate::sys::signals::StopRequest;
use crate::sys::tmux::{PaneInfo, TmuxError, TmuxServer, TmuxSocket};
use crate::sys::{process, program};

use super::project_session::{self, CHAT_WINDOW, find_session, project_of, tmux_error};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::list::find;

/// How long workers have to wrap up. Their supervisors end them after 30 s.
const WRAP_UP_LIMIT: Duration = Duration::from_secs(45);
/// How long it takes at most in all.
const LIMIT: Duration = Duration::from_secs(75);
/// How long the window of a worker may stay open after the end of its run.
const CLOSES_IN: Duration = Duration::from_secs(10);
/// How long a shell that was just started may run what its settings say.
const SHELL_STARTS_IN: Duration = Duration::from_secs(4);
/// Programs that only wait for a command.
const SHELLS: [&str; 13] =
    ["sh", "bash", "zsh", "fish", "dash", "ash", "ksh", "mksh", "csh", "tcsh", "nu", "elvish", "xonsh"];
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What was ended.
#[derive(Debug, Default)]
pub struct DownReport {
    /// The runs that went on, as they are now.
    pub runs: Vec<Run>,
    /// The sessions that were closed; each tmux server may have one.
    pub closed: Vec<String>,
    /// The sessions that were left open, because we are in it, workers of another mesh, or programs of the user.
    pub left: Vec<String>,
}

/// Ends what goes on in this project; `say` gets a line for each step. If we are asked to stop, runs may start again at
/// once.
pub fn down(op: &Op, stop: &StopRequest, say: &mut dyn FnMut(&str)) -> Result<DownReport, CommandError> {
    let project = project_of(&op.cwd);
    let mut report = DownReport::default();
    if let Some(mesh) = op.mesh()? {
        let by =
            identity::caller(op).map_or_else(|_| "a person".to_string(), |it| it.1.agent.name.to_string());
        let mark = DrainingMark { by, since: clock::now() };
        mesh.runs().begin_draining(&mark)?;
        say("no new runs are started");
        let ended = end_runs(op, &mesh, &project, (&mark, stop), say);
        // Other projects of the mesh go on.
        mesh.runs().end_draining_of(&mark)?;
        report.runs = ended?;
    }
    if stop.is_requested() {
        let goes_on = report.runs.iter().any(|run| !run.state.is_final());
        say(match goes_on {
            true => {
                "interrupted: new runs may start again, but those that were told to wrap up end nevertheless"
            }
            false => "interrupted: new runs may start again",
        });
        return Err(CommandError::new(CommandErrorKind::Interrupted, ""));
    }
    let left: Vec<String> =
        report.runs.iter().filter(|run| !run.state.is_final()).map(|run| run.id.to_string()).collect();
    if left.is_empty() {
        close_sessions(op, &project, &mut report, (stop, say))?;
        return Ok(report);
    }
    // Closing it would kill them.
    say("the tmux session is left open, because not all runs have ended");
    let text = format!("{} did not end within {} s", left.join(", "), LIMIT.as_secs());
    let hint = "`msg runs stop ID --now` ends a run at once";
    Err(CommandError::new(CommandErrorKind::TimedOut, text).facts("runs", left).hint(hint))
}

/// Stops the runs of the project, and waits until they have ended.
fn end_runs(
    op: &Op,
    mesh: &Mesh,
    project: &Path,
    (mark, stop): (&DrainingMark, &StopRequest),
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Run>, CommandError> {
    let by = &mark.by;
    let is_here = |run: &Run| project_of(Path::new(run.project.as_ref().unwrap_or(&run.root))) == project;
    let mut runs = Vec::new();
    for run in mesh.runs().list()?.runs {
        let run = find(op, run.id.as_str())?;
        if !run.state.is_final() && is_here(&run) {
            runs.push(run);
        }
    }
    if runs.is_empty() {
        say("no run goes on");
        return Ok(runs);
    }
    for run in &runs {
        let order = StopOrder { by: by.clone(), urgency: StopUrgency::WrapUp };
        mesh.runs().ask_to_stop(&run.id, &order)?;
        say(&format!("told run {} ({}) to wrap up", run.id, run.profile));
    }
    let started = Instant::now();
    let mut is_hurried = false;
    while started.elapsed() < LIMIT && !stop.is_requested() && runs.iter().any(|run| !run.state.is_final()) {
        // The `down` of another project may have removed it.
        if let Ok(None) = mesh.runs().draining() {
            mesh.runs().begin_draining(mark)?;
        }
        for run in runs.iter_mut().filter(|run| !run.state.is_final()) {
            let now = find(op, run.id.as_str())?;
            if now.state.is_final() {
                let state = if now.state == RunState::Interrupted { "interrupted" } else { now.state.name() };
                say(&format!("run {} has ended: {state}", now.id));
            }
            *run = now;
        }
        if !is_hurried && started.elapsed() > WRAP_UP_LIMIT {
            is_hurried = true;
            for run in runs.iter().filter(|run| !run.state.is_final()) {
                let order = StopOrder { by: by.clone(), urgency: StopUrgency::Now };
                mesh.runs().ask_to_stop(&run.id, &order)?;
                say(&format!("run {} is ended now", run.id));
            }
        }
        clock::pause(LOOK_EVERY);
    }
    Ok(runs)
}

/// Closes the sessions of the project. Its runs may have been started in several tmux servers.
fn close_sessions(
    op: &Op,
    project: &Path,
    report: &mut DownReport,
    (stop, say): (&StopRequest, &mut dyn FnMut(&str)),
) -> Result<(), CommandError> {
    let mesh = op.mesh()?;
    let mut failed = None;
    for server in project_session::servers(op, mesh.as_deref())? {
        let closed = match find_session(&server, project) {
            Ok(Some(name)) => close_session(&server, name, report, (stop, &mut *say)),
            Ok(None) => Ok(()),
            Err(TmuxError::NotInstalled) => {
                say("tmux is not installed here, so no tmux session is closed");
                return Ok(());
            }
            Err(error) => Err(tmux_error(error)),
        };
        if let Err(error) = closed {
            failed.get_or_insert(error);
        }
    }
    match failed {
        Some(error) => Err(error),
        None if report.closed.is_empty() && report.left.is_empty() => {
            say("there is no tmux session of this project");
            Ok(())
        }
        None => Ok(()),
    }
}

/// Closes a session, unless we are in it, or somebody else is.
fn close_session(
    server: &TmuxServer,
    name: String,
    report: &mut DownReport,
    (stop, say): (&StopRequest, &mut dyn FnMut(&str)),
) -> Result<(), CommandError> {
    if is_inside(server, &name)? {
        say(&format!("the tmux session {name} stays, because this command runs in it"));
        report.left.push(name);
        return Ok(());
    }
    let session = SessionPanes { server, name: &name, stop };
    if !session.wait_until_free_of(CLOSES_IN, |pane| is_keeper(pane.pid))?.is_empty() {
        say(&format!("the tmux session {name} stays, because workers of another mesh are in it"));
        report.left.push(name);
        return Ok(());
    }
    let in_use = session.wait_until_free_of(SHELL_STARTS_IN, is_in_use)?;
    if !in_use.is_empty() {
        let windows = in_use.into_iter().collect::<Vec<_>>().join(", ");
        let close: Vec<_> = server.end_session_command(&name);
        let close = close.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
        say(&format!("the tmux session {name} stays, because programs run in its windows: {windows}"));
        say(&format!("`{close}` closes it with them"));
        report.left.push(name);
        return Ok(());
    }
    match server.end_session(&name) {
        Ok(()) | Err(TmuxError::NoSession(_) | TmuxError::NoServer(_)) => {}
        Err(error) => return Err(tmux_error(error)),
    }
    say(&format!("the tmux session {name} is closed"));
    report.closed.push(name);
    Ok(())
}

/// The panes of a session that is to be closed.
struct SessionPanes<'a> {
    server: &'a TmuxServer,
    name: &'a str,
    stop: &'a StopRequest,
}

impl SessionPanes<'_> {
    /// Waits until there is no such pane, and returns the names of the windows that still have one then. Windows of workers
    /// that have ended close by themselves.
    fn wait_until_free_of(
        &self,
        limit: Duration,
        is_meant: impl Fn(&PaneInfo) -> bool,
    ) -> Result<BTreeSet<String>, CommandError> {
        let started = Instant::now();
        loop {
            let panes = match self.server.list_panes() {
                Err(TmuxError::NoServer(_)) => return Ok(BTreeSet::new()),
                panes => panes.map_err(tmux_error)?,
            };
            let meant = panes.into_iter().filter(|pane| pane.session == self.name && is_meant(pane));
            let windows: BTreeSet<String> = meant.map(|pane| pane.window_name).collect();
            if windows.is_empty() || started.elapsed() > limit {
                return Ok(windows);
            }
            if self.stop.is_requested() {
                return Err(CommandError::new(CommandErrorKind::Interrupted, ""));
            }
            clock::pause(LOOK_EVERY);
        }
    }
}

/// Whether something runs in a pane that its user may miss: neither the chat nor a shell that waits for a command.
fn is_in_use(pane: &PaneInfo) -> bool {
    let own = program::to_record().ok();
    let own = own.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let is_chat = pane.window_name == CHAT_WINDOW && own.as_deref() == Some(pane.command.as_str());
    let is_shell = SHELLS.contains(&pane.command.trim_start_matches('-'));
    let has_started = || !process::descendants_but(pane.pid, |_| false).is_empty();
    !pane.is_dead && !is_chat && (!is_shell || has_started())
}

/// Whether this process runs in a pane of that session.
fn is_inside(server: &TmuxServer, session: &str) -> Result<bool, CommandError> {
    let is_server = TmuxSocket::of_environment().is_some_and(|own| own.path() == server.socket().path());
    let Some(pane) = variable("TMUX_PANE").filter(|_| is_server) else { return Ok(false) };
    match server.list_panes() {
        Err(TmuxError::NoServer(_)) => Ok(false),
        panes => Ok(panes
            .map_err(tmux_error)?
            .iter()
            .any(|info| info.session == session && info.id.as_str() == pane)),
    }
}

//! One look at an agent: its screen, its hooks, its process, and what follows from them.

use std::fmt;

use crate::domain::runs::{Run, RunState};
use crate::domain::screens::{
    ProcessSign, ScreenReading, ScreenState, ScreenText, ScreenVerdict, VerdictBasis, decide,
};
use crate::domain::{Agent, Liveness, RecordedProcess};
use crate::harness;
use crate::harness::screen::ScreenReader;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::tell::has_open_question;
use crate::store::Mesh;
use crate::sys::process;
use crate::sys::tmux::pane::PaneCapture;
use crate::sys::tmux::{TmuxError, TmuxPane};

use super::agent_pane::{is_shown_in, pane_of_run, panes_of, screen_of};
use super::hook_facts::HookFacts;

/// What one look at an agent showed.
#[derive(Debug)]
pub struct AgentSight {
    /// `None`: a worker that has not joined yet.
    pub agent: Option<Agent>,
    /// Its pane with what it shows, or why there is none to look at.
    pub pane: Result<SeenPane, NoScreen>,
    /// What the screen says by itself; `None` without a screen, and for a harness whose screens are not known.
    pub reading: Option<ScreenReading>,
    pub hooks: HookFacts,
    pub process: ProcessSign,
    /// What it is doing, and what that rests on.
    pub verdict: ScreenVerdict,
}

/// A pane that was looked at.
#[derive(Debug)]
pub struct SeenPane {
    pub pane: TmuxPane,
    pub capture: PaneCapture,
    pub screen: ScreenText,
}

/// Why an agent's screen can't be read.
#[derive(Debug)]
pub enum NoScreen {
    /// Its process is gone, and so is the screen.
    Ended,
    /// Its process is in another machine or container.
    Elsewhere,
    NotInTmux,
    /// Its run has no slot yet, or its worker is about to be started.
    NotStarted,
    /// This system does not tell in which pane a process runs.
    NotOnThisSystem,
    /// The pane that it was started in is gone.
    PaneGone,
    /// Its pane shows another program: it was suspended, or moved elsewhere.
    AnotherProgram,
    Tmux(TmuxError),
}

impl fmt::Display for NoScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("its process has ended"),
            Self::Elsewhere => f.write_str("its process can't be seen from here"),
            Self::NotInTmux => f.write_str("it does not run in tmux"),
            Self::NotStarted => f.write_str("its worker has not been started yet"),
            Self::NotOnThisSystem => f.write_str("msg sees the screens of agents on Linux alone"),
            Self::PaneGone => f.write_str("its tmux pane is gone"),
            Self::AnotherProgram => f.write_str("its tmux pane shows another program"),
            Self::Tmux(error) => write!(f, "{error}"),
        }
    }
}

impl AgentSight {
    /// Its screen, if there is one.
    pub fn screen(&self) -> Option<&ScreenText> {
        self.pane.as_ref().ok().map(|seen| &seen.screen)
    }
}

/// How the screen of this agent's harness is read.
pub fn reader_of(agent: &Agent) -> Option<&'static dyn ScreenReader> {
    harness::support(agent.harness?)?.screen()
}

/// How the screen of a run's worker is read.
pub(in crate::ops) fn reader_of_run(run: &Run) -> Option<&'static dyn ScreenReader> {
    harness::support(harness::parse(run.harness.as_deref()?)?)?.screen()
}

/// Looks at an agent.
pub fn see(op: &Op, agent: &Agent) -> Result<AgentSight, CommandError> {
    let mesh = op.mesh()?.ok_or_else(|| {
        CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {}", agent.name))
    })?;
    see_in(&mesh, agent)
}

/// Looks at an agent of that mesh.
pub(in crate::ops) fn see_in(mesh: &Mesh, agent: &Agent) -> Result<AgentSight, CommandError> {
    // Before the screen: a hook that runs in between shows at the next look.
    let hooks = HookFacts::read(mesh, agent)?;
    let mut process = process_sign(agent);
    let pane = match process {
        ProcessSign::Gone => Err(NoScreen::Ended),
        ProcessSign::Unknown => Err(NoScreen::Elsewhere),
        ProcessSign::Alive => look_at(mesh, agent)?,
    };
    if pane.is_err() {
        // It may have ended meanwhile, and that is why there is no screen.
        process = process_sign(agent);
    }
    let reading = match (&pane, reader_of(agent)) {
        (Ok(seen), Some(reader)) => Some(reader.read(&seen.screen)),
        _ => None,
    };
    let verdict = decide(hooks.signs, reading.as_ref(), process);
    Ok(AgentSight { agent: Some(agent.clone()), pane, reading, hooks, process, verdict })
}

/// Looks at the worker of a run before it has joined: perhaps it shows a dialog at its start. Its pane is the one that
/// its supervisor recorded.
pub(in crate::ops) fn see_before_join(run: &Run) -> AgentSight {
    let pane = match pane_of_run(run) {
        Some(pane) => look_at_run(run, pane),
        None if matches!(run.state, RunState::Queued | RunState::Starting) => Err(NoScreen::NotStarted),
        None => Err(NoScreen::NotInTmux),
    };
    let reader = reader_of_run(run);
    let reading = pane.as_ref().ok().and_then(|seen| Some(reader?.read(&seen.screen)));
    let told = |state| ScreenVerdict { state, basis: VerdictBasis::Run };
    let verdict = match run.state {
        RunState::Limited => told(ScreenState::Limited),
        _ if reading.as_ref().is_some_and(|reading| reading.dialog.is_some()) => {
            ScreenVerdict { state: ScreenState::Waiting, basis: VerdictBasis::Screen }
        }
        RunState::Waiting if run.question.is_some() || !has_no_dialog(reading.as_ref()) => {
            told(ScreenState::Waiting)
        }
        RunState::Queued | RunState::Starting => told(ScreenState::Starting),
        // Its client is there, and has run no hook yet.
        RunState::Running | RunState::Waiting if run.pane.as_ref().is_some_and(|pane| !pane.is_ready) => {
            told(ScreenState::Starting)
        }
        _ => ScreenVerdict { state: ScreenState::Unknown, basis: VerdictBasis::Nothing },
    };
    let process = run.pane.as_ref().map_or(ProcessSign::Unknown, |pane| sign_of(&pane.keeper));
    AgentSight { agent: None, pane, reading, hooks: HookFacts::default(), process, verdict }
}

fn look_at_run(run: &Run, pane: TmuxPane) -> Result<SeenPane, NoScreen> {
    let capture = match pane.capture() {
        Ok(capture) => capture,
        Err(TmuxError::NoPane(_) | TmuxError::NoServer(_)) => return Err(NoScreen::PaneGone),
        Err(error) => return Err(NoScreen::Tmux(error)),
    };
    let is_its = run.pane.as_ref().is_some_and(|its| its.keeper.pid() == capture.pid);
    if capture.is_dead || !is_its {
        return Err(NoScreen::PaneGone);
    }
    let screen = screen_of(&capture);
    Ok(SeenPane { pane, capture, screen })
}

/// What a worker is doing, with what the supervisor of its run knows besides: the harness's own report of a limit, and
/// questions that were sent to the parent.
pub(in crate::ops) fn verdict_with_run(
    mesh: &Mesh,
    sight: &AgentSight,
    run: Option<&Run>,
) -> Result<ScreenVerdict, CommandError> {
    let told = |state| ScreenVerdict { state, basis: VerdictBasis::Run };
    let Some(run) = run.filter(|_| sight.verdict.state != ScreenState::Ended) else {
        return Ok(sight.verdict);
    };
    Ok(match (run.state, sight.verdict.state) {
        (RunState::Waiting, _) if is_asking(mesh, sight, run)? => told(ScreenState::Waiting),
        (RunState::Limited, _) => told(ScreenState::Limited),
        (RunState::Starting, ScreenState::Unknown) => told(ScreenState::Starting),
        _ => sight.verdict,
    })
}

/// Whether what a run waits for has no answer yet. Its supervisor notices an answer a while later.
fn is_asking(mesh: &Mesh, sight: &AgentSight, run: &Run) -> Result<bool, CommandError> {
    if run.question.is_some() && has_open_question(mesh, run)? {
        return Ok(true);
    }
    Ok(match run.dialog {
        Some(_) => !has_no_dialog(sight.reading.as_ref()),
        None => run.question.is_none(),
    })
}

/// Whether a screen that is known shows no dialog.
fn has_no_dialog(reading: Option<&ScreenReading>) -> bool {
    reading.is_some_and(|reading| reading.dialog.is_none() && reading.state.is_some())
}

/// Whether its process is there.
pub(in crate::ops) fn process_sign(agent: &Agent) -> ProcessSign {
    sign_of(&agent.process)
}

fn sign_of(process: &RecordedProcess) -> ProcessSign {
    match process::liveness(process) {
        Liveness::Alive => ProcessSign::Alive,
        Liveness::Gone => ProcessSign::Gone,
        Liveness::Unknown => ProcessSign::Unknown,
    }
}

/// Captures the agent's pane, if the agent is what it shows.
fn look_at(mesh: &Mesh, agent: &Agent) -> Result<Result<SeenPane, NoScreen>, CommandError> {
    if cfg!(not(target_os = "linux")) {
        return Ok(Err(NoScreen::NotOnThisSystem));
    }
    let mut why = NoScreen::NotInTmux;
    for pane in panes_of(agent) {
        let capture = match pane.capture() {
            Ok(capture) => capture,
            Err(TmuxError::NoPane(_) | TmuxError::NoServer(_)) => {
                why = NoScreen::PaneGone;
                continue;
            }
            Err(error) => return Ok(Err(NoScreen::Tmux(error))),
        };
        if !capture.is_dead && is_shown_in(mesh, capture.pid, agent)? {
            let screen = screen_of(&capture);
            return Ok(Ok(SeenPane { pane, capture, screen }));
        }
        why = NoScreen::AnotherProgram;
    }
    Ok(Err(why))
}

//! Starting a worker in a tmux pane.

use std::path::Path;

use crate::domain::RecordedProcess;
use crate::domain::runs::RunPane;
use crate::harness;
use crate::harness::screen::ScreenReader;
use crate::store::{PaneOrder, WatchTarget};
use crate::sys::keeper::in_pane::{OpenedPane, PanePlace};
use crate::sys::keeper::kept::KeptCall;
use crate::sys::tmux::{TmuxServer, TmuxSocket};
use crate::sys::{process, program};

use super::RUN_VARIABLE;
use super::supervise::without_adopting;
use super::supervisor::{RunFinish, Supervisor};
use super::watch_pane::{PaneEnd, PaneWatcher, TrustAnswer};
use super::worker_call::WorkerLaunch;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::screens::project_session::{self, FirstWindow, project_of};

/// The longest name of a window.
const MOST_NAME: usize = 40;

impl Supervisor<'_> {
    /// Opens a window with the worker in it, gives it its prompt, and watches it to its end. Once, it may be started again.
    pub(super) fn attempt_in_pane(
        &mut self,
        order: &PaneOrder,
        launch: &WorkerLaunch,
    ) -> Result<RunFinish, CommandError> {
        let mut trust = TrustAnswer::NotAsked;
        loop {
            match self.watch_in_pane(order, launch, trust)? {
                PaneEnd::Finish(finish) => return Ok(finish),
                PaneEnd::StartAgain => trust = TrustAnswer::Restarted,
            }
        }
    }

    fn watch_in_pane(
        &mut self,
        order: &PaneOrder,
        launch: &WorkerLaunch,
        trust: TrustAnswer,
    ) -> Result<PaneEnd, CommandError> {
        let failed = |error: String| {
            CommandError::new(CommandErrorKind::Io, format!("the worker could not be started: {error}"))
        };
        let reader = self.screen_reader().ok_or_else(|| failed("its screen can't be read".to_string()))?;
        let server = TmuxServer::at(TmuxSocket::Path(order.socket.clone().into()));
        let project = project_of(Path::new(self.run.project.as_ref().unwrap_or(&self.run.root)));
        // It may have been closed while the run was queued, and its server with it.
        let home = &self.op.home;
        let ensure = || project_session::ensure(home, &server, &project, &FirstWindow::SHELL);
        let session = without_adopting(ensure)?;
        let watch = self.mesh.watch(WatchTarget::Run(&self.run.id))?.ok();
        let msg = program::to_record().map_err(|error| failed(error.to_string()))?;
        let call = KeptCall {
            program: &launch.program,
            args: &launch.args,
            env: &launch.env,
            dir: self.run.root.as_ref(),
            input: None,
        };
        let place = PanePlace {
            server: &server,
            session: &session,
            window: &self.window_name(),
            msg: &msg,
            marks: &[(RUN_VARIABLE, self.run.id.as_str())],
        };
        let opened = OpenedPane::open(call.dir, &place).map_err(|error| failed(error.to_string()))?;
        let info = opened.info();
        let keeper =
            process::identify(info.pid).map_or(RecordedProcess::bare(info.pid), RecordedProcess::Pinned);
        self.run.pane = Some(RunPane {
            socket: order.socket.clone(),
            id: info.id.to_string(),
            place: info.address(),
            keeper,
            is_ready: false,
            prompts: 0,
            turns: 0,
        });
        // Before it is started: its first hook is known by its keeper.
        self.mesh.runs().put(&self.run)?;
        let kept = opened.start(&call).map_err(|error| failed(error.to_string()))?;
        PaneWatcher::new(self, kept, reader, watch, (launch.prompt.clone(), order.clone()), trust).run()
    }

    fn screen_reader(&self) -> Option<&'static dyn ScreenReader> {
        harness::support(harness::parse(self.run.harness.as_deref()?)?)?.screen()
    }

    /// The name of the worker, or the profile and the beginning of the run's id.
    fn window_name(&self) -> String {
        let usual = || format!("{}-{}", self.run.profile, self.run.id);
        let name = self.order.name.clone().unwrap_or_else(usual);
        name.chars().take(MOST_NAME).collect()
    }
}

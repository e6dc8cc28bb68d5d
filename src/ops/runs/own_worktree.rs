//! What a supervisor does about the worktree of its run: before the worker starts, and after it has ended.

use crate::domain::runs::RunState;

use super::kept_place;
use super::supervisor::{RunFinish, Supervisor};
use super::work::RunWork;
use crate::ops::agents::bury::bury_in_passing;
use crate::ops::error::CommandError;
use crate::ops::tasks::release_after_run;

impl Supervisor<'_> {
    /// Makes the worktree, if the run is to have one. An end of the run if it can't be used.
    pub(super) fn make_worktree(&mut self) -> Result<Option<RunFinish>, CommandError> {
        let Some(order) = self.order.worktree.clone() else { return Ok(None) };
        self.do_now("making its worktree")?;
        // Until the ledger says that we are in it, nobody may give up the worktree that we continue.
        let lock = order.continues.as_ref().map(|_| self.mesh.runs().lock_work()).transpose()?;
        let work = RunWork::make(self.op, self.mesh, &self.run, &order)?;
        self.run.root = work.tree.path().to_string_lossy().into_owned();
        self.run.project = Some(work.record.project.clone());
        self.work = Some(work);
        self.run.doing = (!order.setup.is_empty()).then(|| "setting its worktree up".to_string());
        self.mesh.runs().put(&self.run)?;
        drop(lock);
        self.move_place();
        let Some(work) = &mut self.work else { return Ok(None) };
        let (ledger, id) = (self.mesh.runs(), self.run.id.clone());
        // If that can't be read, the worker is stopped a moment later.
        let stop_order = || ledger.stop_order(&id).ok().flatten();
        let failed = work.set_up(&self.run, &order, &|| stop_order().is_some())?;
        self.run.doing = None;
        Ok(failed.map(|failed| match stop_order() {
            Some(order) => RunFinish::new(RunState::Stopped, format!("stopped by {}", order.by)),
            None => RunFinish::failed(failed),
        }))
    }

    /// Commits what the worker, which has ended, left.
    pub(super) fn commit_work(&mut self) {
        if let Some(work) = &mut self.work {
            // If that fails, it is tried again at the end.
            drop(work.close(&self.run));
        }
    }

    /// Whether the worker changed something; `None` if that is not known.
    pub(super) fn has_changed(&self) -> Option<bool> {
        self.work.as_ref()?.is_changed()
    }

    /// Commits the work, however the run ended.
    pub(super) fn save_work(&mut self, finish: &mut RunFinish) {
        let Some(mut work) = self.work.take() else { return };
        // Whoever looks does not see it; that is no reason not to save the work.
        drop(self.do_now("saving its work"));
        if let Err(error) = work.close(&self.run) {
            let place = work.tree.path();
            let why = format!("its work could not be committed, and is in `{}`: {error}", place.display());
            finish.reason = Some(match finish.reason.take() {
                Some(reason) => format!("{reason}; {why}"),
                None => why,
            });
            if matches!(finish.state, Some(RunState::Done | RunState::Empty | RunState::Asks)) {
                finish.state = Some(RunState::Failed);
            }
            return;
        }
        self.run.branch = work.record.branch.clone();
        self.run.changed = Some(work.record.changed.clone());
        self.run.saved = work.record.saved.clone();
        self.work = Some(work);
    }

    /// Frees the directory of work that is saved.
    pub(super) fn free_work(&mut self) {
        let Some(mut work) = self.work.take() else { return };
        let teardown = self.order.worktree.clone().unwrap_or_default().teardown;
        if let Err(error) = work.free(&self.run, &teardown, self.run.slot) {
            self.op.warn(format!("the worktree of run {} was not removed: {error}", self.run.id));
        }
    }

    /// Gives back the task that the worker did not complete, with the reason.
    pub(super) fn give_task_back(&mut self, finish: &RunFinish) {
        let state = finish.state.unwrap_or(RunState::Failed).name().replace('_', " ");
        let reason = finish.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        let why = format!("run {} ended without completing it ({state}{reason})", self.run.id);
        if let Err(error) = release_after_run(self.op, self.mesh, &self.run, &why) {
            self.op.warn(format!("the task of run {} is given back later: {error}", self.run.id));
        }
    }

    /// A worker that we registered leaves. One that took its place over and is dead is buried, so that whoever waits for
    /// its paths is told.
    pub(super) fn let_worker_leave(&mut self) {
        if let Some(worker) = self.worker.take() {
            kept_place::give_up(self.op, self.mesh, &worker);
        }
        if self.order.holds_something()
            && let Err(error) = bury_in_passing(self.op, self.mesh)
        {
            self.op.warn(format!("what the worker held is freed by the next command: {error}"));
        }
    }

    pub(super) fn do_now(&mut self, what: &str) -> Result<(), CommandError> {
        self.run.doing = Some(what.to_string());
        Ok(self.mesh.runs().put(&self.run)?)
    }
}

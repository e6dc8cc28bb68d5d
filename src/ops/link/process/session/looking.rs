//! Looks whether the server and the mesh agree. What goes wrong with one part stops no other.

use jiff::Timestamp;

use super::Linked;
use super::problems::Part;
use crate::domain::Agent;
use crate::domain::link::{LeaseEpoch, TaskKey, TaskRecord, later};
use crate::ops::error::CommandError;
use crate::ops::link::process::Link;
use crate::ops::link::process::local::LocalCompletions;
use crate::ops::link::process::reconcile::{Reconciler, left_tasks};
use crate::ops::link::process::runs::{self, RunTending};
use crate::ops::link::process::send_error::SendError;
use crate::ops::reservations::waiting;
use crate::ops::tasks;
use crate::store::Completion;
use crate::sys::clock;

use super::{COMPARE, KEPT, PRUNE};

impl Link<'_> {
    /// Makes the server and the mesh agree, as far as something changed, and sends what is to be sent.
    pub(super) async fn look(&mut self, linked: &mut Linked) {
        self.write_mirror_if_behind(linked);
        let now = tokio::time::Instant::now();
        linked.is_dirty |= now.duration_since(linked.compared) >= COMPARE;
        if now.duration_since(linked.pruned) >= PRUNE {
            linked.pruned = now;
            self.prune();
        }
        if !linked.is_dirty {
            if linked.has_more_to_send && linked.can_decide().is_some() {
                self.send_mail(linked).await;
            }
            return;
        }
        linked.is_dirty = false;
        linked.compared = now;
        let watched = self.watch();
        self.note_part(linked, Part::Watch, watched.map_err(SendError::Local));
        let Some(epoch) = linked.can_decide() else { return };
        let agreed = self.agree(linked, &epoch).await;
        self.note_part(linked, Part::Records, agreed);
        self.send_mail(linked).await;
        self.write_mirror_if_behind(linked);
    }

    /// Removes what is too old.
    pub(super) fn prune(&self) {
        let oldest = clock::now() - KEPT;
        let pruned = [self.mesh.remote().prune(oldest).map(drop), self.mesh.remote().prune_runs(oldest)];
        for error in pruned.into_iter().filter_map(Result::err) {
            self.op.warn(format!("what is too old could not be removed: {error}"));
        }
    }

    /// Makes the server's records what the mesh says.
    async fn agree(&mut self, linked: &mut Linked, epoch: &LeaseEpoch) -> Result<(), SendError> {
        linked.local = linked.reader.read(self.mesh, &linked.table.me, epoch)?;
        linked.is_local_known = true;
        if !left_tasks(&linked.table, &linked.grants, &linked.local).is_empty() {
            let LocalCompletions { completions: completed, is_all } =
                linked.reader.completed(self.mesh, &linked.table.me, epoch)?;
            linked.local.completed = completed;
            linked.local.knows_all_tasks &= is_all;
        }
        let Linked { nats, table, grants, told, local, .. } = linked;
        Reconciler { op: self.op, nats, table, epoch, grants, told }.run(local).await?;
        if let Err(error) = self.take_back(linked) {
            self.op.warn(format!("a task that is open again is still done here: {error}"));
        }
        self.share_completions(linked, epoch).await
    }

    /// Takes back here what was completed here and is open again on the server: an agent on another machine has reopened
    /// it, or one of this machine whose command was cut short.
    fn take_back(&mut self, linked: &mut Linked) -> Result<(), CommandError> {
        let is_news = |(key, revision, _): &(&String, u64, &TaskRecord)| {
            linked.reopened.get(*key) != Some(revision) && !linked.grants.has(key)
        };
        let news = linked.table.reopened().filter(is_news);
        let news: Vec<(String, u64, TaskRecord)> =
            news.map(|(key, revision, record)| (key.clone(), revision, record.clone())).collect();
        if news.is_empty() {
            return Ok(());
        }
        let LocalCompletions { completions, is_all } = linked.reader.completions(self.mesh)?;
        for (key, revision, record) in news {
            let Some(reopening) = &record.reopened else { continue };
            let is_it = |(task, done): &&(TaskKey, Completion)| {
                *task == record.key && reopening.covers(&linked.table.me, done.at)
            };
            for (_, completion) in completions.iter().filter(is_it) {
                tasks::take_back(self.op, self.mesh, completion, reopening)?;
            }
            if is_all {
                linked.reopened.insert(key, revision);
            }
        }
        Ok(())
    }

    /// Tells the server once of what was completed here before the mesh was linked.
    async fn share_completions(&mut self, linked: &mut Linked, epoch: &LeaseEpoch) -> Result<(), SendError> {
        if self.mesh.link().has_shared_completions()? {
            return Ok(());
        }
        let LocalCompletions { completions: completed, is_all } =
            linked.reader.completed(self.mesh, &linked.table.me, epoch)?;
        let Linked { nats, table, grants, told, .. } = linked;
        let mut reconciler = Reconciler { op: self.op, nats, table, epoch, grants, told };
        reconciler.completed(&completed).await?;
        if is_all {
            self.mesh.link().note_shared_completions()?;
        }
        Ok(())
    }

    pub(super) async fn tend_runs(&mut self, linked: &mut Linked) {
        let is_due = linked.tended.is_none_or(|tended| tended.elapsed() >= runs::LOOK);
        let is_wanted = linked.runs.is_open || linked.tended.is_none();
        if !is_due || !is_wanted || linked.can_decide().is_none() {
            return;
        }
        let Linked { nats, runs, .. } = linked;
        let mut tending = RunTending { op: self.op, mesh: self.mesh, nats, desk: runs };
        let tended = tending.tend().await;
        // After it, so that it is due there whenever it is due here.
        linked.tended = Some(tokio::time::Instant::now());
        self.note_part(linked, Part::Runs, tended);
    }

    fn write_mirror_if_behind(&mut self, linked: &mut Linked) {
        if linked.table.is_complete && linked.table.is_mirror_behind {
            let written = self.write_mirror(linked);
            self.note_part(linked, Part::Mirror, written.map_err(SendError::Local));
        }
    }

    pub(super) fn write_mirror(&mut self, linked: &mut Linked) -> Result<(), CommandError> {
        let now = clock::now();
        self.mesh.remote().set_agents(&mirrored_agents(linked, now))?;
        let is_in_work = |key: &str| linked.local.tasks.contains_key(key) || linked.grants.has(key);
        self.mesh.remote().set_tasks(&linked.table.mirrored_tasks(is_in_work))?;
        linked.presence.prune(self.mesh, &linked.table)?;
        linked.table.is_mirror_behind = false;
        self.state.machines = linked.table.other_machines();
        self.write_state();
        // Somebody here may wait for what another machine has let go of.
        match self.mesh.lock() {
            Ok(mut locked) => waiting::notify_waiting_or_warn(self.op, self.mesh, &mut locked),
            // Every command of theirs looks, too.
            Err(error) => self.op.warn(format!("nobody was told of what other machines let go of: {error}")),
        }
        Ok(())
    }

    /// Watches what tells that something is to be done.
    fn watch(&mut self) -> Result<(), CommandError> {
        let mut dirs = self.mesh.link().directories_to_watch();
        dirs.extend(self.mesh.remote().queue_directories()?);
        dirs.extend(self.mesh.remote().owed_directories()?);
        self.hints.watch(dirs);
        Ok(())
    }
}

/// The agents of the others, with what they hold by the clock of this machine: in the records, times are by the server's.
fn mirrored_agents(linked: &Linked, now: Timestamp) -> Vec<Agent> {
    let ahead = linked.nats.server_facts().clock_offset.unwrap_or_default();
    let mut agents = linked.table.mirrored_agents(now);
    for held in agents.iter_mut().flat_map(|agent| &mut agent.reservations) {
        held.expires_at = held.expires_at.map(|at| later(at, -ahead));
    }
    agents
}

//! An ear at an inbox, or at the feed: waiting for a reason to look.
//!
//! Watch, then scan. The watch is armed before the first look, so that nothing falls in between; a hint leads to a
//! look, never to a conclusion. Where a directory can't be watched, looks at a slow tick deliver meanwhile, and arming
//! is tried again after 1, 2, 4 … 30 s.

use std::time::{Duration, Instant};

use crossbeam_channel::{after, never, select};

use crate::domain::{Agent, Liveness};
use crate::store::{Mesh, Project, Record, StoreError};
use crate::sys::process;
use crate::sys::signals::Stop;
use crate::sys::watch::{DirWatch, WatchError};

use super::context::Context;
use super::error::CommandError;

/// While the watch is sound, looking is only a safeguard.
const SLOW_TICK: Duration = Duration::from_secs(5);
/// While there is no watch, looking is all there is.
const POLL: Duration = Duration::from_millis(100);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Woken {
    Hint,
    Deadline,
    Stopped,
}

pub(super) struct Ear<'a> {
    ctx: &'a Context,
    mesh: &'a Mesh,
    watch: Option<DirWatch>,
    /// What other machines do on a shared file system raises no events here.
    is_on_network: bool,
    retry_at: Instant,
    retry: Duration,
}

impl<'a> Ear<'a> {
    pub(super) fn new(ctx: &'a Context, mesh: &'a Mesh) -> Self {
        let is_on_network = mesh.file_system().is_some_and(|kind| kind.network);
        Self { ctx, mesh, watch: None, is_on_network, retry_at: Instant::now(), retry: FIRST_RETRY }
    }

    /// Arms the watch if there is none, or if the one there is has missed something.
    pub(super) fn arm(&mut self, agent: &Agent) -> Result<(), CommandError> {
        self.arm_at(|mesh, watch| mesh.is_sound(watch, agent), |mesh| mesh.watch_inbox(agent))
    }

    /// The same for the feed.
    pub(super) fn arm_at_feed(&mut self, project: &Project) -> Result<(), CommandError> {
        self.arm_at(|mesh, watch| mesh.is_feed_watched(watch, project), |mesh| mesh.watch_feed(project))
    }

    fn arm_at(
        &mut self,
        is_sound: impl Fn(&Mesh, &DirWatch) -> Result<bool, StoreError>,
        arm: impl Fn(&Mesh) -> Result<Result<DirWatch, WatchError>, StoreError>,
    ) -> Result<(), CommandError> {
        let was_armed = self.watch.is_some();
        if let Some(watch) = &self.watch
            && !is_sound(self.mesh, watch)?
        {
            self.watch = None;
        }
        if was_armed && self.watch.is_none() {
            self.retry_at = Instant::now();
        }
        if self.watch.is_some() || Instant::now() < self.retry_at {
            return Ok(());
        }
        match arm(self.mesh)? {
            Ok(watch) => {
                self.watch = Some(watch);
                self.retry = FIRST_RETRY;
            }
            // Not an error of the command: looking at the tick delivers meanwhile.
            Err(error) => {
                if self.retry == FIRST_RETRY {
                    self.ctx.notice(format!("{error}; looking every {} ms instead", POLL.as_millis()));
                }
                self.retry_at = Instant::now() + self.retry;
                self.retry = (self.retry * 2).min(LAST_RETRY);
            }
        }
        Ok(())
    }

    /// Waits for a reason to look, `deadline` at the latest.
    pub(super) fn wait(&self, stop: &Stop, deadline: Option<Instant>) -> Woken {
        if stop.is_asked() {
            return Woken::Stopped;
        }
        let tick = if self.watch.is_some() && !self.is_on_network { SLOW_TICK } else { POLL };
        let until = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let time = after(until.unwrap_or(tick).min(tick));
        let silence = never();
        let hints = self.watch.as_ref().map_or(&silence, |watch| watch.hints());
        select! {
            recv(stop.wake()) -> _ => Woken::Stopped,
            recv(hints) -> _ => Woken::Hint,
            recv(time) -> _ => Woken::Deadline,
        }
    }
}

/// The agent as it is registered now; `None` if it is not, but may be again. Who is gone for good is an error.
pub(super) fn current(mesh: &Mesh, agent: &Agent) -> Result<Option<Agent>, CommandError> {
    let same = |record: &Record| {
        record.agent.process == agent.process
            && (record.agent.session == agent.session || record.agent.name == agent.name)
    };
    let record = match mesh.registration(&agent.name)?.filter(same) {
        Some(record) => Some(record),
        None => mesh.census()?.records.into_iter().find(same),
    };
    let gone = || StoreError::NoRegistration(agent.name.to_string());
    // An agent lives no longer than its host, and nobody is left to hand anything over to.
    if process::liveness(&agent.process) == Liveness::Gone {
        return Err(gone().into());
    }
    // A registration that vanished comes back with the next command, and a directory that was removed may be made anew:
    // neither is a reason to stop while the session has not said good-bye.
    if record.is_none() && mesh.session(&agent.session)?.is_some_and(|known| !known.is_current()) {
        return Err(gone().into());
    }
    Ok(record.map(|record| record.agent))
}

//! Watches one part of the mesh and waits for a reason to look at it.
//!
//! Watch, then scan: the watch is armed before the first look, so that nothing is missed in between, and an event only
//! triggers a look. Where a directory can't be watched, it is polled meanwhile, and arming is tried again after 1, 2, 4
//! … 30 s.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, after, never, select};

use crate::domain::{Agent, Liveness};
use crate::store::{Mesh, Registration, StoreError, WatchTarget};
use crate::sys::process;
use crate::sys::signals::StopRequest;
use crate::sys::test_switches::{self, Bug};
use crate::sys::watch::DirWatch;

use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// How often to look while the watch works: only a safeguard.
const SLOW_TICK: Duration = Duration::from_secs(5);
/// How often to look while there is no watch, unless the caller says otherwise.
const POLL: Duration = Duration::from_millis(100);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::ops) enum WatchWakeup {
    Hint,
    Deadline,
    Stopped,
}

#[derive(Debug)]
pub(in crate::ops) struct MeshWatcher<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    watch: Option<DirWatch>,
    silence: Receiver<()>,
    /// What other machines do on a shared file system raises no events here.
    is_on_network: bool,
    /// How often somebody looks while there is no watch.
    poll: Duration,
    retry_at: Instant,
    retry: Duration,
}

impl<'a> MeshWatcher<'a> {
    pub(in crate::ops) fn new(op: &'a Op, mesh: &'a Mesh) -> Self {
        let is_on_network = mesh.file_system().is_some_and(|kind| kind.is_network);
        let (watch, silence) = (None, never());
        let (retry_at, retry) = (Instant::now(), FIRST_RETRY);
        Self { op, mesh, watch, silence, is_on_network, poll: POLL, retry_at, retry }
    }

    /// While there is no watch, it is looked at that often.
    pub(in crate::ops) fn polled_every(self, poll: Duration) -> Self {
        Self { poll, ..self }
    }

    /// Arms the watch if there is none or if the present one has missed something. `true`: it was armed just now, so
    /// the caller has to look.
    pub(in crate::ops) fn arm(&mut self, target: WatchTarget<'_>) -> Result<bool, CommandError> {
        let was_armed = self.watch.is_some();
        if let Some(watch) = &self.watch
            && !self.mesh.is_sound(watch, target)?
        {
            self.watch = None;
        }
        if was_armed && self.watch.is_none() {
            self.retry_at = Instant::now();
        }
        if self.watch.is_some() || Instant::now() < self.retry_at {
            return Ok(false);
        }
        match self.mesh.watch(target)? {
            Ok(watch) => {
                self.watch = Some(watch);
                self.retry = FIRST_RETRY;
                return Ok(true);
            }
            // Not an error of the command: polling finds changes meanwhile.
            Err(error) => {
                if self.retry == FIRST_RETRY {
                    self.op.warn(format!("{error}; looking every {} instead", in_words(self.poll)));
                }
                self.retry_at = Instant::now() + self.retry;
                self.retry = (self.retry * 2).min(LAST_RETRY);
            }
        }
        Ok(false)
    }

    /// Whether every change raises an event here.
    pub(in crate::ops) fn sees_all_changes(&self) -> bool {
        self.watch.is_some() && !self.is_on_network
    }

    /// Receives an event when there is a reason to look.
    pub(in crate::ops) fn hints(&self) -> &Receiver<()> {
        self.watch.as_ref().map_or(&self.silence, DirWatch::hints)
    }

    /// Waits for a reason to look, until `deadline` at the latest.
    pub(in crate::ops) fn wait(&self, stop: &StopRequest, deadline: Option<Instant>) -> WatchWakeup {
        if stop.is_requested() {
            return WatchWakeup::Stopped;
        }
        let tick = match self.sees_all_changes() {
            // The slow tick would hide the bug.
            true if test_switches::has_bug(Bug::ScanBeforeWatch) => Duration::MAX,
            true if test_switches::value(test_switches::NO_SLOW_TICK).is_some() => Duration::MAX,
            true => SLOW_TICK,
            false => self.poll,
        };
        let until = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let time = after(until.unwrap_or(tick).min(tick));
        select! {
            recv(stop.wake()) -> _ => WatchWakeup::Stopped,
            recv(self.hints()) -> _ => WatchWakeup::Hint,
            recv(time) -> _ => WatchWakeup::Deadline,
        }
    }
}

/// `5 s`, `250 ms`.
fn in_words(interval: Duration) -> String {
    match (interval.as_secs(), interval.subsec_millis()) {
        (seconds @ 1.., 0) => format!("{seconds} s"),
        _ => format!("{} ms", interval.as_millis()),
    }
}

/// The agent as it is registered now; `None` if it has no registration but may get one again. An agent that is gone for
/// good is an error.
pub(in crate::ops) fn current(mesh: &Mesh, agent: &Agent) -> Result<Option<Agent>, CommandError> {
    let same = |record: &Registration| is_of(record, agent);
    let there = mesh.registry().get(&agent.name)?;
    let is_anothers = there.as_ref().is_some_and(|record| !same(record));
    let record = match there.filter(same) {
        Some(record) => Some(record),
        None => mesh.registry().local_census()?.records.into_iter().find(same),
    };
    let gone = || StoreError::NoRegistration(agent.name.to_string());
    // An agent's life ends with its process; nobody is left to hand anything to.
    if process::liveness(&agent.process) == Liveness::Gone {
        return Err(gone().into());
    }
    // The inbox of that name belongs to the agent that has the name now.
    if record.is_none() && is_anothers {
        return Err(gone().into());
    }
    // A registration that vanished comes back with the next command, and a removed directory may be created again:
    // neither is a reason to stop unless the session has left or was evicted.
    if record.is_none() && mesh.sessions().get(&agent.session)?.is_some_and(|known| !known.is_current()) {
        return Err(gone().into());
    }
    Ok(record.map(|record| record.agent))
}

/// Whether another agent has its name by now. The inbox of that name then belongs to that agent.
pub(in crate::ops) fn is_anothers_name(mesh: &Mesh, agent: &Agent) -> Result<bool, StoreError> {
    Ok(mesh.registry().get(&agent.name)?.is_some_and(|record| !is_of(&record, agent)))
}

fn is_of(record: &Registration, agent: &Agent) -> bool {
    record.agent.process == agent.process
        && (record.agent.session == agent.session || record.agent.name == agent.name)
}

#[cfg(test)]
mod tests {
    use super::{Duration, POLL, in_words};

    #[test]
    fn an_interval_is_told_in_a_unit_that_fits() {
        let told = [POLL, Duration::from_millis(1500), Duration::from_secs(5)].map(in_words);
        assert_eq!(told, ["100 ms", "1500 ms", "5 s"]);
    }
}

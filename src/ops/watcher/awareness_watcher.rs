//! Watches what a screen of agents' headings depends on: the tracks, what was foretold, and the feed.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, after, select};

use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{Mesh, WatchTarget};

use super::mesh_watcher::MeshWatcher;

/// Why [`AwarenessWatcher::wait`] returned.
#[derive(Debug)]
pub enum AwarenessSignal<T> {
    /// A request from the channel.
    Request(T),
    /// The channel is closed: there will be no more requests.
    Closed,
    Changed,
    /// The time is over.
    TimedOut,
}

#[derive(Debug)]
pub struct AwarenessWatcher<'a>(MeshWatcher<'a>);

impl<'a> AwarenessWatcher<'a> {
    /// Where changes raise no events, the caller looks every `poll_interval`.
    pub fn new(op: &'a Op, mesh: &'a Mesh, poll_interval: Duration) -> Self {
        Self(MeshWatcher::new(op, mesh).polled_every(poll_interval))
    }

    /// Arms the watch if it is not armed. `true`: it was not until now, so the caller has to look.
    pub fn arm(&mut self) -> Result<bool, CommandError> {
        self.0.arm(WatchTarget::Awareness)
    }

    /// Whether every change raises an event. If not, the caller has to look now and then.
    pub fn sees_all_changes(&self) -> bool {
        self.0.sees_all_changes()
    }

    /// Waits for a change or a request, until `until` at the latest.
    pub fn wait<T>(&self, requests: &Receiver<T>, until: Instant) -> AwarenessSignal<T> {
        let time = after(until.saturating_duration_since(Instant::now()).min(Duration::from_secs(3600)));
        select! {
            recv(requests) -> request => request.map_or(AwarenessSignal::Closed, AwarenessSignal::Request),
            recv(self.0.hints()) -> _ => AwarenessSignal::Changed,
            recv(time) -> _ => AwarenessSignal::TimedOut,
        }
    }
}

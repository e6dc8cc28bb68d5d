//! Watches several parts of the mesh at once, for a screen that follows all of it.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, after, select};

use crate::domain::{Agent, AgentName};
use crate::store::{Mesh, ProjectFeeds, WatchTarget};

use super::mesh_watcher::MeshWatcher;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// Why [`ScreenWatcher::wait`] returned.
#[derive(Debug)]
pub enum ScreenSignal<T> {
    /// A request from the channel.
    Request(T),
    /// The channel is closed: there will be no more requests.
    Closed,
    Changed(MeshPart),
    /// The time is over.
    TimedOut,
}

/// A part of the mesh.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MeshPart {
    Mail,
    Agents,
    /// A message was handed over to somebody.
    Receipts,
    Feed,
}

#[derive(Debug)]
pub struct ScreenWatcher<'a> {
    mail: MeshWatcher<'a>,
    agents: MeshWatcher<'a>,
    readers: MeshWatcher<'a>,
    feed: MeshWatcher<'a>,
    project: ProjectFeeds,
}

impl<'a> ScreenWatcher<'a> {
    /// Where changes raise no events, the caller looks every `poll_interval`.
    pub fn new(op: &'a Op, mesh: &'a Mesh, poll_interval: Duration) -> Self {
        let watcher = || MeshWatcher::new(op, mesh).polled_every(poll_interval);
        let project = ProjectFeeds::of(&op.cwd);
        Self { mail: watcher(), agents: watcher(), readers: watcher(), feed: watcher(), project }
    }

    /// Arms every watch that is not armed. Returns the parts that were not watched until now: the caller has to look at
    /// them.
    pub fn arm(&mut self, agent: &Agent, readers: &[AgentName]) -> Result<Vec<MeshPart>, CommandError> {
        let armed = [
            (self.agents.arm(WatchTarget::Agents)?, MeshPart::Agents),
            (self.mail.arm(WatchTarget::Mail(agent))?, MeshPart::Mail),
            (self.readers.arm(WatchTarget::Recipients(readers))?, MeshPart::Receipts),
            (self.feed.arm(WatchTarget::Feed(&self.project))?, MeshPart::Feed),
        ];
        Ok(armed.into_iter().filter_map(|(is_new, what)| is_new.then_some(what)).collect())
    }

    /// Whether every change raises an event. If not, the caller has to look now and then.
    pub fn sees_all_changes(&self) -> bool {
        [&self.mail, &self.agents, &self.readers, &self.feed]
            .into_iter()
            .all(|watcher| watcher.sees_all_changes())
    }

    /// Waits for a reason to look or a request, until `until` at the latest.
    pub fn wait<T>(&self, requests: &Receiver<T>, until: Instant) -> ScreenSignal<T> {
        let time = after(until.saturating_duration_since(Instant::now()).min(Duration::from_secs(3600)));
        select! {
            recv(requests) -> request => request.map_or(ScreenSignal::Closed, ScreenSignal::Request),
            recv(self.mail.hints()) -> _ => ScreenSignal::Changed(MeshPart::Mail),
            recv(self.agents.hints()) -> _ => ScreenSignal::Changed(MeshPart::Agents),
            recv(self.readers.hints()) -> _ => ScreenSignal::Changed(MeshPart::Receipts),
            recv(self.feed.hints()) -> _ => ScreenSignal::Changed(MeshPart::Feed),
            recv(time) -> _ => ScreenSignal::TimedOut,
        }
    }
}

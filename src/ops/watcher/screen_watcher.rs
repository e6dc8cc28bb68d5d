//! Watches several parts of the mesh at once, for a screen that follows all of it.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, after, select};

use crate::domain::{Agent, AgentName};
use crate::store::{Mesh, Project, WatchTarget};

use super::mesh_watcher::MeshWatcher;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// Why [`ScreenWatcher::wait`] returned.
#[derive(Debug)]
pub enum ScreenSignal<T> {
    /// A request from the channel.
    Errand(T),
    /// The channel is closed: there will be no more requests.
    Closed,
    Something(MeshPart),
    /// The time is over.
    Nothing,
}

/// A part of the mesh.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MeshPart {
    Mail,
    Crowd,
    /// A message was handed over to somebody.
    Readers,
    Feed,
}

#[derive(Debug)]
pub struct ScreenWatcher<'a> {
    mail: MeshWatcher<'a>,
    crowd: MeshWatcher<'a>,
    readers: MeshWatcher<'a>,
    feed: MeshWatcher<'a>,
    project: Project,
}

impl<'a> ScreenWatcher<'a> {
    pub fn new(op: &'a Op, mesh: &'a Mesh) -> Self {
        let ear = || MeshWatcher::new(op, mesh);
        let project = Project::of(&op.cwd);
        Self { mail: ear(), crowd: ear(), readers: ear(), feed: ear(), project }
    }

    /// Arms every watch that is not armed. Returns the parts that were not watched until now: the caller has to look at
    /// them.
    pub fn arm(&mut self, agent: &Agent, readers: &[AgentName]) -> Result<Vec<MeshPart>, CommandError> {
        let armed = [
            (self.crowd.arm(WatchTarget::Crowd)?, MeshPart::Crowd),
            (self.mail.arm(WatchTarget::Mail(agent))?, MeshPart::Mail),
            (self.readers.arm(WatchTarget::Readers(readers))?, MeshPart::Readers),
            (self.feed.arm(WatchTarget::Feed(&self.project))?, MeshPart::Feed),
        ];
        Ok(armed.into_iter().filter_map(|(is_new, what)| is_new.then_some(what)).collect())
    }

    /// Whether every change raises an event. If not, the caller has to look now and then.
    pub fn hears_all(&self) -> bool {
        [&self.mail, &self.crowd, &self.readers, &self.feed].into_iter().all(|ear| ear.hears_all())
    }

    /// Waits for a reason to look or a request, until `until` at the latest.
    pub fn wait<T>(&self, errands: &Receiver<T>, until: Instant) -> ScreenSignal<T> {
        let time = after(until.saturating_duration_since(Instant::now()).min(Duration::from_secs(3600)));
        select! {
            recv(errands) -> errand => errand.map_or(ScreenSignal::Closed, ScreenSignal::Errand),
            recv(self.mail.hints()) -> _ => ScreenSignal::Something(MeshPart::Mail),
            recv(self.crowd.hints()) -> _ => ScreenSignal::Something(MeshPart::Crowd),
            recv(self.readers.hints()) -> _ => ScreenSignal::Something(MeshPart::Readers),
            recv(self.feed.hints()) -> _ => ScreenSignal::Something(MeshPart::Feed),
            recv(time) -> _ => ScreenSignal::Nothing,
        }
    }
}

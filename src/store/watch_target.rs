//! What can be watched in a mesh. A watch only gives hints; callers then look at the directories.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::agents::session_hash::session_hash;
use super::error::StoreError;
use super::feed::ProjectFeeds;
use super::mesh::Mesh;
use crate::domain::runs::RunId;
use crate::domain::{Agent, AgentName, SessionId};
use crate::sys::watch::{DirWatch, Interest, WatchError};

/// What a caller wants to be notified of.
#[derive(Clone, Copy, Debug)]
pub enum WatchTarget<'a> {
    /// Mail for an agent.
    Inbox(&'a Agent),
    /// An agent's unread, seen and sent mail.
    Mail(&'a Agent),
    /// Registrations, presence and claims.
    Agents,
    /// That any of these agents received something.
    Recipients(&'a [AgentName]),
    /// The files that [`Mesh::fingerprint`] looks at.
    Fingerprint(Option<&'a Agent>),
    /// The files of a run.
    Run(&'a RunId),
    /// What is known of a run on another machine.
    RunElsewhere(&'a RunId),
    /// What hooks record about a session, and of a run its record, its worker and the turns of that.
    Hooks(&'a SessionId, Option<&'a RunId>),
    /// What is recorded of agents' headings, and the mesh's feed.
    Awareness,
    /// The mesh's feed, and that of the project.
    Feed(&'a ProjectFeeds),
}

impl Mesh {
    /// Starts a watch. It must be started before the directories are read, so that no change is missed.
    pub fn watch(&self, target: WatchTarget<'_>) -> Result<Result<DirWatch, WatchError>, StoreError> {
        let interest = match target {
            WatchTarget::Inbox(_) | WatchTarget::Feed(_) => Interest::Arrivals,
            _ => Interest::Changes,
        };
        let dirs = self.directories(target)?;
        let WatchTarget::Hooks(session, run) = target else { return Ok(DirWatch::arm(&dirs, interest)) };
        // Every hook of every session writes to the one, and the supervisor writes the screen of its worker to the other.
        let (hooks, own) = (self.layout.hooks(), format!("{}.", session_hash(session)));
        let run = run.map(|id| self.layout.run(id));
        Ok(DirWatch::arm_for(&dirs, interest, move |path| {
            let name = path.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
            match path.parent() {
                Some(dir) if dir == hooks => name.starts_with(own.as_bytes()),
                Some(dir) if Some(dir) == run.as_deref() => tells_of_worker(name),
                _ => true,
            }
        }))
    }

    /// Whether the watch still covers the right directories.
    pub fn is_sound(&self, watch: &DirWatch, target: WatchTarget<'_>) -> Result<bool, StoreError> {
        Ok(watch.is_sound(&self.directories(target)?))
    }

    /// The directories to watch. The first one must exist. Others may appear later, so they are looked up each time.
    fn directories(&self, target: WatchTarget<'_>) -> Result<Vec<PathBuf>, StoreError> {
        let layout = &self.layout;
        let mut dirs = match target {
            WatchTarget::Inbox(agent) => {
                self.inboxes().names_of(agent)?.iter().map(|name| layout.inbox(name)).collect()
            }
            WatchTarget::Mail(agent) => {
                let names = self.inboxes().names_of(agent)?;
                let inboxes = names.iter().map(|name| layout.inbox(name));
                let handed_over = names.iter().map(|name| layout.seen(name));
                // Until something has been sent, watch the parent directory.
                let sent = [layout.sent(&agent.name), layout.directory("sent"), layout.root().to_path_buf()];
                let sent = sent.into_iter().find(|dir| dir.is_dir());
                inboxes.chain(handed_over).chain(sent).collect()
            }
            WatchTarget::Agents => {
                let own = [layout.registry(), layout.directory("presence"), layout.root().to_path_buf()];
                let is_linked = layout.directory("remote").is_dir();
                let elsewhere = ["agents", "presence"].into_iter().filter(|_| is_linked);
                own.into_iter().chain(elsewhere.map(|dir| layout.remote(dir))).collect()
            }
            WatchTarget::Recipients(names) => {
                let handed_over = names.iter().map(|name| layout.seen(name));
                let around = [layout.root().to_path_buf(), layout.directory("seen")];
                around.into_iter().chain(handed_over).collect::<Vec<PathBuf>>()
            }
            WatchTarget::Fingerprint(agent) => {
                let names =
                    agent.map(|agent| self.inboxes().names_of(agent)).transpose()?.unwrap_or_default();
                let inboxes = names.into_iter().map(|name| layout.inbox(name));
                [layout.root().to_path_buf(), layout.registry()].into_iter().chain(inboxes).collect()
            }
            WatchTarget::Run(id) => vec![layout.run(id)],
            WatchTarget::RunElsewhere(id) => vec![self.remote().run_directory(id)],
            WatchTarget::Hooks(_, run) => {
                // Until there are hooks, watch the parent directory.
                let hooks = Some(layout.hooks()).filter(|dir| dir.is_dir());
                let hooks = hooks.unwrap_or_else(|| layout.root().to_path_buf());
                std::iter::once(hooks).chain(run.map(|id| layout.run(id))).collect()
            }
            WatchTarget::Awareness => {
                // Until there are both, watch the parent directory.
                let dirs = [layout.directory("awareness"), layout.feed()];
                let root = dirs.iter().any(|dir| !dir.is_dir()).then(|| layout.root().to_path_buf());
                root.into_iter().chain(dirs.into_iter().filter(|dir| dir.is_dir())).collect()
            }
            WatchTarget::Feed(project) => {
                // Until there is a feed, watch the parent directory.
                let feed = Some(layout.feed()).filter(|feed| feed.is_dir());
                let own = feed.unwrap_or_else(|| layout.root().to_path_buf());
                std::iter::once(own).chain(project.dirs()).chain([layout.remote("feed")]).collect()
            }
        };
        let mut place = 0;
        dirs.retain(|dir| {
            place += 1;
            place == 1 || dir.is_dir()
        });
        Ok(dirs)
    }
}

/// Whether a file of a run with this name says how its worker gets on. The supervisor keeps the last screen there too, every
/// few seconds.
fn tells_of_worker(name: &[u8]) -> bool {
    name.starts_with(b"run") || [&b"turns.json"[..], b"agent"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_not_woken_by_what_a_supervisor_keeps() {
        assert!(["run.json", "turns.json", "agent"].iter().all(|name| tells_of_worker(name.as_bytes())));
        assert!(!["screen.txt", "output", "turns.lock"].iter().any(|name| tells_of_worker(name.as_bytes())));
    }
}

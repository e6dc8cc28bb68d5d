//! Whether a session is working or idle, as reported by its hooks, and which process waits to wake it.
//!
//! ```text
//! hooks/<session>.working   a turn is in progress
//! hooks/<session>.resting   it is idle and waits for its user
//! hooks/<session>.roused    somebody is waking it
//! hooks/<session>.unasked   at its last hook it was in a mode that acts without asking the user for permission
//! hooks/<session>.waiter    the process that waits for mail while the session is idle
//! hooks/<session>.server    a server of ours among the session's own processes, which can wake it, too
//! hooks/<session>.ping      a request to the waiter to show that it works; it answers by renaming this file to `pong`
//! ```
//!
//! The first three are one file under three names. The process that renames `resting` to `roused` wakes the session, so
//! of twenty messages at once only one does. If no turn follows within `ROUSING`, that process died or was not heard,
//! and the session counts as idle again.
//!
//! The end of a turn is recorded before its hook looks for mail, so a message that comes later finds an idle session,
//! and its sender wakes it.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::error::StoreError;
use super::layout::session_hash;
use super::mesh::Mesh;
use super::wire::process::{ProcessKey, recorded};
use crate::domain::{Agent, Liveness, RecordedProcess, SessionId};
use crate::sys::files::{self, FileStamp};
use crate::sys::{clock, process};

/// How long a session may take from being woken to its turn. Codex looks for prompts every ten seconds.
const ROUSING: Duration = Duration::from_secs(30);

/// What a session is doing, as reported by its hooks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SessionState {
    Working,
    Idle,
    /// No hook has reported anything.
    Unknown,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct WaiterKeys {
    pid: i64,
    process: Option<ProcessKey>,
}

/// A server of ours among the processes of a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionServer {
    pub process: RecordedProcess,
    /// Whether its client accepts notifications from it (a channel).
    pub has_channel: bool,
}

#[derive(serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct AttendantKeys {
    pid: i64,
    process: Option<ProcessKey>,
    #[serde(default)]
    has_channel: bool,
}

impl Mesh {
    pub fn activity(&self, session: &SessionId) -> Result<SessionState, StoreError> {
        if files::exists(&self.hook_file(session, "resting"))? {
            return Ok(SessionState::Idle);
        }
        if let Some(age) = self.roused_for(session)? {
            return Ok(if age > ROUSING { SessionState::Idle } else { SessionState::Working });
        }
        let is_working = files::exists(&self.hook_file(session, "working"))?;
        Ok(if is_working { SessionState::Working } else { SessionState::Unknown })
    }

    /// How long ago a process started to wake the session, if no turn has begun since.
    fn roused_for(&self, session: &SessionId) -> Result<Option<Duration>, StoreError> {
        let metadata = files::metadata(&self.hook_file(session, "roused"))?;
        Ok(metadata.and_then(|metadata| metadata.modified().ok()).map(clock::age))
    }

    /// Records that a turn begins.
    pub fn note_working(&self, session: &SessionId) -> Result<(), StoreError> {
        self.note(session, ["resting", "roused"], "working")
    }

    /// Records that a turn ends.
    pub fn note_resting(&self, session: &SessionId) -> Result<(), StoreError> {
        self.note(session, ["working", "roused"], "resting")
    }

    /// Makes a session idle again that nobody woke after all. `false`: it is not being woken any more, because a turn
    /// has begun.
    pub fn rest_again(&self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(self.files.take(&self.hook_file(session, "roused"), &self.hook_file(session, "resting"))?)
    }

    fn note(&self, session: &SessionId, before: [&str; 2], now: &str) -> Result<(), StoreError> {
        let now = self.hook_file(session, now);
        for before in before {
            if self.files.take(&self.hook_file(session, before), &now)? {
                return Ok(());
            }
        }
        self.make_hooks_dir()?;
        Ok(files::touch(&now)?)
    }

    /// Since when the current turn is known.
    pub fn working_since(&self, session: &SessionId) -> Result<Option<SystemTime>, StoreError> {
        let metadata = files::metadata(&self.hook_file(session, "working"))?;
        // The rename that begins a turn changes the file's ctime, not its mtime.
        Ok(metadata.map(|metadata| FileStamp::of(&metadata).newest()))
    }

    /// Records whether the session acts without asking the user for permission.
    pub fn note_unasked(&self, session: &SessionId, is_unasked: bool) -> Result<(), StoreError> {
        let mark = self.hook_file(session, "unasked");
        match (is_unasked, files::exists(&mark)?) {
            (true, false) => {
                self.make_hooks_dir()?;
                files::touch(&mark)?;
            }
            (false, true) => _ = files::remove(&mark)?,
            _ => {}
        }
        Ok(())
    }

    pub fn is_unasked(&self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(files::exists(&self.hook_file(session, "unasked"))?)
    }

    /// Claims the right to wake an idle session. `false`: it is not idle, or another process was first.
    pub fn rouse(&self, session: &SessionId) -> Result<bool, StoreError> {
        let (roused, resting) = (self.hook_file(session, "roused"), self.hook_file(session, "resting"));
        if self.roused_for(session)?.is_some_and(|age| age > ROUSING) {
            self.files.take(&roused, &resting)?;
        }
        // The time is set before the rename, so that the age of `roused` is never too high.
        Ok(files::refresh(&resting)? && self.files.take(&resting, &roused)?)
    }

    /// Whether somebody is waking it and no turn has begun since.
    pub fn is_roused(&self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(files::exists(&self.hook_file(session, "roused"))?)
    }

    /// Makes this process the waiter of that session. An earlier waiter sees that and ends.
    pub fn begin_waiting(&self, session: &SessionId) -> Result<(), StoreError> {
        let own = own();
        let keys = WaiterKeys { pid: i64::from(own.pid().get()), process: ProcessKey::of(&own) };
        self.make_hooks_dir()?;
        Ok(self.files.replace(&self.hook_file(session, "waiter"), &super::wire::pretty(&keys))?)
    }

    /// Whether this process is still the waiter of that session.
    pub fn is_waiting(&self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(self.waiter(session)? == Some(own()))
    }

    /// The waiter of that session. It may be dead by now.
    pub fn waiter(&self, session: &SessionId) -> Result<Option<RecordedProcess>, StoreError> {
        let bytes = files::read_note(&self.hook_file(session, "waiter"))?;
        let keys = bytes.and_then(|bytes| serde_json::from_slice::<WaiterKeys>(&bytes).ok());
        // An unreadable file counts as no waiter: at worst, mail comes with the next prompt.
        Ok(keys.and_then(|keys| recorded(keys.pid, keys.process, None).ok()))
    }

    /// Registers this process, one of the session's own, as able to wake it. If there are several, the first one that
    /// is alive is enough.
    pub fn attend(&self, session: &SessionId, has_channel: bool) -> Result<(), StoreError> {
        let now = SessionServer { process: own(), has_channel };
        let is_enough = |there: &SessionServer| {
            *there == now
                || there.process != now.process && process::liveness(&there.process) == Liveness::Alive
        };
        if self.attendant(session)?.as_ref().is_some_and(is_enough) {
            return Ok(());
        }
        let pid = i64::from(now.process.pid().get());
        let keys = AttendantKeys { pid, process: ProcessKey::of(&now.process), has_channel };
        self.make_hooks_dir()?;
        Ok(self.files.replace(&self.hook_file(session, "server"), &super::wire::pretty(&keys))?)
    }

    /// The server that attends the session. It may be dead by now.
    pub fn attendant(&self, session: &SessionId) -> Result<Option<SessionServer>, StoreError> {
        let bytes = files::read_note(&self.hook_file(session, "server"))?;
        let keys = bytes.and_then(|bytes| serde_json::from_slice::<AttendantKeys>(&bytes).ok());
        Ok(keys.and_then(|keys| {
            let process = recorded(keys.pid, keys.process, None).ok()?;
            Some(SessionServer { process, has_channel: keys.has_channel })
        }))
    }

    /// Asks the waiter of that session to answer.
    pub fn ping(&self, agent: &Agent) -> Result<(), StoreError> {
        self.make_hooks_dir()?;
        files::remove(&self.hook_file(&agent.session, "pong"))?;
        files::touch(&self.hook_file(&agent.session, "ping"))?;
        // The waiter watches the inbox.
        Ok(files::touch_dir(&self.layout.inbox(&agent.name))?)
    }

    pub fn answer_ping(&self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(self.files.take(&self.hook_file(session, "ping"), &self.hook_file(session, "pong"))?)
    }

    /// Whether the waiter has answered. Removes the answer.
    pub fn take_pong(&self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(files::remove(&self.hook_file(session, "pong"))?)
    }

    pub fn take_back_ping(&self, session: &SessionId) -> Result<(), StoreError> {
        files::remove(&self.hook_file(session, "ping"))?;
        Ok(())
    }

    pub(super) fn hook_file(&self, session: &SessionId, kind: &str) -> PathBuf {
        self.layout.hooks().join(format!("{}.{kind}", session_hash(session)))
    }
}

fn own() -> RecordedProcess {
    let pid = process::own_pid();
    process::identify(pid).map_or(RecordedProcess::bare(pid), RecordedProcess::Pinned)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;
    use crate::domain::settings::Durability;
    use crate::store::{MeshLocation, MeshOptions};

    const MANY: usize = 20;

    fn mesh(dir: &tempfile::TempDir) -> Mesh {
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(1) };
        Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap()
    }

    #[test]
    fn of_many_who_would_wake_it_one_does() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, session) = (mesh(&dir), SessionId::new("one").unwrap());
        assert!(!mesh.rouse(&session).unwrap(), "nobody knows whether it rests");
        for _ in 0..50 {
            mesh.note_resting(&session).unwrap();
            let start = Barrier::new(MANY);
            let rouse = || {
                start.wait();
                mesh.rouse(&session).unwrap()
            };
            let woke = std::thread::scope(|scope| {
                let all: Vec<_> = (0..MANY).map(|_| scope.spawn(rouse)).collect();
                all.into_iter().map(|one| one.join().unwrap()).filter(|woke| *woke).count()
            });
            assert_eq!(woke, 1);
            assert_eq!(mesh.activity(&session).unwrap(), SessionState::Working);
        }
    }

    #[test]
    fn only_a_session_that_is_being_woken_rests_again() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, session) = (mesh(&dir), SessionId::new("one").unwrap());
        mesh.note_resting(&session).unwrap();
        assert!(mesh.rouse(&session).unwrap());
        assert!(mesh.rest_again(&session).unwrap());
        assert_eq!(mesh.activity(&session).unwrap(), SessionState::Idle);
        assert!(mesh.rouse(&session).unwrap());
        mesh.note_working(&session).unwrap();
        assert!(!mesh.rest_again(&session).unwrap());
        assert_eq!(mesh.activity(&session).unwrap(), SessionState::Working);
    }

    #[test]
    fn whoever_waits_last_waits() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, session) = (mesh(&dir), SessionId::new("one").unwrap());
        assert!(!mesh.is_waiting(&session).unwrap());
        mesh.begin_waiting(&session).unwrap();
        assert!(mesh.is_waiting(&session).unwrap());
        let other = WaiterKeys { pid: 1, process: None };
        let file = mesh.hook_file(&session, "waiter");
        mesh.files.replace(&file, &super::super::wire::pretty(&other)).unwrap();
        assert!(!mesh.is_waiting(&session).unwrap());
        mesh.files.replace(&file, b"{\"pid\"").unwrap();
        assert_eq!(mesh.waiter(&session).unwrap(), None);
    }
}

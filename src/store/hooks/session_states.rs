//! Whether a session is working or idle, as reported by its hooks, and which process waits to wake it.
//!
//! ```text
//! hooks/<session>.working   a turn is in progress
//! hooks/<session>.resting   it is idle and waits for its user
//! hooks/<session>.roused    somebody is waking it
//! hooks/<session>.unasked   at its last hook it was in a mode that acts without asking the user for permission
//! hooks/<session>.planning  at its last hook it was in a mode that only reads
//! hooks/<session>.waiter    the process that waits for mail while the session is idle
//! hooks/<session>.server    a server of ours among the session's own processes, which can wake it, too
//! hooks/<session>.ping      a request to the waiter to show that it works; it answers by renaming this file to `pong`
//! ```
//!
//! The first three are one file under three names. The process that renames `resting` to `roused` wakes the session, so
//! of twenty messages at once only one does. If no turn follows within `WAKE_TIMEOUT`, that process died or was not
//! heard, and the session counts as idle again.
//!
//! The end of a turn is recorded before its hook looks for mail, so a message that comes later finds an idle session,
//! and its sender wakes it.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::domain::hook::PermissionMode;
use crate::domain::{Agent, Liveness, RecordedProcess, SessionId};
use crate::store::agents::session_hash::session_hash;
use crate::store::error::StoreError;
use crate::store::handles::{HookStates, SessionStates};
use crate::store::wire::process::{ProcessKey, recorded};
use crate::sys::files::{self, FileStamp};
use crate::sys::{clock, process};

/// How long a session may take from being woken to its turn. A harness may look for prompts every ten seconds only.
const WAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// The modes that have a mark of their own. Without one, the session asks.
const MARKED_MODES: [(PermissionMode, &str); 2] =
    [(PermissionMode::Bypasses, "unasked"), (PermissionMode::Plans, "planning")];

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

/// Whether the client of a server accepts notifications from it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChannelState {
    Closed,
    Open,
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

impl SessionStates<'_> {
    pub fn get(self, session: &SessionId) -> Result<SessionState, StoreError> {
        if files::exists(&self.mesh.hooks().file(session, "resting"))? {
            return Ok(SessionState::Idle);
        }
        if let Some(age) = self.roused_for(session)? {
            return Ok(if age > WAKE_TIMEOUT { SessionState::Idle } else { SessionState::Working });
        }
        let is_working = files::exists(&self.mesh.hooks().file(session, "working"))?;
        Ok(if is_working { SessionState::Working } else { SessionState::Unknown })
    }

    /// How long ago a process started to wake the session, if no turn has begun since.
    fn roused_for(self, session: &SessionId) -> Result<Option<Duration>, StoreError> {
        let metadata = files::metadata(&self.mesh.hooks().file(session, "roused"))?;
        Ok(metadata.and_then(|metadata| metadata.modified().ok()).map(clock::age))
    }

    /// Records that a turn begins.
    pub fn set_working(self, session: &SessionId) -> Result<(), StoreError> {
        self.note(session, ["resting", "roused"], "working")
    }

    /// Records that a turn ends.
    pub fn set_idle(self, session: &SessionId) -> Result<(), StoreError> {
        self.note(session, ["working", "roused"], "resting")
    }

    /// Makes a session idle again that nobody woke after all. `false`: it is not being woken any more, because a turn
    /// has begun.
    pub fn set_idle_again(self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(self
            .mesh
            .files
            .take(&self.mesh.hooks().file(session, "roused"), &self.mesh.hooks().file(session, "resting"))?)
    }

    fn note(self, session: &SessionId, before: [&str; 2], now: &str) -> Result<(), StoreError> {
        let now = self.mesh.hooks().file(session, now);
        for before in before {
            if self.mesh.files.take(&self.mesh.hooks().file(session, before), &now)? {
                return Ok(());
            }
        }
        self.mesh.hooks().make_dir()?;
        Ok(files::touch(&now)?)
    }

    /// Since when the current turn is known.
    pub fn working_since(self, session: &SessionId) -> Result<Option<SystemTime>, StoreError> {
        let metadata = files::metadata(&self.mesh.hooks().file(session, "working"))?;
        // The rename that begins a turn changes the file's ctime, not its mtime.
        Ok(metadata.map(|metadata| FileStamp::of(&metadata).newest()))
    }

    /// Since when it is known to be idle.
    pub fn idle_since(self, session: &SessionId) -> Result<Option<SystemTime>, StoreError> {
        let metadata = files::metadata(&self.mesh.hooks().file(session, "resting"))?;
        Ok(metadata.map(|metadata| FileStamp::of(&metadata).newest()))
    }

    /// Records whether the session acts without asking the user for permission, or only reads.
    pub fn set_permission_mode(self, session: &SessionId, mode: PermissionMode) -> Result<(), StoreError> {
        for (of, name) in MARKED_MODES {
            let mark = self.mesh.hooks().file(session, name);
            match (mode == of, files::exists(&mark)?) {
                (true, false) => {
                    self.mesh.hooks().make_dir()?;
                    files::touch(&mark)?;
                }
                (false, true) => _ = files::remove(&mark)?,
                _ => {}
            }
        }
        Ok(())
    }

    pub fn permission_mode(self, session: &SessionId) -> Result<PermissionMode, StoreError> {
        for (mode, name) in MARKED_MODES {
            if files::exists(&self.mesh.hooks().file(session, name))? {
                return Ok(mode);
            }
        }
        Ok(PermissionMode::Asks)
    }

    /// Claims the right to wake an idle session. `false`: it is not idle, or another process was first.
    pub fn claim_wake(self, session: &SessionId) -> Result<bool, StoreError> {
        let (roused, resting) =
            (self.mesh.hooks().file(session, "roused"), self.mesh.hooks().file(session, "resting"));
        if self.roused_for(session)?.is_some_and(|age| age > WAKE_TIMEOUT) {
            self.mesh.files.take(&roused, &resting)?;
        }
        // The time is set before the rename, so that the age of `roused` is never too high.
        Ok(files::refresh(&resting)? && self.mesh.files.take(&resting, &roused)?)
    }

    /// Whether somebody is waking it and no turn has begun since.
    pub fn is_being_woken(self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(files::exists(&self.mesh.hooks().file(session, "roused"))?)
    }

    /// Makes this process the waiter of that session. An earlier waiter sees that and ends.
    pub fn begin_waiting(self, session: &SessionId) -> Result<(), StoreError> {
        let own = own();
        let keys = WaiterKeys { pid: i64::from(own.pid().get()), process: ProcessKey::of(&own) };
        self.mesh.hooks().make_dir()?;
        Ok(self
            .mesh
            .files
            .replace(&self.mesh.hooks().file(session, "waiter"), &crate::store::wire::pretty(&keys))?)
    }

    /// Whether this process is still the waiter of that session.
    pub fn is_waiting(self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(self.waiter(session)? == Some(own()))
    }

    /// The waiter of that session. It may be dead by now.
    pub fn waiter(self, session: &SessionId) -> Result<Option<RecordedProcess>, StoreError> {
        let bytes = files::read_note(&self.mesh.hooks().file(session, "waiter"))?;
        let keys = bytes.and_then(|bytes| serde_json::from_slice::<WaiterKeys>(&bytes).ok());
        // An unreadable file counts as no waiter: at worst, mail comes with the next prompt.
        Ok(keys.and_then(|keys| recorded(keys.pid, keys.process, None).ok()))
    }

    /// Registers this process, one of the session's own, as able to wake it. If there are several, the first one that
    /// is alive is enough.
    pub fn set_server(self, session: &SessionId, channel: ChannelState) -> Result<(), StoreError> {
        let has_channel = channel == ChannelState::Open;
        let now = SessionServer { process: own(), has_channel };
        let is_enough = |there: &SessionServer| {
            *there == now
                || there.process != now.process && process::liveness(&there.process) == Liveness::Alive
        };
        if self.server(session)?.as_ref().is_some_and(is_enough) {
            return Ok(());
        }
        let pid = i64::from(now.process.pid().get());
        let keys = AttendantKeys { pid, process: ProcessKey::of(&now.process), has_channel };
        self.mesh.hooks().make_dir()?;
        Ok(self
            .mesh
            .files
            .replace(&self.mesh.hooks().file(session, "server"), &crate::store::wire::pretty(&keys))?)
    }

    /// The server that attends the session. It may be dead by now.
    pub fn server(self, session: &SessionId) -> Result<Option<SessionServer>, StoreError> {
        let bytes = files::read_note(&self.mesh.hooks().file(session, "server"))?;
        let keys = bytes.and_then(|bytes| serde_json::from_slice::<AttendantKeys>(&bytes).ok());
        Ok(keys.and_then(|keys| {
            let process = recorded(keys.pid, keys.process, None).ok()?;
            Some(SessionServer { process, has_channel: keys.has_channel })
        }))
    }

    /// Asks the waiter of that session to answer.
    pub fn ping(self, agent: &Agent) -> Result<(), StoreError> {
        self.mesh.hooks().make_dir()?;
        files::remove(&self.mesh.hooks().file(&agent.session, "pong"))?;
        files::touch(&self.mesh.hooks().file(&agent.session, "ping"))?;
        // The waiter watches the inbox.
        Ok(files::touch_dir(&self.mesh.layout.inbox(&agent.name))?)
    }

    pub fn answer_ping(self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(self
            .mesh
            .files
            .take(&self.mesh.hooks().file(session, "ping"), &self.mesh.hooks().file(session, "pong"))?)
    }

    /// Whether the waiter has answered. Removes the answer.
    pub fn take_pong(self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(files::remove(&self.mesh.hooks().file(session, "pong"))?)
    }

    pub fn cancel_ping(self, session: &SessionId) -> Result<(), StoreError> {
        files::remove(&self.mesh.hooks().file(session, "ping"))?;
        Ok(())
    }
}

impl HookStates<'_> {
    pub(in crate::store) fn file(self, session: &SessionId, kind: &str) -> PathBuf {
        self.mesh.layout.hooks().join(format!("{}.{kind}", session_hash(session)))
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
    use crate::store::{Mesh, MeshLocation, MeshOptions};

    const MANY: usize = 20;

    fn mesh(dir: &tempfile::TempDir) -> Mesh {
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(1) };
        Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap()
    }

    #[test]
    fn of_many_who_would_wake_it_one_does() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, session) = (mesh(&dir), SessionId::new("one").unwrap());
        assert!(!mesh.session_states().claim_wake(&session).unwrap(), "nobody knows whether it rests");
        for _ in 0..50 {
            mesh.session_states().set_idle(&session).unwrap();
            let start = Barrier::new(MANY);
            let rouse = || {
                start.wait();
                mesh.session_states().claim_wake(&session).unwrap()
            };
            let woke = std::thread::scope(|scope| {
                let all: Vec<_> = (0..MANY).map(|_| scope.spawn(rouse)).collect();
                all.into_iter().map(|one| one.join().unwrap()).filter(|woke| *woke).count()
            });
            assert_eq!(woke, 1);
            assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Working);
        }
    }

    #[test]
    fn only_a_session_that_is_being_woken_rests_again() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, session) = (mesh(&dir), SessionId::new("one").unwrap());
        mesh.session_states().set_idle(&session).unwrap();
        assert!(mesh.session_states().claim_wake(&session).unwrap());
        assert!(mesh.session_states().set_idle_again(&session).unwrap());
        assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Idle);
        assert!(mesh.session_states().claim_wake(&session).unwrap());
        mesh.session_states().set_working(&session).unwrap();
        assert!(!mesh.session_states().set_idle_again(&session).unwrap());
        assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Working);
    }

    #[test]
    fn whoever_waits_last_waits() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, session) = (mesh(&dir), SessionId::new("one").unwrap());
        assert!(!mesh.session_states().is_waiting(&session).unwrap());
        mesh.session_states().begin_waiting(&session).unwrap();
        assert!(mesh.session_states().is_waiting(&session).unwrap());
        let other = WaiterKeys { pid: 1, process: None };
        let file = mesh.hooks().file(&session, "waiter");
        mesh.files.replace(&file, &crate::store::wire::pretty(&other)).unwrap();
        assert!(!mesh.session_states().is_waiting(&session).unwrap());
        mesh.files.replace(&file, b"{\"pid\"").unwrap();
        assert_eq!(mesh.session_states().waiter(&session).unwrap(), None);
    }
}

//! Whether a session is at work or rests, as its hooks tell, and who waits at its side while it rests.
//!
//! ```text
//! hooks/<session>.working   a turn of it is under way
//! hooks/<session>.resting   it waits for its user
//! hooks/<session>.waiter    the process that waits for mail meanwhile
//! ```
//!
//! The first two are one file under two names. Whoever renames `resting` to `working` is the one who wakes the session:
//! of twenty messages at once, one does.

use std::path::PathBuf;

use super::error::StoreError;
use super::layout::session_hash;
use super::mesh::Mesh;
use super::wire::process::{ProcessKey, recorded};
use crate::domain::{Recorded, SessionId};
use crate::sys::{files, process};

/// What a session is at, as far as its hooks told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Activity {
    Working,
    Resting,
    /// No hook of it ever told.
    Unknown,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct WaiterKeys {
    pid: i64,
    process: Option<ProcessKey>,
}

impl Mesh {
    pub fn activity(&self, session: &SessionId) -> Result<Activity, StoreError> {
        if files::exists(&self.hook_file(session, "resting"))? {
            return Ok(Activity::Resting);
        }
        let is_working = files::exists(&self.hook_file(session, "working"))?;
        Ok(if is_working { Activity::Working } else { Activity::Unknown })
    }

    /// A turn begins.
    pub fn note_working(&self, session: &SessionId) -> Result<(), StoreError> {
        if !self.rouse(session)? {
            self.make_hooks_dir()?;
            files::touch(&self.hook_file(session, "working"))?;
        }
        Ok(())
    }

    /// A turn ends.
    pub fn note_resting(&self, session: &SessionId) -> Result<(), StoreError> {
        let (working, resting) = (self.hook_file(session, "working"), self.hook_file(session, "resting"));
        if !self.files.take(&working, &resting)? {
            self.make_hooks_dir()?;
            files::touch(&resting)?;
        }
        Ok(())
    }

    /// Takes it upon us to wake a session that rests. `false`: it doesn't rest, or somebody else was first.
    pub fn rouse(&self, session: &SessionId) -> Result<bool, StoreError> {
        let (working, resting) = (self.hook_file(session, "working"), self.hook_file(session, "resting"));
        Ok(self.files.take(&resting, &working)?)
    }

    /// From now on this process waits at the side of that session; one that did before sees that it is not needed any
    /// more.
    pub fn begin_waiting(&self, session: &SessionId) -> Result<(), StoreError> {
        let own = own();
        let keys = WaiterKeys { pid: i64::from(own.pid().get()), process: ProcessKey::of(&own) };
        self.make_hooks_dir()?;
        Ok(self.files.replace(&self.hook_file(session, "waiter"), &super::wire::pretty(&keys))?)
    }

    /// Is it still us who wait at the side of that session?
    pub fn is_waiting(&self, session: &SessionId) -> Result<bool, StoreError> {
        Ok(self.waiter(session)? == Some(own()))
    }

    /// Who waits at the side of that session. It may be gone by now.
    pub fn waiter(&self, session: &SessionId) -> Result<Option<Recorded>, StoreError> {
        let bytes = files::read(&self.hook_file(session, "waiter"))?;
        let keys = bytes.and_then(|bytes| serde_json::from_slice::<WaiterKeys>(&bytes).ok());
        // What can't be read is nobody: the worst that follows is mail that comes with the next prompt.
        Ok(keys.and_then(|keys| recorded(keys.pid, keys.process).ok()))
    }

    pub(super) fn hook_file(&self, session: &SessionId, kind: &str) -> PathBuf {
        self.layout.hooks().join(format!("{}.{kind}", session_hash(session)))
    }
}

fn own() -> Recorded {
    let pid = process::own_pid();
    process::identify(pid).map_or(Recorded::Bare(pid), Recorded::Pinned)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;
    use crate::domain::settings::Durability;
    use crate::store::{Location, Options};

    const MANY: usize = 20;

    fn mesh(dir: &tempfile::TempDir) -> Mesh {
        let options = Options { durability: Durability::Process, lock_timeout: Duration::from_secs(1) };
        Mesh::create(&Location::at(&dir.path().join("mesh")), options).unwrap()
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
            assert_eq!(mesh.activity(&session).unwrap(), Activity::Working);
        }
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

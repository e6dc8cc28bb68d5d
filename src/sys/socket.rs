//! Sending a text to a Unix socket on which another process of the same user listens, with a time limit.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{directory_trust, files};
use crate::domain::Pid;

/// A connection to a verified process, with a deadline.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    until: Instant,
}

/// What became of a text that was sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SocketSendResult {
    /// The other side has read it and closed the connection.
    Heard,
    /// It was written, and is read when the other side gets to it, if ever.
    Unheard,
}

/// Why a text could not be sent to a socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("its socket has no place")]
    NoPlace,
    #[error("there is no socket")]
    Absent,
    #[error("what is there is not a socket of msg")]
    NotOurs,
    #[error("it accepts no connections")]
    Full,
    #[error("another process listens there")]
    AnotherListener,
    #[error(transparent)]
    Unsafe(#[from] directory_trust::UnsafeDirectory),
    #[error(transparent)]
    File(#[from] files::FileError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Connects to the socket at that path. It must be the user's, in a directory where nobody else could have put it, and
/// `listener` must be the process that listens.
pub fn connect(path: &Path, listener: Pid, limit: Duration) -> Result<Connection, SocketError> {
    let until = Instant::now() + limit;
    let path = checked(path)?;
    let (sender, receiver) = mpsc::sync_channel(1);
    // If the listener's queue is full, `connect` blocks. After `limit`, nobody receives its result.
    std::thread::spawn(move || drop(sender.send(UnixStream::connect(path))));
    let stream = receiver.recv_timeout(limit).map_err(|_| SocketError::Full)??;
    if peer(&stream) != Some(listener) {
        return Err(SocketError::AnotherListener);
    }
    Ok(Connection { stream, until })
}

impl Connection {
    /// Sends the text, and waits until the other side has read it.
    pub fn say(mut self, text: &str) -> Result<SocketSendResult, SocketError> {
        let said = self.stream.set_write_timeout(Some(self.left()));
        let said = said.and_then(|()| self.stream.write_all(text.as_bytes()));
        said.and_then(|()| self.stream.shutdown(Shutdown::Write))?;
        Ok(if self.is_closed() { SocketSendResult::Heard } else { SocketSendResult::Unheard })
    }

    /// Waits until the other side has closed. Ignores what it sends until then.
    fn is_closed(&mut self) -> bool {
        let mut answer = [0; 512];
        while Instant::now() < self.until {
            let read = self.stream.set_read_timeout(Some(self.left()));
            match read.and_then(|()| self.stream.read(&mut answer)) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // If it closed without reading everything, it has not received the text.
                Err(_) => return false,
            }
        }
        false
    }

    /// The remaining time, at least 1 ms, because zero would mean no limit.
    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }
}

/// The real path of the socket, if nobody but us could have put it there.
fn checked(path: &Path) -> Result<PathBuf, SocketError> {
    let (Some(dir), Some(name)) = (path.parent().filter(|_| path.is_absolute()), path.file_name()) else {
        return Err(SocketError::NoPlace);
    };
    let safe = directory_trust::inspect(dir)?.ok_or(SocketError::Absent)??;
    let path = safe.real.join(name);
    let metadata = files::link_metadata(&path)?.ok_or(SocketError::Absent)?;
    if !metadata.file_type().is_socket() || metadata.uid() != nix::unistd::geteuid().as_raw() {
        return Err(SocketError::NotOurs);
    }
    Ok(path)
}

/// The process at the other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn peer(stream: &impl AsFd) -> Option<Pid> {
    let credentials = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::PeerCredentials);
    Pid::new(credentials.ok()?.pid().into()).ok()
}

#[cfg(target_vendor = "apple")]
pub fn peer(stream: &impl AsFd) -> Option<Pid> {
    let pid = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::LocalPeerPid);
    Pid::new(pid.ok()?.into()).ok()
}

/// On other systems the process is not known.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub fn peer(_: &impl AsFd) -> Option<Pid> {
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::sys::process::own_pid;

    const LIMIT: Duration = Duration::from_millis(200);

    fn refusal(path: &Path, listener: Pid) -> String {
        connect(path, listener, LIMIT).unwrap_err().to_string()
    }

    #[test]
    fn what_is_said_is_heard() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let heard = std::thread::spawn(move || {
            let mut heard = String::new();
            listener.accept().unwrap().0.read_to_string(&mut heard).unwrap();
            heard
        });
        let connection = connect(&path, own_pid(), Duration::from_secs(60)).unwrap();
        assert_eq!(connection.say("hello\n").unwrap(), SocketSendResult::Heard);
        assert_eq!(heard.join().unwrap(), "hello\n");
    }

    #[test]
    fn who_never_listens_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let connection = connect(&path, own_pid(), LIMIT).unwrap();
        assert_eq!(connection.say("hello\n").unwrap(), SocketSendResult::Unheard);
        let connection = connect(&path, own_pid(), LIMIT).unwrap();
        assert!(connection.say(&"x".repeat(1 << 24)).is_err(), "more than anybody keeps for it");
    }

    /// A full queue makes the next `connect` block.
    #[test]
    fn who_lets_nobody_in_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::new(0).unwrap()).unwrap();
        let mut inside = Vec::new();
        let refusal = loop {
            match connect(&path, own_pid(), LIMIT) {
                Ok(connection) if inside.len() < 100 => inside.push(connection),
                Ok(_) => panic!("there is room for all"),
                Err(reason) => break reason,
            }
        };
        assert_eq!(refusal.to_string(), "it accepts no connections");
    }

    #[test]
    fn what_is_not_what_it_should_be_is_not_spoken_to() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        files::create_dir(&place).unwrap();
        let (path, me) = (place.join("socket"), own_pid());
        assert_eq!(refusal(&path, me), "there is no socket");
        assert_eq!(refusal(&dir.path().join("nowhere/socket"), me), "there is no socket");
        assert_eq!(refusal(Path::new("socket"), me), "its socket has no place");
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(refusal(&path, Pid::new(1).unwrap()), "another process listens there");
        let link = place.join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(refusal(&link, me), "what is there is not a socket of msg");
        let file = place.join("file");
        files::touch(&file).unwrap();
        assert_eq!(refusal(&file, me), "what is there is not a socket of msg");
        files::set_mode(&place, 0o777).unwrap();
        assert!(refusal(&path, me).contains("may be written to by other users"));
        files::set_mode(&place, 0o700).unwrap();
        drop(listener);
        // A child that another test is starting may still have it open until it becomes its program.
        let give_up = Instant::now() + Duration::from_secs(60);
        while connect(&path, me, LIMIT).is_ok() {
            assert!(Instant::now() < give_up, "somebody still listens");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(refusal(&path, me).contains("refused"), "nobody listens");
    }
}

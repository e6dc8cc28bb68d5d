//! A Unix socket on which a process of the same user answers lines: one request and one answer for each connection.
//!
//! A path that is too long for the address of a socket is reached through the descriptor of its directory.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::files;

/// The longest path that fits into the address of a socket everywhere.
const MAX_PATH: usize = 100;

/// Why nobody answered.
#[derive(Debug, thiserror::Error)]
pub enum LineSocketError {
    #[error("nobody listens")]
    Absent,
    #[error("what is there is not a socket of this user")]
    NotOurs,
    #[error("it did not answer in time")]
    TimedOut,
    #[error("its answer is too long")]
    TooLong,
    #[error("it ended without an answer")]
    Closed,
    #[error("the path `{0}` is too long for a socket on this system")]
    PathTooLong(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A path that can be the address of a socket, and the directory that is kept open for it.
struct Address {
    path: PathBuf,
    _directory: Option<std::fs::File>,
}

fn address(path: &Path) -> Result<Address, LineSocketError> {
    if path.as_os_str().len() <= MAX_PATH {
        return Ok(Address { path: path.to_path_buf(), _directory: None });
    }
    let too_long = || LineSocketError::PathTooLong(path.display().to_string());
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Err(too_long()) };
    if !cfg!(target_os = "linux") {
        return Err(too_long());
    }
    let directory = match std::fs::File::open(dir) {
        Ok(directory) => directory,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LineSocketError::Absent),
        Err(error) => return Err(error.into()),
    };
    let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name);
    Ok(Address { path, _directory: Some(directory) })
}

/// Listens at that path. A socket that was left behind is removed: the caller holds a lock that says that nobody else
/// listens.
pub fn listen(path: &Path) -> Result<UnixListener, LineSocketError> {
    files::remove(path).map_err(|error| io::Error::other(error.to_string()))?;
    let address = address(path)?;
    let listener = UnixListener::bind(&address.path)?;
    files::set_mode(path, 0o600).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(listener)
}

/// Sends a line, and returns the line that comes back.
pub fn ask(path: &Path, line: &[u8], until: Instant, most: u64) -> Result<Vec<u8>, LineSocketError> {
    let mut stream = connect(path, until)?;
    write(&mut stream, line, until)?;
    let mut answer = Vec::new();
    let mut reader = BufReader::new(Patient { stream, until }).take(most);
    reader.read_until(b'\n', &mut answer).map_err(timed)?;
    match answer.last() {
        Some(b'\n') => Ok(answer),
        _ if answer.len() as u64 >= most => Err(LineSocketError::TooLong),
        _ => Err(LineSocketError::Closed),
    }
}

/// Sends a line, and waits for nothing.
pub fn tell(path: &Path, line: &[u8], until: Instant) -> Result<(), LineSocketError> {
    write(&mut connect(path, until)?, line, until)
}

fn connect(path: &Path, until: Instant) -> Result<UnixStream, LineSocketError> {
    let metadata = files::link_metadata(path).map_err(|error| io::Error::other(error.to_string()))?;
    let metadata = metadata.ok_or(LineSocketError::Absent)?;
    if !metadata.file_type().is_socket() || metadata.uid() != nix::unistd::geteuid().as_raw() {
        return Err(LineSocketError::NotOurs);
    }
    let address = address(path)?;
    // If the listener's queue is full, `connect` blocks. After the limit, nobody receives its result.
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || drop(sender.send(UnixStream::connect(&address.path))));
    match receiver.recv_timeout(left(until)) {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Err(LineSocketError::Absent),
            _ => Err(error.into()),
        },
        Err(_) => Err(LineSocketError::TimedOut),
    }
}

fn write(stream: &mut UnixStream, line: &[u8], until: Instant) -> Result<(), LineSocketError> {
    stream.set_write_timeout(Some(left(until)))?;
    stream.write_all(line).map_err(timed)
}

/// Reads until a time, however often something arrives.
struct Patient {
    stream: UnixStream,
    until: Instant,
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left(self.until)))?;
        self.stream.read(buffer)
    }
}

fn timed(error: io::Error) -> LineSocketError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => LineSocketError::TimedOut,
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => LineSocketError::Closed,
        _ => error.into(),
    }
}

/// The remaining time, at least 1 ms, because zero would mean no limit.
fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn a_line_is_answered_also_at_a_long_path() {
        let dir = tempfile::tempdir().unwrap();
        let long = dir.path().join("d".repeat(120));
        files::create_dir(&long).unwrap();
        for path in [dir.path().join("socket"), long.join("socket")] {
            let until = || Instant::now() + LIMIT;
            assert!(matches!(ask(&path, b"x\n", until(), 100), Err(LineSocketError::Absent)));
            let listener = listen(&path).unwrap();
            let answering = std::thread::spawn(move || {
                let (stream, _) = listener.accept().unwrap();
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                (&stream).write_all(line.to_uppercase().as_bytes()).unwrap();
            });
            assert_eq!(ask(&path, b"hello\n", until(), 100).unwrap(), b"HELLO\n");
            answering.join().unwrap();
            // A child of another test may have the listener open until it has called `exec`.
            let give_up = until();
            while !matches!(ask(&path, b"x\n", give_up, 100), Err(LineSocketError::Absent)) {
                assert!(Instant::now() < give_up, "nobody is left");
            }
        }
    }

    #[test]
    fn what_is_not_an_answer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = listen(&path).unwrap();
        let closing = std::thread::spawn(move || {
            for answer in ["no end", "", "much too long\n"] {
                let (stream, _) = listener.accept().unwrap();
                BufReader::new(&stream).read_line(&mut String::new()).unwrap();
                (&stream).write_all(answer.as_bytes()).unwrap();
            }
        });
        let until = Instant::now() + LIMIT;
        let failure = || ask(&path, b"x\n", until, 8).unwrap_err();
        assert!(matches!(failure(), LineSocketError::Closed));
        assert!(matches!(failure(), LineSocketError::Closed));
        assert!(matches!(failure(), LineSocketError::TooLong));
        closing.join().unwrap();
        files::remove(&path).unwrap();
        files::create_empty(&path).map(drop).unwrap();
        assert!(matches!(ask(&path, b"x\n", until, 8), Err(LineSocketError::NotOurs)));
    }
}

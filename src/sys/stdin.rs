//! Reading standard input with a time limit.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{FlushArg, tcflush};

/// Why standard input could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StdinError {
    #[error("standard input is longer than {0} bytes")]
    TooLong(usize),
    #[error("standard input stalled before its end")]
    Stalled,
    #[error("standard input can't be read: {0}")]
    Read(#[source] io::Error),
    #[error("cannot wait for standard input: {0}")]
    Wait(#[source] Errno),
}

/// Most input fits into one page of memory; what does not is read in larger pieces.
const FIRST_READ: usize = 4096;
const LATER_READS: usize = 64 * 1024;

/// Reads until the end of input.
pub fn read_all(most: usize, limit: Duration) -> Result<Vec<u8>, StdinError> {
    read_until(most, limit, |_| false)
}

/// Reads until the end of input, or until `is_enough`.
pub fn read_until(
    most: usize,
    limit: Duration,
    is_enough: impl Fn(&[u8]) -> bool,
) -> Result<Vec<u8>, StdinError> {
    let stdin = io::stdin().lock();
    let end = Instant::now() + limit;
    let mut input = Vec::new();
    let mut buffer = vec![0; FIRST_READ];
    loop {
        wait_until(&stdin, end)?;
        // Not through the standard library's buffer, in which input would wait unseen.
        match nix::unistd::read(&stdin, &mut buffer) {
            Ok(0) => return Ok(input),
            Ok(length) if input.len() + length > most => {
                return Err(StdinError::TooLong(most));
            }
            Ok(length) => {
                input.extend_from_slice(&buffer[..length]);
                if length == buffer.len() {
                    buffer.resize(LATER_READS, 0);
                }
            }
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(StdinError::Read(errno.into())),
        }
        if is_enough(&input) {
            return Ok(input);
        }
    }
}

/// Reads from a terminal until `is_enough`, but not longer than `limit`. Returns what came until then.
pub fn read_for(limit: Duration, is_enough: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    let stdin = io::stdin().lock();
    let end = Instant::now() + limit;
    let mut input = Vec::new();
    let mut buffer = [0; 256];
    while !is_enough(&input) {
        match wait_until(&stdin, end) {
            Ok(()) => {}
            Err(StdinError::Stalled) => break,
            Err(error) => return Err(io::Error::other(error)),
        }
        // Not through the standard library's buffer, in which input would wait unseen.
        match nix::unistd::read(&stdin, &mut buffer) {
            Ok(0) => break,
            Ok(length) => input.extend_from_slice(&buffer[..length]),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(input)
}

/// What was typed at the terminal and not read yet, without waiting: whole lines, unless the terminal is in another mode.
pub fn typed() -> io::Result<Vec<u8>> {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    match poll(&mut watched, PollTimeout::ZERO) {
        Ok(0) | Err(Errno::EINTR) => return Ok(Vec::new()),
        Ok(_) => {}
        Err(errno) => return Err(errno.into()),
    }
    let mut buffer = vec![0; FIRST_READ];
    // Not through the standard library's buffer, in which input would wait unseen.
    match nix::unistd::read(&stdin, &mut buffer) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(length) => {
            buffer.truncate(length);
            Ok(buffer)
        }
        Err(Errno::EINTR) => Ok(Vec::new()),
        Err(errno) => Err(errno.into()),
    }
}

/// Forgets what was typed at the terminal and not read yet.
pub fn forget_typed() -> io::Result<()> {
    Ok(tcflush(io::stdin(), FlushArg::TCIFLUSH)?)
}

/// How a wait for keys ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeyWait {
    Typed,
    /// Nothing was typed in time.
    Quiet,
    /// The terminal is gone.
    Gone,
}

/// Waits for input from a terminal, as long as it takes if there is no limit.
pub fn wait_for_keys(limit: Option<Duration>) -> io::Result<KeyWait> {
    let stdin = io::stdin();
    let timeout = limit.map_or(PollTimeout::NONE, |limit| limit.try_into().unwrap_or(PollTimeout::MAX));
    loop {
        let mut watched = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, timeout) {
            Ok(0) => return Ok(KeyWait::Quiet),
            Ok(_) => {
                let told = watched[0].revents().unwrap_or(PollFlags::POLLERR);
                let over = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
                return Ok(if told.intersects(over) { KeyWait::Gone } else { KeyWait::Typed });
            }
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Waits until there is input, or its end.
fn wait_until(stdin: &io::StdinLock<'_>, end: Instant) -> Result<(), StdinError> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut watched = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, timeout) {
            Ok(0) => return Err(StdinError::Stalled),
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(StdinError::Wait(errno)),
        }
    }
}

//! Child processes: starting, stopping and killing them. Dropping a [`Child`] kills the process, so none is left
//! behind.

use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{self, Command, Stdio};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, unbounded};
use nix::sys::signal::{Signal, kill};

use super::process::{identify, is_stopped};
use super::signals::StopRequest;
use crate::domain::Pid;

/// How often a wait checks whether it should stop.
const LOOK_UP: Duration = Duration::from_millis(20);
/// How long a process that closed its output or was killed may take to end.
const EXIT_GRACE: Duration = Duration::from_secs(10);

/// How long to spin, instead of sleeping, before an exact point in time.
const AWAKE: Duration = Duration::from_millis(10);

/// Which output of the child is collected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CapturedOutput {
    /// Standard output.
    Stdout,
    /// Standard output and standard error, as a person in a terminal sees them.
    StdoutAndStderr,
}

/// The standard input of the child.
#[derive(Debug)]
pub enum ChildInput {
    Nothing,
    Bytes(Vec<u8>),
    /// Never written to, and closed when we end, so that a child that reads it notices our death.
    Lifeline,
}

/// How a process ended.
#[derive(Debug)]
pub struct ChildExit {
    /// The exit code. `None`: it was ended by a signal.
    pub code: Option<i32>,
    pub said: Vec<u8>,
    /// Whether we killed it because its time was up.
    pub was_killed: bool,
    pub took: Duration,
}

/// A child of ours.
#[derive(Debug)]
pub struct Child {
    inner: process::Child,
    heard: Receiver<Vec<u8>>,
    said: Vec<u8>,
    started: Instant,
}

impl Child {
    pub fn start(command: &mut Command, input: ChildInput, hear: CapturedOutput) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let errors = match hear {
            CapturedOutput::Stdout => Stdio::null(),
            CapturedOutput::StdoutAndStderr => writer.try_clone()?.into(),
        };
        let stdin = if matches!(input, ChildInput::Nothing) { Stdio::null() } else { Stdio::piped() };
        // Ctrl-C should reach only us; we then end the children.
        command.process_group(0).stdin(stdin).stdout(writer).stderr(errors);
        let started = Instant::now();
        let spawned = command.spawn();
        // The command would keep our ends of the pipe open.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut inner = spawned?;
        if let ChildInput::Bytes(bytes) = input
            && let Some(mut stdin) = inner.stdin.take()
        {
            // The child may not read all of it.
            std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        }
        let (sender, heard) = unbounded();
        std::thread::spawn(move || listen(reader, &sender));
        Ok(Self { inner, heard, said: Vec::new(), started })
    }

    pub fn pid(&self) -> Pid {
        #[expect(clippy::expect_used, reason = "the kernel gave it this pid")]
        Pid::new(self.inner.id().into()).expect("a child's pid is a pid")
    }

    /// Waits until the collected output satisfies `what`, and returns the time. `None`: not within `limit`, or the
    /// child has ended.
    pub fn hear(
        &mut self,
        what: impl Fn(&[u8]) -> bool,
        limit: Duration,
        stop: &StopRequest,
    ) -> Option<Instant> {
        let deadline = Instant::now() + limit;
        loop {
            if what(&self.said) {
                return Some(Instant::now());
            }
            match self.heard.recv_deadline(deadline.min(Instant::now() + LOOK_UP)) {
                Ok(bytes) => self.said.extend(bytes),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline && !stop.is_requested() => {}
                Err(_) => return None,
            }
        }
    }

    /// The next line of its output, which [`Child::said`] then has no more. `None`: it closed its output, nothing came
    /// within `limit`, or we are asked to stop.
    pub fn next_line(&mut self, limit: Duration, stop: &StopRequest) -> Option<String> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.said.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim_end().to_string());
            }
            match self.heard.recv_deadline(deadline.min(Instant::now() + LOOK_UP)) {
                Ok(bytes) => self.said.extend(bytes),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline && !stop.is_requested() => {}
                Err(_) => return None,
            }
        }
    }

    /// Lets it run for `after`, then kills it (SIGKILL) at exactly that time. On a busy machine a sleep may end late,
    /// when a short command is already done, so the last 10 ms are spent spinning.
    pub fn kill_at(self, after: Duration, stop: &StopRequest) -> io::Result<ChildExit> {
        if let Some(asleep) = after.checked_sub(self.started.elapsed() + AWAKE) {
            std::thread::sleep(asleep);
        }
        while self.started.elapsed() < after {
            std::hint::spin_loop();
        }
        self.end_within(after, stop)
    }

    /// Waits for its end. After `limit`, or when we are asked to stop, it is killed (SIGKILL).
    pub fn end_within(mut self, limit: Duration, stop: &StopRequest) -> io::Result<ChildExit> {
        let deadline = self.started + limit;
        let mut killed = false;
        loop {
            match self.heard.recv_deadline(deadline.min(Instant::now() + LOOK_UP)) {
                Ok(bytes) => self.said.extend(bytes),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline && !stop.is_requested() => {}
                Err(RecvTimeoutError::Timeout) => {
                    killed = true;
                    self.inner.kill()?;
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let ends_at = if killed { Instant::now() + EXIT_GRACE } else { deadline };
        let status = loop {
            match self.inner.try_wait()? {
                Some(status) => break status,
                None if Instant::now() < ends_at => std::thread::sleep(Duration::from_micros(200)),
                None => {
                    killed = true;
                    self.inner.kill()?;
                    break self.inner.wait()?;
                }
            }
        };
        let took = self.started.elapsed();
        // If it ended by itself at the same moment, it was not killed.
        killed &= status.code().is_none();
        while let Ok(bytes) = self.heard.recv_timeout(EXIT_GRACE) {
            self.said.extend(bytes);
        }
        let said = std::mem::take(&mut self.said);
        Ok(ChildExit { code: status.code(), said, was_killed: killed, took })
    }

    /// The output collected so far.
    pub fn said(&self) -> &[u8] {
        &self.said
    }

    /// Closes its standard input.
    pub fn close_input(&mut self) {
        drop(self.inner.stdin.take());
    }

    /// Sends SIGTERM, which lets it end in its own way.
    pub fn ask_to_end(&self) -> io::Result<()> {
        self.signal(Signal::SIGTERM)
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) -> io::Result<()> {
        self.signal(Signal::SIGINT)
    }

    /// Sends SIGSTOP, and waits until it has stopped.
    pub fn stop(&self) -> io::Result<()> {
        self.signal(Signal::SIGSTOP)?;
        wait_until(|| is_stopped(self.pid()))
    }

    /// Sends SIGKILL, and waits until it has ended. It stays a zombie until [`Child::kill`].
    pub fn kill_only(&self) -> io::Result<()> {
        self.signal(Signal::SIGKILL)?;
        wait_until(|| identify(self.pid()).is_none())
    }

    /// Sends SIGKILL and reaps it.
    pub fn kill(&mut self) -> io::Result<()> {
        self.inner.kill()?;
        self.inner.wait().map(drop)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        // It has not been reaped, so the pid is still its own.
        Ok(kill(nix::unistd::Pid::from_raw(self.pid().get()), signal)?)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It is fine if it has already ended.
        drop(self.kill());
    }
}

/// Sends SIGKILL to a process that is not a child of ours. One that has ended is fine.
pub fn kill_other(pid: Pid) {
    kill(nix::unistd::Pid::from_raw(pid.get()), Signal::SIGKILL).ok();
}

fn listen(mut reader: PipeReader, sender: &crossbeam_channel::Sender<Vec<u8>>) {
    let mut buffer = [0; 8192];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Waits until a signal has taken effect, which the kernel does a moment later.
fn wait_until(is_so: impl Fn() -> bool) -> io::Result<()> {
    let deadline = Instant::now() + EXIT_GRACE;
    while !is_so() {
        if Instant::now() >= deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a signal to a process had no effect"));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

//! Runs shell commands one after the other, each with a keeper: none of them outlives the process that wants them.
//! Their output is kept in a file.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use super::KeptExit;
use super::kept::{KeptCall, KeptNews, KeptOutput, KeptProgram};
use crate::sys::files::{self, FileError};

/// The most bytes of output that are kept of one command.
const MOST_LOG: usize = 4 * 1024 * 1024;
/// How many bytes of the end of the output are returned.
const TAIL: usize = 4096;
/// How often to look whether it should stop.
const LOOK_UP: Duration = Duration::from_millis(50);
/// How long the rest of the output may take after the end of a command.
const REST: Duration = Duration::from_secs(5);

/// Commands to run in a directory, one after the other.
#[derive(Debug)]
pub struct KeptCommands<'a> {
    /// Where they run.
    pub dir: &'a Path,
    /// Each for `sh -c`.
    pub commands: &'a [String],
    /// The whole environment.
    pub env: &'a [(OsString, OsString)],
    /// The file for their output.
    pub log: &'a Path,
    /// How long all of them together may take.
    pub limit: Duration,
}

/// How they ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CommandsEnd {
    /// All of them succeeded. `tail` is the end of the output of the last one.
    Done { tail: String },
    /// This one failed; those after it were not run. `how` says how it ended, `tail` is the end of its output. `code` is
    /// its exit code, if it ended by itself.
    Failed { command: String, how: String, code: Option<i32>, tail: String },
    /// They were no longer wanted.
    Stopped,
}

/// How one command ended.
enum OneEnd {
    Well,
    /// How it ended, and its exit code if it ended by itself.
    Badly(String, Option<i32>),
    Stopped,
}

/// What a command printed: the beginning, the end, and how much there was.
#[derive(Default)]
struct Printed {
    head: Vec<u8>,
    tail: Vec<u8>,
    length: usize,
}

impl KeptCommands<'_> {
    /// Runs them until one fails or `is_unwanted` says so. Whatever they started and left running is ended.
    pub fn run(&self, is_unwanted: &dyn Fn() -> bool) -> Result<CommandsEnd, FileError> {
        let deadline = Instant::now() + self.limit;
        let mut log = Vec::new();
        let mut end = CommandsEnd::Done { tail: String::new() };
        for line in self.commands {
            log.extend_from_slice(format!("$ {line}\n").as_bytes());
            let (how, printed) = self.run_one(line, deadline, is_unwanted)?;
            log.extend_from_slice(&printed.head);
            if printed.length > printed.head.len() {
                log.extend_from_slice(b"\n[cut: there was more output]\n");
            }
            match how {
                OneEnd::Well => {
                    let tail = String::from_utf8_lossy(&printed.tail).into_owned();
                    end = CommandsEnd::Done { tail };
                    continue;
                }
                OneEnd::Badly(how, code) => {
                    log.extend_from_slice(format!("[{how}]\n").as_bytes());
                    let tail = String::from_utf8_lossy(&printed.tail).into_owned();
                    end = CommandsEnd::Failed { command: line.clone(), how, code, tail };
                }
                OneEnd::Stopped => {
                    log.extend_from_slice(b"[stopped]\n");
                    end = CommandsEnd::Stopped;
                }
            }
            break;
        }
        files::replace_beside(self.log, &log, files::FILE_MODE)?;
        Ok(end)
    }

    fn run_one(
        &self,
        line: &str,
        deadline: Instant,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<(OneEnd, Printed), FileError> {
        let call = KeptCall {
            program: Path::new("/bin/sh"),
            // Errors and output stay in the order in which they were printed.
            args: &["-c".into(), format!("exec 2>&1\n{line}").into()],
            env: self.env,
            dir: self.dir,
            input: None,
        };
        let (mut program, output) = KeptProgram::start(&call)?;
        let KeptOutput { stdout, stderr, end: mut reports } = output;
        let printed = read_apart(stdout)?;
        let keeper_said = read_apart(stderr)?;
        let (sender, news) = bounded(4);
        small_thread(move || {
            loop {
                let one = reports.wait();
                if sender.send(one).is_err() || matches!(one, KeptNews::Clean | KeptNews::KeeperGone) {
                    return;
                }
            }
        })?;
        let (mut exit, mut cut_short) = (None, None);
        let has_keeper = loop {
            match news.recv_timeout(LOOK_UP) {
                Ok(KeptNews::Started(_)) => {}
                Ok(KeptNews::Ended(how)) => exit = Some(how),
                Ok(KeptNews::Clean) => break true,
                Ok(KeptNews::KeeperGone) | Err(RecvTimeoutError::Disconnected) => break false,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if exit.is_none() && cut_short.is_none() {
                cut_short = if is_unwanted() {
                    Some(OneEnd::Stopped)
                } else if Instant::now() >= deadline {
                    Some(OneEnd::Badly(format!("a timeout after {} s", self.limit.as_secs()), None))
                } else {
                    None
                };
                if cut_short.is_some() {
                    // If the keeper is gone, that is noticed above.
                    drop(program.terminate());
                }
            }
        };
        program.reap()?;
        let mut printed = printed.recv_timeout(REST).unwrap_or_default();
        let end = match (cut_short, exit) {
            (Some(cut_short), _) => cut_short,
            (None, Some(KeptExit::Code(0))) => OneEnd::Well,
            (None, Some(KeptExit::Code(code))) => OneEnd::Badly(format!("exit code {code}"), Some(code)),
            (None, Some(KeptExit::Signal(signal))) => OneEnd::Badly(format!("signal {signal}"), None),
            (None, None) if has_keeper => {
                // The keeper says why it could not start it.
                printed = keeper_said.recv_timeout(REST).unwrap_or_default();
                OneEnd::Badly("no shell".to_string(), None)
            }
            (None, None) => OneEnd::Badly("the death of its keeper".to_string(), None),
        };
        Ok((end, printed))
    }
}

/// Reads in another thread; what is beyond the limit is read and dropped, so that the writer does not wait.
fn read_apart(mut from: impl Read + Send + 'static) -> Result<Receiver<Printed>, FileError> {
    let (sender, receiver) = bounded(1);
    small_thread(move || {
        let mut printed = Printed::default();
        let mut piece = vec![0; 32 * 1024];
        loop {
            match from.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What was read until an error is all that there is.
                Ok(0) | Err(_) => break,
                Ok(length) => printed.add(&piece[..length]),
            }
        }
        drop(sender.send(printed));
    })?;
    Ok(receiver)
}

impl Printed {
    fn add(&mut self, piece: &[u8]) {
        let room = MOST_LOG.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(&piece[..room]);
        self.tail.extend_from_slice(piece);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        self.length += piece.len();
    }
}

fn small_thread(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("command output".to_string()).stack_size(256 * 1024).spawn(run).map(drop)
}

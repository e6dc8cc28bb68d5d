//! The supervisor's side: a program that is kept, its output, and its end.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};

use super::{KeeperCall, KeeperOrder, KeeperReport, KeptExit};
use crate::domain::Pid;
use crate::sys::program;

/// A program with a keeper. Dropping it ends the program: the keeper reads the end of file.
#[derive(Debug)]
pub struct KeptProgram {
    keeper: KeeperProcess,
    orders: UnixStream,
}

/// The keeper of a program.
#[derive(Debug)]
enum KeeperProcess {
    Child(Child),
    /// tmux started it, and reaps it.
    InPane(Pid),
}

/// What is read of a kept program, each by a thread of its own.
#[derive(Debug)]
pub struct KeptOutput {
    pub stdout: PipeReader,
    pub stderr: PipeReader,
    pub end: KeptReports,
}

/// Reads what the keeper reports.
#[derive(Debug)]
pub struct KeptReports {
    lines: BufReader<UnixStream>,
}

/// What became of a kept program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeptNews {
    Started(Pid),
    Ended(KeptExit),
    /// Neither it nor anything that it started is left.
    Clean,
    /// The keeper died. What it kept may be running.
    KeeperGone,
}

/// How a program is started.
#[derive(Debug)]
pub struct KeptCall<'a> {
    pub program: &'a Path,
    pub args: &'a [OsString],
    /// The whole environment.
    pub env: &'a [(OsString, OsString)],
    pub dir: &'a Path,
    /// The file that it reads as standard input; without one, that is empty.
    pub input: Option<&'a Path>,
}

impl KeptProgram {
    /// Starts the keeper, which starts the program.
    pub fn start(call: &KeptCall<'_>) -> io::Result<(Self, KeptOutput)> {
        let words = std::iter::once(call.program.as_os_str().to_os_string()).chain(call.args.iter().cloned());
        let input = call.input.map(Path::as_os_str).map(OsStr::to_os_string);
        let keep = KeeperCall::Keep { input, program: words.collect() };
        let (ours, theirs) = UnixStream::pair()?;
        let (stdout, out) = io::pipe()?;
        let (stderr, err) = io::pipe()?;
        let mut command = Command::new(program::to_start()?);
        command.args(keep.to_args()).env_clear().envs(call.env.iter().cloned()).current_dir(call.dir);
        command.stdin(OwnedFd::from(theirs)).stdout(out).stderr(err);
        let keeper = command.spawn()?;
        // The command holds our copies of its ends of the pipes.
        drop(command);
        let end = KeptReports { lines: BufReader::new(ours.try_clone()?) };
        let keeper = KeeperProcess::Child(keeper);
        Ok((Self { keeper, orders: ours }, KeptOutput { stdout, stderr, end }))
    }

    /// A program whose keeper is in a tmux pane and has been told what to start.
    pub(super) fn in_pane(keeper: Pid, keeper_socket: UnixStream) -> io::Result<(Self, KeptReports)> {
        let reports = KeptReports { lines: BufReader::new(keeper_socket.try_clone()?) };
        Ok((Self { keeper: KeeperProcess::InPane(keeper), orders: keeper_socket }, reports))
    }

    pub fn keeper(&self) -> u32 {
        match &self.keeper {
            KeeperProcess::Child(child) => child.id(),
            KeeperProcess::InPane(pid) => pid.get().unsigned_abs(),
        }
    }

    /// Asks it and everything that it started to end (SIGTERM); the keeper kills what is left after five seconds.
    pub fn terminate(&mut self) -> io::Result<()> {
        self.orders.write_all(&[KeeperOrder::Terminate.byte()])
    }

    /// Kills it and everything that it started.
    pub fn kill(&mut self) -> io::Result<()> {
        self.orders.write_all(&[KeeperOrder::Kill.byte()])
    }

    /// Lets its pane close, after [`KeptNews::Clean`]. The keeper does not wait long for it.
    pub fn release(&mut self) -> io::Result<()> {
        self.orders.write_all(&[KeeperOrder::Release.byte()])
    }

    /// Reaps the keeper, once it has ended.
    pub fn reap(self) -> io::Result<()> {
        match self.keeper {
            KeeperProcess::Child(mut child) => child.wait().map(drop),
            KeeperProcess::InPane(_) => Ok(()),
        }
    }
}

impl KeptReports {
    /// Waits for the next report.
    pub fn wait(&mut self) -> KeptNews {
        let mut line = String::new();
        loop {
            line.clear();
            match self.lines.read_line(&mut line) {
                Ok(1..) => match KeeperReport::of_line(&line) {
                    Some(KeeperReport::Started(pid)) => return KeptNews::Started(pid),
                    Some(KeeperReport::Ended(exit)) => return KeptNews::Ended(exit),
                    Some(KeeperReport::Clean) => return KeptNews::Clean,
                    None => {}
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return KeptNews::KeeperGone,
            }
        }
    }
}

//! The keeper: starts the program, reports how it ends, and leaves nothing of it behind.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, wait};

use super::descendants::{own_descendants, signal_all};
use super::{KeeperCall, KeeperOrder, KeeperReport, KeptExit};
use crate::domain::Pid;
use crate::sys::{process, program, test_switches};

/// How long what is left may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How often what is left is signalled again, because it may have started something meanwhile.
const AGAIN: Duration = Duration::from_millis(20);

enum News {
    Order(KeeperOrder),
    /// The supervisor is gone.
    Alone,
    /// The program, or something that it started, has ended.
    Reaped(Pid, KeptExit),
    /// There is no child left.
    Childless,
}

/// Keeps the program until it and everything that it started have ended.
pub fn keep(input: Option<&OsStr>, program: &[OsString]) -> io::Result<()> {
    nix::unistd::setsid()?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    let supervisor = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut listener = supervisor.try_clone()?;
    let worker = start(input, program)?;
    // The program must not be held open by us.
    let (sender, news) = unbounded();
    let reaper = sender.clone();
    thread::Builder::new().stack_size(64 * 1024).spawn(move || reap(&reaper))?;
    thread::Builder::new().stack_size(64 * 1024).spawn(move || listen(&mut listener, &sender))?;
    Keeper { supervisor: Some(supervisor), worker, has_ended: false, news }.run()
}

fn start(input: Option<&OsStr>, program: &[OsString]) -> io::Result<Pid> {
    let call = KeeperCall::Launch { keeper: process::own_pid(), program: program.to_vec() };
    let input = match input {
        Some(file) => Stdio::from(File::open(file)?),
        None => Stdio::null(),
    };
    let child = Command::new(program::to_start()?).args(call.to_args()).stdin(input).spawn()?;
    Pid::new(child.id().into()).map_err(io::Error::other)
}

/// Reaps every child: the program, and those that we adopted.
fn reap(news: &Sender<News>) {
    loop {
        let ended = match wait() {
            Ok(WaitStatus::Exited(pid, code)) => Some((pid, KeptExit::Code(code))),
            Ok(WaitStatus::Signaled(pid, signal, _)) => Some((pid, KeptExit::Signal(signal as i32))),
            Ok(_) | Err(Errno::EINTR) => None,
            Err(_) => {
                drop(news.send(News::Childless));
                return;
            }
        };
        if let Some((pid, exit)) = ended
            && let Ok(pid) = Pid::new(pid.as_raw().into())
        {
            drop(news.send(News::Reaped(pid, exit)));
        }
    }
}

fn listen(supervisor: &mut UnixStream, news: &Sender<News>) {
    let mut byte = [0];
    loop {
        match supervisor.read(&mut byte) {
            Ok(1) => {
                if let Some(order) = KeeperOrder::of_byte(byte[0]) {
                    drop(news.send(News::Order(order)));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => {
                drop(news.send(News::Alone));
                return;
            }
        }
    }
}

struct Keeper {
    /// `None`: it is gone.
    supervisor: Option<UnixStream>,
    worker: Pid,
    /// Whether the program itself has ended. Its number may be another's from then on.
    has_ended: bool,
    news: Receiver<News>,
}

impl Keeper {
    fn run(mut self) -> io::Result<()> {
        if let Some(pipe) = test_switches::value(test_switches::START_HELD) {
            drop(std::fs::read(pipe));
        }
        self.report(&KeeperReport::Started(self.worker));
        // From then on whatever is left is killed; before, it is asked to end.
        let mut kill_at: Option<Instant> = None;
        loop {
            let news = match kill_at {
                Some(_) => self.news.recv_timeout(AGAIN),
                None => self.news.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match news {
                Ok(News::Order(KeeperOrder::Kill)) => kill_at = Some(Instant::now()),
                Ok(News::Order(KeeperOrder::Terminate)) => self.ask_to_end(&mut kill_at),
                Ok(News::Alone) => {
                    self.supervisor = None;
                    self.ask_to_end(&mut kill_at);
                }
                Ok(News::Reaped(pid, exit)) if pid == self.worker => {
                    self.has_ended = true;
                    self.report(&KeeperReport::Ended(exit));
                    self.ask_to_end(&mut kill_at);
                }
                Ok(News::Reaped(..)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(News::Childless) | Err(RecvTimeoutError::Disconnected) => {
                    self.report(&KeeperReport::Clean);
                    return Ok(());
                }
            }
            if kill_at.is_some_and(|at| at <= Instant::now()) {
                signal_all(self.group(), Signal::SIGKILL);
            }
            // Supervisors of other runs may be our children, too. They live on without us.
            if self.has_ended && own_descendants().is_empty() {
                self.report(&KeeperReport::Clean);
                return Ok(());
            }
        }
    }

    /// The process group of the program, as long as its number is certainly its own.
    fn group(&self) -> Option<Pid> {
        (!self.has_ended).then_some(self.worker)
    }

    /// Asks everything to end, and sets the time from which it is killed. Asked again, that time stays.
    fn ask_to_end(&self, kill_at: &mut Option<Instant>) {
        if kill_at.is_none() {
            signal_all(self.group(), Signal::SIGTERM);
            *kill_at = Some(Instant::now() + GRACE);
        }
    }

    /// Nobody is told if the supervisor is gone.
    fn report(&mut self, report: &KeeperReport) {
        if let Some(supervisor) = &mut self.supervisor
            && supervisor.write_all(report.line().as_bytes()).is_err()
        {
            self.supervisor = None;
        }
    }
}

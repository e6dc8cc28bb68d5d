//! The keeper: starts the program, reports how it ends, and leaves nothing of it behind.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::descendants::{own_descendants, signal_all};
use super::pane_call::PaneCall;
use super::{KeeperCall, KeeperOrder, KeeperReport, KeptExit, LaunchPlace};
use crate::domain::Pid;
use crate::sys::{process, program, signals, test_switches};

/// How long what is left may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How often what is left is signalled again, because it may have started something meanwhile.
const AGAIN: Duration = Duration::from_millis(20);

/// How long a pane stays open after its program, so that its supervisor can look at what it printed last.
const LAST_LOOK: Duration = Duration::from_secs(3);
/// The exit code of a program that could not be started, as shells have it.
const NOT_STARTED: i32 = 127;
/// Variables that say which terminal a program is in. A program in a pane has those of the pane, not its supervisor's.
const OF_PANE: [&str; 8] =
    ["TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "COLUMNS", "LINES"];

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
    let input = match input {
        Some(file) => Stdio::from(File::open(file)?),
        None => Stdio::null(),
    };
    let worker = start(launcher(LaunchPlace::Apart, program)?.stdin(input))?;
    let (sender, news) = unbounded();
    Keeper::new(supervisor, worker, (&sender, news))?.run_to_end()
}

/// Keeps the program that the supervisor at that socket names, in the terminal of this process: a tmux pane.
pub fn keep_in_pane(socket: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    let (sender, news) = unbounded();
    let asked = sender.clone();
    // The pane is closed, or its server has died. The program is in the foreground and is told by the system; we see to
    // it that nothing of it is left.
    signals::on_end(move || drop(asked.send(News::Order(KeeperOrder::Terminate))))?;
    let mut supervisor = UnixStream::connect(socket)?;
    let call = PaneCall::receive(&mut supervisor)?;
    let mut command = launcher(LaunchPlace::Front, &call.words)?;
    command.env_clear().envs(call.env).current_dir(&call.dir).process_group(0);
    for name in OF_PANE {
        match std::env::var_os(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let worker = start(&mut command).inspect_err(|_| {
        // What is wrong is shown in the pane. If the supervisor is gone, nobody is left to be told.
        let reports = [KeeperReport::Ended(KeptExit::Code(NOT_STARTED)), KeeperReport::Clean];
        drop(supervisor.write_all(reports.map(|report| report.line()).concat().as_bytes()));
    })?;
    // We are in the foreground, so we may give that to the program, which waits for it.
    nix::unistd::tcsetpgrp(io::stdin(), nix::unistd::Pid::from_raw(worker.get()))?;
    let mut keeper = Keeper::new(supervisor, worker, (&sender, news))?;
    keeper.run_to_end()?;
    keeper.wait_for_last_look();
    Ok(())
}

/// The process that becomes the program.
fn launcher(place: LaunchPlace, program: &[OsString]) -> io::Result<Command> {
    let call = KeeperCall::Launch { keeper: process::own_pid(), place, program: program.to_vec() };
    let mut command = Command::new(program::to_start()?);
    command.args(call.to_args());
    Ok(command)
}

fn start(launcher: &mut Command) -> io::Result<Pid> {
    Pid::new(launcher.spawn()?.id().into()).map_err(io::Error::other)
}

/// Reaps every child: the program, and those that we adopted.
fn reap(news: &Sender<News>, worker: Pid) {
    loop {
        let ended = match waitpid(None, Some(WaitPidFlag::WUNTRACED)) {
            // No shell is there that would let it go on. A debugger lets its program go on by itself.
            Ok(WaitStatus::Stopped(pid, signal))
                if pid.as_raw() == worker.get() && signal != Signal::SIGTRAP =>
            {
                // One that reads a terminal which it may not read stops again at once, and must not keep us busy.
                thread::sleep(AGAIN);
                // It may have just ended.
                let _ = killpg(pid, Signal::SIGCONT);
                None
            }
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
    /// Begins to listen to the supervisor and to the ends of children.
    fn new(
        supervisor: UnixStream,
        worker: Pid,
        (sender, news): (&Sender<News>, Receiver<News>),
    ) -> io::Result<Self> {
        let (reaper, orders) = (sender.clone(), sender.clone());
        let mut listener = supervisor.try_clone()?;
        thread::Builder::new().stack_size(64 * 1024).spawn(move || reap(&reaper, worker))?;
        thread::Builder::new().stack_size(64 * 1024).spawn(move || listen(&mut listener, &orders))?;
        Ok(Self { supervisor: Some(supervisor), worker, has_ended: false, news })
    }

    fn run_to_end(&mut self) -> io::Result<()> {
        test_switches::wait_for_pipe(test_switches::START_HELD);
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
                // Too early.
                Ok(News::Order(KeeperOrder::Release)) => {}
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

    /// Waits until the supervisor has seen what the program printed last, or is gone.
    fn wait_for_last_look(&self) {
        let until = Instant::now() + LAST_LOOK;
        while self.supervisor.is_some() {
            match self.news.recv_deadline(until) {
                Ok(News::Reaped(..) | News::Childless) => {}
                Ok(News::Order(_) | News::Alone) | Err(_) => return,
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

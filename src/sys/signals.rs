//! Signals: being asked to stop without losing work in progress.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};
use signal_hook::consts::{SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH, SIGXFSZ};
use signal_hook::iterator::Signals;

/// A request to stop, by a signal or a caller, that can be checked and waited for.
#[derive(Clone, Debug)]
pub struct StopRequest {
    asked: Arc<AtomicBool>,
    wake: Receiver<()>,
}

/// Makes exceeding a file size limit (`ulimit -f`) an error like that of a full disk. Without this, a signal would end
/// the process.
pub fn survive_file_size_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Makes Ctrl-C at the terminal a matter of the program that we wait for: this process goes on.
pub fn outlive_interrupts() -> io::Result<()> {
    signal_hook::flag::register(SIGINT, Arc::default()).map(drop)
}

/// Ends the process with success after `seconds`, whatever hangs. It prints nothing then.
pub fn end_with_success_after(seconds: u32) -> io::Result<()> {
    let always = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(SIGALRM, 0, always)?;
    nix::unistd::alarm::set(seconds);
    Ok(())
}

/// Takes back [`end_with_success_after`].
pub fn end_never() {
    nix::unistd::alarm::cancel();
}

impl StopRequest {
    /// Handles SIGINT and SIGTERM: from now on they do not end the process by themselves.
    pub fn listen() -> io::Result<Self> {
        let (stop, asker) = Self::manual();
        on_signals(&[SIGINT, SIGTERM], move || asker.trigger())?;
        Ok(stop)
    }

    /// Handles SIGINT alone: whoever wants this process ended by SIGTERM gets that.
    pub fn listen_to_interrupt() -> io::Result<Self> {
        let (stop, asker) = Self::manual();
        on_signals(&[SIGINT], move || asker.trigger())?;
        Ok(stop)
    }

    /// Handles SIGHUP as well: for a command that has to clean up even if its terminal is closed.
    pub fn listen_with_hangup() -> io::Result<Self> {
        let (stop, asker) = Self::manual();
        on_end(move || asker.trigger())?;
        Ok(stop)
    }

    /// A `StopRequest` that handles no signals, and its [`StopTrigger`].
    pub fn manual() -> (Self, StopTrigger) {
        let asked = Arc::new(AtomicBool::new(false));
        let (sender, wake) = bounded(1);
        (Self { asked: Arc::clone(&asked), wake }, StopTrigger { asked, sender })
    }

    pub fn is_requested(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Receives a value when we are asked to stop.
    pub fn wake(&self) -> &Receiver<()> {
        &self.wake
    }
}

/// Requests by signals to a program that uses the whole terminal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TerminalSignal {
    Stop,
    /// The terminal is gone.
    HangUp,
    /// Go to the background.
    Suspend,
    /// It was stopped and continues.
    Continue,
    /// The window size has changed.
    Resize,
}

/// Handles the signals of a terminal program: from now on they do not end or stop it by themselves. A second request to
/// stop ends the process at once, because the terminal may not accept output any more.
pub fn listen_with_terminal() -> io::Result<Receiver<TerminalSignal>> {
    let mut flags = Vec::new();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let asked = Arc::new(AtomicBool::new(false));
        flags.extend((signal == SIGINT).then(|| Arc::clone(&asked)));
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
        signal_hook::flag::register(signal, asked)?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH])?;
    let (sender, asked) = crossbeam_channel::unbounded();
    std::thread::Builder::new().name("signals".to_string()).stack_size(64 * 1024).spawn(move || {
        for signal in &mut signals {
            if LENT.load(Ordering::SeqCst) && matches!(signal, SIGINT | SIGTSTP) {
                flags.iter().for_each(|asked| asked.store(false, Ordering::SeqCst));
                continue;
            }
            let what = match signal {
                SIGHUP => TerminalSignal::HangUp,
                SIGTSTP => TerminalSignal::Suspend,
                SIGCONT => TerminalSignal::Continue,
                SIGWINCH => TerminalSignal::Resize,
                _ => TerminalSignal::Stop,
            };
            if sender.send(what).is_err() {
                return;
            }
        }
    })?;
    Ok(asked)
}

/// Whether another program uses the terminal.
static LENT: AtomicBool = AtomicBool::new(false);

/// Another program uses the terminal as long as this lives: Ctrl-C and Ctrl-Z are for that program.
#[derive(Debug)]
pub struct TerminalLoan(());

impl TerminalLoan {
    pub fn begin() -> Self {
        LENT.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for TerminalLoan {
    fn drop(&mut self) {
        LENT.store(false, Ordering::SeqCst);
    }
}

/// Stops this process, as Ctrl-Z in a shell does. Returns when it continues.
pub fn suspend() -> io::Result<()> {
    signal_hook::low_level::emulate_default_handler(SIGTSTP)
}

/// Requests a [`StopRequest`].
#[derive(Clone, Debug)]
pub struct StopTrigger {
    asked: Arc<AtomicBool>,
    sender: Sender<()>,
}

impl StopTrigger {
    pub fn trigger(&self) {
        self.asked.store(true, Ordering::SeqCst);
        let _ = self.sender.try_send(());
    }
}

/// Calls `run` whenever a signal asks us to end, or the terminal that we were started in is gone.
pub fn on_end(run: impl FnMut() + Send + 'static) -> io::Result<()> {
    on_signals(&[SIGINT, SIGTERM, SIGHUP], run)
}

/// Whether whoever started us wants SIGHUP to be ignored, as `nohup` does, and as far as the system tells.
pub fn is_hangup_ignored() -> bool {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

fn on_signals(signals: &[i32], mut run: impl FnMut() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new(signals)?;
    let listen = move || signals.forever().for_each(|_| run());
    std::thread::Builder::new().name("signals".to_string()).stack_size(64 * 1024).spawn(listen)?;
    Ok(())
}

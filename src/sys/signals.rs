//! Being asked to stop, without dropping what is in hand.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};
use signal_hook::consts::{SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH, SIGXFSZ};
use signal_hook::iterator::Signals;

/// SIGINT and SIGTERM, or somebody else's wish, as something that can be looked at and waited for.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    wake: Receiver<()>,
}

/// A file size limit (`ulimit -f`) ends a process by a signal, in the middle of whatever it does. From now on it is an
/// error like that of a full disk.
pub fn survive_file_size_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Whatever hangs: when so many seconds are over, the process ends, and with success. Nothing more is said then.
pub fn end_with_success_after(seconds: u32) -> io::Result<()> {
    let always = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(SIGALRM, 0, always)?;
    nix::unistd::alarm::set(seconds);
    Ok(())
}

impl Stop {
    /// From now on those signals end nothing by themselves.
    pub fn listen() -> io::Result<Self> {
        let (stop, asker) = Self::by_hand();
        on_signals(&[SIGINT, SIGTERM], move || asker.ask())?;
        Ok(stop)
    }

    /// One that listens to no signal, and who may ask.
    pub fn by_hand() -> (Self, Asker) {
        let asked = Arc::new(AtomicBool::new(false));
        let (sender, wake) = bounded(1);
        (Self { asked: Arc::clone(&asked), wake }, Asker { asked, sender })
    }

    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Something comes out of here when we are asked to stop.
    pub fn wake(&self) -> &Receiver<()> {
        &self.wake
    }
}

/// What a program that has the whole terminal is asked by signals.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked {
    Stop,
    /// The terminal is gone.
    HangUp,
    /// To the background.
    Suspend,
    /// It was stopped, and goes on.
    Continue,
    /// The window has another size.
    Resize,
}

/// From now on those signals end and stop nothing by themselves. Whoever is asked to stop twice ends at once: perhaps the
/// terminal takes nothing any more, and there is no way to say good-bye.
pub fn listen_with_terminal() -> io::Result<Receiver<Asked>> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let asked = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
        signal_hook::flag::register(signal, asked)?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH])?;
    let (sender, asked) = crossbeam_channel::unbounded();
    std::thread::Builder::new().name("signals".to_string()).stack_size(64 * 1024).spawn(move || {
        for signal in &mut signals {
            let what = match signal {
                SIGHUP => Asked::HangUp,
                SIGTSTP => Asked::Suspend,
                SIGCONT => Asked::Continue,
                SIGWINCH => Asked::Resize,
                _ => Asked::Stop,
            };
            if sender.send(what).is_err() {
                return;
            }
        }
    })?;
    Ok(asked)
}

/// Stops this process, as a shell's Ctrl-Z does; returns when it goes on.
pub fn suspend() -> io::Result<()> {
    signal_hook::low_level::emulate_default_handler(SIGTSTP)
}

/// Who asks a [`Stop`] to stop.
#[derive(Clone, Debug)]
pub struct Asker {
    asked: Arc<AtomicBool>,
    sender: Sender<()>,
}

impl Asker {
    pub fn ask(&self) {
        self.asked.store(true, Ordering::SeqCst);
        let _ = self.sender.try_send(());
    }
}

/// Runs something whenever we are asked to end by a signal, or lose the terminal that we were started in.
pub fn on_end(run: impl FnMut() + Send + 'static) -> io::Result<()> {
    on_signals(&[SIGINT, SIGTERM, SIGHUP], run)
}

fn on_signals(signals: &[i32], mut run: impl FnMut() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new(signals)?;
    let listen = move || signals.forever().for_each(|_| run());
    std::thread::Builder::new().name("signals".to_string()).stack_size(64 * 1024).spawn(listen)?;
    Ok(())
}

//! Being asked to stop, without dropping what is in hand.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, bounded};
use signal_hook::consts::{SIGALRM, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

/// SIGINT and SIGTERM, as something that can be looked at and waited for.
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
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let asked = Arc::new(AtomicBool::new(false));
        let (sender, wake) = bounded(1);
        let flag = Arc::clone(&asked);
        std::thread::Builder::new().name("signals".to_string()).stack_size(64 * 1024).spawn(move || {
            for _ in &mut signals {
                flag.store(true, Ordering::SeqCst);
                let _ = sender.try_send(());
            }
        })?;
        Ok(Self { asked, wake })
    }

    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Something comes out of here when we are asked to stop.
    pub fn wake(&self) -> &Receiver<()> {
        &self.wake
    }
}

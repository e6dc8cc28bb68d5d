//! A watchdog that ends the process after a time limit, whatever hangs.

use std::process;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How long `last_words` may take.
const GRACE: Duration = Duration::from_millis(200);

/// While this exists, the process exits with success when its time is up.
#[derive(Debug)]
pub struct Watchdog {
    _still_there: Sender<()>,
}

impl Watchdog {
    /// Starts the watchdog. After `limit`, it calls `last_words` and exits; it exits even if `last_words` hangs,
    /// because a hanging file system must not keep the process.
    pub fn start(limit: Duration, last_words: impl FnOnce() + Send + 'static) -> Self {
        let (still_there, is_gone) = mpsc::channel();
        let wait = move || {
            if is_gone.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                end(last_words);
            }
        };
        // If the thread cannot be started, there is no deadline, and everything else continues.
        drop(thread::Builder::new().name("deadline".to_string()).stack_size(256 * 1024).spawn(wait));
        Self { _still_there: still_there }
    }
}

#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "the thread that would return from main is the one that hangs"
)]
fn end(last_words: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let speak = move || {
        last_words();
        let _ = done.send(());
    };
    if thread::Builder::new().name("last words".to_string()).spawn(speak).is_ok() {
        let _ = is_done.recv_timeout(GRACE);
    }
    process::exit(0);
}

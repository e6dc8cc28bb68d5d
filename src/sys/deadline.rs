//! An end that comes whatever else hangs.

use std::process;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How long last words may take.
const GRACE: Duration = Duration::from_millis(200);

/// While this is there, the process ends with success when its time is over.
#[derive(Debug)]
pub struct Deadline {
    _still_there: Sender<()>,
}

impl Deadline {
    /// Starts the clock. When time is over, `last_words` is called and the process ends, with the former or without:
    /// a file system that hangs must not keep it.
    pub fn start(limit: Duration, last_words: impl FnOnce() + Send + 'static) -> Self {
        let (still_there, is_gone) = mpsc::channel();
        let wait = move || {
            if is_gone.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                end(last_words);
            }
        };
        // Without the thread there is no deadline, and everything else goes on.
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

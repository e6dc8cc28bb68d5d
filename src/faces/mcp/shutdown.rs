//! Ends the server with its client, however the client ends.
//!
//! Most clients close the server's input or send a signal. A client that is killed does neither, and other children of
//! it may keep the pipes open; so its process is checked once a second. The kernel's parent-death signal does not help:
//! it follows the thread that started us, and clients start servers from short-lived threads.

use std::io;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::{Liveness, RecordedProcess};
use crate::harness::ancestry;
use crate::sys::{process, signals};

use super::op_thread::ShutdownHandle;

/// Interval of checks for the client's process; the server outlives its client by at most this long.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often a client that can't be found is looked for.
const LOOKS_FOR_CLIENT: usize = 3;

/// Tells the server to end.
#[derive(Clone, Debug)]
pub(super) struct Shutdown {
    token: CancellationToken,
    closer: ShutdownHandle,
}

impl Shutdown {
    pub(super) fn new(closer: ShutdownHandle) -> Self {
        Self { token: CancellationToken::new(), closer }
    }

    pub(super) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// The client sends no more requests. Those already sent are still answered.
    pub(super) fn begin(&self) {
        self.closer.stop_waiting();
    }

    /// There is nobody left to answer.
    pub(super) fn finish(&self) {
        self.begin();
        self.token.cancel();
    }

    /// Ends the server on signals and with its client from now on.
    pub(super) fn arm(&self) -> io::Result<()> {
        let end = self.clone();
        signals::on_end(move || end.finish())?;
        let end = self.clone();
        let watch = move || {
            let Some(client) = client() else { return };
            while process::liveness(&client) != Liveness::Gone {
                std::thread::sleep(LOOK_EVERY);
            }
            end.finish();
        };
        std::thread::Builder::new()
            .name("mcp client".to_string())
            .stack_size(256 * 1024)
            .spawn(watch)
            .map(drop)
    }
}

/// The harness that the server belongs to; if none is known, the process that started the server. One that merely
/// starts it can end while it is looked at; then the server has another parent.
fn client() -> Option<RecordedProcess> {
    (0..LOOKS_FOR_CLIENT).find_map(|_| {
        let ancestors = ancestry::ancestors();
        let harness = ancestry::nearest_harness(&ancestors).map(|host| host.process);
        harness.or_else(|| process::identify(ancestors.first()?.pid)).map(RecordedProcess::Pinned)
    })
}

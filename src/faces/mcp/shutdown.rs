//! A server lives no longer than its client, in whichever way that ends.
//!
//! Most clients close its input, or ask it to end by a signal. One that is killed does neither, and whatever it started may
//! keep the pipes open; so its process is looked at now and then. It is no use to be told by the kernel when a parent dies:
//! that means the thread that started us, and clients start servers from threads that come and go.

use std::io;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::{Liveness, Recorded};
use crate::sys::{ancestry, process, signals};

use super::op_thread::Closer;

/// So long after its client a server is gone at the latest.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How the server is told to end.
#[derive(Clone, Debug)]
pub(super) struct End {
    token: CancellationToken,
    closer: Closer,
}

impl End {
    pub(super) fn new(closer: Closer) -> Self {
        Self { token: CancellationToken::new(), closer }
    }

    pub(super) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// The client asks no more. What it has asked is still answered.
    pub(super) fn is_near(&self) {
        self.closer.stop_waiting();
    }

    /// There is nobody to be answered.
    pub(super) fn is_here(&self) {
        self.is_near();
        self.token.cancel();
    }

    /// From now on it ends by signals, and with its client.
    pub(super) fn arm(&self) -> io::Result<()> {
        let end = self.clone();
        signals::on_end(move || end.is_here())?;
        let end = self.clone();
        let watch = move || {
            let Some(client) = client() else { return };
            while process::liveness(&client) != Liveness::Gone {
                std::thread::sleep(LOOK_EVERY);
            }
            end.is_here();
        };
        std::thread::Builder::new()
            .name("mcp client".to_string())
            .stack_size(256 * 1024)
            .spawn(watch)
            .map(drop)
    }
}

/// The harness that the server belongs to; where none is known, whoever started it.
fn client() -> Option<Recorded> {
    let ancestors = ancestry::ancestors();
    let harness = ancestry::nearest_harness(&ancestors).map(|host| host.process);
    harness.or_else(|| process::identify(ancestors.first()?.pid)).map(Recorded::Pinned)
}

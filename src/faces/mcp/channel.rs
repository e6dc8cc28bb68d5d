//! Claude Code's *channels*: something that a server says to a session without being asked.
//!
//! A client that knows them is told that we do. It says nothing about whether it listens: that is up to its user, who names
//! our server on the command line, so that is where we look. Nobody else hears anything of this. What is said is only that
//! there is mail.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{CustomNotification, ExperimentalCapabilities, JsonObject, ServerNotification};
use rmcp::service::{Peer, RoleServer};
use serde_json::json;
use tokio::runtime::Handle;

use crate::domain::Harness;
use crate::ops::Reached;
use crate::ops::wake::Channel;
use crate::sys::ancestry;

const CAPABILITY: &str = "claude/channel";
const METHOD: &str = "notifications/claude/channel";
/// The client that knows channels, as it calls itself.
const CLIENT: &str = "claude-code";
/// How its user lets a server that is in nobody's list speak, and which is ours.
const OPTION: &str = "--dangerously-load-development-channels";
const OURS: &str = "server:ravenry";
/// A client that takes longer than this to read doesn't read.
const LIMIT: Duration = Duration::from_secs(2);

/// Does a client that calls itself that know channels?
pub(super) fn is_known_to(client: &str) -> bool {
    client == CLIENT
}

pub(super) fn capability() -> ExperimentalCapabilities {
    ExperimentalCapabilities::from([(CAPABILITY.to_string(), JsonObject::new())])
}

/// The way to the client, from threads that may block.
#[derive(Clone)]
pub(super) struct Line {
    runtime: Handle,
    peer: Arc<Mutex<Option<Peer<RoleServer>>>>,
}

impl Line {
    pub(super) fn new(runtime: Handle) -> Self {
        Self { runtime, peer: Arc::default() }
    }

    /// The client has introduced itself. If it knows channels, and its user wants to hear us, there is one now.
    pub(super) fn open(&self, peer: Peer<RoleServer>) {
        let knows = peer.peer_info().is_some_and(|info| is_known_to(&info.client_info.name));
        if knows && is_wanted() {
            *self.peer.lock().unwrap_or_else(PoisonError::into_inner) = Some(peer);
        }
    }

    fn peer(&self) -> Option<Peer<RoleServer>> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Channel for Line {
    fn is_open(&self) -> bool {
        self.peer().is_some_and(|peer| !peer.is_transport_closed())
    }

    fn tell(&self, text: &str) -> Reached {
        let Some(peer) = self.peer() else { return Reached::No };
        let notification = CustomNotification::new(METHOD, Some(json!({ "content": text })));
        let notification = ServerNotification::CustomNotification(notification);
        let sent = async { tokio::time::timeout(LIMIT, peer.send_notification(notification)).await };
        match self.runtime.block_on(sent) {
            Ok(Ok(())) => Reached::Yes,
            Ok(Err(_)) | Err(_) => Reached::No,
        }
    }
}

/// Did its user start Claude Code such that it listens to us?
fn is_wanted() -> bool {
    let ancestors = ancestry::ancestors();
    let client = ancestry::nearest_harness(&ancestors).filter(|host| host.harness == Harness::Claude);
    let details = client.and_then(|host| ancestors.iter().find(|details| details.pid == host.process.pid));
    details.is_some_and(|details| names_us(&details.look.args))
}

/// The option takes as many values as follow it.
fn names_us(args: &[String]) -> bool {
    let with_value = format!("{OPTION}={OURS}");
    let mut options = args.split(|arg| arg.starts_with('-') && arg != OPTION);
    let is_ours = |values: &[String]| {
        values
            .iter()
            .position(|arg| arg == OPTION)
            .is_some_and(|at| values[at..].iter().any(|arg| arg == OURS))
    };
    args.contains(&with_value) || options.any(is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_names_us_wants_to_hear_us() {
        let names = |line: &str| names_us(&line.split(' ').map(str::to_string).collect::<Vec<_>>());
        assert!(names("claude --dangerously-load-development-channels server:ravenry"));
        assert!(names(
            "claude --resume x --dangerously-load-development-channels server:other server:ravenry --model y"
        ));
        assert!(names("claude --dangerously-load-development-channels=server:ravenry"));
        assert!(!names("claude"));
        assert!(!names("claude server:ravenry"));
        assert!(!names("claude --channels server:ravenry"), "Claude Code takes no server there");
        assert!(!names("claude --dangerously-load-development-channels server:other --model server:ravenry"));
    }
}

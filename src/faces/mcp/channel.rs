//! Claude Code's *channels*: notifications that a server sends to a session unasked.
//!
//! The capability is announced only to Claude Code, which does not say whether it listens. Its user decides that by
//! naming our server on the command line, so we look there. A notification says only that there is mail.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{CustomNotification, ExperimentalCapabilities, JsonObject, ServerNotification};
use rmcp::service::{Peer, RoleServer};
use serde_json::json;
use tokio::runtime::Handle;

use crate::harness::{self, ancestry};
use crate::ops::HandoverOutcome;
use crate::ops::wake::Channel;

const CAPABILITY: &str = "claude/channel";
const METHOD: &str = "notifications/claude/channel";
/// The name that Claude Code gives in `initialize`.
const CLIENT: &str = "claude-code";
/// The option by which its user admits a server that is not on the allowlist, and the value that names ours.
const OPTION: &str = "--dangerously-load-development-channels";
const OURS: &str = "server:ravenry";
/// Time limit for sending a notification; a client that takes longer does not read.
const LIMIT: Duration = Duration::from_secs(2);

/// Whether a client of this name supports channels.
pub(super) fn is_known_to(client: &str) -> bool {
    client == CLIENT
}

pub(super) fn capability() -> ExperimentalCapabilities {
    ExperimentalCapabilities::from([(CAPABILITY.to_string(), JsonObject::new())])
}

/// Sends notifications to the client, from threads that may block.
#[derive(Clone)]
pub(super) struct ChannelNotifier {
    runtime: Handle,
    peer: Arc<Mutex<Option<Peer<RoleServer>>>>,
}

impl ChannelNotifier {
    pub(super) fn new(runtime: Handle) -> Self {
        Self { runtime, peer: Arc::default() }
    }

    /// Called once the client has introduced itself. Opens the channel if the client supports channels and its user
    /// admits our server.
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

impl Channel for ChannelNotifier {
    fn is_open(&self) -> bool {
        self.peer().is_some_and(|peer| !peer.is_transport_closed())
    }

    fn tell(&self, text: &str) -> HandoverOutcome {
        let Some(peer) = self.peer() else { return HandoverOutcome::ReaderGone };
        let notification = CustomNotification::new(METHOD, Some(json!({ "content": text })));
        let notification = ServerNotification::CustomNotification(notification);
        let sent = async { tokio::time::timeout(LIMIT, peer.send_notification(notification)).await };
        match self.runtime.block_on(sent) {
            Ok(Ok(())) => HandoverOutcome::Delivered,
            Ok(Err(_)) | Err(_) => HandoverOutcome::ReaderGone,
        }
    }
}

/// Whether Claude Code's command line admits our server.
fn is_wanted() -> bool {
    let ancestors = ancestry::ancestors();
    let client = ancestry::nearest_harness(&ancestors).filter(|host| host.harness == harness::CLAUDE);
    let details = client.and_then(|host| ancestors.iter().find(|details| details.pid == host.process.pid));
    details.is_some_and(|details| names_us(&details.look.args))
}

/// The option takes all values that follow it, up to the next option.
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

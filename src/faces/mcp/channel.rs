//! Sends channel notifications to the MCP client, if its harness and its user accept them.
//!
//! The capability is announced only to a harness that has channels. It does not say whether it listens: its user
//! decides that on its command line, so we look there. A notification says only that there is mail.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{CustomNotification, ExperimentalCapabilities, JsonObject, ServerNotification};
use rmcp::service::{Peer, RoleServer};
use serde_json::json;
use tokio::runtime::Handle;

use crate::harness::wake::ChannelSupport;
use crate::harness::{self, HarnessSupport, SUPPORTED, ancestry};
use crate::ops::HandoverOutcome;
use crate::ops::wake::Channel;

/// Time limit for sending a notification; a client that takes longer does not read.
const LIMIT: Duration = Duration::from_secs(2);

/// The channels of the harness that gives this name as a client.
fn of_client(client: &str) -> Option<ChannelSupport> {
    SUPPORTED.iter().filter_map(|harness| harness.channel()).find(|channel| channel.client == client)
}

/// The capability to announce to a client of this name, if it has channels.
pub(super) fn capability(client: &str) -> Option<ExperimentalCapabilities> {
    let channel = of_client(client)?;
    Some(ExperimentalCapabilities::from([(channel.capability.to_string(), JsonObject::new())]))
}

/// A client with a channel.
#[derive(Clone)]
struct Listener {
    peer: Peer<RoleServer>,
    channel: ChannelSupport,
}

/// Sends notifications to the client, from threads that may block.
#[derive(Clone)]
pub(super) struct ChannelNotifier {
    runtime: Handle,
    listener: Arc<Mutex<Option<Listener>>>,
}

impl ChannelNotifier {
    pub(super) fn new(runtime: Handle) -> Self {
        Self { runtime, listener: Arc::default() }
    }

    /// Called once the client has introduced itself. Opens the channel if the client supports channels and its user
    /// admits our server.
    pub(super) fn open(&self, peer: Peer<RoleServer>) {
        let channel = peer.peer_info().and_then(|info| of_client(&info.client_info.name));
        if let Some(channel) = channel.filter(is_wanted) {
            let listener = Listener { peer, channel };
            *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
        }
    }

    fn listener(&self) -> Option<Listener> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Channel for ChannelNotifier {
    fn is_open(&self) -> bool {
        self.listener().is_some_and(|listener| !listener.peer.is_transport_closed())
    }

    fn tell(&self, text: &str) -> HandoverOutcome {
        let Some(Listener { peer, channel }) = self.listener() else { return HandoverOutcome::ReaderGone };
        let notification = CustomNotification::new(channel.method, Some(json!({ "content": text })));
        let notification = ServerNotification::CustomNotification(notification);
        let sent = async { tokio::time::timeout(LIMIT, peer.send_notification(notification)).await };
        match self.runtime.block_on(sent) {
            Ok(Ok(())) => HandoverOutcome::Delivered,
            Ok(Err(_)) | Err(_) => HandoverOutcome::ReaderGone,
        }
    }
}

/// Whether the command line of the harness that we belong to admits our server.
fn is_wanted(channel: &ChannelSupport) -> bool {
    let has_channel = |host: &ancestry::Host| {
        let support = harness::support(host.harness).and_then(HarnessSupport::channel);
        support.is_some_and(|support| support.client == channel.client)
    };
    let ancestors = ancestry::ancestors();
    let client = ancestry::nearest_harness(&ancestors).filter(has_channel);
    let details = client.and_then(|host| ancestors.iter().find(|details| details.pid == host.process.pid));
    details.is_some_and(|details| (channel.is_admitted)(&details.look.args))
}

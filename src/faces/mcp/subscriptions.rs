//! Clients that subscribe to changes of resources.
//!
//! One watcher serves all subscriptions: it starts with the first and ends with the server. There are two ways to
//! subscribe, `resources/subscribe`, which most clients use, and `subscriptions/listen` of the protocol version
//! 2026-07-28; both get the same notifications.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::{broadcast, oneshot};

use crate::domain::SessionId;
use crate::ops::CommandError;

use super::op_thread::{OpThreadHandle, Reply};
use super::resources::ResourceTopic;
use super::tools;

/// Maximum number of pending changes. A slower subscriber misses nothing: a notification says that something changed,
/// not what.
const QUEUE: usize = 16;

pub(super) struct Subscriptions {
    op_thread: OpThreadHandle,
    watcher: Mutex<Option<SubscriptionWatcher>>,
    wanted: Arc<Mutex<SubscribedTopics>>,
}

/// The topics that the client subscribed to by `resources/subscribe`.
#[derive(Default)]
struct SubscribedTopics {
    topics: Vec<ResourceTopic>,
    /// A task that sends the notifications is running; it runs as long as the server.
    is_told: bool,
}

struct SubscriptionWatcher {
    changes: broadcast::Sender<ResourceTopic>,
    /// The watcher runs until this is dropped.
    _end: oneshot::Receiver<Reply>,
}

impl Subscriptions {
    pub(super) fn new(op_thread: OpThreadHandle) -> Self {
        Self { op_thread, watcher: Mutex::default(), wanted: Arc::default() }
    }

    pub(super) fn add(
        &self,
        topic: ResourceTopic,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), CommandError> {
        let changes = self.changes(tools::sessions(&context.meta))?;
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut wanted.is_told, true) {
            drop(tokio::spawn(forward(changes, Arc::clone(&self.wanted), context.peer.clone())));
        }
        if !wanted.topics.contains(&topic) {
            wanted.topics.push(topic);
        }
        Ok(())
    }

    pub(super) fn remove(&self, topic: ResourceTopic) {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).topics.retain(|wanted| *wanted != topic);
    }

    /// Sends the notifications of one subscription until it is cancelled.
    pub(super) async fn listen(&self, context: &SubscriptionContext) -> Result<(), CommandError> {
        let mut changes = self.changes(tools::sessions(&context.request_context().meta))?;
        let accepted = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                topics = next(&mut changes) => for topic in topics {
                    // The subscription may have ended just now.
                    if accepted.iter().any(|uri| uri == topic.uri())
                        && context.sink().notify_resource_updated(topic.uri()).await.is_err()
                    {
                        return Ok(());
                    }
                },
            }
        }
    }

    fn changes(&self, sessions: Vec<SessionId>) -> Result<broadcast::Receiver<ResourceTopic>, CommandError> {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watcher) = watcher.as_ref() {
            return Ok(watcher.changes.subscribe());
        }
        let (changes, receiver) = broadcast::channel(QUEUE);
        let told = changes.clone();
        // An error means that nobody listens any more.
        let end =
            self.op_thread.look_out(sessions, move |matter| drop(told.send(ResourceTopic::of(matter))))?;
        *watcher = Some(SubscriptionWatcher { changes, _end: end });
        Ok(receiver)
    }
}

/// The topics that changed; all topics for a subscriber that was too slow. Never returns once the watcher has ended.
async fn next(changes: &mut broadcast::Receiver<ResourceTopic>) -> Vec<ResourceTopic> {
    match changes.recv().await {
        Ok(topic) => vec![topic],
        Err(broadcast::error::RecvError::Lagged(_)) => ResourceTopic::ALL.to_vec(),
        Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
    }
}

async fn forward(
    mut changes: broadcast::Receiver<ResourceTopic>,
    wanted: Arc<Mutex<SubscribedTopics>>,
    peer: Peer<RoleServer>,
) {
    loop {
        for topic in next(&mut changes).await {
            let is_wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner).topics.contains(&topic);
            let update = ResourceUpdatedNotificationParam::new(topic.uri());
            if is_wanted && peer.notify_resource_updated(update).await.is_err() {
                return;
            }
        }
    }
}

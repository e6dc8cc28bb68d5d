//! Clients that want to know when something changes.
//!
//! One lookout serves all: it begins with the first who wants to know and ends with the server. There are two ways to
//! subscribe, the one of most clients (`resources/subscribe`) and the one since 2026-07-28 (`subscriptions/listen`); both
//! hear the same.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::{broadcast, oneshot};

use crate::domain::SessionId;
use crate::ops::CommandError;

use super::op_thread::{Handle, Reply};
use super::resources::Topic;
use super::tools;

/// So many changes may be untold. Who is slower has missed nothing: it is told that something changed, not what.
const QUEUE: usize = 16;

pub(super) struct Subscriptions {
    desk: Handle,
    lookout: Mutex<Option<SubscriptionWatcher>>,
    wanted: Arc<Mutex<Wanted>>,
}

/// What the client wants to know of, in the first of the two ways.
#[derive(Default)]
struct Wanted {
    topics: Vec<Topic>,
    /// Somebody tells it, for as long as the server lives.
    is_told: bool,
}

struct SubscriptionWatcher {
    changes: broadcast::Sender<Topic>,
    /// It goes on for as long as this is here.
    _end: oneshot::Receiver<Reply>,
}

impl Subscriptions {
    pub(super) fn new(desk: Handle) -> Self {
        Self { desk, lookout: Mutex::default(), wanted: Arc::default() }
    }

    pub(super) fn add(&self, topic: Topic, context: &RequestContext<RoleServer>) -> Result<(), CommandError> {
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

    pub(super) fn remove(&self, topic: Topic) {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).topics.retain(|wanted| *wanted != topic);
    }

    /// Tells of what the subscription is about, until it is cancelled.
    pub(super) async fn listen(&self, context: &SubscriptionContext) -> Result<(), CommandError> {
        let mut changes = self.changes(tools::sessions(&context.request_context().meta))?;
        let accepted = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                topics = next(&mut changes) => for topic in topics {
                    // The subscription may have ended in this very moment.
                    if accepted.iter().any(|uri| uri == topic.uri())
                        && context.sink().notify_resource_updated(topic.uri()).await.is_err()
                    {
                        return Ok(());
                    }
                },
            }
        }
    }

    fn changes(&self, sessions: Vec<SessionId>) -> Result<broadcast::Receiver<Topic>, CommandError> {
        let mut lookout = self.lookout.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lookout) = lookout.as_ref() {
            return Ok(lookout.changes.subscribe());
        }
        let (changes, receiver) = broadcast::channel(QUEUE);
        let told = changes.clone();
        // Where nobody listens any more nobody is told.
        let end = self.desk.look_out(sessions, move |matter| drop(told.send(Topic::of(matter))))?;
        *lookout = Some(SubscriptionWatcher { changes, _end: end });
        Ok(receiver)
    }
}

/// What changed; all of it for who was too slow to hear. Nothing more will change when the lookout is gone.
async fn next(changes: &mut broadcast::Receiver<Topic>) -> Vec<Topic> {
    match changes.recv().await {
        Ok(topic) => vec![topic],
        Err(broadcast::error::RecvError::Lagged(_)) => Topic::ALL.to_vec(),
        Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
    }
}

async fn forward(
    mut changes: broadcast::Receiver<Topic>,
    wanted: Arc<Mutex<Wanted>>,
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

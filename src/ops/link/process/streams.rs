//! What the server brings by itself: changes of the records, mail, and what other machines say of their agents.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::{mpsc, oneshot, watch};

use super::lease::LeaseView;
use crate::domain::link::{MachineName, PresenceReport};
use crate::store::presence_format;
use crate::sys::clock;
use crate::sys::nats::{Change, Incoming, Nats, NatsError};

/// How many messages are fetched at once.
const BATCH: usize = 64;
/// How long a fetch waits for the first one.
const FETCH: Duration = Duration::from_secs(20);

/// How many reports of one machine are heard within [`SPAN`]. One that says more is not heard until the next.
const MOST_REPORTS: usize = 128;
const SPAN: Duration = Duration::from_secs(5);

/// What is heard of presence. It may be lost, so it has a channel of its own, and whoever is late misses it.
pub(super) enum Heard {
    /// From now on what others say is heard.
    Listening,
    Report(MachineName, PresenceReport),
}

/// What is brought to the loop.
pub(super) enum Brought {
    Change(Result<Change, NatsError>),
    Mail(Result<MailBatch, NatsError>),
}

/// Brings every change of the records.
pub(super) async fn follow(nats: Arc<Nats>, brought: mpsc::Sender<Brought>) {
    loop {
        match nats.watch().await {
            Ok(mut changes) => {
                while let Some(change) = changes.next().await {
                    let has_failed = change.is_err();
                    if brought.send(Brought::Change(change)).await.is_err() {
                        return;
                    }
                    if has_failed {
                        tokio::time::sleep(Duration::from_millis(500)).await;
                    }
                }
            }
            Err(error) => {
                if brought.send(Brought::Change(Err(error))).await.is_err() {
                    return;
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Messages that were fetched together, in their order. It is dropped when each of them has its answer; the next ones are
/// fetched only then. So whoever gives one back has everything in hand that must come after it.
#[derive(Debug)]
pub(super) struct MailBatch {
    pub(super) messages: VecDeque<Incoming>,
    /// Tells by its end that all is answered.
    _answered: oneshot::Sender<()>,
}

/// Brings the mail for this machine, one batch after the other, as long as this machine surely has its lease: without it,
/// another one may have its name, and the mail is for that one.
pub(super) async fn fetch(
    nats: Arc<Nats>,
    mut lease: watch::Receiver<LeaseView>,
    brought: mpsc::Sender<Brought>,
) {
    while let Some(held) = wait_for_lease(&mut lease).await {
        match nats.next_messages(BATCH, FETCH.min(held)).await {
            Ok(messages) if messages.is_empty() => {}
            Ok(messages) => {
                let (sender, answered) = oneshot::channel();
                let batch = MailBatch { messages: messages.into(), _answered: sender };
                if brought.send(Brought::Mail(Ok(batch))).await.is_err() {
                    return;
                }
                // Nothing is ever sent: it ends.
                drop(answered.await);
            }
            Err(error) => {
                if brought.send(Brought::Mail(Err(error))).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }
}

/// Waits until the lease is held. Returns for how long it surely is; `None` at the end.
async fn wait_for_lease(lease: &mut watch::Receiver<LeaseView>) -> Option<Duration> {
    loop {
        let held = {
            let view = lease.borrow_and_update();
            view.held().map(|_| view.until.saturating_sub(clock::since_boot()))
        };
        if held.is_some() {
            return held;
        }
        lease.changed().await.ok()?;
    }
}

/// Hears what other machines say of their agents.
pub(super) async fn hear(
    nats: Arc<Nats>,
    me: MachineName,
    heard: mpsc::Sender<Heard>,
    brought: mpsc::Sender<Brought>,
) {
    loop {
        match nats.hear_presence().await {
            Ok(mut said) => {
                if heard.send(Heard::Listening).await.is_err() {
                    return;
                }
                let mut counts = ReportCounts::default();
                while let Some((machine, bytes)) = said.next().await {
                    let Ok(machine) = MachineName::new(machine) else { continue };
                    if machine == me || !counts.may_speak(&machine) {
                        continue;
                    }
                    let Ok(report) = presence_format::parse_report(&bytes) else { continue };
                    if let Err(mpsc::error::TrySendError::Closed(_)) =
                        heard.try_send(Heard::Report(machine, report))
                    {
                        return;
                    }
                }
            }
            Err(error) => {
                if brought.send(Brought::Change(Err(error))).await.is_err() {
                    return;
                }
            }
        }
        tokio::time::sleep(SPAN).await;
    }
}

/// How much each machine said lately.
#[derive(Default)]
struct ReportCounts {
    since: Option<tokio::time::Instant>,
    counts: HashMap<MachineName, usize>,
}

impl ReportCounts {
    fn may_speak(&mut self, machine: &MachineName) -> bool {
        if self.since.is_none_or(|since| since.elapsed() >= SPAN) {
            self.since = Some(tokio::time::Instant::now());
            self.counts.clear();
        }
        let count = self.counts.entry(machine.clone()).or_default();
        *count += 1;
        *count <= MOST_REPORTS
    }
}

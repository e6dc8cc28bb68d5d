//! The feed over all machines: what happened here goes to the server's stream, and what happened elsewhere comes into
//! `remote/feed/`. Two tasks of their own do that, beside the loop that decides: neither mail nor a lease ever waits for
//! them.
//!
//! Clocks of machines differ, so the time of an event is corrected: an entry says when it was sent by its machine's clock,
//! the server says when it was stored by its own, and this machine knows how far the server's clock is ahead. Events are
//! kept in the order of their arrival and shown by the corrected time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::SignedDuration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::lease::LeaseView;
use super::streams::Brought;
use crate::domain::link::{MachineName, has_outside_path, without_outside_paths};
use crate::domain::settings::FeedPrivacy;
use crate::domain::{AnyEventKind, Event, EventKind, mask_secrets};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{FeedBatch, LinkConfig, Mesh, ReceivedEntry, ReceivedFeed, StoreError, feed_format};
use crate::sys::clock;
use crate::sys::nats::{FeedEntries, FeedEntry, Nats, NatsError};

/// How often it is looked whether something happened here.
const LOOK: Duration = Duration::from_secs(2);
/// The pause between two entries while there is more to send.
const MORE: Duration = Duration::from_millis(50);
/// The pause after a failure.
const FAILED: Duration = Duration::from_secs(5);
/// How many entries are fetched at once, and how long a fetch waits for the first one.
const BATCH: usize = 64;
const FETCH: Duration = Duration::from_secs(20);
/// How many entries a machine that has just been linked gets of what happened before.
const BEFORE: u64 = 200;

/// What both tasks need.
struct SharedFeed {
    nats: Arc<Nats>,
    mesh: Arc<Mesh>,
    me: MachineName,
    lease: watch::Receiver<LeaseView>,
    privacy: FeedPrivacy,
    /// How many events of others are kept.
    keep: u64,
    brought: mpsc::Sender<Brought>,
}

/// Starts both tasks, if this machine keeps a feed.
pub(super) fn share(
    op: &Op,
    config: &LinkConfig,
    nats: &Arc<Nats>,
    lease: &watch::Receiver<LeaseView>,
    brought: mpsc::Sender<Brought>,
    tasks: &mut JoinSet<()>,
) -> Result<(), CommandError> {
    let keep = op.settings.feed_retention();
    let Some(mesh) = op.mesh_for_thread()?.filter(|_| keep > 0) else { return Ok(()) };
    let shared = Arc::new(SharedFeed {
        nats: Arc::clone(nats),
        mesh: Arc::new(mesh),
        me: config.machine.clone(),
        lease: lease.clone(),
        privacy: op.settings.feed_privacy,
        keep,
        brought,
    });
    tasks.spawn(Arc::clone(&shared).send());
    tasks.spawn(shared.bring());
    Ok(())
}

impl SharedFeed {
    /// Sends what happened here.
    async fn send(self: Arc<Self>) {
        loop {
            let pause = match self.send_batch().await {
                Ok(Sent::All) => LOOK,
                Ok(Sent::Some) => MORE,
                Err(failure) => match self.report(failure).await {
                    true => FAILED,
                    false => return,
                },
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn send_batch(&self) -> Result<Sent, FeedFailure> {
        // Without the lease, another machine may have this name.
        if !self.nats.is_connected() || self.lease.borrow().held().is_none() {
            return Ok(Sent::All);
        }
        let mesh = Arc::clone(&self.mesh);
        let Some(batch) = in_background(move || mesh.remote().next_feed_batch()).await? else {
            return Ok(Sent::All);
        };
        let entry = self.entry(&batch);
        let mesh = Arc::clone(&self.mesh);
        if !entry.events.is_empty() || entry.missed > 0 {
            match self.nats.publish_feed(&batch.id(), Bytes::from(entry.bytes())).await {
                Ok(_) => {}
                Err(NatsError::TooLarge { .. }) => {
                    in_background(move || mesh.remote().give_up_feed_batch(&batch)).await?;
                    return Ok(Sent::Some);
                }
                Err(error) => return Err(error.into()),
            }
        }
        in_background(move || mesh.remote().note_feed_batch(&batch)).await?;
        Ok(Sent::Some)
    }

    fn entry(&self, batch: &FeedBatch) -> feed_format::SharedFeedEntry {
        feed_format::SharedFeedEntry {
            run: batch.run.clone(),
            number: batch.number,
            sent_at: clock::now(),
            missed: batch.missed,
            events: batch.events.iter().filter_map(|event| for_others(event, self.privacy)).collect(),
        }
    }

    /// Brings what happened elsewhere.
    async fn bring(self: Arc<Self>) {
        loop {
            let Err(failure) = self.bring_until_failure().await;
            if !self.report(failure).await {
                return;
            }
            tokio::time::sleep(FAILED).await;
        }
    }

    async fn bring_until_failure(&self) -> Result<std::convert::Infallible, FeedFailure> {
        let mesh = Arc::clone(&self.mesh);
        let mut received = in_background(move || {
            mesh.remote().make_feed()?;
            mesh.remote().received_feed()
        })
        .await?;
        let after = match received.sequence() {
            Some(after) => after,
            None => {
                let range = self.nats.feed_range().await?;
                range.last.saturating_sub(BEFORE).max(range.first.saturating_sub(1))
            }
        };
        let mut reader = self.nats.read_feed(after);
        loop {
            let given = reader.next(BATCH, FETCH).await?;
            if given.is_anew || !given.entries.is_empty() {
                received = self.store(received, given, reader.last()).await?;
            }
        }
    }

    async fn store(
        &self,
        mut received: ReceivedFeed,
        given: FeedEntries,
        up_to: u64,
    ) -> Result<ReceivedFeed, FeedFailure> {
        let ahead = self.nats.server_facts().clock_offset.unwrap_or_default();
        let entries: Vec<ReceivedEntry> =
            given.entries.iter().filter_map(|entry| self.read(entry, ahead)).collect();
        let (mesh, keep) = (Arc::clone(&self.mesh), self.keep);
        in_background(move || {
            if given.is_anew {
                mesh.remote().restart_received_feed(&mut received);
            }
            let now = clock::now();
            mesh.remote().store_feed(&mut received, &entries, given.removed, up_to, keep, now)?;
            Ok(received)
        })
        .await
    }

    /// An entry of another machine. The server vouches for the machine; what can't be read is left out.
    fn read(&self, entry: &FeedEntry, ahead: SignedDuration) -> Option<ReceivedEntry> {
        let machine = MachineName::new(entry.machine.as_str()).ok().filter(|machine| *machine != self.me)?;
        let read = feed_format::SharedFeedEntry::parse(&entry.bytes).ok()?;
        let events = read.events_here(&machine, entry.at, ahead, clock::now());
        let feed_format::SharedFeedEntry { run, number, missed, .. } = read;
        Some(ReceivedEntry { machine, sequence: entry.sequence, run, number, missed, events })
    }

    /// Tells the loop what went wrong. `false`: it has ended.
    async fn report(&self, failure: FeedFailure) -> bool {
        let error = match failure {
            FeedFailure::Server(error) => error,
            FeedFailure::Local(error) => NatsError::Client { why: format!("the feed: {error}") },
            FeedFailure::Ended => return false,
        };
        self.brought.send(Brought::Change(Err(error))).await.is_ok()
    }
}

/// How much of what happened here was sent.
enum Sent {
    All,
    Some,
}

/// Why the feed can't be shared now.
#[derive(Debug, thiserror::Error)]
enum FeedFailure {
    #[error(transparent)]
    Server(#[from] NatsError),
    #[error(transparent)]
    Local(#[from] StoreError),
    #[error("the process ends")]
    Ended,
}

/// Works on files in a thread that may wait for the disk.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, FeedFailure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(FeedFailure::Ended),
    }
}

/// An event as other machines get it; `None` if it concerns nobody there. The text of a direct message is left out unless
/// the settings let others see it, and so are paths outside of the work tree and lines with secrets.
fn for_others(event: &Event, privacy: FeedPrivacy) -> Option<Event> {
    let is_direct = event.what == AnyEventKind::Ours(EventKind::Message)
        && event.target.as_deref().is_some_and(|target| target != "all");
    let target = event.target.as_deref().unwrap_or_default();
    let preview = event.preview.as_deref().filter(|_| !is_direct || privacy == FeedPrivacy::Text);
    let is_about_one_path = !target.contains(char::is_whitespace) && has_outside_path(target);
    let names_file =
        matches!(event.what, AnyEventKind::Ours(EventKind::HeadsUp | EventKind::HeadsUpEnded(_)));
    if is_about_one_path || (names_file && preview.is_some_and(has_outside_path)) {
        return None;
    }
    let shown = |text: &str| mask_secrets(&without_outside_paths(text)).text;
    let target = event.target.as_deref().map(shown);
    Some(Event { target, preview: preview.map(shown), machine: None, ..event.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, target: &str, preview: &str) -> Event {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
        Event {
            at: "2026-11-14T12:00:00Z".parse().unwrap(),
            what: AnyEventKind::Ours(kind),
            agent: "Anna".to_string(),
            target: some(target),
            preview: some(preview),
            message_kind: None,
            machine: None,
        }
    }

    #[test]
    fn what_others_get() {
        use EventKind::{Commit, Edit, HeadsUp, Message, Reserve, Test};
        let text = |event: Option<Event>| event.map_or("nothing".to_string(), |event| event.phrase());
        for (event, names, all) in [
            (event(Edit, "src/a.rs", ""), "edited src/a.rs", ""),
            (event(Edit, "/home/anna/.ssh/config", ""), "nothing", ""),
            (event(Reserve, "/etc/", "mine"), "nothing", ""),
            (event(HeadsUp, "Bob", "/home/a/x.rs"), "nothing", ""),
            (event(Test, "cargo test", "passed"), "ran the tests: passed", ""),
            (event(Commit, "", "fix ~/notes.md"), "committed “fix …”", ""),
            (event(Message, "Bob", "the plan"), "→ Bob", "→ Bob: “the plan”"),
            (event(Message, "all", "the plan"), "→ all: “the plan”", ""),
        ] {
            assert_eq!(text(for_others(&event, FeedPrivacy::Names)), names);
            let all = if all.is_empty() { names } else { all };
            assert_eq!(text(for_others(&event, FeedPrivacy::Text)), all);
        }
        let test = event(Test, "cargo test --target-dir /tmp/x/y", "passed");
        let test = for_others(&test, FeedPrivacy::Text).unwrap();
        assert_eq!(test.target.as_deref(), Some("cargo test --target-dir …"));
        let value = ["abc12345", "def"].concat();
        let secret = event(Reserve, "src/", &["API_KEY=", &value].concat());
        let secret = for_others(&secret, FeedPrivacy::Names).unwrap();
        assert!(!secret.preview.unwrap().contains(&value));
    }
}

//! `watch` and `wait`: following an inbox.
//!
//! The watch is armed before the first look (`watcher::mesh_watcher`). Events only set a flag: the first one is acted
//! on at once, a burst costs few looks, and a slow tick is the safeguard for everything that raises no event.
//! `tests/model/following.rs` checks that no hint is missed.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::domain::AgentName;
use crate::store::{MessageStem, UnreadMessage, Via, WatchTarget};
use crate::sys::clock;
use crate::sys::signals::StopRequest;
use crate::sys::test_switches::{self, Bug};

use super::receive::{HandoverFn, HandoverOutcome, InboxReader, ReadOptions};
use super::rendered_message::{ReaderKind, RenderedMessage};
use crate::ops::agents::{identity, names};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::ops::reservations::waiting;
use crate::ops::watcher::mesh_watcher::{MeshWatcher, WatchWakeup, current};

const FIRST_RETRY: Duration = Duration::from_secs(1);
/// A message is parked after this many failures.
const TRIES: u32 = 5;

/// Why following ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WatchEnd {
    /// A signal asked for it.
    Stopped,
    /// Nobody reads any more.
    Closed,
}

/// Follows the inbox until it is stopped or nobody reads any more.
pub fn watch(
    op: &Op,
    reader: ReaderKind,
    stop: &StopRequest,
    hand_over: &mut HandoverFn<'_>,
) -> Result<WatchEnd, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let mut follower = Follower::new(InboxReader::new(op, &mesh, caller.agent, Via::new("watch"), reader));
    loop {
        let waiting = follower.look()?;
        if follower.reader.deliver_in_batches(waiting, hand_over, || !stop.is_requested())?
            == HandoverOutcome::ReaderGone
        {
            return Ok(WatchEnd::Closed);
        }
        if follower.wait(stop, None) == WatchWakeup::Stopped {
            return Ok(WatchEnd::Stopped);
        }
    }
}

/// Follows the inbox and runs a command for each message. A failed one is tried again later, without delaying others.
pub fn watch_each(
    op: &Op,
    stop: &StopRequest,
    run: &mut dyn FnMut(&RenderedMessage) -> bool,
) -> Result<WatchEnd, CommandError> {
    refuse_in_harness()?;
    let (mesh, caller) = identity::caller(op)?;
    let mut follower = Follower::new(InboxReader::new(
        op,
        &mesh,
        caller.agent,
        Via::new("watch --exec"),
        ReaderKind::Program,
    ));
    let mut failures = Failures::default();
    loop {
        let all = follower.look()?;
        failures.keep(&all);
        for waiting in all {
            if stop.is_requested() {
                break;
            }
            if failures.may_try(&waiting.stem) {
                run_one(&mut follower.reader, &mut failures, waiting, run)?;
            }
        }
        if follower.wait(stop, failures.next_try()) == WatchWakeup::Stopped {
            return Ok(WatchEnd::Stopped);
        }
    }
}

/// Refuses `--exec` inside a harness: a model may run `msg` without asking, and that must not let it run anything else.
fn refuse_in_harness() -> Result<(), CommandError> {
    let Some(inside) = person_required::harness() else { return Ok(()) };
    let text = format!("`--exec` runs commands, and inside {inside} that is for its own tools");
    Err(inside.refusal(text, "`msg watch --json` prints each message instead".to_string()))
}

fn run_one(
    reader: &mut InboxReader<'_>,
    failures: &mut Failures,
    waiting: UnreadMessage,
    run: &mut dyn FnMut(&RenderedMessage) -> bool,
) -> Result<(), CommandError> {
    let stem = waiting.stem.clone();
    let mut ran = false;
    let mut succeeded = false;
    reader.deliver_in_batches(
        vec![waiting.clone()],
        &mut |messages| {
            ran = true;
            succeeded = messages.iter().all(&mut *run);
            if succeeded { HandoverOutcome::Delivered } else { HandoverOutcome::ReaderGone }
        },
        || true,
    )?;
    if succeeded {
        failures.forget(&stem);
    } else if ran && failures.count(&stem) >= TRIES {
        reader.mesh.inboxes().take(vec![waiting])?.park()?;
        failures.forget(&stem);
        reader
            .op
            .warn(format!("{} failed {TRIES} times and is set aside: `msg inbox` shows it", stem.short_id()));
    }
    Ok(())
}

/// Blocks until there is mail, then hands it over like `read`. `None`: there was none in time.
pub fn wait(
    op: &Op,
    reader: ReaderKind,
    stop: &StopRequest,
    selection: &ReadOptions,
    timeout: Option<Duration>,
    hand_over: &mut HandoverFn<'_>,
) -> Result<Option<usize>, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    // A deadline beyond the range of the clock never comes.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let via = Via::new(selection.via.unwrap_or("wait"));
    let mut follower = Follower::new(InboxReader::new(op, &mesh, caller.agent, via, reader));
    // A mistyped name is an error, not something to wait for.
    let mut unchecked = selection.from.as_ref();
    loop {
        follower.refresh()?;
        follower.arm()?;
        let mut closed = false;
        let count = follower.reader.deliver_together(selection, &mut |messages| {
            if messages.is_empty() {
                return HandoverOutcome::Delivered;
            }
            let reached = hand_over(messages);
            closed = reached == HandoverOutcome::ReaderGone;
            reached
        })?;
        if count > 0 || closed {
            return Ok(Some(count));
        }
        if let Some(from) = unchecked.take() {
            names::must_be_known(&mesh, from)?;
        }
        match follower.wait(stop, deadline) {
            WatchWakeup::Stopped => {
                return Err(CommandError::new(
                    CommandErrorKind::Interrupted,
                    "interrupted; nothing was taken",
                ));
            }
            WatchWakeup::Deadline if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                return Ok(None);
            }
            WatchWakeup::Deadline | WatchWakeup::Hint => {}
        }
    }
}

/// Selects the mail of one sender, or all mail.
pub fn from_sender(name: Option<AgentName>) -> ReadOptions {
    ReadOptions { from: name, ..ReadOptions::default() }
}

/// A desk that watches its inbox.
struct Follower<'a> {
    reader: InboxReader<'a>,
    watcher: MeshWatcher<'a>,
    /// When a path that the agent waits for may become free without anybody else reporting it.
    free_at: Option<Instant>,
}

impl<'a> Follower<'a> {
    fn new(reader: InboxReader<'a>) -> Self {
        let watcher = MeshWatcher::new(reader.op, reader.mesh);
        Self { reader, watcher, free_at: None }
    }

    /// Arms the watch. The caller has to look afterwards.
    fn arm(&mut self) -> Result<(), CommandError> {
        self.watcher.arm(WatchTarget::Inbox(&self.reader.agent)).map(drop)
    }

    fn wait(&self, stop: &StopRequest, deadline: Option<Instant>) -> WatchWakeup {
        self.watcher.wait(stop, deadline.into_iter().chain(self.free_at).min())
    }

    /// What waits now. The agent may have been renamed or be gone, and another may have its name.
    fn look(&mut self) -> Result<Vec<UnreadMessage>, CommandError> {
        if test_switches::has_bug(Bug::ScanBeforeWatch) {
            let waiting = self.reader.look()?.waiting;
            self.arm()?;
            return Ok(waiting);
        }
        self.arm()?;
        if self.refresh()? {
            self.arm()?;
        }
        Ok(self.reader.look()?.waiting)
    }

    /// Reads the agent's registration again; returns whether its name changed. The caller has to look afterwards.
    fn refresh(&mut self) -> Result<bool, CommandError> {
        self.free_at = None;
        let Some(now) = current(self.reader.mesh, &self.reader.agent)? else { return Ok(false) };
        let renamed = now.name != self.reader.agent.name;
        self.reader.agent = now;
        self.free_at = self.next_end();
        Ok(renamed)
    }

    /// When the next reservation in the agent's way ends. If that can't be found out, the slow tick has to do.
    fn next_end(&self) -> Option<Instant> {
        let end = waiting::next_end(self.reader.mesh, &self.reader.agent).ok().flatten()?;
        let left = Duration::try_from(end.duration_since(clock::now())).unwrap_or_default();
        Instant::now().checked_add(left)
    }
}

/// The delay after the first failure of a command.
fn first_retry() -> Duration {
    let set = test_switches::value(test_switches::RETRY_MS).and_then(|text| text.parse().ok());
    set.map_or(FIRST_RETRY, Duration::from_millis)
}

/// Messages for which a command failed, and when each is tried again.
#[derive(Default)]
struct Failures {
    tries: HashMap<String, (u32, Instant)>,
}

impl Failures {
    fn may_try(&self, stem: &MessageStem) -> bool {
        self.tries.get(stem.as_str()).is_none_or(|(_, at)| Instant::now() >= *at)
    }

    /// Counts one more failure. The next try comes after 1, 2, 4, 8 s.
    fn count(&mut self, stem: &MessageStem) -> u32 {
        let entry = self.tries.entry(stem.to_string()).or_insert((0, Instant::now()));
        entry.1 = Instant::now() + first_retry() * 2_u32.pow(entry.0.min(5));
        entry.0 += 1;
        entry.0
    }

    /// Forgets messages that are due but no longer waiting, because somebody else took them: nothing is left to try.
    fn keep(&mut self, waiting: &[UnreadMessage]) {
        let now = Instant::now();
        self.tries
            .retain(|stem, (_, at)| *at > now || waiting.iter().any(|waiting| waiting.stem.as_str() == stem));
    }

    fn forget(&mut self, stem: &MessageStem) {
        self.tries.remove(stem.as_str());
    }

    fn next_try(&self) -> Option<Instant> {
        self.tries.values().map(|(_, at)| *at).min()
    }
}

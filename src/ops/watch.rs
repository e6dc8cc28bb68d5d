//! Following an inbox: `watch` and `wait`.
//!
//! Watch, then scan. The watch is armed before the first look, so that nothing falls in between; a hint leads to a
//! look, never to a conclusion. Where a directory can't be watched, looks at a slow tick deliver meanwhile, and arming
//! is tried again after 1, 2, 4 … 30 s.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crossbeam_channel::{after, never, select};

use crate::domain::{AgentName, Liveness};
use crate::store::{Stem, StoreError, Via, Waiting};
use crate::sys::process;
use crate::sys::seams;
use crate::sys::signals::Stop;
use crate::sys::watch::DirWatch;

use super::context::Context;
use super::error::{CommandError, Kind};
use super::identity;
use super::letter::{Letter, Reader};
use super::receive::{Desk, HandOver, Reached, Selection};

/// While the watch is sound, looking is only a safeguard.
const SLOW_TICK: Duration = Duration::from_secs(5);
/// While there is no watch, looking is all there is.
const POLL: Duration = Duration::from_millis(100);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// After so many failures a message is parked.
const TRIES: u32 = 5;

/// Why following ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// A signal asked for it.
    Stopped,
    /// Nobody reads any more.
    Closed,
}

/// Follows the inbox until it is stopped, or until nobody reads any more.
pub fn watch(
    ctx: &Context,
    reader: Reader,
    stop: &Stop,
    hand_over: &mut HandOver<'_>,
) -> Result<End, CommandError> {
    let (mesh, caller) = identity::caller(ctx)?;
    let mut follower = Follower::new(Desk::new(ctx, &mesh, caller.agent, Via::new("watch"), reader));
    loop {
        let waiting = follower.look()?;
        if follower.desk.deliver_in_batches(waiting, hand_over, || !stop.is_asked())? == Reached::No {
            return Ok(End::Closed);
        }
        if follower.wait(stop, None)? == Woken::Stopped {
            return Ok(End::Stopped);
        }
    }
}

/// Follows the inbox and runs something for each message. What fails is tried again later and holds up nothing else.
pub fn watch_each(
    ctx: &Context,
    stop: &Stop,
    run: &mut dyn FnMut(&Letter) -> bool,
) -> Result<End, CommandError> {
    let (mesh, caller) = identity::caller(ctx)?;
    let mut follower =
        Follower::new(Desk::new(ctx, &mesh, caller.agent, Via::new("watch --exec"), Reader::Program));
    let mut failures = Failures::default();
    loop {
        let all = follower.look()?;
        failures.keep(&all);
        for waiting in all {
            if stop.is_asked() {
                break;
            }
            if failures.may_try(&waiting.stem) {
                run_one(&mut follower.desk, &mut failures, waiting, run)?;
            }
        }
        if follower.wait(stop, failures.next_try())? == Woken::Stopped {
            return Ok(End::Stopped);
        }
    }
}

fn run_one(
    desk: &mut Desk<'_>,
    failures: &mut Failures,
    waiting: Waiting,
    run: &mut dyn FnMut(&Letter) -> bool,
) -> Result<(), CommandError> {
    let stem = waiting.stem.clone();
    let mut ran = false;
    let mut succeeded = false;
    desk.deliver_in_batches(
        vec![waiting.clone()],
        &mut |letters| {
            ran = true;
            succeeded = letters.iter().all(&mut *run);
            if succeeded { Reached::Yes } else { Reached::No }
        },
        || true,
    )?;
    if succeeded {
        failures.forget(&stem);
    } else if ran && failures.count(&stem) >= TRIES {
        desk.mesh.take(vec![waiting])?.park()?;
        failures.forget(&stem);
        desk.ctx
            .notice(format!("{} failed {TRIES} times and is parked: `msg inbox` shows it", stem.letters()));
    }
    Ok(())
}

/// Blocks until there is mail, then hands it over like `read`. `None`: there was none in time.
pub fn wait(
    ctx: &Context,
    reader: Reader,
    stop: &Stop,
    selection: &Selection,
    timeout: Option<Duration>,
    hand_over: &mut HandOver<'_>,
) -> Result<Option<usize>, CommandError> {
    let (mesh, caller) = identity::caller(ctx)?;
    // A deadline beyond what the clock can tell never comes.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut follower = Follower::new(Desk::new(ctx, &mesh, caller.agent, Via::new("wait"), reader));
    loop {
        follower.refresh()?;
        follower.arm()?;
        let mut closed = false;
        let count = follower.desk.deliver_together(selection, &mut |letters| {
            if letters.is_empty() {
                return Reached::Yes;
            }
            let reached = hand_over(letters);
            closed = reached == Reached::No;
            reached
        })?;
        if count > 0 || closed {
            return Ok(Some(count));
        }
        match follower.wait(stop, deadline)? {
            Woken::Stopped => {
                return Err(CommandError::new(Kind::Interrupted, "interrupted; nothing was taken"));
            }
            Woken::Deadline if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                return Ok(None);
            }
            Woken::Deadline | Woken::Hint => {}
        }
    }
}

/// Who only wants mail of one sender, by name.
pub fn from_sender(name: Option<AgentName>) -> Selection {
    Selection { from: name, ..Selection::default() }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Woken {
    Hint,
    Deadline,
    Stopped,
}

/// A desk with an ear at the door.
struct Follower<'a> {
    desk: Desk<'a>,
    watch: Option<DirWatch>,
    /// What other machines do on a shared file system raises no events here.
    is_on_network: bool,
    retry_at: Instant,
    retry: Duration,
}

impl<'a> Follower<'a> {
    fn new(desk: Desk<'a>) -> Self {
        let is_on_network = desk.mesh.file_system().is_some_and(|kind| kind.network);
        Self { desk, watch: None, is_on_network, retry_at: Instant::now(), retry: FIRST_RETRY }
    }

    /// Arms the watch if there is none, or if the one there is has missed something.
    fn arm(&mut self) -> Result<(), CommandError> {
        let (mesh, agent) = (self.desk.mesh, &self.desk.agent);
        let was_armed = self.watch.is_some();
        if let Some(watch) = &self.watch
            && !mesh.is_sound(watch, agent)?
        {
            self.watch = None;
        }
        if was_armed && self.watch.is_none() {
            self.retry_at = Instant::now();
        }
        if self.watch.is_some() || Instant::now() < self.retry_at {
            return Ok(());
        }
        match mesh.watch_inbox(agent)? {
            Ok(watch) => {
                self.watch = Some(watch);
                self.retry = FIRST_RETRY;
            }
            // Not an error of the command: looking at the tick delivers meanwhile.
            Err(error) => {
                if self.retry == FIRST_RETRY {
                    self.desk.ctx.notice(format!("{error}; looking every {} ms instead", POLL.as_millis()));
                }
                self.retry_at = Instant::now() + self.retry;
                self.retry = (self.retry * 2).min(LAST_RETRY);
            }
        }
        Ok(())
    }

    /// Waits for a reason to look, `deadline` at the latest.
    fn wait(&mut self, stop: &Stop, deadline: Option<Instant>) -> Result<Woken, CommandError> {
        if stop.is_asked() {
            return Ok(Woken::Stopped);
        }
        let tick = if self.watch.is_some() && !self.is_on_network { SLOW_TICK } else { POLL };
        let until = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let time = after(until.unwrap_or(tick).min(tick));
        let silence = never();
        let hints = self.watch.as_ref().map_or(&silence, |watch| watch.hints());
        let woken = select! {
            recv(stop.wake()) -> _ => Woken::Stopped,
            recv(hints) -> _ => Woken::Hint,
            recv(time) -> _ => Woken::Deadline,
        };
        Ok(woken)
    }

    /// What waits now. Where a hint led to no mail, the agent may have another name by now, or be gone.
    fn look(&mut self) -> Result<Vec<Waiting>, CommandError> {
        self.arm()?;
        let waiting = self.desk.look()?.waiting;
        if !waiting.is_empty() || !self.refresh()? {
            return Ok(waiting);
        }
        self.arm()?;
        Ok(self.desk.look()?.waiting)
    }

    /// The agent as it is registered now. Has its name changed?
    fn refresh(&mut self) -> Result<bool, CommandError> {
        let (mesh, agent) = (self.desk.mesh, &self.desk.agent);
        let same = |record: &crate::store::Record| {
            record.agent.process == agent.process
                && (record.agent.session == agent.session || record.agent.name == agent.name)
        };
        let record = match mesh.registration(&agent.name)?.filter(same) {
            Some(record) => Some(record),
            None => mesh.census()?.records.into_iter().find(same),
        };
        let gone = || StoreError::NoRegistration(agent.name.to_string());
        // An agent lives no longer than its host, and nobody is left to hand anything over to.
        if process::liveness(&agent.process) == Liveness::Gone {
            return Err(gone().into());
        }
        // A registration that vanished comes back with the next command, and a directory that was removed may be
        // made anew: neither is a reason to stop while the session has not said good-bye.
        match record {
            Some(record) => {
                let renamed = record.agent.name != agent.name;
                self.desk.agent = record.agent;
                Ok(renamed)
            }
            None if mesh.session(&agent.session)?.is_some_and(|known| !known.is_current()) => {
                Err(gone().into())
            }
            None => Ok(false),
        }
    }
}

/// The delay after the first failure of a command.
fn first_retry() -> Duration {
    let set = seams::value(seams::RETRY_MS).and_then(|text| text.parse().ok());
    set.map_or(FIRST_RETRY, Duration::from_millis)
}

/// Messages for which a command failed, and when each is tried again.
#[derive(Default)]
struct Failures {
    tries: HashMap<String, (u32, Instant)>,
}

impl Failures {
    fn may_try(&self, stem: &Stem) -> bool {
        self.tries.get(stem.as_str()).is_none_or(|(_, at)| Instant::now() >= *at)
    }

    /// Counts one more failure. The next try comes after 1, 2, 4 … s.
    fn count(&mut self, stem: &Stem) -> u32 {
        let entry = self.tries.entry(stem.to_string()).or_insert((0, Instant::now()));
        entry.1 = Instant::now() + first_retry() * 2_u32.pow(entry.0.min(5));
        entry.0 += 1;
        entry.0
    }

    /// Forgets what somebody else took before its next try was due: nothing is to be waited for then.
    fn keep(&mut self, waiting: &[Waiting]) {
        let now = Instant::now();
        self.tries
            .retain(|stem, (_, at)| *at > now || waiting.iter().any(|waiting| waiting.stem.as_str() == stem));
    }

    fn forget(&mut self, stem: &Stem) {
        self.tries.remove(stem.as_str());
    }

    fn next_try(&self) -> Option<Instant> {
        self.tries.values().map(|(_, at)| *at).min()
    }
}

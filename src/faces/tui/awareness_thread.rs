//! The thread that reads what agents are heading for, for the part of the screen that shows it. Comparing many agents
//! takes a while, so neither the drawing nor the mail waits for it.
//!
//! It reads only what is on the screen: when files have changed since the last read, and now and then, because neither
//! a process that ends nor time that passes changes a file. If nothing of it is on the screen, the thread waits and
//! watches nothing. If it can't read, it tries again later.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::domain::settings::AwarenessMode;
use crate::ops::awareness::agent_topics::topics_without_sign_of_life;
use crate::ops::awareness::overlaps::{OverlapScope, overlaps};
use crate::ops::watcher::awareness_watcher::{AwarenessSignal, AwarenessWatcher};
use crate::ops::{CommandError, Context, GlobalOptions, Op, carry_out, run};
use crate::sys::test_switches;

use super::notice_filter::NoticeFilter;
use super::state::{AwarenessFocus, ChatUpdate};
use super::to_model;

/// Minimum pause between two reads; it is longer if [`READ_PAUSE_FACTOR`] times the last read's duration is more.
const PAUSE: Duration = Duration::from_millis(500);
const READ_PAUSE_FACTOR: u32 = 4;

/// How long to wait if nothing is known to have changed.
#[derive(Clone, Copy, Debug)]
struct Intervals {
    /// Between two reads where changes of files raise events.
    watched: Duration,
    /// Between two reads where they raise none.
    unwatched: Duration,
    /// Before the next try if nothing could be read.
    retry: Duration,
}

impl Intervals {
    fn get() -> Self {
        let set = test_switches::value(test_switches::LOOK_MS).and_then(|text| text.parse().ok());
        let or = |seconds| set.map_or(Duration::from_secs(seconds), Duration::from_millis);
        Self { watched: or(30), unwatched: or(5), retry: or(5) }
    }
}

/// Why nothing is read any more.
#[derive(Debug, Eq, PartialEq)]
enum Following {
    /// Nothing of it is on the screen.
    Over,
    /// There is no mesh.
    NoMesh,
    /// The chat is closed.
    Closed,
}

/// Reads what is asked for until the channel is closed.
pub(super) fn work(globals: &GlobalOptions, wanted: &Receiver<AwarenessFocus>, news: &Sender<ChatUpdate>) {
    let intervals = Intervals::get();
    while let Ok(mut focus) = wanted.recv() {
        let mut screen = Screen { news, notices: NoticeFilter::default() };
        while focus != AwarenessFocus::Nothing {
            match follow_with_new_settings(globals, &mut focus, wanted, &mut screen, intervals) {
                Ok(Following::Over) => break,
                Ok(Following::Closed) => return,
                Ok(Following::NoMesh) => {}
                // The mesh thread ends the chat if there is a reason to.
                Err(error) => screen.notice(error.message),
            }
            screen.notices.end_try();
            match wanted.recv_timeout(intervals.retry) {
                Ok(next) => {
                    focus = latest(next, wanted);
                    screen.notices = NoticeFilter::default();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

fn follow_with_new_settings(
    globals: &GlobalOptions,
    focus: &mut AwarenessFocus,
    wanted: &Receiver<AwarenessFocus>,
    screen: &mut Screen<'_>,
    intervals: Intervals,
) -> Result<Following, CommandError> {
    let ctx = Context::new(globals.clone())?;
    let (followed, warnings) = run(ctx, |op| follow(op, focus, wanted, screen, intervals)).into_parts();
    warnings.into_iter().for_each(|text| screen.notice(text));
    followed
}

/// Reads what the screen shows, and again when it may have changed.
fn follow(
    op: &Op,
    focus: &mut AwarenessFocus,
    wanted: &Receiver<AwarenessFocus>,
    screen: &mut Screen<'_>,
    intervals: Intervals,
) -> Result<Following, CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(Following::NoMesh) };
    let mut watcher = AwarenessWatcher::new(op, &mesh, intervals.unwatched);
    let mut earliest = Instant::now();
    let mut has_changed = true;
    loop {
        has_changed |= watcher.arm()?;
        let due = match (has_changed, watcher.sees_all_changes()) {
            (true, _) => earliest,
            (false, true) => earliest + intervals.watched,
            (false, false) => earliest + intervals.unwatched,
        };
        if due <= Instant::now() {
            let started = Instant::now();
            screen.read(op, focus);
            earliest = Instant::now() + PAUSE.max(started.elapsed() * READ_PAUSE_FACTOR);
            has_changed = false;
            continue;
        }
        match watcher.wait(wanted, due) {
            AwarenessSignal::Closed => return Ok(Following::Closed),
            AwarenessSignal::Request(next) => {
                *focus = latest(next, wanted);
                if *focus == AwarenessFocus::Nothing {
                    return Ok(Following::Over);
                }
                screen.notices = NoticeFilter::default();
                earliest = Instant::now();
                has_changed = true;
            }
            AwarenessSignal::Changed => has_changed = true,
            AwarenessSignal::TimedOut => {}
        }
    }
}

/// Somebody who scrolls through the agents wants to see the last of them.
fn latest(next: AwarenessFocus, wanted: &Receiver<AwarenessFocus>) -> AwarenessFocus {
    wanted.try_iter().last().unwrap_or(next)
}

/// Where this thread reports to.
struct Screen<'a> {
    news: &'a Sender<ChatUpdate>,
    notices: NoticeFilter,
}

impl Screen<'_> {
    fn tell(&self, news: ChatUpdate) {
        // If nobody listens any more, the next wait says so.
        drop(self.news.send(news));
    }

    fn notice(&mut self, text: String) {
        if self.notices.is_new(&text) {
            self.tell(ChatUpdate::Notice(text));
        }
    }

    fn read(&mut self, op: &Op, focus: &AwarenessFocus) {
        match seen(op, focus) {
            Ok(news) => news.into_iter().for_each(|news| self.tell(news)),
            Err(error) => self.notice(error.message),
        }
        // Predictions that have ended are told in the feed.
        carry_out(op);
        op.take_warnings().into_iter().for_each(|text| self.notice(text));
        self.notices.end_try();
    }
}

fn seen(op: &Op, focus: &AwarenessFocus) -> Result<Option<ChatUpdate>, CommandError> {
    Ok(Some(match focus {
        AwarenessFocus::Nothing => return Ok(None),
        AwarenessFocus::Overlaps => {
            let seen = overlaps(op, OverlapScope::Screen)?;
            ChatUpdate::Overlaps(Box::new(to_model::overlaps(op, &seen)))
        }
        AwarenessFocus::Agent(_) if op.settings.awareness == AwarenessMode::Off => ChatUpdate::Headings(None),
        AwarenessFocus::Agent(name) => {
            let seen = topics_without_sign_of_life(op, name)?;
            ChatUpdate::Headings(seen.map(|seen| Box::new(to_model::headings(&seen))))
        }
    }))
}

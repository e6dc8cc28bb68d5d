//! The thread that reads what agents are heading for, for the part of the screen that shows it. Comparing many agents
//! takes a while, so neither the drawing nor the mail waits for it.
//!
//! It reads only what is on the screen, and only when files have changed since the last read. If nothing of it is on
//! the screen, the thread waits and watches nothing.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use crate::domain::settings::AwarenessMode;
use crate::ops::awareness::agent_topics::topics_without_sign_of_life;
use crate::ops::awareness::overlaps::{OverlapScope, overlaps};
use crate::ops::watcher::awareness_watcher::{AwarenessSignal, AwarenessWatcher};
use crate::ops::{CommandError, Context, GlobalOptions, Op, carry_out, run};

use super::state::{AwarenessFocus, ChatUpdate};
use super::to_model;

/// Minimum pause between two reads; it is longer if [`READ_PAUSE_FACTOR`] times the last read's duration is more.
const PAUSE: Duration = Duration::from_millis(500);
const READ_PAUSE_FACTOR: u32 = 4;
/// Interval of reads where changes raise no events.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Why nothing is read any more.
#[derive(Debug, Eq, PartialEq)]
enum Following {
    /// Nothing of it is on the screen.
    Over,
    /// The chat is closed.
    Closed,
}

/// Reads what is asked for until the channel is closed.
pub(super) fn work(globals: &GlobalOptions, wanted: &Receiver<AwarenessFocus>, news: &Sender<ChatUpdate>) {
    while let Ok(focus) = wanted.recv() {
        if focus == AwarenessFocus::Nothing {
            continue;
        }
        let followed = Context::new(globals.clone()).and_then(|ctx| {
            // The settings are read again each time.
            let (followed, warnings) = run(ctx, |op| follow(op, focus, wanted, news)).into_parts();
            warnings.into_iter().for_each(|text| drop(news.send(ChatUpdate::Notice(text))));
            followed
        });
        match followed {
            Ok(Following::Over) => {}
            Ok(Following::Closed) => return,
            // The mesh thread ends the chat if there is a reason to.
            Err(error) => drop(news.send(ChatUpdate::Notice(error.message))),
        }
    }
}

/// Reads what the screen shows, and again when it has changed.
fn follow(
    op: &Op,
    mut focus: AwarenessFocus,
    wanted: &Receiver<AwarenessFocus>,
    news: &Sender<ChatUpdate>,
) -> Result<Following, CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(Following::Over) };
    let mut watcher = AwarenessWatcher::new(op, &mesh);
    let mut earliest = Instant::now();
    let mut due = Some(earliest);
    loop {
        if watcher.arm()? {
            due = due.or(Some(earliest));
        }
        if due.is_some_and(|due| due <= Instant::now()) {
            let started = Instant::now();
            read(op, &focus, news);
            // Predictions that have ended are told in the feed.
            carry_out(op);
            earliest = Instant::now() + PAUSE.max(started.elapsed() * READ_PAUSE_FACTOR);
            due = (!watcher.sees_all_changes()).then(|| earliest + POLL_INTERVAL);
        }
        match watcher.wait(wanted, due) {
            AwarenessSignal::Closed => return Ok(Following::Closed),
            AwarenessSignal::Request(next) => {
                // Somebody who scrolls through the agents wants to see the last of them.
                focus = wanted.try_iter().last().unwrap_or(next);
                due = Some(Instant::now());
                if focus == AwarenessFocus::Nothing {
                    return Ok(Following::Over);
                }
            }
            AwarenessSignal::Changed => due = Some(due.map_or(earliest, |due| due.min(earliest))),
            AwarenessSignal::TimedOut => {}
        }
    }
}

fn read(op: &Op, focus: &AwarenessFocus, news: &Sender<ChatUpdate>) {
    let told = match focus {
        AwarenessFocus::Nothing => return,
        AwarenessFocus::Overlaps => overlaps(op, OverlapScope::Screen)
            .map(|seen| ChatUpdate::Overlaps(Box::new(to_model::overlaps(op, &seen)))),
        AwarenessFocus::Agent(_) if op.settings.awareness == AwarenessMode::Off => {
            Ok(ChatUpdate::Headings(None))
        }
        AwarenessFocus::Agent(name) => topics_without_sign_of_life(op, name)
            .map(|seen| ChatUpdate::Headings(seen.map(|seen| Box::new(to_model::headings(&seen))))),
    };
    // If nobody listens any more, the next wait says so.
    drop(news.send(told.unwrap_or_else(|error| ChatUpdate::Notice(error.message))));
}

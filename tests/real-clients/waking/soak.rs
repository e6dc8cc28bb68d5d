//! Sends a message to an idle client at intervals, for the given time.

use std::time::{Duration, Instant};

use crate::processes::Process;
use crate::report::Report;

use super::checks::wakes;
use super::stage::{Checked, Stage, ensure};

const SURFACED: &str = "every message is taken up";
const FLAT: &str = "there is one waiter, and it does not grow";
const PACE: Duration = Duration::from_secs(20);
/// How much larger the last waiter may be, in KiB: a few pages.
const SLACK: u64 = 1024;

pub fn go(stage: &Stage<'_>, time: Duration, report: &mut Report) {
    let client = stage.trial.client.name();
    let since = Instant::now();
    let (mut waits, mut sizes) = (Vec::new(), Vec::new());
    let mut result = Ok(());
    let mut at = since;
    while result.is_ok() && since.elapsed() < time {
        result = one_more(stage, waits.len(), &mut waits, &mut sizes);
        at += PACE;
        std::thread::sleep(
            at.saturating_duration_since(Instant::now()).min(time.saturating_sub(since.elapsed())),
        );
    }
    let worst = waits.iter().max().map_or(0, Duration::as_millis);
    let surfaced =
        format!("{SURFACED} ({} in {} s, {worst} ms at the most)", waits.len(), since.elapsed().as_secs());
    report.check(client, &surfaced, result, &|| stage.evidence());
    if !stage.seat.waits {
        return;
    }
    let (first, last) = (sizes.first().copied().unwrap_or(0), sizes.last().copied().unwrap_or(0));
    let flat = ensure(first > 0 && last <= first + SLACK, || "it grew".to_string());
    report.check(client, &format!("{FLAT} ({first} KiB at first, {last} KiB at last)"), flat, &|| {
        format!("{sizes:?}")
    });
}

/// Sends one message. Measures the size of a waiter that has waited for a while.
fn one_more(stage: &Stage<'_>, n: usize, waits: &mut Vec<Duration>, sizes: &mut Vec<u64>) -> Checked {
    if stage.seat.waits {
        sizes.push(stage.one_waiter().map(|waiter: Process| waiter.resident())?);
    }
    waits.push(wakes(stage, &format!("soaked-message-{n}-of-many"))?);
    Ok(())
}

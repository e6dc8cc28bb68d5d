//! The storm: fifty agents as real processes do everything at once while a nemesis kills and stops processes, fills
//! the disk, truncates and moves files and makes the clock jump. Then a checker reads what they recorded and proves
//! that the promises were kept.
//!
//! `cargo test --test storm` runs it for 15 seconds, with `RAVENRY_STORM_SECONDS=3600` for an hour.
//! `RAVENRY_STORM_SEED` decides what the nemesis does and what each agent tries: the same seed gives the same
//! intentions. The scheduler decides which process runs when, so a run cannot be repeated exactly.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and makes the files that it needs"
)]

mod agent;
mod arena;
#[path = "../it/support/chance.rs"]
mod chance;
mod checker;
mod command;
mod disk;
mod history;
mod journal;
mod nemesis;
mod place;
#[path = "../it/support/skip.rs"]
mod skip;

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use agent::{Mood, Task};
use arena::{Aftermath, Weather};
use checker::{Figures, Promise};
use ravenry::sys::test_switches::Bug;

const SECONDS: &str = "RAVENRY_STORM_SECONDS";
const SEED: &str = "RAVENRY_STORM_SEED";
const AGENTS: &str = "RAVENRY_STORM_AGENTS";
/// A file for the figures; `docs/storm.txt` is shown in `BENCHMARKS.md`.
const FIGURES: &str = "RAVENRY_STORM_FIGURES";
/// Keeps the directory even if no promise was broken.
const KEEP: &str = "RAVENRY_STORM_KEEP";

/// Violations of a promise that are shown; all of them are written to a file.
const SHOWN: usize = 3;

/// The small storms run at once, because their agents mostly wait; the great one runs alone.
static WEATHER: RwLock<()> = RwLock::new(());

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

#[expect(clippy::print_stderr, reason = "the figures are what one runs this for")]
fn say(text: &str) {
    eprintln!("{text}");
}

/// A storm runs this test as its agents.
#[test]
fn agents_are_processes_of_this_program() {
    if let Some(task) = Task::from_environment() {
        task.run();
    }
}

/// The violations as text; the directory is kept if there are any.
fn report(weather: &Weather, aftermath: Aftermath) -> Result<(), String> {
    let Aftermath { verdict, not_done, .. } = &aftermath;
    let figures = format!("seed {}, {} agents\n{}", weather.seed, weather.agents, verdict.figures);
    say(&figures);
    not_done.iter().for_each(|what| say(&format!("not done here: {what}")));
    if verdict.violations.is_empty() {
        if let Some(path) = std::env::var_os(FIGURES) {
            std::fs::write(path, format!("{}\n", figures.trim_end())).unwrap();
        }
        if std::env::var_os(KEEP).is_some() {
            say(&format!("all of it is in {}", aftermath.keep().display()));
        }
        return Ok(());
    }
    let mut text = format!("broken in the storm of seed {}:\n", weather.seed);
    let mut counts: BTreeMap<Promise, usize> = BTreeMap::new();
    for violation in &verdict.violations {
        let count = counts.entry(violation.promise).or_default();
        *count += 1;
        if *count <= SHOWN {
            text += &format!("{violation}\n");
        }
    }
    text += &format!("{counts:?}\n");
    text += &format!("all of it is in {}", aftermath.keep().display());
    Err(text)
}

#[test]
fn the_promises_are_kept_in_a_storm() {
    let _alone = WEATHER.write().unwrap_or_else(PoisonError::into_inner);
    let weather = Weather {
        seed: number(SEED, 1),
        agents: number(AGENTS, 50),
        time: Duration::from_secs(number(SECONDS, 15)),
        mood: Mood::Storm,
        is_hostile: true,
        bug: None,
    };
    let aftermath = arena::storm(&weather);
    let figures = aftermath.verdict.figures.clone();
    if let Err(text) = report(&weather, aftermath) {
        panic!("{text}");
    }
    // A storm in which everything is refused proves nothing.
    let Figures { done, accepted, delivered, expired, killed, edits, proven, .. } = &figures;
    assert!(*done > 100 && *accepted > 20 && *delivered > 20 && *killed > 5 && edits[0] > 0, "{figures}");
    assert!(*accepted < 300 || *expired > 0, "{figures}");
    // What is rare may not come in a short one.
    let is_long = weather.time >= Duration::from_secs(60);
    assert!(proven.names > 10 && (!is_long || proven.paths > 0 && proven.pairs > 0), "{figures}");
}

/// Runs storms with a fault in the program until the checker finds it. A race needs luck, so there are several.
fn assert_seen(bug: Bug, mood: Mood, agents: u64, promise: Promise) {
    const ROUNDS: u64 = 12;
    let _beside_small_ones = WEATHER.read().unwrap_or_else(PoisonError::into_inner);
    for round in 0..ROUNDS {
        let time = Duration::from_secs(4);
        let seed = number(SEED, 1) + round;
        let weather = Weather { seed, agents, time, mood, is_hostile: false, bug: Some(bug) };
        let verdict = arena::storm(&weather).verdict;
        let seen = verdict.violations.iter().find(|violation| violation.promise == promise);
        if let Some(violation) = seen {
            let count = verdict.violations.len();
            say(&format!("{}, seen in round {} ({count} in all): {violation}", bug.name(), round + 1));
            return;
        }
    }
    panic!("{} was not seen in {ROUNDS} storms", bug.name());
}

#[test]
fn a_naive_lock_is_seen() {
    assert_seen(Bug::NaiveLock, Mood::Greed, 12, Promise::OneOwner);
}

#[test]
fn a_message_that_is_deleted_before_it_is_delivered_is_seen() {
    assert_seen(Bug::DeleteBeforeDeliver, Mood::Letters, 8, Promise::NothingIsLost);
}

#[test]
fn a_look_before_the_watch_is_seen() {
    assert_seen(Bug::ScanBeforeWatch, Mood::Doorbell, 8, Promise::WatchersHear);
}

/// The same moods without a fault: what the checker finds above is the fault, and not an effect of the storm.
#[test]
fn nothing_is_seen_where_there_is_no_fault() {
    let _beside_small_ones = WEATHER.read().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for (mood, agents) in [(Mood::Greed, 12), (Mood::Letters, 8), (Mood::Doorbell, 8)] {
            scope.spawn(move || assert_nothing_is_seen(mood, agents));
        }
    });
}

fn assert_nothing_is_seen(mood: Mood, agents: u64) {
    let time = Duration::from_secs(4);
    let weather = Weather { seed: number(SEED, 1), agents, time, mood, is_hostile: false, bug: None };
    let aftermath = arena::storm(&weather);
    let proven = aftermath.verdict.figures.proven.clone();
    if let Err(text) = report(&weather, aftermath) {
        panic!("{mood:?}: {text}");
    }
    let looked_at = match mood {
        Mood::Letters | Mood::Doorbell => proven.pairs,
        Mood::Greed | Mood::Storm => proven.tasks + proven.paths,
    };
    assert!(looked_at > 0, "{mood:?} proved nothing");
}

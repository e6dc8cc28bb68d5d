//! The storm over linked machines: three machines with real links, one `nats-server` or a cluster of three, and a dozen
//! agents as real processes, while a nemesis kills agents, links and servers, stops links for longer than a lease, cuts
//! and slows down networks, fills disks and makes clocks jump. Then a checker reads what all of them recorded and proves
//! that the promises were kept.
//!
//! `.ci/link-storm` fetches a server and runs it for 15 seconds with each number of servers, with
//! `RAVENRY_STORM_SECONDS=3600` for an hour. `RAVENRY_STORM_SEED` decides what the nemesis does and what each agent tries:
//! the same seed gives the same intentions. The scheduler decides which process runs when, so a run cannot be repeated
//! exactly.
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
#[path = "../storm/disk.rs"]
mod disk;
mod fleet;
#[path = "../link/support/ground.rs"]
mod ground;
mod history;
#[path = "../storm/journal.rs"]
mod journal;
mod nemesis;
mod observer;
mod place;
#[path = "../link/support/ports.rs"]
mod ports;
#[path = "../link/support/proxy.rs"]
mod proxy;
#[allow(dead_code, reason = "shared with the tests of links, which use more of it")]
#[path = "../link/support/server.rs"]
mod server;
#[path = "../it/support/skip.rs"]
mod skip;

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use agent::{Mood, Task};
use arena::{Aftermath, Weather};
use checker::{Figures, Promise, Proven};
use ravenry::sys::test_switches::Bug;

const SECONDS: &str = "RAVENRY_STORM_SECONDS";
const SEED: &str = "RAVENRY_STORM_SEED";
const AGENTS: &str = "RAVENRY_STORM_AGENTS";
/// A file for the figures. The number of servers is added to its name.
const FIGURES: &str = "RAVENRY_STORM_FIGURES";
/// Keeps the directory even if no promise was broken.
const KEEP: &str = "RAVENRY_STORM_KEEP";

/// Violations of a promise that are shown; all of them are written to a file.
const SHOWN: usize = 3;

/// The small storms run at once, because their agents mostly wait; the great ones run alone.
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
    let figures = format!(
        "seed {}, {} agents on 3 machines, servers: {}\n{}",
        weather.seed, weather.agents, weather.servers, verdict.figures
    );
    say(&figures);
    not_done.iter().for_each(|what| say(&format!("not done here: {what}")));
    if verdict.violations.is_empty() {
        if let Some(path) = std::env::var_os(FIGURES).filter(|_| weather.mood == Mood::Storm) {
            let path = format!("{}.{}", path.to_string_lossy(), weather.servers);
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

fn assert_kept(servers: usize) {
    let _alone = WEATHER.write().unwrap_or_else(PoisonError::into_inner);
    let weather = Weather {
        seed: number(SEED, 1),
        servers,
        agents: number(AGENTS, 12),
        time: Duration::from_secs(number(SECONDS, 15)),
        mood: Mood::Storm,
        bug: None,
    };
    let aftermath = arena::storm(&weather);
    let figures = aftermath.verdict.figures.clone();
    if let Err(text) = report(&weather, aftermath) {
        panic!("{text}");
    }
    // A storm in which everything is refused proves nothing.
    let Figures { done, accepted, carried, proven, .. } = &figures;
    assert!(*done > 50 && *accepted > 5 && *carried > 0 && proven.names > 0, "{figures}");
    // What is rare may not come in a short one.
    if weather.time >= Duration::from_secs(120) {
        let Proven { tasks, paths, pairs, completions, takeovers, leases, .. } = *proven;
        let all = [tasks, paths, pairs, completions, takeovers];
        assert!(all.iter().all(|count| *count > 0) && leases > place::MACHINES.len(), "{figures}");
        let deeds = ["KillAgent", "KillLink", "StopLink", "Cut", "HalfCut", "Delay", "KillServer", "Clock"];
        assert!(deeds.iter().all(|deed| figures.deed(deed) > 0), "{figures}");
    }
}

#[test]
fn the_promises_are_kept_in_a_storm() {
    assert_kept(1);
}

#[test]
fn the_promises_are_kept_in_a_storm_over_three_servers() {
    assert_kept(3);
}

/// What a small storm needs to show its fault: agents, and seconds.
fn small(mood: Mood) -> (u64, u64) {
    match mood {
        Mood::Letters => (6, 8),
        Mood::Greed => (9, 20),
        Mood::Hoard | Mood::Storm => (6, 6),
    }
}

fn small_weather(mood: Mood, bug: Option<Bug>, seed: u64) -> Weather {
    let (agents, seconds) = small(mood);
    Weather { seed, servers: 1, agents, time: Duration::from_secs(seconds), mood, bug }
}

/// Runs storms with a fault in the program until the checker finds it. A race needs luck, so there are several.
fn assert_seen(bug: Bug, mood: Mood, promise: Promise) {
    const ROUNDS: u64 = 20;
    let _beside_small_ones = WEATHER.read().unwrap_or_else(PoisonError::into_inner);
    for round in 0..ROUNDS {
        let aftermath = arena::storm(&small_weather(mood, Some(bug), number(SEED, 1) + round));
        let verdict = &aftermath.verdict;
        let seen = verdict.violations.iter().find(|violation| violation.promise == promise);
        if let Some(violation) = seen {
            let count = verdict.violations.len();
            say(&format!("{}, seen in round {} ({count} in all): {violation}", bug.name(), round + 1));
            return;
        }
        say(&format!("{}, not seen in round {}\n{}", bug.name(), round + 1, verdict.figures));
        if std::env::var_os(KEEP).is_some() {
            say(&format!("all of it is in {}", aftermath.keep().display()));
        }
    }
    panic!("{} was not seen in {ROUNDS} storms", bug.name());
}

#[test]
fn an_acknowledgement_before_the_inbox_is_seen() {
    assert_seen(Bug::AckBeforeInbox, Mood::Letters, Promise::NothingIsLost);
}

#[test]
fn a_completion_without_fencing_is_seen() {
    assert_seen(Bug::UnfencedCompletion, Mood::Greed, Promise::LosersCompleteNothing);
}

#[test]
fn a_lease_for_the_dead_is_seen() {
    assert_seen(Bug::DeadStayOwners, Mood::Hoard, Promise::DeadOwnNothing);
}

/// The same moods without a fault: what the checker finds above is the fault, and not an effect of the storm.
#[test]
fn nothing_is_seen_where_there_is_no_fault() {
    let _beside_small_ones = WEATHER.read().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for mood in [Mood::Letters, Mood::Greed, Mood::Hoard] {
            scope.spawn(move || assert_nothing_is_seen(mood));
        }
    });
}

/// A storm in which nothing came about proves nothing, so there are several. A violation in any of them is one.
fn assert_nothing_is_seen(mood: Mood) {
    const ROUNDS: u64 = 5;
    for round in 0..ROUNDS {
        let weather = small_weather(mood, None, number(SEED, 1) + round);
        let aftermath = arena::storm(&weather);
        let proven = aftermath.verdict.figures.proven.clone();
        if let Err(text) = report(&weather, aftermath) {
            panic!("{mood:?}: {text}");
        }
        let looked_at = match mood {
            Mood::Letters => proven.pairs,
            Mood::Greed => proven.completions + proven.takeovers,
            Mood::Hoard | Mood::Storm => proven.names + proven.tasks,
        };
        if looked_at > 0 {
            return;
        }
        say(&format!("{mood:?} proved nothing in round {}", round + 1));
    }
    panic!("{mood:?} proved nothing in {ROUNDS} storms");
}

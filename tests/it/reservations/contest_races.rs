//! Eight contesters at once, as processes, some of them killed, and a holder that is silent, answers or dies.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ravenry::sys::test_switches::CRASH_AT;
use serde_json::Value;

use super::listed;
use super::races::Caller;
use crate::support::chance::Chance;
use crate::support::environment::{TestEnvironment, end, rounds};

const CONTESTERS: usize = 8;
const TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Holder {
    Silent,
    Answers,
    Dies,
}

/// A mesh with a holder of `src/`, eight contesters and an agent that merely wants it.
struct Arena {
    env: TestEnvironment,
    names: Vec<String>,
    host: u32,
}

impl Arena {
    fn new() -> Self {
        let env = TestEnvironment::new();
        let host = env.join("Holder");
        let names: Vec<String> = (0..CONTESTERS).map(|number| format!("Agent{number}")).collect();
        for name in names.iter().map(String::as_str).chain(["Other"]) {
            env.join(name);
        }
        env.ok(&["config", "set", "contestTimeout", "1"]);
        env.ok(&["reserve", "src/", "--as", "Holder"]);
        Self { env, names, host }
    }

    /// All contest at once; some are killed on the way, and then try again.
    fn contest(&self, chance: &mut Chance) {
        let caller = &Caller::of(&self.env);
        let crashes: Vec<u64> = self.names.iter().map(|_| chance.below(24)).collect();
        let barrier = &Barrier::new(CONTESTERS);
        std::thread::scope(|scope| {
            for (name, crash) in self.names.iter().zip(crashes) {
                scope.spawn(move || {
                    barrier.wait();
                    let mut command = caller.msg(&["contest", "src/", "--as", name]);
                    command.env(CRASH_AT, crash.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
                    command.status().unwrap();
                    caller.ok(&["contest", "src/", "--as", name]);
                });
            }
        });
    }

    /// The contesters, the first one first, by what is on disk.
    fn order(&self) -> Vec<String> {
        let number = |name: &String| self.env.registration(name)["contests"][0]["order"].as_u64().unwrap();
        let by_number: BTreeMap<u64, &String> = self.names.iter().map(|name| (number(name), name)).collect();
        assert_eq!(by_number.len(), CONTESTERS, "no two have one number");
        by_number.into_values().cloned().collect()
    }
}

/// Who has a reservation on disk. Two looks at two files are not one moment, so only a look without a change counts.
fn holders_on_disk(registry: &Path) -> Option<Vec<String>> {
    let look = || -> Vec<String> {
        let files = fs::read_dir(registry).unwrap();
        let mut found = Vec::new();
        for path in files.map(|file| file.unwrap().path()) {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let Ok(agent) = serde_json::from_str::<Value>(&text) else { continue };
            if agent["reservations"].as_array().is_some_and(|list| !list.is_empty()) {
                found.push(agent["name"].as_str().unwrap().to_string());
            }
        }
        found.sort();
        found
    };
    let first = look();
    (first == look()).then_some(first)
}

/// One round: who takes it, and when.
fn play(arena: &Arena, holder: Holder, chance: &mut Chance) {
    arena.contest(chance);
    let order = arena.order();
    let caller = &Caller::of(&arena.env);
    let is_over = &AtomicBool::new(false);
    let registry = &arena.env.mesh().join("registry");
    let mut answered = None;
    match holder {
        Holder::Silent => {}
        Holder::Answers => {
            answered = Some(Instant::now());
            arena.env.ok(&["broadcast", "I need it", "--as", "Holder"]);
        }
        Holder::Dies => arena.env.kill(arena.host),
    }
    let seeds: Vec<u64> = arena.names.iter().map(|_| chance.below(u64::MAX)).collect();
    let winners: Vec<(String, Instant)> = std::thread::scope(|scope| {
        let threads: Vec<_> = arena
            .names
            .iter()
            .zip(seeds)
            .map(|(name, seed)| {
                scope.spawn(move || {
                    let mut chance = Chance(seed);
                    let mut won = None;
                    while won.is_none() && !is_over.load(Ordering::SeqCst) {
                        let args = match holder {
                            Holder::Dies => vec!["reserve", "src/", "--as", name],
                            _ => vec!["release", "src/", "--from", "Holder", "--as", name],
                        };
                        let mut command = caller.msg(&args);
                        if chance.below(2) == 0 {
                            command.env(CRASH_AT, chance.below(20).to_string());
                        }
                        let ended = end(command.arg("--json"));
                        // It may have won and been killed before it could say so.
                        let says_so = || ended.signal.is_some() || ended.code == Some(2);
                        let has_it = ended.code == Some(0)
                            || says_so()
                                && end(&mut caller.msg(&["check", "src/x", "--as", name])).code == Some(0);
                        won = has_it.then(|| (name.clone(), Instant::now()));
                    }
                    is_over.store(true, Ordering::SeqCst);
                    won
                })
            })
            .collect();
        let other = scope.spawn(move || {
            while !is_over.load(Ordering::SeqCst) {
                let ended = end(caller.msg(&["reserve", "src/", "--as", "Other"]).arg("--json"));
                assert_eq!(ended.expect_code(1).kind(), "reserved", "who merely waits does not get it");
                let holders = holders_on_disk(registry);
                let alive = |names: &Vec<String>| {
                    names.iter().filter(|name| holder != Holder::Dies || *name != "Holder").count()
                };
                assert!(holders.as_ref().is_none_or(|names| alive(names) <= 1), "two holders: {holders:?}");
            }
        });
        let winners = threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
        other.join().unwrap();
        winners
    });
    let [(winner, at)] = winners.as_slice() else { panic!("{holder:?}: {winners:?}") };
    assert_eq!(*winner, order[0], "{holder:?}: the first contester is first: {order:?}");
    if let Some(answered) = answered {
        assert!(at.duration_since(answered) >= TIMEOUT, "taken from one who answered");
    }
    assert_eq!(listed(&arena.env), [format!("{winner} src/")]);
    // The others follow in order.
    for (name, next) in order.iter().zip(&order[1..]).take(3) {
        arena.env.ok(&["release", "src/", "--as", name]);
        assert_eq!(listed(&arena.env), [format!("{next} src/")], "{holder:?}");
    }
}

#[test]
fn of_eight_contesters_the_first_gets_it_and_only_from_a_silent_holder() {
    let mut chance = Chance(19);
    for round in 0..rounds(24) {
        let holder = [Holder::Silent, Holder::Answers, Holder::Dies][round % 3];
        play(&Arena::new(), holder, &mut chance);
    }
}

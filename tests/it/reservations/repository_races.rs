//! Many processes in several work trees and clones of one repository at once: a path in it has one holder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Barrier;

use super::races::Caller;
use super::repositories::{committed, git};
use crate::support::environment::{TestEnvironment, rounds};

/// Any two of them have `src/a.rs` in common.
const PATTERNS: [&str; 6] = ["src/", "src/a.rs", "**/*.rs", ".", "src/*", "{src,lib}/a.rs"];

/// A race that one has won so many times is none.
const MOST_ROUNDS: usize = 100;

/// Agents, each in one of the work trees, with its host.
struct Race {
    env: TestEnvironment,
    caller: Caller,
    places: [PathBuf; 4],
    agents: Vec<(String, u32)>,
}

impl Race {
    fn new(agents: usize) -> Self {
        let env = TestEnvironment::new();
        let top = fs::canonicalize(env.path()).unwrap();
        let main = top.join("main");
        committed(&main);
        git(&main, &["worktree", "add", "-q", "-b", "topic", "../linked"]);
        git(&main, &["worktree", "add", "-q", "-b", "inner", ".trees/inner"]);
        git(&top, &["clone", "-q", "main", "clone"]);
        let places = [main.clone(), top.join("linked"), main.join(".trees/inner"), top.join("clone")];
        let agent = |number: usize| {
            let name = format!("Agent{number}");
            let host = env.join(&name);
            (name, host)
        };
        let agents = (0..agents).map(agent).collect();
        let caller = Caller::of(&env);
        Self { env, caller, places, agents }
    }

    /// All of them reserve at once. Returns their exit codes; `None` for one that was killed.
    fn run(
        &self,
        round: usize,
        options: &[&str],
        is_killed: impl Fn(usize) -> bool + Sync,
    ) -> Vec<Option<i32>> {
        // Not the environment, which belongs to one thread.
        let Self { caller, places, agents, .. } = self;
        let barrier = Barrier::new(agents.len());
        let reserve = |number: usize| {
            let pattern = PATTERNS[(number + round) % PATTERNS.len()];
            let mut command = caller.msg(&["reserve", pattern, "--as", &agents[number].0]);
            command.args(options).current_dir(&places[number % places.len()]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            barrier.wait();
            let mut child = command.spawn().unwrap();
            if is_killed(number) {
                // Sooner or later in its work: a moment that depends on what the others do.
                std::thread::sleep(std::time::Duration::from_micros((number * 1700 + round * 900) as u64));
                child.kill().unwrap();
            }
            child.wait().unwrap().code()
        };
        std::thread::scope(|scope| {
            let reserve = &reserve;
            let threads: Vec<_> =
                (0..agents.len()).map(|number| scope.spawn(move || reserve(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn holders(&self) -> Vec<String> {
        let listed = self.env.ok(&["reservations"]);
        let rows = listed["reservations"].as_array().unwrap();
        let mut holders: Vec<String> =
            rows.iter().map(|row| row["holder"].as_str().unwrap().to_string()).collect();
        holders.dedup();
        holders
    }

    /// Whom each work tree says to hold the file. A stranger asks.
    fn held_in(&self, place: &Path) -> Option<String> {
        let ended = crate::support::environment::end(
            self.caller.msg(&["check", "src/a.rs", "--json"]).current_dir(place),
        );
        ended.json()["paths"][0]["holder"].as_str().map(str::to_string)
    }
}

#[test]
fn of_all_who_want_it_everywhere_one_gets_it() {
    let mut race = Race::new(12);
    let mut winners = std::collections::BTreeSet::new();
    let mut round = 0;
    // On a busy machine one may win a few times in a row: it goes on until another one does.
    while round < rounds(24) || (winners.len() < 2 && round < MOST_ROUNDS) {
        let ends = race.run(round, &["--repo"], |_| false);
        let won: Vec<usize> = (0..ends.len()).filter(|number| ends[*number] == Some(0)).collect();
        assert_eq!(
            (won.len(), ends.iter().filter(|code| **code == Some(1)).count()),
            (1, ends.len() - 1),
            "{ends:?}"
        );
        let (name, host) = race.agents[won[0]].clone();
        assert_eq!(race.holders(), std::slice::from_ref(&name));
        for place in &race.places {
            assert_eq!(race.held_in(place).as_ref(), Some(&name), "{}", place.display());
        }
        winners.insert(won[0]);
        // Half of the winners let go, the others are killed: both free it.
        match round % 2 {
            0 => drop(race.caller.ok(&["release", "--as", &name])),
            _ => {
                race.env.kill(host);
                race.agents[won[0]].1 = race.env.join(&name);
                race.caller.ok(&["release", "--as", &name]);
            }
        }
        assert_eq!(race.held_in(&race.places[3]), None, "round {round}");
        round += 1;
    }
    assert!(winners.len() > 1, "always the same one won, so that was no race: {winners:?}");
}

#[test]
fn one_that_is_killed_leaves_no_second_holder() {
    let race = Race::new(8);
    let mut killed = 0;
    for round in 0..rounds(24) {
        let ends = race.run(round, &["--repo"], |number| number % 2 == 0);
        killed += ends.iter().filter(|code| code.is_none()).count();
        assert!(ends.iter().filter(|code| **code == Some(0)).count() <= 1, "round {round}: {ends:?}");
        let holders = race.holders();
        assert!(holders.len() <= 1, "round {round}: {holders:?}");
        for place in &race.places {
            assert_eq!(race.held_in(place), holders.first().cloned(), "round {round}");
        }
        for (name, _) in &race.agents {
            race.caller.ok(&["release", "--as", name]);
        }
    }
    assert!(killed > 0, "nobody was killed in time");
}

/// Either one has it everywhere, or some have it in their own work trees.
#[test]
fn those_who_want_it_here_and_those_who_want_it_everywhere() {
    let race = Race::new(8);
    for round in 0..rounds(24) {
        let Race { caller, places, agents, .. } = &race;
        let barrier = Barrier::new(agents.len());
        let reserve = |number: usize| {
            let is_shared = (number + round).is_multiple_of(3);
            let options: &[&str] = if is_shared { &["--repo"] } else { &[] };
            let mut command = caller.msg(&["reserve", "src/a.rs", "--as", &agents[number].0]);
            command.args(options).current_dir(&places[number % places.len()]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            barrier.wait();
            (is_shared, number % places.len(), command.status().unwrap().code())
        };
        let ends: Vec<(bool, usize, Option<i32>)> = std::thread::scope(|scope| {
            let reserve = &reserve;
            let threads: Vec<_> =
                (0..agents.len()).map(|number| scope.spawn(move || reserve(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let won: Vec<_> = ends.iter().filter(|(_, _, code)| *code == Some(0)).collect();
        let mut places: Vec<usize> = won.iter().map(|(_, place, _)| *place).collect();
        places.sort_unstable();
        places.dedup();
        assert!(!won.is_empty() && places.len() == won.len(), "round {round}: one per work tree: {ends:?}");
        assert!(won.len() == 1 || won.iter().all(|(is_shared, ..)| !is_shared), "round {round}: {ends:?}");
        for (name, _) in &race.agents {
            race.caller.ok(&["release", "--as", name]);
        }
    }
}

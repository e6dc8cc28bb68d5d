//! Many agents claim at once: with a dead process's lock in the way, and for long enough that one could starve.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use super::crowd::{Caller, Host, entries, ledger, number};
use crate::crashes::copy;
use crate::support::environment::{TestEnvironment, date, put};

const CROWD: usize = 8;
/// The least number of rounds; [`ROUNDS_FLAG`] asks for more.
const AT_LEAST: usize = 20;
const ROUNDS_FLAG: &str = "RAVENRY_SWARM_ROUNDS";
/// How many claims the crowd makes together; [`CLAIMS_FLAG`] asks for more.
const CLAIMS: usize = 320;
const CLAIMS_FLAG: &str = "RAVENRY_SWARM_CLAIMS";

/// As many agents as tasks.
fn crowd(env: &TestEnvironment) -> Vec<String> {
    let tasks: String = (0..CROWD).map(|number| format!("- [ ] T-{number}: some work\n")).collect();
    put(&env.work().join("spec.md"), &tasks);
    let names: Vec<String> = (0..CROWD).map(|number| format!("Agent{number}")).collect();
    for name in &names {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    names
}

/// A pid that nobody has: its process was just reaped.
fn dead_pid() -> u32 {
    let mut host = Host::new();
    host.kill();
    host.pid()
}

/// Leaves a lock as pi-messenger does when it is killed.
fn leave_lock(mesh: &Path) {
    let lock = mesh.join("swarm.lock");
    put(&lock, &dead_pid().to_string());
    date(&lock, SystemTime::now() - Duration::from_secs(11));
}

#[test]
fn a_dead_ones_lock_costs_no_claim() {
    let env = TestEnvironment::new();
    let names = crowd(&env);
    let caller = Caller::of(&env);
    let asked = number(ROUNDS_FLAG, 0);
    let mut firsts = BTreeSet::new();
    let mut round = 0;
    while round < asked.max(AT_LEAST) {
        // The same agents, without what they did in earlier rounds.
        let mesh = env.path().join(format!("mesh-{round}"));
        copy(&env.mesh(), &mesh);
        leave_lock(&mesh);
        let barrier = Barrier::new(CROWD);
        let claim = |number: usize| {
            let task = format!("T-{number}");
            // In every second round, any free task.
            let which = if round % 2 == 0 { task.as_str() } else { "--next" };
            let mut command = caller.msg(&["claim", which, "--as", &names[number]]);
            command.env("MSG_MESH", &mesh).stderr(Stdio::null());
            barrier.wait();
            let ended = crate::support::environment::end(&mut command).expect_code(0);
            (ended.json()["claim"]["task"].as_str().unwrap().to_string(), names[number].clone())
        };
        let claim = &claim;
        let told: BTreeSet<(String, String)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..CROWD).map(|number| scope.spawn(move || claim(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let written = entries(&ledger(&mesh, "claims.json"));
        firsts.insert(written[0].2["agent"].to_string());
        let written: BTreeSet<(String, String)> = written
            .into_iter()
            .map(|(_, task, entry)| (task, entry["agent"].as_str().unwrap().to_string()))
            .collect();
        assert_eq!(told, written, "round {round}: every claim that was reported is on disk");
        let tasks: BTreeSet<&String> = written.iter().map(|(task, _)| task).collect();
        assert_eq!(tasks.len(), CROWD, "round {round}: each to one: {written:?}");
        assert!(!mesh.join("swarm.lock").exists(), "round {round}: the last one put the light out");
        std::fs::remove_dir_all(&mesh).unwrap();
        round += 1;
    }
    assert!(firsts.len() > 1, "always {firsts:?} first in {round} rounds, so that was no race");
}

/// Counted, not timed: when the crowd has made this many claims, who made the fewest?
#[test]
fn nobody_is_left_behind() {
    let env = TestEnvironment::new();
    let names = crowd(&env);
    let caller = Caller::of(&env);
    let (all, made) = (number(CLAIMS_FLAG, CLAIMS), AtomicUsize::new(0));
    let barrier = Barrier::new(CROWD);
    let work = |number: usize| {
        let (task, name) = (format!("T-{number}"), names[number].as_str());
        barrier.wait();
        let mut own = 0;
        while made.load(Ordering::SeqCst) < all {
            caller.ok(&["claim", &task, "--as", name]);
            caller.ok(&["unclaim", "--as", name]);
            made.fetch_add(1, Ordering::SeqCst);
            own += 1;
        }
        own
    };
    let work = &work;
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CROWD).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mean = counts.iter().sum::<usize>() / CROWD;
    assert!(counts.iter().all(|own| own * 2 >= mean), "half of the mean for everyone: {counts:?}");
    assert_eq!(entries(&ledger(&env.mesh(), "claims.json")), [], "all gave it back");
}

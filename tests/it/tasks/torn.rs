//! A registration that is being rewritten in place proves nothing: its owner keeps what it has.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::crowd::{Caller, Chance, entries, ledger, number};
use crate::support::environment::{TestEnvironment, date, put};

/// How many commands; [`FLAG`] asks for more.
const OPERATIONS: usize = 500;
const FLAG: &str = "RAVENRY_TORN_OPERATIONS";
const OTHERS: [&str; 3] = ["Bob", "Cem", "Dot"];

/// Truncates the file and rewrites it in place, until it is over. Some of the halves look an hour old: nobody waits for
/// the rest of those, as with a file whose writer has died. Returns how many halves there were.
fn tear(path: &Path, seed: u64, is_over: &AtomicBool) -> usize {
    let whole = fs::read(path).unwrap();
    let mut chance = Chance(seed);
    let mut halves = 0;
    while !is_over.load(Ordering::SeqCst) {
        let mut file = OpenOptions::new().write(true).truncate(true).open(path).unwrap();
        let half = chance.below(whole.len() as u64) as usize;
        file.write_all(&whole[..half]).unwrap();
        if chance.one_in(2) {
            date(path, SystemTime::now() - Duration::from_secs(3600));
        }
        std::thread::sleep(Duration::from_micros(chance.below(20_000)));
        file.write_all(&whole[half..]).unwrap();
        drop(file);
        std::thread::sleep(Duration::from_micros(chance.below(4_000)));
        assert_eq!(fs::read(path).unwrap(), whole, "nobody else writes it");
        halves += 1;
    }
    halves
}

#[test]
fn a_torn_registration_costs_no_claim() {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), "- [ ] T-1: one\n- [ ] T-2: two\n- [ ] T-3: three\n- [ ] T-4: four\n");
    for name in ["Alice"].iter().chain(&OTHERS) {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env.ok(&["claim", "T-1", "--as", "Alice"]);
    // pi-messenger's, with a bare pid: its registration decides.
    let (pid, session) = (env.pi_host(), "0195b6aa-7c3e-7d51-9d0c-1f6a2b3c4d5e");
    let registration = json!({
        "name": "Pia", "pid": pid, "sessionId": session, "cwd": env.work(), "model": "m",
        "startedAt": "2026-11-14T23:57:56.070Z",
    });
    let registry = env.mesh().join("registry");
    put(&registry.join("Pia.json"), &serde_json::to_string_pretty(&registration).unwrap());
    let mut claims = ledger(&env.mesh(), "claims.json");
    let spec = entries(&claims)[0].0.clone();
    claims[&spec]["T-2"] =
        json!({ "agent": "Pia", "sessionId": session, "pid": pid, "claimedAt": "2026-11-14T23:57:56.081Z" });
    put(&env.mesh().join("claims.json"), &claims.to_string());

    let (caller, mesh) = (Caller::of(&env), env.mesh());
    let is_over = AtomicBool::new(false);
    let left = AtomicUsize::new(number(FLAG, OPERATIONS));
    let is_kept = || {
        let claims = ledger(&mesh, "claims.json");
        let owner = |task: &str| claims[&spec][task]["agent"].clone();
        assert_eq!((owner("T-1"), owner("T-2")), (json!("Alice"), json!("Pia")), "{claims}");
    };
    let work = |name: &str, seed: u64| {
        let mut chance = Chance(seed);
        while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            let run = |args: &[&str]| caller.run(&[args, &["--as", name]].concat());
            match chance.below(5) {
                0 => {
                    let tasks = run(&["tasks"]).expect_code(0).json();
                    for (at, owner) in ["Alice", "Pia"].iter().enumerate() {
                        let task = &tasks["tasks"][at];
                        assert_eq!((&task["state"], &task["agent"]), (&json!("claimed"), &json!(owner)));
                    }
                }
                1 => {
                    run(&["agents"]).expect_code(0);
                }
                which @ (2 | 3) => {
                    let ended = run(&["claim", if which == 2 { "T-1" } else { "T-2" }]);
                    assert_eq!(ended.kind(), "already_claimed", "{ended}");
                }
                // Rewrites the file without stale claims.
                _ => {
                    let ended = run(&["claim", "--next"]);
                    if ended.code == Some(0) {
                        run(&["unclaim"]).expect_code(0);
                    } else {
                        assert_eq!(ended.kind(), "nothing_ready", "{ended}");
                    }
                }
            }
            is_kept();
        }
    };
    let (is_over, work) = (&is_over, &work);
    let halves: Vec<usize> = std::thread::scope(|scope| {
        let writers: Vec<_> = ["Alice", "Pia"]
            .iter()
            .zip(1..)
            .map(|(name, seed)| {
                let path = registry.join(format!("{name}.json"));
                scope.spawn(move || tear(&path, seed, is_over))
            })
            .collect();
        let workers: Vec<_> =
            OTHERS.iter().zip(10..).map(|(name, seed)| scope.spawn(move || work(name, seed))).collect();
        let ends: Vec<_> = workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        let halves = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        ends.into_iter().for_each(|end| end.unwrap());
        halves
    });
    assert!(halves.iter().all(|halves| *halves > 50), "torn so often: {halves:?}");
    env.ok(&["complete", "T-1", "--as", "Alice"]);
}

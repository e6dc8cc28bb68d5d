//! Many processes at once: a path has one owner, and no change undoes another.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::listed;
use crate::crashes::copy;
use crate::support::environment::{TestEnvironment, end, open_mesh, rounds};

const ROUNDS: usize = 200;

/// Literals and globs, any two of which have `src/auth/login.rs` in common.
const PATTERNS: [&str; 16] = [
    "src/",
    "src/auth/login.rs",
    "src/**",
    "src/*/login.rs",
    "src/auth/",
    "**/login.rs",
    "src/auth/*.rs",
    "src/{auth,lib}/login.rs",
    ".",
    "src/[a-c]uth/l*",
    "src/auth/log?n.rs",
    "**/*.rs",
    "src/**/l*.rs",
    "*/auth/",
    "./src//auth/../auth/login.rs",
    "s*/a*/l*",
];

/// How to call `msg` from another thread.
#[derive(Clone)]
pub(super) struct Caller {
    variables: Vec<(OsString, OsString)>,
    work: PathBuf,
}

impl Caller {
    pub(super) fn of(env: &TestEnvironment) -> Self {
        let given = env.msg();
        let variables = given.get_envs().filter_map(|(name, value)| Some((name.into(), value?.into())));
        Self { variables: variables.collect(), work: env.work() }
    }

    pub(super) fn msg(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_msg"));
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.work).stdin(Stdio::null()).args(args);
        command
    }

    #[track_caller]
    pub(super) fn ok(&self, args: &[&str]) -> Value {
        end(self.msg(args).arg("--json")).expect_code(0).json()
    }
}

#[test]
fn of_sixteen_at_once_one_gets_it() {
    let env = TestEnvironment::new();
    let names: Vec<String> = (0..PATTERNS.len()).map(|number| format!("Agent{number}")).collect();
    for name in &names {
        env.join(name);
    }
    let caller = Caller::of(&env);
    let mut winners = std::collections::BTreeSet::new();
    for round in 0..rounds(ROUNDS) {
        // The same agents, without their changes from earlier rounds.
        let mesh = env.path().join(format!("mesh-{round}"));
        copy(&env.mesh(), &mesh);
        let barrier = Barrier::new(names.len());
        let reserve = |number: usize| {
            let pattern = PATTERNS[(number + round) % PATTERNS.len()];
            let mut command = caller.msg(&["reserve", pattern, "--as", &names[number]]);
            command.env("MSG_MESH", &mesh).stdout(Stdio::null()).stderr(Stdio::null());
            barrier.wait();
            (names[number].clone(), pattern, command.status().unwrap().code())
        };
        let ends: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..names.len()).map(|number| scope.spawn(move || reserve(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let won: Vec<_> = ends.iter().filter(|(_, _, code)| *code == Some(0)).collect();
        let refused = ends.iter().filter(|(_, _, code)| *code == Some(1)).count();
        assert_eq!((won.len(), refused), (1, names.len() - 1), "round {round}: {ends:?}");
        let records =
            open_mesh(&mesh, crate::support::environment::PATIENCE).registry().census().unwrap().records;
        let holders: Vec<&str> = records
            .iter()
            .filter(|record| !record.agent.reservations.is_empty())
            .map(|record| record.agent.name.as_str())
            .collect();
        assert_eq!(holders, [won[0].0.as_str()], "round {round}: and that one holds it");
        winners.insert(won[0].1);
    }
    assert!(winners.len() > 1, "always the same pattern won, so that was no race: {winners:?}");
}

/// A registration has a status and reservations, each changed by processes that do not know about the other.
#[test]
fn a_status_and_a_reservation_do_not_undo_each_other() {
    let steps = rounds(240);
    let env = TestEnvironment::new();
    let names = ["Alice", "Bob"];
    for name in names {
        env.join(name);
    }
    let caller = &Caller::of(&env);
    let registration = |name: &str| -> Value {
        let path = env_path(caller, name);
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    let registration = &registration;
    let held = |name: &str| -> Vec<String> {
        let registration = registration(name);
        let rows = registration["reservations"].as_array().into_iter().flatten();
        rows.map(|row| row["pattern"].as_str().unwrap().to_string()).collect()
    };
    let held = &held;
    let is_over = &AtomicBool::new(false);
    let statuses: Vec<usize> = std::thread::scope(|scope| {
        let talkers: Vec<_> = names
            .iter()
            .map(|name| {
                scope.spawn(move || {
                    let mut count = 0;
                    while !is_over.load(Ordering::SeqCst) {
                        count += 1;
                        let status = format!("step {count}");
                        // Nobody else sets its status, so the last one stays.
                        let said = registration(name)["statusMessage"].clone();
                        assert!(
                            count == 1 || said == format!("step {}", count - 1),
                            "{name}: {said}, {count}"
                        );
                        caller.ok(&["set-status", &status, "--as", name]);
                        assert_eq!(registration(name)["statusMessage"], status.as_str(), "{name} said so");
                    }
                    count
                })
            })
            .collect();
        let workers: Vec<_> = names
            .iter()
            .map(|name| {
                scope.spawn(move || {
                    let mut expected: Vec<String> = Vec::new();
                    for step in 0..steps {
                        let pattern = format!("{name}-{step}");
                        caller.ok(&["reserve", &pattern, "--as", name]);
                        expected.push(pattern.clone());
                        assert_eq!(held(name), expected, "after reserving");
                        if step % 3 == 2 {
                            caller.ok(&["release", &pattern, "--as", name]);
                            expected.pop();
                            assert_eq!(held(name), expected, "after releasing");
                        }
                    }
                })
            })
            .collect();
        let ends: Vec<_> = workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        ends.into_iter().for_each(|end| end.unwrap());
        talkers.into_iter().map(|talker| talker.join().unwrap()).collect()
    });
    for (name, count) in names.iter().zip(&statuses) {
        assert_eq!(registration(name)["statusMessage"], format!("step {count}"));
        assert!(*count > 1, "{name} said {count} things meanwhile");
    }
    assert_eq!(listed(&env).len(), 2 * (steps - steps / 3));
}

fn env_path(caller: &Caller, name: &str) -> PathBuf {
    caller.work.parent().unwrap().join(format!("mesh/registry/{name}.json"))
}

//! Crash sweeps of contests: at every step the path has one holder, and nothing is taken from one who answered.

use std::fs;

use ravenry::sys::test_switches::CRASH_AT;

use crate::crashes::{Scene, Sweep};
use crate::support::environment::{TestEnvironment, end, wait_until};
use crate::support::hook_call::Call;

pub(super) const TAKE: [&str; 6] = ["release", "src/auth/", "--from", "Alice", "--as", "Bob"];

/// Alice holds `src/`. Bob and then Carol contest it, and the time is over.
pub(super) fn contested(env: &TestEnvironment) {
    held(env);
    env.ok(&["contest", "src/", "--as", "Bob"]);
    env.ok(&["contest", "src/auth/x", "--as", "Carol"]);
    wait_until("the time is over", || {
        env.ok(&["contest", "src/", "--as", "Carol"])["contest"]["secondsLeft"] == 0
    });
    env.ok(&["read", "--as", "Alice"]);
}

/// The same with a longer time that has been over for long, so that the time after an answer does not run out.
fn contested_since_boot(env: &TestEnvironment) {
    contested(env);
    env.ok(&["config", "set", "contestTimeout", "30"]);
    for name in ["Bob", "Carol"] {
        let mut agent = env.registration(name);
        agent["contests"][0]["started"]["millis"] = 0.into();
        fs::write(env.mesh().join(format!("registry/{name}.json")), agent.to_string()).unwrap();
    }
}

fn held(env: &TestEnvironment) {
    for name in ["Alice", "Bob", "Carol"] {
        env.join(name);
    }
    env.ok(&["config", "set", "contestTimeout", "1"]);
    env.ok(&["reserve", "src/", "--as", "Alice"]);
}

/// Who holds something, as every command sees it.
fn holders(env: &TestEnvironment) -> Vec<String> {
    let listing = env.ok(&["reservations"]);
    let rows = listing["reservations"].as_array().unwrap().iter();
    rows.map(|row| format!("{} {}", row["holder"].as_str().unwrap(), row["pattern"].as_str().unwrap()))
        .collect()
}

/// Whether the registration on disk has reservations.
pub(super) fn has_any(env: &TestEnvironment, name: &str) -> bool {
    env.registration(name)["reservations"].as_array().is_some_and(|list| !list.is_empty())
}

#[track_caller]
fn assert_one_holder(scene: &Scene, when: &str) {
    let env = &scene.env;
    let one = holders(env);
    let expected = ["Alice src/", "Bob src/", "Bob src/auth/"];
    assert!(one.len() == 1 && expected.contains(&one[0].as_str()), "{when}: {one:?}");
    assert!(!(has_any(env, "Alice") && has_any(env, "Bob")), "{when}: two holders on disk");
    assert_eq!(
        env.fails(1, &["check", "src/auth/y", "--as", "Carol"]),
        "reserved",
        "{when}: it is never free"
    );
}

#[test]
fn taking() {
    let scene = Scene::with(assert_one_holder, contested);
    scene.sweep(&Sweep {
        command: &TAKE,
        recovery: &TAKE,
        // It may have been taken, and not reported.
        codes: &[0, 1, 2],
        settled: &|env| {
            assert_eq!(holders(env), ["Bob src/auth/"]);
            assert!(has_any(env, "Bob") && !has_any(env, "Alice"));
            assert_eq!(env.registration("Bob").get("contests"), None);
        },
    });
}

/// The contester is killed on the way, and never comes back to it: the next one is first.
#[test]
fn taking_by_one_who_then_ends() {
    let scene = Scene::with(assert_one_holder, contested);
    let mut deaths = 0;
    for n in 1.. {
        scene.reset();
        let survived = scene.crash(&TAKE, n);
        let when = format!("killed at {n}");
        scene.assert_promises(&when);
        if survived.is_some() {
            break;
        }
        deaths = n;
        scene.env.ok(&["leave", "--as", "Bob"]);
        let before = holders(&scene.env);
        if before == ["Alice src/"] {
            scene.env.ok(&["release", "src/auth/x", "--from", "Alice", "--as", "Carol"]);
        }
        assert_eq!(holders(&scene.env), ["Carol src/auth/x"], "{when}: {before:?}");
    }
    assert!(deaths >= 4, "{deaths}");
}

#[test]
fn contesting() {
    let scene = Scene::with(
        |scene, when| {
            let env = &scene.env;
            assert_eq!(holders(env), ["Alice src/"], "{when}");
            if env.registration("Bob").get("contests").is_some() {
                let inbox = fs::read_dir(env.mesh().join("inbox/Alice")).unwrap();
                assert!(inbox.count() >= 1, "{when}: the clock runs, and Alice was not told");
                assert!(env.registration("Alice")["reservations"][0].get("contested").is_some(), "{when}");
            }
        },
        held,
    );
    let command = ["contest", "src/auth/", "--as", "Bob"];
    scene.sweep(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0],
        settled: &|env| {
            assert_eq!(env.registration("Bob")["contests"].as_array().unwrap().len(), 1);
            assert_eq!(env.ok(&["contest", "src/auth/", "--as", "Bob"])["contest"]["place"], 1);
        },
    });
}

/// The holder's hook is killed at any step: once the first of them is done, the sign is given.
#[test]
fn giving_a_sign() {
    let scene = Scene::with(|_, _| {}, contested);
    let mut deaths = 0;
    for n in 1.. {
        scene.reset();
        let call = Call::edit(&scene.env, "session of Alice", "src/y");
        let ended = end(call.command(&scene.env).env(CRASH_AT, n.to_string()));
        let taken = scene.run(&TAKE, &[]);
        match n {
            1 => drop(taken.expect_code(0)),
            _ => assert_eq!(taken.expect_code(1).kind(), "at_work", "killed at {n}"),
        }
        if ended.signal != Some(9) {
            break;
        }
        deaths = n;
    }
    assert!(deaths >= 2, "{deaths}");
}

/// The holder answers, and the process that sends the answer is killed: what is in the inbox counts.
#[test]
fn answering() {
    for answer in [["send", "Bob", "mine", "--as", "Alice"].as_slice(), &["reserve", "src/", "--as", "Alice"]]
    {
        let scene = Scene::with(|_, _| {}, contested_since_boot);
        let (mut deaths, mut answered) = (0, 0);
        for n in 1.. {
            scene.reset();
            let survived = scene.crash(answer, n);
            let has_answer = match answer[0] {
                "send" => fs::read_dir(scene.env.mesh().join("inbox/Bob")).unwrap().count() > 0,
                _ => scene.env.registration("Bob")["contests"][0].get("answered").is_some(),
            };
            answered += usize::from(has_answer && survived.is_none());
            let taken = scene.run(&TAKE, &[]);
            match has_answer {
                true => assert_eq!(taken.expect_code(1).kind(), "too_early", "{answer:?} killed at {n}"),
                false => drop(taken.expect_code(0)),
            }
            match survived {
                Some(ended) => {
                    ended.expect_code(0);
                    assert!(has_answer);
                    break;
                }
                None => deaths = n,
            }
        }
        assert!(deaths >= 3 && answered >= 1, "{answer:?}: {deaths}, {answered}");
    }
}

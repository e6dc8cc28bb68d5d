//! Crash sweeps of reservations: each is complete or not there, none of another agent is lost, and waiting agents are
//! told.

use std::fs;

use serde_json::Value;

use crate::crashes::{Scene, Sweep};
use crate::support::environment::TestEnvironment;

/// Alice and Bob each hold something, with every optional value. Carol wants some of it, and waits.
fn three(env: &TestEnvironment) {
    for name in ["Alice", "Bob", "Carol"] {
        env.join(name);
    }
    env.ok(&["reserve", "src/", "--reason", "old", "--ttl", "1h", "--as", "Alice"]);
    env.ok(&["reserve", "docs/", "*.md", "--reason", "the manual", "--as", "Bob"]);
    let wish = ["reserve", "src/auth/", "--as", "Carol"];
    assert_eq!(env.fails(1, &wish), "reserved");
}

fn scene() -> Scene {
    Scene::with(assert_reservations, three)
}

/// An agent's reservations on disk: pattern, reason, and whether it expires.
fn held(env: &TestEnvironment, name: &str) -> Vec<(String, String, bool)> {
    let registration = env.registration(name);
    let rows = registration["reservations"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    rows.map(|row| (text(&row["pattern"]), text(&row["reason"]), row.get("expiresAt").is_some())).collect()
}

fn patterns(env: &TestEnvironment, name: &str) -> Vec<String> {
    held(env, name).into_iter().map(|(pattern, _, _)| pattern).collect()
}

/// What holds at any time, whichever command of Alice or Carol died.
#[track_caller]
fn assert_reservations(scene: &Scene, when: &str) {
    let env = &scene.env;
    let bobs = [("docs/", "the manual", false), ("*.md", "the manual", false)];
    let bobs = bobs.map(|(pattern, reason, ends)| (pattern.to_string(), reason.to_string(), ends));
    assert_eq!(held(env, "Bob"), bobs, "{when}: Bob's are his");
    // Never a part of what was asked for, and no incomplete entry.
    let whole = [
        ("src/", "old", true),
        ("src/", "new", false),
        ("lib/", "both", false),
        ("test/", "both", false),
        ("src/auth/", "", false),
    ];
    for name in ["Alice", "Carol"] {
        let held = held(env, name);
        for (pattern, reason, ends) in &held {
            let is_whole = whole.contains(&(pattern.as_str(), reason.as_str(), *ends));
            assert!(is_whole, "{when}: {name} holds {held:?}");
        }
        let both = ["lib/", "test/"].map(|part| held.iter().any(|(pattern, _, _)| pattern == part));
        assert_eq!(both[0], both[1], "{when}: all or none: {held:?}");
    }
    let has = |name: &str, part: &str| patterns(env, name).iter().any(|pattern| pattern == part);
    assert!(!(has("Alice", "src/") && has("Carol", "src/auth/")), "{when}: two owners");
}

/// How many messages in Carol's inbox say that a path is free.
fn told(env: &TestEnvironment) -> usize {
    let entries = fs::read_dir(env.mesh().join("inbox/Carol")).unwrap();
    let texts = entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    texts.filter(|text| text.contains("`src/auth/` is free")).count()
}

/// Whether Carol's registration says that she still waits.
fn waits(env: &TestEnvironment) -> bool {
    let registration = env.registration("Carol");
    registration["waitsFor"].as_array().is_some_and(|list| !list.is_empty())
}

#[test]
fn reserving() {
    let command = ["reserve", "lib/", "test/", "--reason", "both", "--as", "Alice"];
    scene().sweep(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0],
        settled: &|env| {
            assert_eq!(patterns(env, "Alice"), ["src/", "lib/", "test/"]);
            assert!(waits(env) && told(env) == 0);
        },
    });
}

/// Where the repository began is written too.
#[test]
fn reserving_in_every_work_tree() {
    let command = ["reserve", "--repo", "lib/", "test/", "--reason", "both", "--as", "Alice"];
    let scene = scene();
    for args in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "one"]] {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(scene.env.work()).args(["-c", "user.name=J", "-c", "user.email=j@example.org"]);
        assert!(git.args(args).status().unwrap().success());
    }
    scene.sweep(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0],
        settled: &|env| {
            assert_eq!(patterns(env, "Alice"), ["src/", "lib/", "test/"]);
            let registration = env.registration("Alice");
            assert!(registration["reservations"][1]["repository"].is_string(), "{registration}");
        },
    });
}

#[test]
fn renewing() {
    let command = ["reserve", "src/", "--reason", "new", "--as", "Alice"];
    let scene = scene();
    let since = scene.env.registration("Alice")["reservations"][0]["since"].clone();
    scene.sweep(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0],
        settled: &|env| {
            assert_eq!(held(env, "Alice"), [("src/".to_string(), "new".to_string(), false)]);
            assert_eq!(env.registration("Alice")["reservations"][0]["since"], since, "as old as it is");
        },
    });
}

/// The path is held throughout a renewal.
#[test]
fn renewing_never_lets_go() {
    let scene = scene();
    let mut deaths = 0;
    for n in 1.. {
        scene.reset();
        let survived = scene.crash(&["reserve", "src/", "--reason", "new", "--as", "Alice"], n);
        assert_eq!(scene.env.fails(1, &["check", "src/x", "--as", "Bob"]), "reserved", "killed at {n}");
        if survived.is_some() {
            break;
        }
        deaths = n;
    }
    assert!(deaths >= 3, "{deaths}");
}

/// A refusal is recorded too, so that the waiting agent is told. It does not exit with 0, so it has its own loop.
#[test]
fn being_refused() {
    let scene = Scene::with(assert_reservations, |env| {
        three(env);
        env.ok(&["release", "--as", "Alice"]);
        env.ok(&["read", "--as", "Carol"]);
        env.ok(&["reserve", "src/", "--reason", "old", "--ttl", "1h", "--as", "Alice"]);
    });
    let wish = ["reserve", "src/auth/", "--as", "Carol"];
    let mut deaths = 0;
    for n in 1.. {
        scene.reset();
        let when = format!("killed at {n}");
        let survived = scene.crash(&wish, n);
        scene.assert_promises(&when);
        match survived {
            Some(ended) => {
                ended.expect_code(1);
            }
            None => {
                deaths = n;
                assert_eq!(scene.env.fails(1, &wish), "reserved", "{when}");
            }
        }
        scene.assert_promises(&when);
        assert!(waits(&scene.env) && told(&scene.env) == 0, "{when}");
        scene.env.ok(&["release", "--as", "Alice"]);
        assert_eq!(told(&scene.env), 1, "{when}: nobody died on the way to telling");
        if deaths < n {
            break;
        }
    }
    assert!(deaths >= 3, "{deaths}");
}

/// Carol is told that it is free, by the command that released it or by the next one.
fn assert_freed(env: &TestEnvironment) {
    assert!(!env.mesh().join("registry/Alice.json").exists() || patterns(env, "Alice").is_empty());
    assert!(!waits(env), "she has been told");
    assert!((1..=3).contains(&told(env)), "told {} times, but at least once", told(env));
    env.ok(&["reserve", "src/auth/", "--as", "Carol"]);
    assert_eq!(patterns(env, "Carol"), ["src/auth/"]);
}

#[test]
fn releasing() {
    let command = ["release", "--as", "Alice"];
    scene().sweep(&Sweep { command: &command, recovery: &command, codes: &[0], settled: &assert_freed });
}

/// No second release: another command notices.
#[test]
fn releasing_is_finished_by_whoever_looks() {
    let scene = scene();
    let mut half_way = 0;
    for n in 1.. {
        scene.reset();
        let survived = scene.crash(&["release", "--as", "Alice"], n);
        let when = format!("killed at {n}");
        scene.assert_promises(&when);
        scene.env.ok(&["agents"]);
        if patterns(&scene.env, "Alice").is_empty() {
            half_way += usize::from(survived.is_none());
            assert!(!waits(&scene.env) && (1..=2).contains(&told(&scene.env)), "{when}");
        } else {
            assert!(waits(&scene.env) && told(&scene.env) == 0, "{when}: it is not free");
        }
        if survived.is_some() {
            assert_eq!(told(&scene.env), 1, "nobody died, so she is told once");
            break;
        }
    }
    assert!(half_way >= 2, "{half_way}");
}

/// The holder is dead, and so is the command that buries it.
#[test]
fn burying_a_holder() {
    let scene = Scene::with(
        |scene, when| {
            let bobs = patterns(&scene.env, "Bob");
            assert_eq!(bobs, ["docs/", "*.md"], "{when}");
            assert!(scene.env.run(&["check", "src/x", "--as", "Bob"]).code == Some(0), "{when}: it is free");
        },
        |env| {
            three(env);
            let pid = env.registration("Alice")["pid"].as_u64().unwrap();
            env.kill(u32::try_from(pid).unwrap());
        },
    );
    scene.sweep_once(&Sweep {
        command: &["agents"],
        recovery: &["agents"],
        codes: &[0],
        settled: &assert_freed,
    });
}

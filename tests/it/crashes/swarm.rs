//! Crash sweeps of tasks and their paths: one owner or none, task and paths together, and a completion is never
//! undone.

use std::fs;

use serde_json::Value;

use crate::crashes::{Scene, Sweep};
use crate::support::environment::{TestEnvironment, put};

/// Alice and Bob have the same spec, in which OLD-1 is done and TASK-02 waits for TASK-01. Carol was refused TASK-01
/// and reads no mail; Dan holds paths and a task of his own.
fn four(env: &TestEnvironment) {
    put(
        &env.work().join("spec.md"),
        "- [ ] TASK-01: one\n- [ ] TASK-02: two (after TASK-01)\n- [ ] OLD-1: old\n- [ ] DAN-1: his\n",
    );
    for name in ["Alice", "Bob", "Carol", "Dan"] {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env.ok(&["claim", "OLD-1", "--as", "Bob"]);
    env.ok(&["complete", "OLD-1", "--notes", "long ago", "--as", "Bob"]);
    env.ok(&["claim", "DAN-1", "--reserve", "docs/", "--as", "Dan"]);
    env.ok(&["reserve", "lib/", "--as", "Alice"]);
}

/// As [`four`], and Alice has the task with two paths.
fn claimed(env: &TestEnvironment) {
    four(env);
    env.ok(&["claim", "TASK-01", "--reserve", "src/", "--reserve", "test/", "--as", "Alice"]);
    assert_eq!(env.fails(1, &["claim", "TASK-01", "--as", "Carol"]), "already_claimed");
}

fn json(env: &TestEnvironment, file: &str) -> Value {
    let text = fs::read_to_string(env.mesh().join(file));
    text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

/// State and owner of a task, as `msg tasks` lists them.
#[track_caller]
fn task(env: &TestEnvironment, id: &str) -> (String, Option<String>) {
    let listing = env.ok(&["tasks", "--spec", "spec.md"]);
    let row = listing["tasks"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone();
    (row["state"].as_str().unwrap().to_string(), row["agent"].as_str().map(str::to_string))
}

/// The holders of that pattern, as `msg reservations` lists them.
#[track_caller]
fn holders(env: &TestEnvironment, pattern: &str) -> Vec<String> {
    let listing = env.ok(&["reservations"]);
    let rows = listing["reservations"].as_array().unwrap().iter();
    let of_pattern = rows.filter(|row| row["pattern"] == pattern);
    of_pattern.map(|row| row["holder"].as_str().unwrap().to_string()).collect()
}

/// What holds at any time, whichever command of Alice died. The commands here only read, so they repair nothing.
#[track_caller]
fn assert_tasks(scene: &Scene, when: &str) {
    let env = &scene.env;
    let (tasks, held) = (env.ok(&["tasks", "--spec", "spec.md"]), env.ok(&["reservations"]));
    let task = |id: &str| tasks["tasks"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap();
    let holders = |pattern: &str| -> Vec<&Value> {
        let rows = held["reservations"].as_array().unwrap().iter();
        rows.filter(|row| row["pattern"] == pattern).map(|row| &row["holder"]).collect()
    };
    let is = |id: &str, state: &str, agent: &str| task(id)["state"] == state && task(id)["agent"] == agent;
    assert!(is("OLD-1", "done", "Bob") && is("DAN-1", "claimed", "Dan"), "{when}: {tasks}");
    assert_eq!(holders("docs/"), ["Dan"], "{when}");
    assert_eq!(holders("lib/"), ["Alice"], "{when}: it has nothing to do with the task");
    let (state, owner) = (&task("TASK-01")["state"], &task("TASK-01")["agent"]);
    let expected = if state == "claimed" { vec![owner] } else { Vec::new() };
    for path in ["src/", "test/"] {
        assert_eq!(holders(path), expected, "{when}: TASK-01 is {state}, and `{path}` goes with it");
    }
    assert_eq!(task("TASK-02")["state"] == "open", state == "done", "{when}: TASK-01 is {state}");
}

fn scene(build: fn(&TestEnvironment)) -> Scene {
    Scene::with(assert_tasks, build)
}

/// How many messages in an agent's inbox contain the text.
fn told(env: &TestEnvironment, name: &str, part: &str) -> usize {
    let entries = fs::read_dir(env.mesh().join("inbox").join(name)).unwrap();
    let texts = entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    texts.filter(|text| text.contains(part)).count()
}

/// Nothing is left of a finished task.
#[track_caller]
fn assert_nothing_left(env: &TestEnvironment) {
    let claims = json(env, "claims.json").to_string();
    assert!(!claims.contains("TASK-01"), "{claims}");
    for name in ["Alice", "Bob"] {
        let held = env.registration(name)["reservations"].to_string();
        // Paths without a claim bind nobody; the next claim removes them.
        if held.contains("TASK-01") {
            assert!(holders(env, "src/").is_empty(), "{held}");
        }
    }
}

#[test]
fn claiming_with_paths() {
    let command = ["claim", "TASK-01", "--reserve", "src/", "--reserve", "test/", "--as", "Alice"];
    scene(four).sweep_once(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0],
        settled: &|env| {
            assert_eq!(task(env, "TASK-01"), ("claimed".to_string(), Some("Alice".to_string())));
            assert_eq!(holders(env, "src/"), ["Alice"]);
            assert_eq!(env.fails(1, &["claim", "TASK-01", "--as", "Bob"]), "already_claimed");
        },
    });
}

/// The first agent after the death gets the task, with the same paths; leftovers never come back.
#[test]
fn claiming_what_another_died_claiming() {
    let scene = scene(four);
    let wish = ["claim", "TASK-01", "--reserve", "src/", "--reserve", "test/", "--as"];
    let mut deaths = 0;
    for n in 1.. {
        scene.reset();
        let when = format!("killed at {n}");
        let survived = scene.crash(&[&wish[..], &["Alice"]].concat(), n);
        let alice = task(&scene.env, "TASK-01").0 == "claimed";
        let bob = scene.run(&[&wish[..], &["Bob"]].concat(), &[]);
        assert_eq!(bob.code, Some(i32::from(alice)), "{when}: {bob}");
        scene.assert_promises(&when);
        if !alice {
            scene.env.ok(&["handoff", "TASK-01", "Alice", "--as", "Bob"]);
            scene.assert_promises(&when);
            scene.env.ok(&["unclaim", "--as", "Alice"]);
            scene.env.ok(&["claim", "TASK-01", "--as", "Alice"]);
            assert!(holders(&scene.env, "src/").is_empty(), "{when}: this time it asked for none");
        }
        if survived.is_some() {
            break;
        }
        deaths = n;
    }
    assert!(deaths >= 3, "{deaths}");
}

#[test]
fn completing() {
    let command = ["complete", "TASK-01", "--notes", "well", "--as", "Alice"];
    scene(claimed).sweep_once(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0, 1],
        settled: &|env| {
            assert_eq!(task(env, "TASK-01"), ("done".to_string(), Some("Alice".to_string())));
            assert_nothing_left(env);
            assert_eq!(env.fails(1, &["claim", "TASK-01", "--as", "Bob"]), "already_completed");
            env.ok(&["claim", "--next", "--reserve", "src/", "--as", "Alice"]);
            assert_eq!(task(env, "TASK-02").1.as_deref(), Some("Alice"));
            env.ok(&["unclaim", "--as", "Alice"]);
            assert!((1..=3).contains(&told(env, "Carol", "`TASK-01` is done")), "she is told");
        },
    });
}

/// A task that was done stays done, whichever command comes next.
#[test]
fn a_completion_is_never_lost() {
    let scene = scene(claimed);
    let mut half_way = 0;
    for n in 1.. {
        scene.reset();
        let when = format!("killed at {n}");
        let survived = scene.crash(&["complete", "TASK-01", "--as", "Alice"], n);
        let (state, _) = task(&scene.env, "TASK-01");
        let next = scene.run(&["claim", "TASK-02", "--reserve", "src/", "--as", "Bob"], &[]);
        assert_eq!(next.code, Some(if state == "done" { 0 } else { 1 }), "{when}: {next}");
        if state == "done" {
            half_way += usize::from(survived.is_none());
            assert_eq!(task(&scene.env, "TASK-01").0, "done", "{when}");
            assert_eq!(holders(&scene.env, "src/"), ["Bob"], "{when}");
            assert!(!json(&scene.env, "claims.json").to_string().contains("TASK-01"), "{when}: healed");
        } else {
            scene.assert_promises(&when);
        }
        if survived.is_some() {
            break;
        }
    }
    assert!(half_way >= 2, "{half_way}");
}

/// As [`claimed`], and Alice has completed it and ticked its box.
fn completed(env: &TestEnvironment) {
    claimed(env);
    env.ok(&["complete", "TASK-01", "--notes", "well", "--tick", "--as", "Alice"]);
}

/// A completion is taken back, or it is not; what was taken back stays readable, once.
#[test]
fn reopening() {
    let command = ["reopen", "TASK-01", "--reason", "no", "--as", "Alice"];
    scene(completed).sweep_once(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0, 1],
        settled: &|env| {
            assert_eq!(task(env, "TASK-01"), ("open".to_string(), None));
            let spec = fs::read_to_string(env.work().join("spec.md")).unwrap();
            assert!(!spec.contains("[x]"), "{spec}");
            let listing = env.ok(&["tasks", "--spec", "spec.md"]);
            let row = &listing["tasks"][0];
            let reopened = row["reopened"].as_array().unwrap();
            assert_eq!(reopened.len(), 1, "{row}");
            assert_eq!(reopened[0]["completion"]["notes"], "well");
            env.ok(&["claim", "TASK-01", "--as", "Bob"]);
            env.ok(&["unclaim", "--as", "Bob"]);
        },
    });
}

#[test]
fn giving_back() {
    let command = ["unclaim", "TASK-01", "--as", "Alice"];
    scene(claimed).sweep_once(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0, 1],
        settled: &|env| {
            assert_eq!(task(env, "TASK-01").0, "open");
            assert_nothing_left(env);
            env.ok(&["claim", "TASK-01", "--as", "Alice"]);
            assert!(holders(env, "src/").is_empty(), "this time it asked for none");
            env.ok(&["unclaim", "--as", "Alice"]);
            assert!((1..=3).contains(&told(env, "Carol", "`TASK-01` is free")), "she is told");
            env.ok(&["claim", "TASK-01", "--reserve", "src/", "--as", "Bob"]);
        },
    });
}

#[test]
fn handing_off() {
    let command = ["handoff", "TASK-01", "Bob", "--brief", "--as", "Alice"];
    scene(claimed).sweep_once(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0, 1],
        settled: &|env| {
            assert_eq!(task(env, "TASK-01"), ("claimed".to_string(), Some("Bob".to_string())));
            assert_eq!(
                (holders(env, "src/"), holders(env, "test/")),
                (vec!["Bob".into()], vec!["Bob".into()])
            );
            assert_eq!(env.fails(1, &["complete", "TASK-01", "--as", "Alice"]), "not_yours");
            env.ok(&["complete", "TASK-01", "--as", "Bob"]);
            assert!(holders(env, "src/").is_empty());
        },
    });
}

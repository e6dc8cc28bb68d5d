//! Crash sweeps of messages. Whichever process is killed, a message reported as sent is complete and in exactly one
//! place, and is handed over in the end; twice only if a reader died between handing it over and recording that.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ravenry::sys::test_switches::CRASH_AT;
use serde_json::Value;

use crate::crashes::{Scene, Sweep};
use crate::support::environment::TestEnvironment;

/// Alice and Bob exchange messages; Carol is there too.
fn three(env: &TestEnvironment) -> u32 {
    env.join("Alice");
    env.join("Carol");
    env.join("Bob")
}

/// Sends messages from Alice. Returns the ids.
fn send(env: &TestEnvironment, to: &str, texts: &[&str]) -> Vec<String> {
    let id = |text: &&str| {
        let sent = env.ok(&["send", to, text, "--as", "Alice", "--hold"])["sent"][0].clone();
        sent["id"].as_str().unwrap().to_string()
    };
    texts.iter().map(id).collect()
}

/// A scene with the promises about messages.
fn scene(build: impl FnOnce(&TestEnvironment)) -> Scene {
    Scene::with(assert_messages, build)
}

/// The files in each directory of a part of the mesh, including dot-files.
fn files_in(env: &TestEnvironment, place: &str, beneath: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(env.mesh().join(place)).into_iter().flatten() {
        let dir = entry.unwrap().path().join(beneath);
        found.extend(fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path()));
    }
    found
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().unwrap().to_str().unwrap().starts_with('.')
}

#[track_caller]
fn id_of(path: &Path, when: &str) -> String {
    let message: Value = serde_json::from_slice(&fs::read(path).unwrap())
        .unwrap_or_else(|error| panic!("{when}: half a message in {}: {error}", path.display()));
    message["id"].as_str().unwrap().to_string()
}

/// The paths of each message in inboxes, in readers' hands, in `seen` and in graves.
#[track_caller]
fn whereabouts(env: &TestEnvironment, when: &str) -> BTreeMap<String, Vec<PathBuf>> {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let seen = files_in(env, "seen", "").into_iter().filter(|path| !path.ends_with(".contacts"));
    let lying = files_in(env, "inbox", "").into_iter().chain(files_in(env, "graves", "inbox"));
    for path in seen.chain(lying) {
        places.entry(id_of(&path, when)).or_default().push(path);
    }
    places
}

/// What holds for messages at any time.
#[track_caller]
fn assert_messages(scene: &Scene, when: &str) {
    let places = whereabouts(&scene.env, when);
    for path in files_in(&scene.env, "sent", "").iter().filter(|path| !path.ends_with(".stamp")) {
        id_of(path, when);
    }
    for (id, places) in &places {
        assert_eq!(places.len(), 1, "{when}: {id} is in one place: {places:?}");
    }
    let told = scene.told.borrow();
    for id in told.sent.iter().chain(told.handed.iter().map(|(id, _)| id)) {
        assert!(places.contains_key(id), "{when}: {id} is lost");
    }
    let before = scene.env.path().join("before");
    for file in &scene.mail {
        let stem = file.trim_start_matches('.').split('.').next().unwrap();
        let is_there = places.values().flatten().any(|path| path.to_str().unwrap().contains(stem));
        assert!(is_there, "{when}: {file} of {} is lost", before.display());
    }
}

/// Everyone reads. By then every message has been handed over, none is left in a reader's hands, and none was handed
/// over twice unless a reader died.
#[track_caller]
fn assert_all_read(scene: &Scene, readers: &[&str]) {
    for name in readers {
        scene.run(&["read", "--as", name], &[]).expect_code(0);
        let again = scene.run(&["read", "--as", name], &[]).expect_code(0).json();
        assert_eq!(again["messages"].as_array().unwrap().len(), 0, "nothing is left");
    }
    let left: Vec<PathBuf> = files_in(&scene.env, "inbox", "");
    assert!(left.is_empty(), "{left:?}");
    let told = scene.told.borrow();
    let places = whereabouts(&scene.env, "in the end");
    for id in places.keys() {
        let before = scene.env.path().join("before");
        let handed: Vec<bool> =
            told.handed.iter().filter(|(other, _)| other == id).map(|(_, died)| *died).collect();
        let seen_before = is_seen_before(&before, id);
        assert!(!handed.is_empty() || seen_before, "{id} was never handed over");
        let survivors = handed.iter().filter(|died| !**died).count();
        assert!(survivors <= 1, "{id} was handed over twice by readers that live");
        let dead_after = handed.iter().rposition(|died| *died);
        let alive_at = handed.iter().position(|died| !*died);
        assert!(dead_after < alive_at || alive_at.is_none(), "{id} was handed over after it was recorded");
    }
}

/// Whether the message was seen before the sweep began.
fn is_seen_before(before: &Path, id: &str) -> bool {
    let mut found = false;
    for entry in fs::read_dir(before.join("seen")).into_iter().flatten() {
        for entry in fs::read_dir(entry.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            found |= !is_hidden(&path) && id_of(&path, "before") == id;
        }
    }
    found
}

#[track_caller]
fn state(env: &TestEnvironment, id: &str) -> String {
    env.ok(&["receipt", id, "--as", "Alice"])["state"].as_str().unwrap().to_string()
}

/// Sweeps a command, and runs it again after each death; then the named agents read.
fn sweep(scene: &Scene, command: &[&str], readers: &[&str]) {
    scene.sweep(&Sweep {
        command,
        recovery: command,
        codes: &[0],
        settled: &|env| {
            assert_all_read(scene, readers);
            if command.ends_with(&["--as", "Alice"]) {
                let sent = scene.told.borrow().sent.clone();
                assert!(!sent.is_empty() && sent.iter().all(|id| state(env, id) == "surfaced"));
            }
        },
    });
}

#[test]
fn sending() {
    let scene = scene(|env| {
        three(env);
    });
    sweep(&scene, &["send", "Bob", "hello", "--as", "Alice"], &["Bob"]);
}

#[test]
fn sending_to_two() {
    let scene = scene(|env| {
        three(env);
        send(env, "Bob", &["before"]);
    });
    sweep(&scene, &["send", "Bob,Carol", "hello", "--want-ack", "--as", "Alice"], &["Bob", "Carol"]);
}

#[test]
fn broadcasting() {
    let scene = scene(|env| {
        three(env);
    });
    sweep(&scene, &["broadcast", "hello", "--as", "Alice"], &["Bob", "Carol"]);
}

#[test]
fn replying() {
    let mut id = String::new();
    let scene = scene(|env| {
        three(env);
        id = send(env, "Bob", &["shall we?"]).remove(0);
        env.ok(&["read", "--as", "Bob"]);
    });
    sweep(&scene, &["reply", &id, "yes", "--as", "Bob"], &["Alice"]);
}

/// The message may be kept or not yet kept; if it is, the returning agent gets it.
#[test]
fn keeping_a_message_for_one_who_is_gone() {
    let scene = scene(|env| {
        let bob = three(env);
        env.kill(bob);
        assert_eq!(env.names(), ["Alice", "Carol"]);
    });
    let host = scene.env.host().to_string();
    let command = ["send", "Bob", "for later", "--hold", "--as", "Alice"];
    scene.sweep(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0],
        settled: &|env| {
            let sent = scene.told.borrow().sent.clone();
            assert!(sent.iter().all(|id| state(env, id) == "gone"));
            env.ok(&["join", "--pid", &host, "--session", "session of Bob"]);
            assert_all_read(&scene, &["Bob"]);
            assert!(sent.iter().all(|id| state(env, id) == "surfaced"));
        },
    });
}

/// Bob has three messages, one of which is urgent and comes first.
fn mail_for_bob(env: &TestEnvironment) {
    three(env);
    send(env, "Bob", &["one", "two"]);
    env.ok(&["send", "Bob", "three", "--importance", "urgent", "--as", "Alice"]);
}

#[test]
fn reading() {
    let scene = scene(mail_for_bob);
    sweep(&scene, &["read", "--as", "Bob"], &["Bob"]);
}

/// A message that was handed over but not recorded is handed over again; no other is.
#[test]
fn a_message_comes_twice_only_if_its_reader_died_in_hand_over() {
    let scene = scene(mail_for_bob);
    let mut twice = 0;
    for n in 1.. {
        scene.reset();
        let survived = scene.crash(&["read", "--as", "Bob"], n).is_some();
        let handed = scene.told.borrow().handed.len();
        let recorded = files_in(&scene.env, "seen", "").iter().filter(|path| !is_hidden(path)).count();
        assert!(handed == 0 && recorded == 0 || handed == 3, "killed at {n}: all are handed over, or none");
        let again = scene.run(&["read", "--as", "Bob"], &[]).json()["messages"].as_array().unwrap().len();
        assert_eq!(again, 3 - recorded, "killed at {n}");
        twice += usize::from(handed + again > 3);
        if survived {
            break;
        }
    }
    assert!(twice >= 3, "one of them is recorded after the other");
}

#[test]
fn reading_and_acking() {
    let scene = scene(mail_for_bob);
    let command = ["read", "--ack", "--as", "Bob"];
    scene.sweep(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0],
        settled: &|env| {
            assert_all_read(&scene, &["Bob"]);
            for id in whereabouts(env, "in the end").keys() {
                assert_eq!(state(env, id), "acked");
            }
        },
    });
}

#[test]
fn acking() {
    let mut ids = Vec::new();
    let scene = scene(|env| {
        three(env);
        ids = send(env, "Bob", &["one", "two"]);
        env.ok(&["read", "--as", "Bob"]);
    });
    let command = ["ack", &ids[0], &ids[1], "--as", "Bob"];
    scene.sweep(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0],
        settled: &|env| {
            assert!(ids.iter().all(|id| state(env, id) == "acked"));
            assert_all_read(&scene, &["Bob"]);
        },
    });
}

/// Acking an unread message counts as reading it, and may be killed half way as well.
#[test]
fn acking_what_still_waits() {
    let mut id = String::new();
    let scene = scene(|env| {
        three(env);
        id = send(env, "Bob", &["one"]).remove(0);
    });
    let command = ["ack", &id, "--as", "Bob"];
    for n in 1.. {
        scene.reset();
        let survived = scene.crash(&command, n);
        scene.assert_promises(&format!("killed at {n}"));
        // The next reader gets the message back that a dead one had in hand.
        scene.run(&["read", "--as", "Bob"], &[]).expect_code(0);
        scene.run(&command, &[]).expect_code(0);
        assert_eq!(state(&scene.env, &id), "acked", "killed at {n}");
        assert!(files_in(&scene.env, "inbox", "").is_empty(), "killed at {n}");
        if let Some(ended) = survived {
            ended.expect_code(0);
            assert!(n > 3, "there are steps to die at");
            break;
        }
    }
}

/// The mail arrived under the old name and is read under the new one.
#[test]
fn renaming_with_mail() {
    let scene = scene(mail_for_bob);
    let command = ["rename", "Robert", "--as", "Bob"];
    scene.sweep(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0],
        settled: &|env| {
            assert_eq!(env.names(), ["Alice", "Carol", "Robert"]);
            scene.run(&["send", "Bob", "to the old name", "--as", "Alice"], &[]).expect_code(0);
            assert_all_read(&scene, &["Robert"]);
            assert_eq!(scene.told.borrow().handed.len(), 4);
            for id in whereabouts(env, "in the end").keys() {
                assert_eq!(state(env, id), "surfaced");
            }
        },
    });
}

/// A reader of Bob's mail died with all three messages in hand.
fn in_the_hands_of_the_dead(env: &TestEnvironment) {
    mail_for_bob(env);
    let in_hand = || files_in(env, "inbox", "").iter().filter(|path| is_hidden(path)).count();
    for n in 1.. {
        env.run_with(&["read", "--as", "Bob"], &[(CRASH_AT, &n.to_string())]);
        if in_hand() == 3 {
            break;
        }
        // Each try first puts back what the previous one had in hand.
        assert!(n < 50, "some reader dies with all in hand");
    }
}

#[test]
fn renaming_with_mail_in_the_hands_of_a_dead_reader() {
    let scene = scene(in_the_hands_of_the_dead);
    let command = ["rename", "Robert", "--as", "Bob"];
    let settled = |_: &TestEnvironment| assert_all_read(&scene, &["Robert"]);
    scene.sweep_once(&Sweep { command: &command, recovery: &command, codes: &[0], settled: &settled });
}

#[test]
fn reading_what_a_dead_reader_had_in_hand() {
    let scene = scene(in_the_hands_of_the_dead);
    sweep(&scene, &["read", "--as", "Bob"], &["Bob"]);
}

/// Three messages: one from before the death, one sent before anybody noticed it, and one sent into the grave.
#[test]
fn coming_back_with_mail() {
    let scene = scene(|env| {
        let bob = three(env);
        send(env, "Bob", &["while it was there"]);
        env.kill(bob);
        send(env, "Bob", &["while nobody had noticed"]);
        assert_eq!(env.names(), ["Alice", "Carol"]);
        send(env, "Bob", &["into the grave"]);
    });
    let host = scene.env.host().to_string();
    let join = ["join", "--pid", &host, "--session", "session of Bob"];
    scene.sweep(&Sweep {
        command: &join,
        recovery: &join,
        codes: &[0],
        settled: &|env| {
            assert_all_read(&scene, &["Bob"]);
            assert_eq!(scene.told.borrow().handed.len(), 3);
            assert_eq!(fs::read_dir(env.mesh().join("graves")).unwrap().count(), 0);
        },
    });
}

/// The session comes back under another name, because its own has been taken.
#[test]
fn coming_back_under_another_name_with_mail() {
    let scene = scene(|env| {
        let bob = three(env);
        send(env, "Bob", &["for the first Bob"]);
        env.kill(bob);
        let stranger = env.host().to_string();
        env.ok(&["join", "Bob", "--pid", &stranger, "--session", "stranger"]);
        send(env, "Bob", &["for the second Bob"]);
    });
    let host = scene.env.host().to_string();
    let join = ["join", "Robert", "--pid", &host, "--session", "session of Bob"];
    scene.sweep_once(&Sweep {
        command: &join,
        recovery: &join,
        codes: &[0],
        settled: &|_| {
            for name in ["Robert", "Bob"] {
                let read = scene.run(&["read", "--as", name], &[]).expect_code(0).json();
                let texts: Vec<&str> = read["messages"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|message| message["text"].as_str().unwrap())
                    .collect();
                let whose = if name == "Bob" { "for the second Bob" } else { "for the first Bob" };
                assert_eq!(texts, [whose]);
            }
            assert_all_read(&scene, &["Robert", "Bob"]);
        },
    });
}

/// Dot-files go into the grave and come back out of it; then they are put back as after any death.
fn assert_back_with_all(scene: &Scene, host: &str) {
    scene.run(&["join", "--pid", host, "--session", "session of Bob"], &[]).expect_code(0);
    assert_all_read(scene, &["Bob"]);
    assert_eq!(scene.told.borrow().handed.len(), 3);
}

#[test]
fn burying_one_whose_reader_died_with_mail_in_hand() {
    let scene = scene(|env| {
        in_the_hands_of_the_dead(env);
        let pid = env.registration("Bob")["pid"].as_u64().unwrap();
        env.kill(u32::try_from(pid).unwrap());
    });
    let host = scene.env.host().to_string();
    scene.sweep(&Sweep {
        command: &["agents"],
        recovery: &["agents"],
        codes: &[0],
        settled: &|env| {
            assert_eq!(env.names(), ["Alice", "Carol"]);
            assert_back_with_all(&scene, &host);
        },
    });
}

/// Such a message counts as unread, for its sender and for everyone who looks.
#[test]
fn what_a_dead_reader_had_in_hand_is_buried_as_unread() {
    let scene = scene(in_the_hands_of_the_dead);
    let env = &scene.env;
    env.ok(&["leave", "--as", "Bob"]);
    let gone = env.ok(&["agents", "--gone"])["agents"][0].clone();
    assert_eq!((&gone["name"], &gone["unread"]), (&"Bob".into(), &3.into()));
    for id in whereabouts(env, "buried").keys() {
        assert_eq!(state(env, id), "gone", "not taken: it comes back");
    }
}

#[test]
fn leaving_with_mail_in_the_hands_of_a_dead_reader() {
    let scene = scene(in_the_hands_of_the_dead);
    let host = scene.env.host().to_string();
    scene.sweep_once(&Sweep {
        command: &["leave", "--as", "Bob"],
        recovery: &["leave", "--as", "Bob"],
        codes: &[0, 3],
        settled: &|_| assert_back_with_all(&scene, &host),
    });
}

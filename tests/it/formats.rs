//! Formats of other versions: everything that a release left behind is read, and nothing of a later one is lost.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, date, files_in, put};

fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/formats")
}

fn releases() -> Vec<String> {
    let entries =
        fs::read_dir(formats()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter(|name| name.starts_with(|c: char| c.is_ascii_digit())).collect()
}

/// Restores the mesh that is kept there: `/home/dev` becomes the directory of this test, and it is an hour old.
fn awake(name: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    let kept = formats().join(name);
    for file in files_in(&kept) {
        let target = env.path().join(file.strip_prefix(&kept).unwrap());
        let text = fs::read_to_string(&file).unwrap().replace("/home/dev", env.path().to_str().unwrap());
        put(&target, &text);
        date(&target, std::time::SystemTime::now() - std::time::Duration::from_secs(3600));
    }
    fs::set_permissions(env.mesh(), fs::Permissions::from_mode(0o700)).unwrap();
    env
}

fn texts(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap()).collect()
}

#[test]
fn the_release_that_is_being_made_is_kept() {
    assert!(releases().contains(&env!("CARGO_PKG_VERSION").to_string()), "run `fixtures/formats/make`");
}

#[test]
fn agents_of_every_release_are_read() {
    for release in releases() {
        let env = awake(&release);
        assert_eq!(env.names(), ["Alice", "Bob", "Daniel", "Erin", "Frank"], "{release}");
        let alice = env.ok(&["whois", "Alice"])["agent"].clone();
        assert_eq!((&alice["harness"], &alice["model"]), (&json!("claude"), &json!("some-model")));
        assert_eq!(alice["statusMessage"], "busy");
        assert_eq!(alice["spec"], json!(env.work().join("spec.md")));
        assert_eq!(alice["toolCalls"], 1, "counted in `presence/`");
        assert_eq!(alice["filesModified"], json!(["lib/x.rs"]));
        let held =
            alice["reservations"].as_array().unwrap().iter().map(|held| held["pattern"].as_str().unwrap());
        // The one with a limit expires an hour after it was made.
        let held: Vec<&str> = held.filter(|pattern| *pattern != "notes.txt").collect();
        assert_eq!(held, ["src/", "docs/*.md"]);
        assert_eq!(alice["reservations"][0]["reason"], "the parser");
        let gone = env.ok(&["agents", "--gone"]);
        assert_eq!(
            (&gone["agents"][0]["name"], &gone["agents"][0]["unread"]),
            (&json!("Carol"), &json!(1)),
            "{gone}"
        );
        // A session that comes back is known, and gets what was kept for it.
        let host = env.host().to_string();
        let back = env.ok(&["join", "--session", "session-of-Carol", "--pid", &host]);
        assert_eq!(
            (&back["agent"]["name"], &back["agent"]["unread"]),
            (&json!("Carol"), &json!(1)),
            "{back}"
        );
    }
}

#[test]
fn mail_of_every_release_is_read() {
    for release in releases() {
        let env = awake(&release);
        let waiting = env.ok(&["inbox", "--as", "Bob"])["messages"].clone();
        let second = &waiting[0];
        assert_eq!(second["text"], "second\nof two lines", "{release}: what is urgent comes first");
        assert_eq!((&second["importance"], &second["thread"]), (&json!("urgent"), &json!("plans")));
        assert!(texts(&waiting).contains(&"to all of you"), "{waiting}");
        let history = env.ok(&["history", "Bob", "--as", "Alice"]);
        assert!(texts(&history["messages"]).contains(&"first"), "{history}");
        let first = history["messages"].as_array().unwrap().iter().find(|message| message["text"] == "first");
        let id = first.unwrap()["id"].as_str().unwrap();
        assert_eq!(env.ok(&["receipt", id, "--as", "Alice"])["state"], "acked");
        // It is stored under the name he had then.
        let parked = env.ok(&["inbox", "--as", "Daniel"]);
        assert!(parked.to_string().contains("nobody takes this"), "{parked}");
        assert_eq!(texts(&env.ok(&["read", "--as", "Bob"])["messages"]), texts(&waiting));
        // The reader that took this is on another machine: whether it is dead can't be checked.
        let in_hand = |path: &PathBuf| path.to_str().unwrap().contains("/inbox/Erin/.");
        assert_eq!(files_in(&env.mesh()).iter().filter(|path| in_hand(path)).count(), 1);
    }
}

#[test]
fn tasks_feed_and_settings_of_every_release_are_read() {
    for release in releases() {
        let env = awake(&release);
        let tasks = env.ok(&["tasks", "--as", "Alice"]);
        let state = |number: usize| tasks["tasks"][number]["state"].clone();
        assert_eq!((state(0), state(1)), (json!("done"), json!("claimed")), "{release}: {tasks}");
        assert!(tasks.to_string().contains("\"Bob\""), "{tasks}");
        let taken = env.ok(&["claim", "TASK-03", "--as", "Frank"]);
        assert_eq!(taken["claim"]["task"], "TASK-03", "the lock that was left there is in nobody's way");
        let events = env.ok(&["feed", "--limit", "100"])["events"].as_array().unwrap().len();
        assert!(events > 10, "{release}: {events} events");
        let settings = env.ok(&["config", "list"]);
        let setting = |key: &str| settings["values"][key]["value"].clone();
        assert_eq!((setting("mailTurns"), setting("nameTheme")), (json!(7), json!("nature")));
        let doctor = env.run(&["doctor", "--json"]).json().to_string();
        for known in ["could not be read", "the payload can't be read"] {
            assert!(doctor.contains(known), "{known}: {doctor}");
        }
    }
}

/// What a later version adds stays through every rewrite of ours.
#[test]
fn what_a_later_version_says_is_carried_through_a_rewrite() {
    let env = awake("newer");
    // It is not known what this one reserves, so nothing could be reserved besides it.
    fs::remove_file(env.mesh().join("registry/Strange.json")).unwrap();
    let before = env.registration("Nova");
    env.ok(&["set-status", "awake", "--as", "Nova"]);
    env.ok(&["reserve", "lib/", "--as", "Nova"]);
    env.ok(&["complete", "TASK-01", "--as", "Nova"]);
    env.ok(&["claim", "TASK-03", "--as", "Nova"]);
    env.ok(&["config", "set", "mailTurns", "8"]);
    let after = env.registration("Nova");
    assert_eq!(after["statusMessage"], "awake");
    for place in [
        "/format",
        "/mood",
        "/harness",
        "/process",
        "/session/subagents",
        "/activity/plan",
        "/reservations/0",
        "/formerly/0",
    ] {
        assert_eq!(after.pointer(place), before.pointer(place), "{place}");
        assert!(after.pointer(place).is_some(), "{place}");
    }
    let document = |path: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(env.path().join(path)).unwrap()).unwrap()
    };
    let spec = env.work().join("spec.md");
    let done = &document("mesh/completions.json")[spec.to_str().unwrap()];
    assert_eq!((&done["TASK-02"]["score"], &done["TASK-01"]["completedBy"]), (&json!(0.9), &json!("Nova")));
    let config = document("home/.config/ravenry/config.json");
    assert_eq!((&config["format"], &config["dreams"]), (&json!(3), &json!({"every": "night"})));
    let session = document(&format!("mesh/sessions/{}.json", hash("session-of-Nova")));
    assert_eq!(
        (&session["format"], &session["lineage"]),
        (&json!(3), &json!(["session-of-Old"])),
        "{session}"
    );
    assert_eq!(session["registration"]["mood"], before["mood"]);
}

#[test]
fn a_claim_that_a_later_version_wrote_keeps_its_keys() {
    let env = awake("newer");
    env.ok(&["rename", "Supernova", "--as", "Nova"]);
    let claims = fs::read_to_string(env.mesh().join("claims.json")).unwrap();
    let claims: Value = serde_json::from_str(&claims).unwrap();
    let claim = &claims[env.work().join("spec.md").to_str().unwrap()]["TASK-01"];
    assert_eq!((&claim["agent"], &claim["estimate"]), (&json!("Supernova"), &json!("2h")));
    assert_eq!(env.registration("Supernova")["mood"]["now"], "curious");
}

fn hash(session: &str) -> String {
    uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, session.as_bytes()).simple().to_string()
}

#[test]
fn what_a_later_version_wrote_is_read_where_it_can_be() {
    let env = awake("newer");
    let listing = env.ok(&["agents"]);
    assert_eq!(listing["agents"][0]["name"], "Nova", "{listing}");
    assert_eq!(listing["unreadable"].as_array().unwrap().len(), 1, "{listing}");
    let waiting = env.ok(&["inbox", "--as", "Nova"]);
    assert_eq!(
        texts(&waiting["messages"]),
        ["from tomorrow"],
        "of an importance that we don't know: {waiting}"
    );
    env.ok(&["history", "--as", "Nova"]);
    let feed = env.ok(&["feed", "--limit", "100"]);
    assert!(feed.to_string().contains("\"merge\""), "an event of a kind that we don't know: {feed}");
    assert_eq!(env.ok(&["tasks", "--as", "Nova"])["tasks"][1]["state"], "done");
    assert_eq!(env.ok(&["config", "list"])["values"]["mailTurns"]["value"], 7);
    assert_eq!(env.ok(&["whois", "Nova"])["agent"]["toolCalls"], 3);
    let host = env.host().to_string();
    assert_eq!(
        env.fails(1, &["join", "Strange", "--pid", &host]),
        "name_taken",
        "whoever that is, it is there"
    );
}

/// What can't be parsed stays byte for byte, wherever it is moved: it may be set aside, but not changed or lost.
#[test]
fn nothing_of_a_later_version_is_lost() {
    let env = awake("newer");
    let content = |env: &TestEnvironment| -> BTreeMap<PathBuf, Vec<u8>> {
        files_in(&env.mesh()).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    };
    let before = content(&env);
    for args in [
        &["agents"][..],
        &["inbox"],
        &["read"],
        &["send", "Nova", "to myself"],
        &["history"],
        &["doctor", "--repair"],
        &["feed"],
        &["agents", "--gone"],
    ] {
        env.run(&[args, &["--as", "Nova"]].concat());
    }
    let after: Vec<Vec<u8>> = content(&env).into_values().collect();
    for (path, bytes) in before {
        let path = path.strip_prefix(env.mesh()).unwrap().to_str().unwrap();
        // Nova's own files are rewritten with what was there, as tested above. An index of another version is ignored,
        // a lock that nobody holds is removed, and `doctor --repair` forgets the troubles it reported. Lines are added
        // to the feed and to the activity logs.
        let own = format!("sessions/{}.json", hash("session-of-Nova"));
        if ["registry/Nova.json", &own, "index", "swarm.lock", "trouble.jsonl"].contains(&path) {
            continue;
        }
        let stays = |found: &Vec<u8>| match path.starts_with("feed/") || path.starts_with("presence/") {
            true => found.starts_with(&bytes),
            false => *found == bytes,
        };
        assert!(after.iter().any(stays), "`{path}` is lost");
    }
}

//! A reservation binds everyone except its holder, as long as the holder lives.

use serde_json::{Value, json};

use super::spellings::{Answer, EDITS, SHELLS, Scene};
use crate::support::hook_fixture::{Fixture, HARNESSES};

/// Payloads of one session: all edits and commands of a harness.
fn own_calls(scene: &Scene, dir: &str) -> Vec<(&'static str, Value)> {
    let of_dir = |name: &&str| name.split('/').next() == Some(dir);
    let names: Vec<&str> =
        EDITS.iter().map(|edit| edit.0).chain(SHELLS.iter().map(|shell| shell.0)).filter(of_dir).collect();
    let session = Fixture::of(&scene.env.home(), names[0]).session().unwrap();
    let of = |name: &'static str| {
        let fixture = Fixture::of(&scene.env.home(), name);
        let payload = fixture.payload.replace(&fixture.session().unwrap(), &session);
        (name, serde_json::from_str(&payload).unwrap())
    };
    names.into_iter().map(of).collect()
}

#[test]
fn the_holder_is_not_stopped_by_what_it_holds_and_a_stranger_is_until_the_holder_dies() {
    for (dir, harness) in HARNESSES {
        let scene = Scene::new();
        let calls = own_calls(&scene, dir);
        let session = Fixture::of(&scene.env.home(), calls[0].0).session().unwrap();
        let host = scene.env.host();
        let join =
            ["join", "GoldFalcon", "--pid", &host.to_string(), "--harness", harness, "--session", &session];
        scene.env.ok(&join);
        scene.reserve(
            "GoldFalcon",
            &["src/lib.rs", "src/new.rs", "src/other.rs", "out.txt", "notes.txt", "n.ipynb"],
        );
        for (name, payload) in &calls {
            assert_eq!(scene.ask(name, payload), Answer::Silence, "{name}: it is its own");
        }
        let strangers: Vec<(&str, Value)> = calls
            .iter()
            .map(|(name, payload)| (*name, payload.to_string().replace(&session, "another-session")))
            .map(|(name, text)| (name, serde_json::from_str(&text).unwrap()))
            .collect();
        for (name, payload) in &strangers {
            let Answer::Denied(reason) = scene.ask(name, payload) else { panic!("{name}: let through") };
            assert!(reason.contains("`msg join`, then ask with `msg send GoldFalcon"), "{name}: {reason}");
        }
        scene.env.kill(host);
        for (name, payload) in strangers.iter().chain(&calls) {
            assert_eq!(scene.ask(name, payload), Answer::Silence, "{name}: the dead hold nothing");
        }
    }
}

#[test]
fn subagents_of_the_holder_are_the_holder() {
    let in_subagent = |payload: &mut Value| payload["agent_id"] = json!("a12fb99e87c954384");
    let in_child = |payload: &mut Value| {
        payload["parentSessionID"] = payload["input"]["sessionID"].clone();
        payload["input"]["sessionID"] = json!("ses_child");
    };
    for (dir, enter) in
        [("claude", &in_subagent as &dyn Fn(&mut Value)), ("codex", &in_subagent), ("opencode", &in_child)]
    {
        let scene = Scene::new();
        let calls = own_calls(&scene, dir);
        let session = Fixture::of(&scene.env.home(), calls[0].0).session().unwrap();
        for (holder, expected) in [("SwiftRaven", false), ("GoldFalcon", true)] {
            let (host, own) = (scene.env.host().to_string(), holder == "SwiftRaven");
            let id = if own { session.as_str() } else { "gold" };
            scene.env.ok(&["join", holder, "--pid", &host, "--session", id]);
            scene.reserve(holder, &["src/lib.rs", "src/new.rs", "src/other.rs", "out.txt", "n.ipynb"]);
            for (name, payload) in &calls {
                let mut payload = payload.clone();
                enter(&mut payload);
                let answer = scene.ask(name, &payload);
                assert_eq!(answer != Answer::Silence, expected, "{name}, held by {holder}: {answer:?}");
            }
            scene.env.ok(&["release", "--as", holder]);
        }
    }
}

//! No field of any file, no argument and no file name leads out of the mesh.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use super::everything_in;
use crate::support::environment::{TestEnvironment, put, put_old};
use crate::support::hook_call::{Call, session_of};
use crate::support::running::two;

fn ways_out(env: &TestEnvironment) -> Vec<String> {
    let absolute = env.path().join("outside").display().to_string();
    let ways = ["../../outside", "..", ".", "a/../../../outside", "%2e%2e%2foutside", "..\\outside"];
    ways.map(str::to_string).into_iter().chain([absolute]).collect()
}

/// Everything beside the mesh, with its content.
fn surroundings(env: &TestEnvironment) -> Vec<String> {
    let outside = |path: &String| !path.starts_with(env.mesh().to_str().unwrap());
    everything_in(env.path()).into_iter().filter(outside).filter(|path| !path.contains("/call-")).collect()
}

#[test]
fn no_argument_leads_out() {
    let env = two();
    put(&env.work().join("spec.md"), "## TASK-01 one\n");
    env.ok(&["spec", "spec.md", "--as", "Alice"]);
    env.ok(&["send", "Bob", "hi", "--as", "Alice"]);
    // Without a reservation, no hook keeps a note.
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    let before = surroundings(&env);
    for way in ways_out(&env).iter().map(String::as_str) {
        for args in [
            &["send", way, "x"][..],
            &["send", "Bob", "x", "--thread", way],
            &["send", "Bob", "x", "--reply-to", way],
            &["reply", way, "x"],
            &["show", way],
            &["ack", way],
            &["receipt", way],
            &["history", way],
            &["claim", way],
            &["complete", way],
            &["unclaim", way],
            &["reopen", way, "--reason", way],
            &["handoff", way, "Bob"],
            &["whois", way],
            &["brief", way],
            &["delegate", "x", "--to", way],
            &["wait", "--from", way, "--timeout", "0"],
            &["feed", "--agent", way],
            &["config", "get", way],
            &["rename", way],
            &["doctor", "--wake", way],
        ] {
            let ended = env.run(&[args, &["--as", "Alice"]].concat());
            assert!(ended.code.is_some_and(|code| code < 10), "{args:?}: {ended}");
        }
        for harness in ["claude", way] {
            let ended = env.run(&["hook", harness, way]);
            assert_eq!(ended.code, Some(0), "{ended}");
        }
        Call::edit(&env, way, "x.rs").answer(&env);
        for session in [session_of("Bob").as_str(), way] {
            let notes = || everything_in(&env.mesh().join("hooks")).len();
            let before = notes();
            Call::bash(&env, "PreToolUse", session, "make").with("/tool_use_id", way).answer(&env);
            assert!(notes() > before, "{way}: a note is kept");
        }
    }
    assert_eq!(surroundings(&env), before);
}

/// Each field of each file, as another program may have written it.
#[test]
fn no_field_leads_out() {
    let env = two();
    let before = surroundings(&env);
    let (alice, mesh) = (env.registration("Alice"), env.mesh());
    let time = "2026-11-14T23:57:56.113Z";
    for way in ways_out(&env).iter().map(String::as_str) {
        let mut evil = alice.clone();
        for key in ["name", "sessionId", "spec", "cwd", "harness", "restores", "tmux"] {
            evil[key] = json!(way);
        }
        evil["formerly"] = json!([{ "name": way, "until": "2999-01-01T00:00:00Z" }]);
        put_old(&mesh.join("registry/Evil.json"), &evil.to_string());
        // One that is read, because its name is valid.
        evil["name"] = json!("Mallory");
        // An invalid former name makes the whole file unreadable.
        evil.as_object_mut().unwrap().remove("formerly");
        put_old(&mesh.join("registry/Mallory.json"), &evil.to_string());
        assert!(env.names().contains(&"Mallory".to_string()), "{way}: it is read");
        let message = json!({
            "id": way, "from": way, "to": way, "text": "x", "timestamp": time, "replyTo": way, "thread": way,
        });
        put_old(&mesh.join("inbox/Alice/1794700676113-aaaaaa.json"), &message.to_string());
        let claim = json!({ "agent": way, "sessionId": way, "pid": alice["pid"], "claimedAt": time });
        put_old(&mesh.join("claims.json"), &json!({ way: { way: claim } }).to_string());
        let done = json!({ "completedBy": way, "completedAt": time });
        put_old(&mesh.join("completions.json"), &json!({ way: { way: done } }).to_string());
        for args in [
            &["agents"][..],
            &["read"],
            &["reply", "aaaaaa", "x"],
            &["history"],
            &["tasks"],
            &["doctor", "--repair"],
            &["evict", "Mallory", "--force"],
            &["agents", "--gone"],
        ] {
            let ended = env.run(&[args, &["--as", "Alice"]].concat());
            assert!(ended.code.is_some_and(|code| code < 10), "{args:?}: {ended}");
            assert!(args[0] != "evict" || ended.code == Some(0), "{ended}");
        }
    }
    assert_eq!(surroundings(&env), before);
}

/// File names that we never use block nobody, and stay where they are unless they look like mail.
#[test]
fn file_names_of_any_kind_are_in_nobodys_way() {
    let env = two();
    env.ok(&["send", "Bob", "hi", "--as", "Alice"]);
    env.ok(&["read", "--as", "Bob"]);
    let names: [&[u8]; 8] = [
        b"..json",
        b"...",
        b"a\nb.json",
        b"\xff\xfe.json",
        b"-rf",
        b"a,b,c,d,e.json",
        b".x.1.2.3",
        &[b'x'; 250],
    ];
    let dirs =
        ["registry", "sessions", "graves", "presence", "feed", "hooks", "tmp", "seen/Bob", "sent/Alice"];
    for name in names.map(OsStr::from_bytes) {
        for dir in dirs.into_iter().chain(["inbox/Bob", "quarantine"]) {
            fs::create_dir_all(env.mesh().join(dir)).unwrap();
            fs::write(env.mesh().join(dir).join(name), "{}").unwrap();
        }
    }
    for args in [
        &["agents"][..],
        &["send", "Alice", "x"],
        &["inbox"],
        &["read"],
        &["history", "Alice"],
        &["feed"],
        &["doctor", "--repair"],
        &["agents", "--gone"],
        &["leave"],
    ] {
        let ended = env.run(&[args, &["--as", "Bob", "--json"]].concat());
        let answer: Value = ended.json();
        let kind = answer["error"]["kind"].as_str().unwrap_or("none").to_string();
        // `doctor` reports them, and can't repair them.
        let expected = args[0] == "doctor" || kind == "none";
        assert!(expected && ended.code.is_some_and(|code| code < 10), "{args:?}: {ended}");
    }
    for name in names.map(OsStr::from_bytes) {
        for dir in ["feed", "tmp", "seen/Bob", "sent/Alice"] {
            assert!(env.mesh().join(dir).join(name).exists(), "{dir}/{}", name.display());
        }
    }
}

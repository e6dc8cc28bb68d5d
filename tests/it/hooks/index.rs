//! The index only saves time: whatever it says, the answers are the same.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ravenry::domain::hook::HookAnswer;
use ravenry::sys::test_switches;
use serde_json::json;

use crate::support::environment::{TestEnvironment, end, wait_until};
use crate::support::hook_call::{Call, session_of};
use crate::support::running::post;

const AGENTS: usize = 30;

fn index(env: &TestEnvironment) -> PathBuf {
    env.mesh().join("index")
}

/// Thirty agents, each with its own directory; one of them is registered as pi-messenger does it.
fn crowd() -> TestEnvironment {
    let env = TestEnvironment::new();
    for number in 0..AGENTS {
        let name = format!("Agent{number}");
        env.join(&name);
        env.ok(&["reserve", &format!("d{number}/"), "--as", &name]);
    }
    env.join("Alice");
    env.join("Bob");
    write_strangers(&env, "aaa/");
    env
}

fn strangers(env: &TestEnvironment) -> PathBuf {
    env.mesh().join("registry/RedIce.json")
}

/// Writes in place, as pi-messenger does: the file keeps its inode.
fn write_strangers(env: &TestEnvironment, pattern: &str) {
    let reservation = json!({ "pattern": pattern, "reason": "x", "since": "2026-11-14T23:57:56.077Z" });
    let registration = json!({
        "name": "RedIce", "pid": std::process::id(), "sessionId": "of RedIce", "cwd": env.work(), "model": "m",
        "startedAt": "2099-11-14T23:57:56.070Z", "reservations": [reservation],
    });
    fs::write(strangers(env), registration.to_string()).unwrap();
}

/// The holder because of whom a stranger is refused that file, if any.
#[track_caller]
fn holder(env: &TestEnvironment, path: &str) -> Option<String> {
    match Call::edit(env, "a session that has not joined", path).answer(env) {
        HookAnswer::Silence => None,
        HookAnswer::Deny(reason) => {
            let after = reason.split(") by ").nth(1).unwrap_or_else(|| panic!("{reason}"));
            Some(after.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_string())
        }
        other => panic!("{other:?}"),
    }
}

/// Everything that a hook is asked: about files, about a session, and for mail.
#[track_caller]
fn answers(env: &TestEnvironment) -> Vec<Option<String>> {
    let paths = ["d0/x", "d7/x", "d7/y/z", "d29/x", "d30/x", "free", "aaa/x", "bbb/x", "d7x/y"];
    let mut answers: Vec<Option<String>> = paths.iter().map(|path| holder(env, path)).collect();
    let own = Call::edit(env, &session_of("Agent5"), "d5/x").answer(env);
    assert_eq!(own, HookAnswer::Silence, "its own");
    let whole = Call::bash(env, "PreToolUse", "a stranger", "rm -rf d2").answer(env);
    answers.push(matches!(whole, HookAnswer::Deny(_)).then(|| "somebody".to_string()));
    post(&env.store(), "Bob", "hello");
    let mail = Call::new(env, "claude/PostToolUse-Bash", &session_of("Bob")).context(env);
    assert!(mail.ends_with("> hello"));
    answers
}

fn expected(seven: Option<&str>, aaa: bool) -> Vec<Option<String>> {
    let agent = |name: &str| Some(name.to_string());
    let seven = seven.map(str::to_string);
    let (a, b) = if aaa { (agent("RedIce"), None) } else { (None, agent("RedIce")) };
    vec![agent("Agent0"), seven.clone(), seven, agent("Agent29"), None, None, a, b, None, agent("somebody")]
}

/// Runs hooks until the index contains everyone: recent files are not trusted, so they are not in it.
#[track_caller]
fn learn(env: &TestEnvironment) -> String {
    let mut learned = String::new();
    wait_until("there is an index", || {
        fs::remove_file(index(env)).ok();
        holder(env, "free");
        learned = fs::read_to_string(index(env)).unwrap_or_default();
        learned.lines().filter(|line| line.matches('\t').count() == 8).count() == AGENTS + 2
    });
    learned
}

#[test]
fn a_refusal_is_said_before_anything_is_written() {
    let env = crowd();
    learn(&env);
    let edit = Call::edit(&env, &session_of("Bob"), "d7/x");
    let crash = |n: usize| {
        fs::remove_file(index(&env)).ok();
        end(edit.command(&env).env(test_switches::CRASH_AT, n.to_string()))
    };
    assert_eq!(crash(1).stdout, "", "the first step is to say it");
    let mut n = 2;
    loop {
        let ended = crash(n);
        assert!(ended.stdout.contains("by Agent7"), "killed at step {n}: {ended}");
        if ended.signal.is_none() {
            break;
        }
        n += 1;
    }
    assert!(n > 4 && index(&env).exists(), "nothing else was written: {n}");
    env.ok(&["release", "--as", "Agent7"]);
    let told = Call::new(&env, "claude/PostToolUse-Bash", &session_of("Bob")).context(&env);
    assert!(told.contains("> `d7/x` is free"), "{told}");
}

#[test]
fn whatever_the_index_says_the_answers_are_the_same() {
    let env = crowd();
    assert_eq!(answers(&env), expected(Some("Agent7"), true), "no index");
    let fresh = learn(&env);
    assert_eq!(answers(&env), expected(Some("Agent7"), true), "a fresh one");
    env.ok(&["release", "--as", "Agent7"]);
    env.ok(&["reserve", "d7/", "--as", "Agent8"]);
    for _ in 0..2 {
        fs::write(index(&env), &fresh).unwrap();
        assert_eq!(answers(&env), expected(Some("Agent8"), true), "a stale one");
    }
    env.ok(&["leave", "--as", "Agent8"]);
    fs::write(index(&env), &fresh).unwrap();
    assert_eq!(answers(&env), expected(None, true), "the holder is gone");
    let lines: Vec<&str> = fresh.split_inclusive('\n').collect();
    let reversed: String = lines.iter().take(1).chain(lines[1..].iter().rev()).copied().collect();
    let corrupt: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\0\xff\xfe".repeat(1000),
        fresh.as_bytes()[..fresh.len() / 2].to_vec(),
        lines[..lines.len() - 1].concat().into_bytes(),
        lines[..lines.len() - 2].concat().into_bytes(),
        fresh.as_bytes()[..fresh.len() - 5].to_vec(),
        fresh.replace("H\t", "").into_bytes(),
        fresh.replace('\t', " ").into_bytes(),
        fresh.replace("index 4", "index 1").into_bytes(),
        fresh.replace("index 4", "index 2").into_bytes(),
        fresh.replace("index 4", "index 3").into_bytes(),
        format!("{fresh}{fresh}").into_bytes(),
        reversed.into_bytes(),
    ];
    for (number, bytes) in corrupt.iter().enumerate() {
        fs::write(index(&env), bytes).unwrap();
        assert_eq!(answers(&env), expected(None, true), "corrupt in way {number}");
    }
    fs::remove_file(index(&env)).unwrap();
    fs::create_dir(index(&env)).unwrap();
    assert_eq!(holder(&env, "d0/x").as_deref(), Some("Agent0"), "not even a file");
}

#[test]
fn a_registration_that_was_changed_in_place_is_noticed_at_once() {
    let env = crowd();
    learn(&env);
    let before = fs::metadata(strangers(&env)).unwrap();
    for round in 0..20 {
        let is_a = round % 2 == 1;
        write_strangers(&env, if is_a { "aaa/" } else { "bbb/" });
        let [a, b] = ["aaa/x", "bbb/x"].map(|path| holder(&env, path).is_some());
        assert_eq!((a, b), (is_a, !is_a), "round {round}");
    }
    let after = fs::metadata(strangers(&env)).unwrap();
    use std::os::unix::fs::MetadataExt;
    assert_eq!((before.ino(), before.len()), (after.ino(), after.len()), "the same file, of the same size");
}

/// A recent file may change again within one clock tick, with the same stat data.
#[test]
fn what_is_young_is_not_in_the_index() {
    let env = crowd();
    learn(&env);
    let path = env.mesh().join("registry/Agent7.json");
    let mut seen_young = 0;
    wait_until("it was young when the index was written", || {
        fs::remove_file(index(&env)).ok();
        fs::write(&path, fs::read(&path).unwrap()).unwrap();
        assert_eq!(holder(&env, "d7/x").as_deref(), Some("Agent7"));
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        let is_young = written.elapsed().unwrap_or_default() < Duration::from_secs(2);
        let index = fs::read_to_string(index(&env)).unwrap_or_default();
        assert!(!is_young || index.contains("\tAgent8\t") && !index.contains("\tAgent7\t"), "{index}");
        seen_young += usize::from(is_young);
        seen_young == 3
    });
}

#[test]
fn check_writes_no_index() {
    let env = crowd();
    learn(&env);
    fs::remove_file(index(&env)).unwrap();
    for path in ["d7/x", "free"] {
        env.run(&["check", path, "--as", "Bob"]);
    }
    assert!(!index(&env).exists());
    fs::write(index(&env), "rubbish").unwrap();
    assert_eq!(env.fails(1, &["check", "d7/x", "--as", "Bob"]), "reserved");
    assert_eq!(fs::read_to_string(index(&env)).unwrap(), "rubbish");
    // A hook rewrites it.
    assert_eq!(holder(&env, "d7/x").as_deref(), Some("Agent7"));
    assert_ne!(fs::read_to_string(index(&env)).unwrap(), "rubbish");
}

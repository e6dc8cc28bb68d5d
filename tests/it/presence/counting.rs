//! Tests of the counts of an agent, with many hooks at once of which some are killed.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ravenry::domain::hook::HookAnswer;
use ravenry::sys::test_switches;
use serde_json::{Value, json};

use super::{age, agent};
use crate::support::environment::{TestEnvironment, end};
use crate::support::hook_call::{Call, session_of};
use crate::support::hook_fixture::ended;

const AGENTS: [&str; 4] = ["Alice", "Bob", "Carol", "Dave"];
/// Hooks that run at a time, and rounds.
const AT_ONCE: usize = 32;
const ROUNDS: usize = 12;

/// Identifies a version of a registration.
fn version(env: &TestEnvironment, name: &str) -> (u64, i64, i64) {
    let metadata = fs::metadata(env.mesh().join(format!("registry/{name}.json"))).unwrap();
    (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

fn edit(env: &TestEnvironment, name: &str, file: &str) -> Call {
    Call::new(env, "claude/PostToolUse-Edit", &session_of(name))
        .with("/tool_input/file_path", json!(env.work().join(file)))
}

#[track_caller]
fn calls(env: &TestEnvironment, name: &str) -> u64 {
    agent(env, name)["toolCalls"].as_u64().unwrap()
}

/// Reads a registration until `is_over`. Returns the number of versions, each of them complete.
fn watch(mesh: &Path, name: &str, is_over: &AtomicBool) -> usize {
    let path = mesh.join(format!("registry/{name}.json"));
    let mut versions = HashSet::new();
    while !is_over.load(Ordering::Relaxed) {
        let metadata = fs::metadata(&path).unwrap();
        let registration: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(registration["name"], name);
        versions.insert((metadata.ino(), metadata.ctime(), metadata.ctime_nsec()));
        std::thread::yield_now();
    }
    versions.len()
}

#[test]
fn nothing_that_was_counted_is_lost_and_registrations_are_left_alone() {
    let env = TestEnvironment::new();
    for name in AGENTS {
        env.join(name);
    }
    let started = Instant::now();
    let is_over = AtomicBool::new(false);
    let mut sure = [0; AGENTS.len()];
    let mut killed: u64 = 0;
    // A `TestEnvironment` can be used by one thread only.
    let mesh = env.mesh();
    std::thread::scope(|scope| {
        let watchers = AGENTS.map(|name| scope.spawn(|| watch(&mesh, name, &is_over)));
        for round in 0..ROUNDS {
            let mut children: Vec<(usize, Child)> = Vec::new();
            for number in 0..AT_ONCE {
                let who = number % AGENTS.len();
                let call = edit(&env, AGENTS[who], &format!("src/f{}.rs", number % 3));
                let mut command = call.command(&env);
                children.push((who, command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()));
                // One in five is killed early, at varying times.
                if let Some((_, child)) = children.iter_mut().rev().nth(number % 3)
                    && (number + round) % 5 == 0
                {
                    child.kill().unwrap();
                }
            }
            for (who, child) in children {
                match ended(child).code {
                    Some(0) => sure[who] += 1,
                    Some(code) => panic!("a hook ended with {code}"),
                    None => killed += 1,
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let most = started.elapsed().as_secs() as usize / 10 + 2;
        for watcher in watchers {
            let versions = watcher.join().unwrap();
            assert!(versions <= most, "{versions} versions in {:?}", started.elapsed());
        }
    });
    assert!(killed > 0, "none was killed in time");
    for (name, sure) in AGENTS.iter().zip(sure) {
        let counted = calls(&env, name);
        assert!(
            (sure..=sure + killed).contains(&counted),
            "{name}: {counted}, {sure} surely, {killed} killed"
        );
        let mut files: Vec<Value> = agent(&env, name)["filesModified"].as_array().unwrap().clone();
        files.sort_by_key(ToString::to_string);
        assert_eq!(files, ["src/f0.rs", "src/f1.rs", "src/f2.rs"]);
        let lines = fs::read_to_string(env.mesh().join("presence").join(name)).unwrap();
        assert!(lines.len() < 16 * 1024, "{}", lines.len());
        for line in lines.lines().filter(|line| !line.is_empty()) {
            serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
    }
}

#[test]
fn the_registration_is_rewritten_when_it_is_time_and_nobody_has_the_lock() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let hook = || drop(edit(&env, "Alice", "src/a.rs").answer(&env));
    let before = version(&env, "Alice");
    (0..3).for_each(|_| hook());
    assert_eq!(version(&env, "Alice"), before, "it is young");
    age(&env, "Alice", Duration::ZERO);
    let before = version(&env, "Alice");
    let mesh = env.store();
    let held = mesh.lock().unwrap();
    (0..3).for_each(|_| hook());
    assert_eq!(version(&env, "Alice"), before, "somebody has the lock");
    drop(held);
    Call::edit(&env, &session_of("Alice"), "src/a.rs").answer(&env);
    assert_eq!(version(&env, "Alice"), before, "before a tool everyone waits for us");
    hook();
    assert_ne!(version(&env, "Alice"), before);
    let registration = env.registration("Alice");
    let session = json!({ "toolCalls": 7, "tokens": 0, "filesModified": ["src/a.rs"] });
    assert_eq!(registration["session"], session);
    assert_eq!(registration["activity"]["currentActivity"], "editing src/a.rs");
    assert_eq!(registration["activity"]["lastToolCall"], "edit: src/a.rs");
    let last = registration["activity"]["lastActivityAt"].as_str().unwrap();
    assert!(last > "2026" && last.ends_with('Z') && last.len() == 24, "{last}");
    let before = version(&env, "Alice");
    (0..3).for_each(|_| hook());
    assert_eq!(version(&env, "Alice"), before, "once is enough for a while");
    assert_eq!(calls(&env, "Alice"), 10);
}

#[test]
fn commands_bring_the_registration_up_to_date_too() {
    let env = TestEnvironment::new();
    env.join("Alice");
    age(&env, "Alice", Duration::from_secs(400));
    let before = version(&env, "Alice");
    env.ok(&["inbox", "--as", "Alice"]);
    assert_ne!(version(&env, "Alice"), before);
    let before = version(&env, "Alice");
    env.ok(&["inbox", "--as", "Alice"]);
    assert_eq!(version(&env, "Alice"), before);
}

#[test]
fn keys_of_others_stay_when_the_activity_is_written() {
    let env = TestEnvironment::new();
    env.join("Alice");
    age(&env, "Alice", Duration::ZERO);
    super::change(&env, "Alice", |registration| {
        registration["later"] = json!({ "deep": [1, 2.5, null] });
        registration["session"]["mood"] = json!("good");
        registration["activity"]["colour"] = json!("blue");
    });
    edit(&env, "Alice", "src/a.rs").answer(&env);
    let registration = env.registration("Alice");
    assert_eq!(registration["session"]["toolCalls"], 1);
    assert_eq!(registration["later"]["deep"], json!([1, 2.5, null]));
    assert_eq!(
        (&registration["session"]["mood"], &registration["activity"]["colour"]),
        (&json!("good"), &json!("blue"))
    );
}

/// If a hook is killed before any of its changes, the next one can still count.
#[test]
fn a_hook_that_dies_anywhere_spoils_nothing() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let call = edit(&env, "Alice", "src/a.rs");
    for step in 1..200 {
        age(&env, "Alice", Duration::ZERO);
        let before = calls(&env, "Alice");
        let ended = end(call.command(&env).env(test_switches::CRASH_AT, step.to_string()));
        let after = calls(&env, "Alice");
        assert!(after == before || after == before + 1, "step {step}: {before}, then {after}");
        assert_eq!(env.registration("Alice")["name"], "Alice");
        if ended.signal.is_none() {
            assert_eq!(after, before + 1);
            assert!(step > 5, "it changes more than that");
            return;
        }
        call.answer(&env);
        assert_eq!(calls(&env, "Alice"), after + 1, "step {step}");
    }
    panic!("it never survives");
}

#[test]
fn what_was_counted_goes_along_with_a_new_name_and_not_to_the_next_of_the_old_one() {
    let env = TestEnvironment::new();
    let host = env.join("Alice");
    edit(&env, "Alice", "src/a.rs").answer(&env);
    env.ok(&["rename", "Eve", "--as", "Alice"]);
    assert_eq!(calls(&env, "Eve"), 1);
    edit(&env, "Alice", "src/b.rs").answer(&env);
    assert_eq!(agent(&env, "Eve")["filesModified"], json!(["src/a.rs", "src/b.rs"]));
    env.kill(host);
    env.join("Eve");
    assert_eq!(calls(&env, "Eve"), 0);
}

#[test]
fn other_tools_are_counted_and_reading_is_told() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let read = Call::new(&env, "claude/more/PostToolUse-Read", &session_of("Alice"));
    read.with("/tool_input/file_path", json!(env.work().join("src/a.rs"))).answer(&env);
    let alice = agent(&env, "Alice");
    assert_eq!((&alice["activity"], &alice["toolCalls"]), (&json!("reading src/a.rs"), &json!(1)));
    assert_eq!(alice["filesModified"], json!([]));
    Call::bash(&env, "PreToolUse", &session_of("Alice"), "cargo build").answer(&env);
    let alice = agent(&env, "Alice");
    assert_eq!((&alice["activity"], &alice["toolCalls"]), (&json!("running cargo build"), &json!(1)));
}

#[test]
fn what_is_refused_is_not_what_one_is_at() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["reserve", "src/", "--as", "Bob"]);
    let answer = Call::edit(&env, &session_of("Alice"), "src/a.rs").answer(&env);
    assert!(matches!(answer, HookAnswer::Deny(_)), "{answer:?}");
    assert_eq!(agent(&env, "Alice")["activity"], Value::Null);
}

#[test]
fn tokens_are_counted_where_they_are_told() {
    let env = TestEnvironment::new();
    env.join("Alice");
    for fixture in ["pi/tool_result-bash", "pi/before_agent_start", "pi/agent_before_settle"] {
        let call = Call::new(&env, fixture, &session_of("Alice")).with("/event/tokens", 110);
        call.answer(&env);
    }
    assert_eq!(agent(&env, "Alice")["tokens"], 330);
}

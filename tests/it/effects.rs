//! Effects of commands: whom they tell, under how many locks, and what is told although a later step fails.

mod changes;

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use ravenry::sys::test_switches::{COUNT, NOW};

use crate::crashes::copy;
use crate::lock_order::{ended, is_locked, pid, stop_at};
use crate::support::environment::{TestEnvironment, end, put};

const SPEC: &str = "- [ ] TASK-1: one\n- [ ] TASK-2: two (needs TASK-1)\n";
/// Agents that joined before have been quiet for long.
const LATER: &str = "2099-01-01T00:00:00Z";

/// Agents with one spec; the first has claimed a task and a path with it.
fn with_task(names: &[&str]) -> TestEnvironment {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    for name in names {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env.ok(&["claim", "TASK-1", "--reserve", "src/", "--as", names[0]]);
    env
}

/// The agents and targets of the feed's lines of that type.
fn lines(env: &TestEnvironment, kind: &str) -> Vec<String> {
    let feed = env.ok(&["feed", "-n", "200"]);
    let events = feed["events"].as_array().unwrap().iter().filter(|event| event["type"] == kind);
    events
        .map(|event| {
            format!("{} {}", event["agent"].as_str().unwrap(), event["target"].as_str().unwrap_or_default())
        })
        .map(|line| line.trim_end().to_string())
        .collect()
}

/// How often the command took a lock of that file.
fn locks_taken(env: &TestEnvironment, kind: &str, args: &[&str]) -> u64 {
    let counter = env.path().join(format!("count.{kind}"));
    fs::write(&counter, "").unwrap();
    let mut command = env.msg();
    end(command.args(args).env(COUNT, env.path().join("count")).env(NOW, LATER)).expect_code(0);
    fs::metadata(counter).unwrap().len()
}

/// Otherwise a stopped holder would delay the command once for each.
#[test]
fn all_notices_wait_for_one_lock_and_all_lines_for_another() {
    let env = with_task(&["Alice", "Bob", "Carol", "Dave", "Eve"]);
    assert_eq!(locks_taken(&env, "lock-stamp", &["complete", "TASK-1", "--as", "Alice"]), 1);
    for name in ["Bob", "Carol", "Dave", "Eve"] {
        let read = env.ok(&["read", "--as", name]);
        assert_eq!(read["messages"].as_array().unwrap().len(), 1, "{name} is told: {read}");
    }
    assert_eq!(locks_taken(&env, "lock-feed", &["reserve", "a", "b", "c", "--as", "Alice"]), 1);
    assert_eq!(lines(&env, "reserve"), ["Alice a", "Alice b", "Alice c"]);
}

/// Stops the command before each of its changes, and lets `meddle` do something meanwhile. `meddle` returns whether it
/// did anything; if so, `check` looks at the result.
fn meddle_everywhere(
    env: &TestEnvironment,
    args: &[&str],
    meddle: impl Fn(&TestEnvironment) -> bool,
    check: impl Fn(&TestEnvironment, &str),
) {
    let before = env.path().join("before");
    copy(&env.mesh(), &before);
    let mut times = 0;
    for step in 1.. {
        fs::remove_dir_all(env.mesh()).unwrap();
        copy(&before, &env.mesh());
        let Some(child) = stop_at(env.msg().args(args), step) else { break };
        let has_meddled = meddle(env);
        kill(pid(&child), Signal::SIGCONT).unwrap();
        let (code, said) = ended(child);
        if has_meddled {
            times += 1;
            check(env, &format!("stopped at {step}, exit code {code:?}: {said}"));
        }
    }
    assert!(times >= 3, "{args:?}: it happened {times} times");
}

/// Between the commit and the notice, the new owner leaves, and another agent takes its name.
#[test]
fn a_notice_is_for_an_agent_not_for_whoever_has_its_name() {
    let notes = "word ".repeat(3000);
    let leave_and_replace = |env: &TestEnvironment| {
        if is_locked(env) {
            return false;
        }
        env.ok(&["leave", "--as", "Bob"]);
        let host = env.host().to_string();
        env.ok(&["join", "Bob", "--pid", &host, "--session", "another"]);
        true
    };
    meddle_everywhere(
        &with_task(&["Alice", "Bob"]),
        &["handoff", "TASK-1", "Bob", "--notes", &notes, "--as", "Alice"],
        leave_and_replace,
        |env, when| {
            let read = env.ok(&["read", "--as", "Bob"]);
            let texts = read["messages"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap());
            let is_hers =
                env.store().tasks().claims().unwrap().iter().any(|claim| claim.session == "another");
            let told = texts.filter(|text| text.contains("TASK-1")).count();
            assert_eq!(told > 0, is_hers, "{when}");
        },
    );
}

/// Replaces a file by a directory: writing it fails from now on, and reading it too.
fn block(path: &Path) -> bool {
    let aside = path.with_extension("aside");
    if aside.exists() || (path.exists() && fs::rename(path, &aside).is_err()) {
        return false;
    }
    fs::create_dir(path).is_ok()
}

fn unblock(path: &Path) {
    fs::remove_dir(path).unwrap();
    if path.with_extension("aside").exists() {
        fs::rename(path.with_extension("aside"), path).unwrap();
    }
}

#[test]
fn a_task_that_was_handed_over_is_in_the_feed_although_a_later_step_fails() {
    let giver = |env: &TestEnvironment| env.mesh().join("registry/Alice.json");
    meddle_everywhere(
        &with_task(&["Alice", "Bob"]),
        &["handoff", "TASK-1", "Bob", "--as", "Alice"],
        |env| block(&giver(env)),
        |env, when| {
            unblock(&giver(env));
            let is_passed = env.store().tasks().claims().unwrap().iter().any(|claim| claim.agent == "Bob");
            assert_eq!(lines(env, "handoff").len(), usize::from(is_passed), "{when}");
            let told = env.ok(&["read", "--as", "Bob"])["messages"].as_array().unwrap().len();
            assert_eq!(told, usize::from(is_passed), "{when}");
        },
    );
}

#[test]
fn a_task_that_was_completed_is_in_the_feed_although_a_later_step_fails() {
    let claims = |env: &TestEnvironment| env.mesh().join("claims.json");
    meddle_everywhere(
        &with_task(&["Alice", "Bob"]),
        &["complete", "TASK-1", "--as", "Alice"],
        |env| block(&claims(env)),
        |env, when| {
            unblock(&claims(env));
            let done = env.store().tasks().completions().unwrap().count();
            assert_eq!(lines(env, "complete").len(), done, "{when}");
        },
    );
}

#[test]
fn an_agent_that_joined_is_in_the_feed_although_a_later_step_fails() {
    let presence = |env: &TestEnvironment| env.mesh().join("presence/Bob");
    let env = TestEnvironment::new();
    env.join("Alice");
    let host = std::process::id().to_string();
    meddle_everywhere(
        &env,
        &["join", "Bob", "--pid", &host, "--session", "of Bob"],
        |env| block(&presence(env)),
        |env, when| {
            unblock(&presence(env));
            let is_here = env.names().contains(&"Bob".to_string());
            assert_eq!(lines(env, "join").contains(&"Bob".to_string()), is_here, "{when}");
        },
    );
}

#[test]
fn a_new_name_is_in_the_feed_although_a_later_step_fails() {
    let claims = |env: &TestEnvironment| env.mesh().join("claims.json");
    meddle_everywhere(
        &with_task(&["Alice"]),
        &["rename", "Ann", "--as", "Alice"],
        |env| block(&claims(env)),
        |env, when| {
            unblock(&claims(env));
            let is_renamed = env.names() == ["Ann"];
            assert_eq!(lines(env, "rename").len(), usize::from(is_renamed), "{when}");
        },
    );
}

/// A line that says that a claim was dropped must not be there while the claim is.
#[test]
fn a_stale_claim_is_reported_only_once_it_is_dropped() {
    let claims = |env: &TestEnvironment| env.mesh().join("claims.json");
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    env.join("Bob");
    let host = env.join("Alice");
    env.ok(&["claim", "TASK-1", "--adhoc", "--as", "Alice"]);
    env.kill(host);
    meddle_everywhere(
        &env,
        &["claim", "OTHER", "--adhoc", "--as", "Bob"],
        |env| block(&claims(env)),
        |env, when| {
            unblock(&claims(env));
            let is_there = env.store().tasks().claims().unwrap().iter().any(|claim| claim.agent == "Alice");
            assert_eq!(lines(env, "stale").len(), usize::from(!is_there), "{when}");
        },
    );
}

/// Adds a key that can be read over, but not written again.
fn make_unwritable(env: &TestEnvironment, name: &str) {
    let path = env.mesh().join("registry").join(format!("{name}.json"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen('{', "{\n  \"later\": 1e999,", 1)).unwrap();
}

/// All files of the mesh that say who has what.
fn state(env: &TestEnvironment) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for dir in [".", "registry", "sessions"] {
        for entry in fs::read_dir(env.mesh().join(dir)).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                files.push((path.display().to_string(), fs::read_to_string(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// The paths go last, long after the task: whether they can be removed is known before anything is written.
#[test]
fn a_command_that_can_not_write_a_registration_changes_nothing() {
    for args in [
        ["complete", "TASK-1", "--as", "Alice"].as_slice(),
        &["unclaim", "TASK-1", "--as", "Alice"],
        &["handoff", "TASK-1", "Bob", "--as", "Alice"],
        &["leave", "--as", "Alice"],
    ] {
        let env = with_task(&["Alice", "Bob"]);
        make_unwritable(&env, "Alice");
        let before = state(&env);
        assert_eq!(env.fails(4, args), "corrupt", "{args:?}");
        assert_eq!(state(&env), before, "{args:?}");
        let events = env.ok(&["feed", "-n", "200"]);
        assert!(!events.to_string().contains(&format!("\"type\":\"{}\"", args[0])), "{args:?}: {events}");
    }
}

/// Nobody can send in the program's name from now on.
pub fn block_notices(env: &TestEnvironment) {
    let outbox = env.mesh().join("sent/ravenry");
    fs::remove_dir_all(&outbox).ok();
    put(&outbox, "");
}

#[test]
fn doctor_says_whom_it_could_not_tell() {
    let env = TestEnvironment::new();
    let alice = env.join("Alice");
    env.join("Bob");
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    env.fails(1, &["reserve", "src/x", "--as", "Bob"]);
    env.kill(alice);
    block_notices(&env);
    let said = env.run(&["doctor", "--repair"]);
    assert!(said.stderr.contains("note: could not tell Bob what is free: "), "{said}");
}

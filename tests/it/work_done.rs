//! Counts how much commands read: it must not grow quadratically, nor happen under a lock.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use ravenry::sys::test_switches::{COUNT, FAIL_SYNC};
use serde_json::Value;

use crate::support::environment::{TestEnvironment, date, end, files_in, put};

/// How often the command read something of that kind.
fn count(env: &TestEnvironment, kind: &str, args: &[&str]) -> u64 {
    let file = counter(env, kind);
    fs::write(&file, "").unwrap();
    end(env.msg().args(args).env(COUNT, env.path().join("count"))).expect_code(0);
    fs::metadata(&file).unwrap().len()
}

fn counter(env: &TestEnvironment, kind: &str) -> PathBuf {
    env.path().join(format!("count.{kind}"))
}

fn crowd(env: &TestEnvironment, size: usize) -> Vec<String> {
    let names: Vec<String> = (0..size).map(|number| format!("Agent{number}")).collect();
    for name in &names {
        env.join(name);
    }
    names
}

#[test]
fn a_broadcast_reads_each_registration_a_few_times_however_many_there_are() {
    let env = TestEnvironment::new();
    let names = crowd(&env, 30);
    let expected = 30..=6 * 30;
    let read = count(&env, "registration", &["broadcast", "hi", "--as", "Agent0"]);
    assert!(expected.contains(&read), "{read} registrations were read");
    let read = count(&env, "registration", &["send", &names[1..].join(","), "hi", "--as", "Agent0"]);
    assert!(expected.contains(&read), "{read} registrations were read");
}

/// One look at all agents per command; one more under the lock, if it changes something that depends on the others.
#[test]
fn a_command_looks_at_all_agents_once() {
    const AGENTS: u64 = 20;
    let env = TestEnvironment::new();
    crowd(&env, 20);
    let looking: [&[&str]; 7] = [
        &["agents"],
        &["whoami", "--as", "Agent0"],
        &["whois", "Agent1"],
        &["reservations"],
        &["check", "x.rs", "--as", "Agent0"],
        &["inbox", "--as", "Agent2"],
        &["history", "--as", "Agent0"],
    ];
    for args in looking {
        let read = count(&env, "registration", args);
        assert!((AGENTS..AGENTS + 5).contains(&read), "`{}` read {read} registrations", args.join(" "));
    }
    let changing: [&[&str]; 5] = [
        &["reserve", "x.rs", "--as", "Agent0"],
        &["release", "x.rs", "--as", "Agent0"],
        &["send", "Agent1", "hi", "--as", "Agent0"],
        &["claim", "T", "--adhoc", "--as", "Agent0"],
        &["leave", "--as", "Agent3"],
    ];
    for args in changing {
        let read = count(&env, "registration", args);
        assert!((AGENTS..=2 * AGENTS + 5).contains(&read), "`{}` read {read} registrations", args.join(" "));
    }
}

#[test]
fn topics_of_all_agents_are_read_at_once() {
    let env = TestEnvironment::new();
    crowd(&env, 5);
    assert_eq!(env.ok(&["topics"])["agents"].as_array().map(Vec::len), Some(5));
    assert_eq!(count(&env, "track", &["topics"]), 1);
}

#[test]
fn claims_are_read_once_for_all_who_wait() {
    let env = TestEnvironment::new();
    let names = crowd(&env, 12);
    env.ok(&["claim", "TASK", "--adhoc", "--as", "Agent0"]);
    for name in &names[1..] {
        env.fails(1, &["claim", "TASK", "--adhoc", "--as", name]);
    }
    let read = count(&env, "claims", &["unclaim", "--as", "Agent0"]);
    assert!((1..12).contains(&read), "the claims were read {read} times for 11 who wait");
    for name in &names[1..] {
        assert_eq!(
            env.ok(&["read", "--as", name])["messages"].as_array().unwrap().len(),
            1,
            "{name} is told"
        );
    }
}

#[test]
fn a_project_is_not_read_under_a_lock() {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), "- [ ] TASK-1: one\n- [ ] TASK-2: two\n- [ ] TASK-3: three\n");
    put(&env.work().join("old.md"), "- [ ] TASK-1: one\n");
    for name in ["Alice", "Bob"] {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env.ok(&["claim", "TASK-1", "--spec", "old.md", "--as", "Bob"]);
    env.ok(&["complete", "TASK-1", "--spec", "old.md", "--as", "Bob"]);
    for args in [
        &["claim", "TASK-1", "--as", "Alice"][..],
        &["complete", "--as", "Alice"],
        &["claim", "--next", "--as", "Alice"],
        &["unclaim", "TASK-2", "--as", "Alice"],
        &["claim", "--next", "--as", "Alice"],
        &["handoff", "TASK-2", "Bob", "--as", "Alice"],
        &["complete", "TASK-2", "--as", "Bob"],
        &["reopen", "TASK-2", "--reason", "no", "--as", "Alice"],
    ] {
        assert!(count(&env, "spec", args) + count(&env, "path", &["tasks", "--as", "Alice"]) > 0, "{args:?}");
    }
    for kind in ["spec-under-lock", "path-under-lock"] {
        let read = fs::read(counter(&env, kind)).map_or(0, |bytes| bytes.len());
        assert_eq!(read, 0, "{kind}");
    }
}

#[test]
fn who_looks_for_the_last_owner_of_a_name_reads_records_of_sessions_alone() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = env.join("Robin");
    env.drop_mail("Robin", "unread");
    env.kill(host);
    fs::remove_file(env.mesh().join("registry/Robin.json")).unwrap();
    // It is empty, and so young that it might be half written.
    fs::write(env.mesh().join("sessions/.pruned"), "").unwrap();
    let host = env.host().to_string();
    assert_eq!(count(&env, "look", &["join", "Robin", "--pid", &host, "--session", "another"]), 0);
}

#[test]
fn a_registration_that_is_rewritten_all_the_time_is_looked_at_a_few_times_in_all() {
    let env = TestEnvironment::new();
    crowd(&env, 6);
    let broken = env.mesh().join("registry/Broken.json");
    fs::write(&broken, "{").unwrap();
    let is_over = AtomicBool::new(false);
    let looks = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                fs::write(&broken, "{").unwrap();
                std::thread::yield_now();
            }
        });
        let looks = count(&env, "look", &["broadcast", "hi", "--as", "Agent0"]);
        is_over.store(true, Ordering::SeqCst);
        looks
    });
    assert!((1..=25).contains(&looks), "it was looked at {looks} times again");
}

#[test]
fn history_with_one_peer_reads_what_it_shows() {
    let env = TestEnvironment::new();
    crowd(&env, 3);
    for _ in 0..5 {
        env.ok(&["send", "Agent2", "for two", "--as", "Agent0"]);
    }
    for _ in 0..20 {
        env.ok(&["send", "Agent1", "for one", "--as", "Agent0"]);
    }
    let read = count(&env, "message", &["history", "Agent2", "--limit", "3", "--as", "Agent0"]);
    assert_eq!(read, 3);
}

#[test]
fn the_inbox_reads_nothing_of_what_was_read_and_needs_no_ack() {
    let env = TestEnvironment::new();
    crowd(&env, 2);
    for _ in 0..10 {
        env.ok(&["send", "Agent1", "no hurry", "--as", "Agent0"]);
    }
    env.ok(&["send", "Agent1", "sure?", "--want-ack", "--as", "Agent0"]);
    env.ok(&["read", "--as", "Agent1"]);
    assert_eq!(count(&env, "message", &["inbox", "--as", "Agent1"]), 1);
    let owed = env.ok(&["inbox", "--as", "Agent1"]);
    assert!(owed.to_string().contains("sure?"), "{owed}");
}

/// If its sender is told of a failure, a message is not there: sending it again does not send it twice.
#[test]
fn a_message_is_not_there_if_its_sender_is_told_of_a_failure() {
    for place in ["inbox/Bob", "sent/Alice"] {
        let env = TestEnvironment::new();
        env.join("Alice");
        env.join("Bob");
        env.ok(&["config", "set", "durability", "power"]);
        let send = ["send", "Bob", "hi", "--as", "Alice"];
        let ended = env.run_with(&send, &[(FAIL_SYNC, place)]);
        assert_ne!(ended.code, Some(0), "{place}: {ended}");
        assert_eq!(env.mail(), Vec::<String>::new(), "{place}");
        let records: Vec<PathBuf> = files_in(&env.mesh().join("sent/Alice"));
        assert!(!records.iter().any(|path| path.extension().is_some()), "{place}: {records:?}");
        env.ok(&send);
        let read: Value = env.ok(&["read", "--as", "Bob"]);
        assert_eq!(read["messages"].as_array().unwrap().len(), 1, "{place}");
    }
}

/// The session records.
fn sessions(env: &TestEnvironment) -> Vec<PathBuf> {
    let mut files = files_in(&env.mesh().join("sessions"));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files
}

fn graves(env: &TestEnvironment) -> Vec<String> {
    let entries = fs::read_dir(env.mesh().join("graves")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn who_joins_forgets_those_who_are_long_gone_once_a_day() {
    let env = TestEnvironment::new();
    env.join("Writer");
    let year_ago = SystemTime::now() - Duration::from_secs(365 * 24 * 3600);
    let then = jiff::Timestamp::try_from(year_ago).unwrap().to_string();
    for (name, is_old) in [("Old", true), ("Unread", true), ("Young", false)] {
        let host = env.host();
        let session = format!("session of {name}");
        let time = if is_old { then.clone() } else { jiff::Timestamp::now().to_string() };
        let join = ["join", name, "--pid", &host.to_string(), "--session", &session];
        env.run_with(&join, &[(ravenry::sys::test_switches::NOW, &time)]).expect_code(0);
        if name == "Unread" {
            env.ok(&["send", name, "hi", "--as", "Writer"]);
        }
        env.run_with(&["leave", "--as", name], &[(ravenry::sys::test_switches::NOW, &time)]).expect_code(0);
        env.kill(host);
    }
    for path in sessions(&env) {
        let text = fs::read_to_string(&path).unwrap();
        if text.contains("session of Old") || text.contains("session of Unread") {
            date(&path, year_ago);
        }
    }
    for name in graves(&env).iter().filter(|name| !name.starts_with("Young")) {
        fs::File::open(env.mesh().join("graves").join(name)).unwrap().set_modified(year_ago).unwrap();
    }
    let before = (sessions(&env).len(), graves(&env).len());
    assert_eq!(before, (4, 3));
    env.join("Another");
    assert_eq!((sessions(&env).len(), graves(&env).len()), (5, 3), "somebody looked today already");
    fs::remove_file(env.mesh().join("sessions/.pruned")).unwrap();
    env.join("Last");
    let left = graves(&env);
    assert!(left.len() == 2 && left[0].starts_with("Unread") && left[1].starts_with("Young"), "{left:?}");
    let remembered: String = sessions(&env).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(!remembered.contains("session of Old"), "{remembered}");
    for kept in ["session of Unread", "session of Young", "session of Writer"] {
        assert!(remembered.contains(kept), "{kept}");
    }
}

/// pi-messenger removes the registrations of dead agents and leaves their inboxes.
#[test]
fn a_session_whose_mail_lies_under_a_name_that_nobody_has_is_remembered() {
    let env = TestEnvironment::new();
    let host = env.host();
    let year_ago = SystemTime::now() - Duration::from_secs(365 * 24 * 3600);
    let then = jiff::Timestamp::try_from(year_ago).unwrap().to_string();
    let join = ["join", "Robin", "--pid", &host.to_string(), "--session", "session of Robin"];
    env.run_with(&join, &[(ravenry::sys::test_switches::NOW, &then)]).expect_code(0);
    env.drop_mail("Robin", "unread");
    env.kill(host);
    fs::remove_file(env.mesh().join("registry/Robin.json")).unwrap();
    sessions(&env).iter().for_each(|path| date(path, year_ago));
    fs::remove_file(env.mesh().join("sessions/.pruned")).unwrap();
    env.join("Last");
    let back = env.ok(&["join", "--pid", &env.host().to_string(), "--session", "session of Robin"]);
    assert_eq!((&back["agent"]["name"], &back["agent"]["unread"]), (&"Robin".into(), &1.into()), "{back}");
}

/// Those who never read, and who are gone, have histories too.
#[test]
fn old_messages_of_everybody_are_removed_once_a_day() {
    let env = TestEnvironment::new();
    let long_ago = "2024-05-17T09:30:00.000Z";
    for name in ["Writer", "Reader"] {
        let host = env.host().to_string();
        let join = ["join", name, "--pid", &host, "--session", name];
        env.run_with(&join, &[(ravenry::sys::test_switches::NOW, long_ago)]).expect_code(0);
    }
    for time in [Some(long_ago), None] {
        let time: Vec<(&str, &str)> =
            time.map(|time| (ravenry::sys::test_switches::NOW, time)).into_iter().collect();
        env.run_with(&["send", "Reader", "walrus", "--as", "Writer"], &time).expect_code(0);
        env.run_with(&["read", "--as", "Reader"], &time).expect_code(0);
    }
    assert_eq!(env.ok(&["search", "walrus", "--all"])["results"].as_array().unwrap().len(), 2);
    let has_text = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains("walrus"));
    let records = |dir: &str| files_in(&env.mesh().join(dir)).iter().filter(|path| has_text(path)).count();
    assert_eq!((records("sent/Writer"), records("seen/Reader")), (2, 2));
    fs::remove_file(env.mesh().join("sessions/.pruned")).ok();
    let words = env.mesh().join("search/sent-Writer");
    put(&words, "walrus");
    env.join("Last");
    assert_eq!((records("sent/Writer"), records("seen/Reader")), (1, 1));
    assert!(!words.exists(), "the words of what is gone");
}

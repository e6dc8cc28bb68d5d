//! Tests of what is in the feed, and what is not.

use std::fs::{self, OpenOptions};
use std::io::Write;

use super::{event, raw, segments, shown};
use crate::support::environment::{TestEnvironment, put};

fn append(env: &TestEnvironment, bytes: &[u8]) {
    let newest = segments(env).pop().unwrap();
    OpenOptions::new().append(true).open(newest).unwrap().write_all(bytes).unwrap();
}

#[test]
fn who_was_evicted_is_called_by_its_name() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["rename", "Ann", "--as", "Alice"]);
    env.ok(&["evict", "alice", "--force", "--as", "Bob"]);
    assert_eq!(shown(&env, &["--kind", "evict"]), ["Bob evict Ann"]);
}

#[test]
fn what_agents_do_is_in_it() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["send", "Bob", "hello", "--as", "Alice"]);
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    env.fails(1, &["reserve", "src/x.rs", "--as", "Bob"]);
    env.ok(&["release", "--as", "Alice"]);
    env.ok(&["rename", "Ben", "--as", "Bob"]);
    env.ok(&["leave", "--as", "Alice"]);
    let all = [
        "Alice join -",
        "Bob join -",
        "Alice message Bob",
        "Alice reserve src/",
        "Bob refused src/x.rs",
        "Alice release src/",
        "Bob rename Ben",
        "Alice leave -",
    ];
    assert_eq!(shown(&env, &[]), all);
    assert_eq!(shown(&env, &["--limit", "2"]), all[6..], "the last ones, oldest first");
    assert_eq!(env.fails(2, &["feed", "--limit", "0"]), "invalid_value");
    assert_eq!(shown(&env, &["--kind", "reserve,release"]), [all[3], all[5]]);
    assert_eq!(
        shown(&env, &["--agent", "bob"]),
        [all[1], all[2], all[4], all[6]],
        "also what was done to it"
    );
    assert_eq!(shown(&env, &["--agent", "Alice", "--kind", "join"]), [all[0]]);
    assert_eq!(env.fails(2, &["feed", "--kind", "jion"]), "invalid_value");
}

#[test]
fn whoever_looks_need_not_have_joined() {
    let env = TestEnvironment::new();
    assert_eq!(shown(&env, &[]), [""; 0]);
    assert!(!env.mesh().exists(), "looking makes no mesh");
    env.join("Alice");
    assert_eq!(shown(&env, &[]), ["Alice join -"]);
    fs::remove_dir_all(env.mesh().join("feed")).unwrap();
    assert_eq!(shown(&env, &[]), [""; 0]);
}

#[test]
fn the_text_of_a_direct_message_is_nobody_elses_business() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Bob", "Cleo"] {
        env.join(name);
    }
    env.ok(&["send", "Bob", "the password is swordfish", "--as", "Alice"]);
    env.ok(&["send", "Bob,Cleo", "the password is swordfish", "--as", "Alice"]);
    env.ok(&["broadcast", "lunch is ready", "--as", "Alice"]);
    assert!(!raw(&env).contains("swordfish"), "{}", raw(&env));
    assert!(raw(&env).contains("lunch is ready"), "what is said to all is no secret");
    let mail = env.ok(&["inbox", "--as", "Bob"]);
    let id = mail["messages"][0]["id"].as_str().unwrap().to_string();
    env.ok(&["read", "--as", "Bob"]);
    env.ok(&["reply", &id, "it was swordfish", "--as", "Bob"]);
    assert!(!raw(&env).contains("swordfish"), "nor that of an answer");
    env.ok(&["config", "set", "feedPrivacy", "text"]);
    env.ok(&["send", "Bob", "the password is swordfish", "--as", "Alice"]);
    assert_eq!(raw(&env).matches("swordfish").count(), 1);
}

#[test]
fn lines_that_are_no_events_are_passed_by_and_counted() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let huge = [vec![b'{'; 5 * 1024 * 1024], b"\n".to_vec()].concat();
    let broken: [&[u8]; 7] = [
        b"{\"ts\":\"2026-11-14T23:57:56.072Z\",\"type\":\"jo\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"{\"ts\":\"yesterday\",\"type\":\"join\",\"agent\":\"X\"}\n",
        b"{\"ts\":\"2026-11-14T23:57:56.072Z\",\"type\":7,\"agent\":\"X\"}\n",
        b"{\"ts\":\"2026-11-14T23:57:56.072Z\",\"type\":\"join\"}\n",
        &huge,
    ];
    for bytes in broken {
        append(&env, bytes);
        env.store().feed().append(&[event("Alice", "x")], 1000).unwrap();
    }
    append(&env, b"\n\n");
    let feed = env.ok(&["feed", "--limit", "100"]);
    assert_eq!(feed["unreadable"], broken.len());
    assert_eq!(feed["events"].as_array().unwrap().len(), 1 + broken.len());
    assert_eq!(env.ok(&["feed", "--limit", "1"])["unreadable"], 0, "those further back were not looked at");
    insta::assert_snapshot!(
        env.run(&["feed"]).expect_code(0).stderr,
        @"note: 7 lines of the feed can't be read: cut short, or not events"
    );
}

#[test]
fn one_who_was_killed_in_mid_line_spoils_nothing() {
    let env = TestEnvironment::new();
    env.join("Alice");
    append(&env, b"{\"ts\":\"2026-11-14T23:57");
    let feed = env.ok(&["feed"]);
    assert_eq!(feed["unreadable"], 0, "it may be just on its way");
    assert_eq!(feed["events"].as_array().unwrap().len(), 1);
    env.join("Bob");
    assert_eq!(shown(&env, &[]), ["Alice join -", "Bob join -"]);
    assert_eq!(env.ok(&["feed"])["unreadable"], 1);
}

#[test]
fn nothing_in_it_reaches_a_terminal_as_it_is() {
    let env = TestEnvironment::new();
    env.join("Alice");
    append(&env, b"{\"ts\":\"2026-11-14T23:57:56.072Z\",\"type\":\"x\\u001b[2J\",\"agent\":\"E\\u001b]0;v\\u0007\",\"target\":\"\\u202e\\n\"}\n");
    for args in [&["feed"][..], &["feed", "--color", "always"]] {
        let said = env.run(args).expect_code(0).stdout;
        assert!(
            !said.contains("\u{1b}[2J") && !said.contains('\u{7}') && !said.contains('\u{202e}'),
            "{said:?}"
        );
        assert!(said.contains("E\\u{1b}]0;v\\u{7}"), "{said}");
    }
}

#[test]
fn it_keeps_as_much_as_it_shall() {
    let env = TestEnvironment::new();
    let mesh = env.store();
    for (keep, most) in [(10_u64, 60), (100, 200)] {
        for number in 0..1000 {
            mesh.feed().append(&[event("Alice", number)], keep).unwrap();
            let (given, _) = mesh.feed().last(usize::MAX, |_| true).unwrap();
            let numbers: Vec<usize> =
                given.events.iter().map(|event| event.target.as_ref().unwrap().parse().unwrap()).collect();
            let first = numbers.iter().rposition(|number| *number == 0).unwrap_or(0);
            let numbers = &numbers[first..];
            assert!(numbers.is_sorted() && numbers.last() == Some(&number));
            assert!(
                given.events.len() >= keep.min(number as u64 + 1) as usize,
                "{} of {keep}",
                numbers.len()
            );
            assert!(number < 300 || given.events.len() <= most, "{} of {keep}", given.events.len());
        }
    }
    assert!(segments(&env).len() <= 6, "{:?}", segments(&env));
    env.ok(&["config", "set", "feedRetention", "0"]);
    let before = raw(&env);
    env.join("Bob");
    assert_eq!(raw(&env), before, "nothing is kept, so nothing is written");
}

#[test]
fn a_project_does_not_decide_what_is_kept() {
    let env = TestEnvironment::new();
    env.join("Alice");
    put(&env.work().join(".ravenry/config.json"), "{\"feedRetention\": 0}");
    env.join("Bob");
    assert_eq!(shown(&env, &[]), ["Alice join -", "Bob join -"], "a clone must not clear the feed of all");
}

#[test]
fn equal_events_in_a_row_are_one_line() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    for _ in 0..4 {
        env.ok(&["send", "Bob", "hello", "--as", "Alice"]);
    }
    env.ok(&["send", "Alice", "yes?", "--as", "Bob"]);
    let feed = env.run(&["feed", "--color", "never"]).expect_code(0).stdout;
    let lines: Vec<&str> = feed.lines().collect();
    assert_eq!(lines.len(), 4, "{feed}");
    assert!(lines[2].ends_with("Alice → Bob ×4") && lines[3].ends_with("Bob → Alice"), "{feed}");
    assert_eq!(shown(&env, &[]).len(), 7, "in JSON each is there");
}

//! Tests of what `docs/cli.md` promises for every command.

use std::fs;

use crate::support::environment::{TestEnvironment, put};

#[test]
fn help_and_version_are_one_object_in_json() {
    let env = TestEnvironment::new();
    let help = |args: &[&str]| {
        let ended = env.run(args).expect_code(0);
        let object = ended.json();
        assert_eq!(
            (ended.stdout.lines().count(), object["ok"].as_bool()),
            (1, Some(true)),
            "{args:?}: {ended}"
        );
        let text = object["help"].as_str().unwrap_or_else(|| panic!("{args:?}: {ended}")).to_string();
        assert!(!text.contains('\u{1b}') && text.contains("Usage: msg"), "{args:?}: {text}");
        text
    };
    for args in [&["--help", "--json"][..], &["help", "--json"], &["--json", "help"], &["-h", "--json"]] {
        assert!(help(args).contains("Start with `msg join`"), "{args:?}");
    }
    for args in [&["send", "--help", "--json"][..], &["help", "send", "--json"], &["--json", "help", "send"]]
    {
        assert!(help(args).contains("--want-ack"), "{args:?}");
    }
    assert!(help(&["help", "config", "set", "--json"]).contains("<VALUE>"));
    assert_eq!(env.ok(&["--version"])["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(env.fails(2, &["help", "nosuch"]), "usage");
}

#[test]
fn help_is_coloured_where_that_is_wanted() {
    let env = TestEnvironment::new();
    for args in [
        &["help", "--color", "always"][..],
        &["--color=always", "send", "--help"],
        &["help", "send", "--color", "always"],
    ] {
        assert!(env.run(args).expect_code(0).stdout.contains("\u{1b}["), "{args:?}");
    }
    for args in [&["help"][..], &["help", "--color", "never"], &["send", "--help"]] {
        assert!(!env.run(args).expect_code(0).stdout.contains('\u{1b}'), "{args:?}");
    }
}

#[test]
fn a_hook_without_arguments_answers_in_json_too() {
    let env = TestEnvironment::new();
    for args in [&["hook", "--json"][..], &["--json", "waiter"], &["hook", "claude", "--json"]] {
        let ended = env.run(args).expect_code(0);
        assert_eq!((ended.kind().as_str(), ended.stdout.lines().count()), ("usage", 1), "{args:?}");
    }
    assert_eq!(env.run(&["hook"]).expect_code(0).stdout, "");
    assert_eq!(env.fails(2, &["mcp"]), "usage");
    assert_eq!(env.fails(2, &["tui"]), "usage");
}

/// Sends a message; returns its id and its six letters.
fn sent(env: &TestEnvironment, text: &str) -> (String, String) {
    let sent = env.ok(&["send", "Bob", text, "--as", "Alice"])["sent"][0].clone();
    let word = |key: &str| sent[key].as_str().unwrap().to_string();
    (word("id"), word("short"))
}

#[test]
fn a_message_is_named_by_the_start_of_its_letters_in_any_case() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let (id, short) = sent(&env, "one");
    assert_eq!(short.len(), 6);
    for name in [&short, &short[..4], &short[..5], &short.to_uppercase(), &id, &id.to_uppercase(), &id[..30]]
    {
        let shown = env.ok(&["show", name, "--as", "Bob"]);
        assert_eq!(shown["message"]["id"], id.as_str(), "{name}");
        assert_eq!(env.ok(&["receipt", name, "--as", "Alice"])["id"], id.as_str(), "{name}");
    }
    assert_eq!(env.fails(1, &["show", &short[..3], "--as", "Bob"]), "unknown_message");
    // Two with the same start, and one whose letters are the start of another's.
    let plant = |letters: &str| {
        let text = format!(
            "{{\"id\":\"id-of-{letters}\",\"from\":\"X\",\"to\":\"Bob\",\"text\":\"hi\",\
             \"timestamp\":\"2026-11-14T23:57:56.113Z\",\"replyTo\":null}}"
        );
        put(&env.mesh().join(format!("inbox/Bob/1794700676113-{letters}.json")), &text);
    };
    ["abcdef", "abcdeg", "abcd"].into_iter().for_each(plant);
    assert_eq!(env.fails(1, &["show", "ABCDE", "--as", "Bob"]), "ambiguous_message");
    assert_eq!(env.ok(&["show", "ABCDEF", "--as", "Bob"])["message"]["id"], "id-of-abcdef");
    assert_eq!(env.ok(&["show", "abcd", "--as", "Bob"])["message"]["short"], "abcd");
    for message in env.ok(&["read", "--as", "Bob"])["messages"].as_array().unwrap() {
        let letters = message["short"].as_str().unwrap();
        assert!(message["id"] == id.as_str() || message["id"] == format!("id-of-{letters}"), "{message}");
    }
}

#[test]
fn a_name_that_nobody_has_is_not_an_empty_answer() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    for args in [&["history", "Bobb"][..], &["feed", "--agent", "Bobb"], &["wait", "--from", "Bobb"]] {
        let ended = env.run(&[args, &["--as", "Alice", "--json"]].concat()).expect_code(1);
        assert_eq!(ended.kind(), "unknown_agent", "{args:?}");
        assert_eq!(ended.json()["error"]["hints"][0], "did you mean Bob?", "{args:?}");
    }
    // Bob has said nothing yet, has left, or has another name now: that is not an error.
    assert!(env.ok(&["history", "Bob", "--as", "Alice"])["messages"].as_array().unwrap().is_empty());
    assert_eq!(env.fails(5, &["wait", "--from", "bob", "--timeout", "0", "--as", "Alice"]), "timed_out");
    env.ok(&["rename", "Ben", "--as", "Bob"]);
    env.ok(&["history", "Bob", "--as", "Alice"]);
    env.ok(&["leave", "--as", "Ben"]);
    env.ok(&["history", "Ben", "--as", "Alice"]);
    env.ok(&["feed", "--agent", "Ben", "--kind", "commit"]);
}

#[test]
fn limits_are_counts_from_one_on() {
    let env = TestEnvironment::new();
    env.join("Alice");
    for command in ["history", "read", "feed"] {
        for bad in ["0", "-1", "many"] {
            let ended = env.run(&[command, "--limit", bad, "--as", "Alice"]).expect_code(2);
            assert!(!ended.stderr.contains("-- -1"), "{ended}");
        }
        env.ok(&[command, "-n", "1", "--as", "Alice"]);
    }
}

#[test]
fn a_task_that_one_completed_is_done_the_second_time_too() {
    let env = TestEnvironment::new();
    for name in ["Al", "Bo", "Cy"] {
        env.join(name);
    }
    put(&env.work().join("spec.md"), "- [ ] T-1: One\n- [ ] T-2: Two\n");
    for name in ["Al", "Cy"] {
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env.ok(&["claim", "T-1", "--as", "Al"]);
    let first = env.ok(&["complete", "T-1", "--notes", "n", "--as", "Al"]);
    let second = env.ok(&["complete", "T-1", "--tick", "--as", "Al"]);
    assert_eq!((&first["already"], &second["already"]), (&false.into(), &true.into()));
    assert_eq!(first["completion"], second["completion"]);
    assert_eq!(second["ticked"], true);
    assert!(fs::read_to_string(env.work().join("spec.md")).unwrap().contains("[x] T-1"));
    assert_eq!(env.fails(1, &["complete", "T-1", "--as", "Cy"]), "already_completed");
    // Bo has no spec, because it got its task from another agent.
    env.ok(&["claim", "T-2", "--as", "Al"]);
    env.ok(&["handoff", "T-2", "Bo", "--as", "Al"]);
    assert_eq!(env.ok(&["complete", "T-2", "--as", "Bo"])["already"], false);
    assert_eq!(env.ok(&["complete", "T-2", "--as", "Bo"])["already"], true);
    insta::assert_snapshot!(env.run(&["complete", "T-1", "--as", "Bo"]), @"
    [exit 1]
    --- stderr
    error: you have no spec, so `T-1` is not known
    hint: name the spec with `--spec PATH`, or set yours with `msg spec PATH`
    ");
    assert_eq!(env.fails(1, &["complete", "T-1", "--spec", "spec.md", "--as", "Bo"]), "already_completed");
}

//! Threads, and what `msg history` selects.

use std::fs;

use insta::assert_snapshot;

use super::{sent, texts};
use crate::support::environment::{TestEnvironment, files_in};

fn stage() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.join("Carol");
    let question = sent(&env, "Alice", &["Bob", "Is the login form yours?"]);
    env.ok(&["read", "--as", "Bob"]);
    env.ok(&["reply", &question, "Yes, since yesterday.", "--as", "Bob"]);
    env.ok(&["read", "--as", "Alice"]);
    env.ok(&["send", "Carol", "The release is on Friday", "--thread", "release", "--as", "Alice"]);
    env.ok(&["send", "Bob", "No thread at all", "--as", "Alice"]);
    (env, question)
}

#[test]
fn they_are_listed_and_shown() {
    let (env, question) = stage();
    let listed = env.ok(&["history", "--threads", "--as", "Alice"]);
    let ids: Vec<&str> =
        listed["threads"].as_array().unwrap().iter().map(|thread| thread["id"].as_str().unwrap()).collect();
    let mut expected = [question.as_str(), "release"];
    let mut sorted = ids.clone();
    expected.sort();
    sorted.sort();
    assert_eq!(sorted, expected);
    let text = env.run(&["history", "--threads", "--as", "Alice"]).expect_code(0).stdout;
    let line = |id: &str| text.lines().find(|line| line.starts_with(id)).unwrap().to_string();
    let words = |id: &str| line(id).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        words(&question),
        format!("{question} Alice, Bob 2 messages 0s ago “Is the login form yours?”")
    );
    assert_eq!(words("release"), "release Alice, Carol 1 message 0s ago");
    for (id, count) in [(question.as_str(), 2), ("release", 1), ("RELEASE", 1)] {
        let shown = env.ok(&["history", "--thread", id, "--as", "Alice"]);
        assert_eq!(shown["messages"].as_array().unwrap().len(), count, "{id}");
    }
    assert_eq!(env.fails(1, &["history", "--thread", "nothing", "--as", "Alice"]), "unknown_message");
    assert_eq!(env.fails(2, &["history", "--threads", "--grep", "x", "--as", "Alice"]), "usage");
}

#[test]
fn a_thread_is_found_by_exact_letters_and_without_its_first_message() {
    let (env, question) = stage();
    let begin = &question[..5];
    assert_eq!(env.fails(1, &["history", "--thread", begin, "--as", "Alice"]), "unknown_message");
    let unread = sent(&env, "Carol", &["Bob", "not read yet"]);
    let ended = env.run(&["history", "--thread", &unread, "--as", "Bob"]).expect_code(1);
    assert!(ended.stderr.contains("is unread") && ended.stderr.contains("msg show"), "{ended}");
    // It was removed because it is old.
    for file in files_in(&env.mesh()).iter().filter(|file| file.to_string_lossy().contains(&question)) {
        if !file.starts_with(env.mesh().join("search")) {
            fs::remove_file(file).unwrap();
        }
    }
    let listed = env.ok(&["history", "--threads", "--as", "Alice"]);
    let ids: Vec<&str> =
        listed["threads"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    for id in ids {
        let shown = env.ok(&["history", "--thread", id, "--as", "Alice"]);
        assert_eq!(shown["messages"].as_array().unwrap().len(), 1, "{id}");
    }
    assert_eq!(
        env.ok(&["search", "yesterday", "--thread", &question, "--as", "Alice"])["results"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_broadcast_is_found_once() {
    let (env, _) = stage();
    env.ok(&["broadcast", "the linker is broken", "--as", "Alice"]);
    assert_eq!(texts(&env, &["linker", "--as", "Alice"]), ["the linker is broken"]);
    assert_eq!(texts(&env, &["linker", "--all"]), ["the linker is broken"]);
    let limited = env.ok(&["search", "linker", "--all", "--limit", "1"]);
    assert_eq!((limited["results"].as_array().unwrap().len(), &limited["more"]), (1, &false.into()));
}

#[test]
fn long_texts_are_shortened() {
    let (env, _) = stage();
    env.ok(&["send", "Bob", &format!("walrus {}", "y ".repeat(3_000)), "--thread", "long", "--as", "Alice"]);
    let answer = env.ok(&["search", "walrus", "--as", "Alice"]);
    let message = &answer["results"][0]["message"];
    assert_eq!((message["text"].as_str().unwrap().len(), &message["cut"]), (2_000, &true.into()));
}

#[test]
fn words_and_times_select_messages() {
    let (env, _) = stage();
    let count = |args: &[&str]| {
        let shown = env.ok(&[&["history", "--as", "Alice"], args].concat());
        shown["messages"].as_array().unwrap().len()
    };
    assert_eq!(count(&["--grep", "RELEASES friday"]), 1);
    assert_eq!(count(&["--grep", "release login"]), 0, "all words");
    assert_eq!(count(&["Bob", "--grep", "the"]), 1);
    assert_eq!(count(&["--since", "1h"]), 4);
    let nothing = env.run(&["history", "--grep", "zebra", "--as", "Alice"]).expect_code(0).stdout;
    assert_snapshot!(nothing, @"No message of yours fits. Try it without `--grep` or `--since`, or use `msg search`.");
    let none = env.run(&["history", "--threads", "--as", "Carol", "--since", "0"]).expect_code(0).stdout;
    assert_snapshot!(none, @"No threads yet. `msg reply` and `msg send --thread NAME` make them.");
}

//! Threads, and what `msg history` selects.

use insta::assert_snapshot;

use super::sent;
use crate::support::environment::TestEnvironment;

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
    assert_snapshot!(nothing, @"No message of yours fits. Try it without --grep or --since, or use `msg search`.");
    let none = env.run(&["history", "--threads", "--as", "Carol", "--since", "0"]).expect_code(0).stdout;
    assert_snapshot!(none, @"No threads yet: `msg reply` and `msg send --thread NAME` make them.");
}

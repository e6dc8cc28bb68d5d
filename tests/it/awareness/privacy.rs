//! Tests of what of a prompt is on disk: its topics at most, unless its user shares more.

use std::fs;

use super::{edit, join, prompt, repository};
use crate::support::environment::{TestEnvironment, files_in};

/// Whether any file of the environment's mesh has that text.
fn is_on_disk(env: &TestEnvironment, text: &str) -> bool {
    let has = |content: Vec<u8>| String::from_utf8_lossy(&content).to_lowercase().contains(text);
    files_in(&env.mesh()).into_iter().any(|path| fs::read(path).is_ok_and(has))
}

const PROMPT: &str = "Please make the checkout wizard forgetful, quietly; my key is sk-proj-abcdEFGH1234ijkl5678 and \
                      password=hunter2 write to \
                      jane.doe@example.org\nDB_PASSWORD = swordfish\n{\"token\": \"halibut\"}\npassphrase:\ncorrect horse";

#[test]
fn by_default_only_topics_are_kept() {
    let env = repository();
    join(&env, "Alice");
    prompt(&env, "Alice", PROMPT);
    for topic in ["checkout", "wizard"] {
        assert!(is_on_disk(&env, topic), "{topic}");
    }
    for word in ["please", "abcdefgh1234", "hunter2", "swordfish", "halibut", "horse", "jane.doe", "make the"]
    {
        assert!(!is_on_disk(&env, word), "{word}");
    }
}

#[test]
fn with_off_not_even_topics() {
    let env = repository();
    join(&env, "Alice");
    env.run(&["config", "set", "sharePrompts", "off"]).expect_code(0);
    prompt(&env, "Alice", PROMPT);
    for word in ["checkout", "wizard", "forgetful"] {
        assert!(!is_on_disk(&env, word), "{word}");
    }
    join(&env, "Robin");
    edit(&env, "Robin", "docs/tour.md");
    assert_ne!(prompt(&env, "Alice", "describe the scenery of the tour"), "", "she is told all the same");
    assert!(!is_on_disk(&env, "scenery") && !is_on_disk(&env, "prompts about"));
}

#[test]
fn with_text_the_prompt_itself() {
    let env = repository();
    join(&env, "Alice");
    env.run(&["config", "set", "sharePrompts", "text"]).expect_code(0);
    prompt(&env, "Alice", "Please make the wizard forgetful");
    assert!(is_on_disk(&env, "please%20make%20the%20wizard%20forgetful"));
}

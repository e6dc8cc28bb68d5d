//! Tests of patterns that take long to compare, and of many patterns.

use super::{assert_free, refused, reserve, two};
use crate::support::environment::TestEnvironment;

/// Patterns without a common path, which only a search through a million states would show.
fn hostile(letter: &str, end: &str) -> Vec<String> {
    (0..4).map(|number| format!("src/{}{end}{number}*", format!("*{letter}").repeat(500))).collect()
}

fn reserve_all(env: &TestEnvironment, name: &str, patterns: &[String]) -> serde_json::Value {
    reserve(env, name, &patterns.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn patterns_too_complex_to_compare_count_as_overlapping_and_the_refusal_says_so() {
    let env = two();
    reserve_all(&env, "Alice", &hostile("a", "y"));
    let wanted = hostile("b", "z");
    let args: Vec<&str> = wanted.iter().map(String::as_str).collect();
    refused(&env, "Bob", &args);
    let said = env.run(&[&["reserve", "--as", "Bob"][..], &args].concat()).expect_code(1).stderr;
    assert!(said.contains("too complex to compare, so they count as overlapping"), "{said}");
    let checked = env.run(&["check", "--as", "Bob", "src/"]).expect_code(1);
    assert!(!checked.stderr.contains("too complex"), "a directory needs no search: {checked}");
    assert_free(&env, "Bob", &["src/b.rs"]);
}

#[test]
fn hundreds_of_globs_beside_hundreds_of_others() {
    let env = two();
    let globs = |letter: &str| -> Vec<String> {
        (0..400).map(|number| format!("src/{letter}{number}*x*y*z.rs")).collect()
    };
    reserve_all(&env, "Alice", &globs("a"));
    let granted = reserve_all(&env, "Bob", &globs("b"));
    assert_eq!(granted["reservations"].as_array().unwrap().len(), 400);
    // The second of these conflicts with one of Alice's globs.
    refused(&env, "Bob", &["src/b*", "src/a17axyz.rs"]);
}

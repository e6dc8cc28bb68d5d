//! What is said about expressions that are wrong.

use super::ask;
use super::examples::{check, examples};

#[test]
fn a_fault_has_its_place_and_the_nearest_names() {
    let examples = examples(include_str!("faults.lisp"));
    assert!(examples.len() >= 25);
    for example in &examples {
        assert!(!ask(&example.text).is_value(), "{} runs", example.text);
    }
    check(&examples);
}

//! Texts that name harnesses, for help and greetings, made from the list of them.

use crate::domain::Harness;

use super::{HarnessSupport, SUPPORTED};

/// The names as a sentence has them: `a, b or c`.
pub fn names(harnesses: impl Iterator<Item = Harness>) -> String {
    sentence(harnesses.map(Harness::name).collect(), "or")
}

/// The names of the harnesses that keep a waiter: `a, b or c`.
pub fn names_with_waiter() -> String {
    names(SUPPORTED.iter().filter(|it| it.waiter().is_some()).map(|it| it.id()))
}

/// The titles of all harnesses: `A, B and C`.
pub fn titles() -> String {
    sentence(SUPPORTED.iter().map(|it| it.title()).collect(), "and")
}

/// The titles of the harnesses with a status line.
pub fn titles_with_status_line() -> String {
    sentence(SUPPORTED.iter().filter(|it| it.has_status_line()).map(|it| it.title()).collect(), "and")
}

/// The name of one harness, for examples.
pub fn example() -> &'static str {
    SUPPORTED.first().map_or("HARNESS", |it| it.id().name())
}

/// One call of a hook for each harness.
pub fn hook_examples() -> Vec<String> {
    let call =
        |it: &&dyn HarnessSupport| format!("msg hook {} {} < payload.json", it.id(), it.example_event());
    SUPPORTED.iter().map(call).collect()
}

fn sentence(mut words: Vec<&str>, last_joined_by: &str) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last.to_string() } else { format!("{} {last_joined_by} {last}", words.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_sentence() {
        assert_eq!(sentence(vec![], "or"), "");
        assert_eq!(sentence(vec!["a"], "or"), "a");
        assert_eq!(sentence(vec!["a", "b"], "and"), "a and b");
        assert_eq!(sentence(vec!["a", "b", "c"], "or"), "a, b or c");
    }
}

//! A corpus of expressions in the manner of three dialects.

use super::ask;
use super::examples::{check, examples};

/// Of the 100 expressions so many must run.
const MUST_RUN: usize = 95;

#[test]
fn nearly_all_of_the_corpus_runs() {
    let examples = examples(include_str!("corpus.lisp"));
    assert_eq!(examples.len(), 100);
    let mut failed = Vec::new();
    for example in &examples {
        let answer = ask(&example.text);
        if !answer.is_value() {
            println!("does not run: {}\n  {answer}", example.text);
            failed.push(&example.text);
        }
    }
    println!("{} of {} run", examples.len() - failed.len(), examples.len());
    assert!(examples.len() - failed.len() >= MUST_RUN, "{failed:#?}");
}

#[test]
fn what_runs_is_right() {
    check(&examples(include_str!("corpus.lisp")));
}

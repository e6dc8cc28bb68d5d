//! What functions and forms mean, and that the tables fit together.

use std::collections::HashSet;

use super::super::builtins::{BASICS, all_builtins, builtin_index};
use super::super::compile::FORMS;
use super::super::dialect::{DIALECT, FIELD_DIALECT};
use super::super::fields::field_name;
use super::super::{QueryAnswer, QueryValue};
use super::ask;
use super::examples::{check, examples};

#[test]
fn functions_and_forms_mean_what_the_file_says() {
    check(&examples(include_str!("meanings.lisp")));
}

#[test]
fn every_example_of_the_help_runs() {
    let variables = r#"(define d (get-decision "one-flock")) (define f (get-decision "log-per-writer")) (define xs '(1 2 3))"#;
    let forms = FORMS.iter().filter(|(form, _)| *form != "help").map(|(_, example)| *example);
    for example in all_builtins().map(|builtin| builtin.example).chain(forms) {
        let answer = ask(&format!("{variables} {example}"));
        assert!(answer.is_value(), "{example}\n{answer}");
    }
}

#[test]
fn every_name_of_the_tables_is_known() {
    let is_known = |name: &str| builtin_index(name).is_some() || FORMS.iter().any(|(form, _)| *form == name);
    for (theirs, ours) in DIALECT {
        assert!(is_known(ours) || *ours == "set!", "{theirs} is {ours}, and that is not known");
        assert!(!is_known(theirs), "{theirs} has a meaning of its own");
    }
    let mut seen = HashSet::new();
    let names = all_builtins().map(|builtin| builtin.name).chain(DIALECT.iter().map(|(theirs, _)| *theirs));
    for name in names {
        assert!(seen.insert(name), "{name} is there twice");
    }
    for (theirs, ours) in FIELD_DIALECT {
        assert_eq!(field_name(theirs), Some(*ours));
    }
    assert!(BASICS.iter().all(|name| builtin_index(name).is_some()));
}

#[test]
fn help_shows_ten_and_the_rest_on_request() {
    let QueryAnswer::Help(rows) = ask("(help)") else { panic!("no lines") };
    assert_eq!(rows.len(), BASICS.len() + 1);
    assert_eq!(ask("(help)").to_string().lines().count(), rows.len());
    assert_eq!(ask("(help)").to_value(), QueryValue::List(rows), "a list for JSON");
    let all = ask("(help all)").to_string();
    assert!(all.lines().all(|line| line.len() <= 120), "{all}");
    for name in ["get-tried", "outline", "contradictions", "group-by", "lambda", ":confidence"] {
        assert!(all.contains(name), "{name} is not in {all}");
    }
}

#[test]
fn fields_are_found_however_they_are_spelled() {
    for written in ["superseded-by", "superseded_by", "supersededBy", "superseded-by?", "replacedBy"] {
        assert_eq!(field_name(written), Some("superseded-by"), "{written}");
    }
    assert_eq!(field_name("no-such"), None);
}

#[test]
fn a_table_has_each_key_once() {
    let answer = ask("(get-decisions)").to_string();
    assert_eq!(answer.matches(":name").count(), 1, "{answer}");
    assert_eq!(answer.lines().count(), 5, "{answer}");
}

/// A record may have been written by somebody with bad intentions.
#[test]
fn control_characters_are_escaped() {
    assert_eq!(ask("\"a\u{1b}[31mb\r\"").to_string(), r#""a\u{1b}[31mb\r""#);
}

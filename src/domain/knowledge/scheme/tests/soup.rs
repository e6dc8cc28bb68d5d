//! No text makes the evaluator panic, or answer with more than it may.

use proptest::prelude::*;

use super::super::builtins::all_builtins;
use super::super::compile::FORMS;
use super::super::dialect::DIALECT;
use super::super::{QueryBudget, QueryWorld, evaluate};
use super::sample::{SampleFacts, snapshot};

const MARKS: [&str; 44] = [
    "(",
    "(",
    "(",
    "(",
    "(",
    "(",
    ")",
    ")",
    ")",
    ")",
    ")",
    ")",
    "[",
    "]",
    "[",
    "]",
    "{",
    "}",
    "#(",
    "#{",
    "'",
    "`",
    ",",
    ",@",
    "#'",
    "#_",
    "%",
    "%2",
    "&",
    ".",
    "x",
    "y",
    "f",
    "nil",
    "true",
    "-1",
    "0",
    "2.5",
    "9223372036854775807",
    ":name",
    ":keys",
    "\"a b\"",
    "\"",
    ";",
];

fn words() -> Vec<String> {
    let names = all_builtins().map(|builtin| builtin.name).chain(FORMS.iter().map(|(form, _)| *form));
    let names = names.chain(DIALECT.iter().step_by(7).map(|(theirs, _)| *theirs));
    names.chain(["recur", "=>", "else", "confidence"]).map(str::to_string).collect()
}

/// Mostly well nested: a call of a name with a few arguments, which may be calls.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "x",
            "y",
            "1",
            "-3",
            "0.5",
            "\"lock\"",
            ":name",
            "'(1 2 3)",
            "nil",
            "true",
            "(get-records)",
            "(get-decision \"one-flock\")",
            "{:a 1}",
            "[1 [2 3]]",
            "(fn [x] x)",
            "#(+ % 1)",
            "count",
            "<",
        ])
        .prop_map(str::to_string),
        prop::sample::select(words()),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        (prop::sample::select(words()), prop::collection::vec(inner, 0..4))
            .prop_map(|(name, arguments)| format!("({name} {})", arguments.join(" ")))
    })
}

fn check(text: &str) {
    let snapshot = snapshot();
    let facts = SampleFacts::default();
    let world = QueryWorld { snapshot: &snapshot, facts: &facts };
    let budget = QueryBudget { steps: 20_000, cells: 50_000, ..QueryBudget::default() };
    let answer = evaluate(text, &world, budget);
    assert!(!answer.to_string().is_empty());
    if answer.is_value() {
        assert!(answer.to_string().len() <= budget.answer_bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_expression_has_an_answer(text in expression()) {
        check(&format!("(let [x '(3 1 2) y {{:name \"a\"}}] {text})"));
    }

    #[test]
    fn any_soup_of_tokens_has_an_answer(tokens in prop::collection::vec(
        prop_oneof![
            3 => prop::sample::select(MARKS.to_vec()).prop_map(str::to_string),
            1 => prop::sample::select(words()),
        ],
        0..60,
    )) {
        check(&tokens.join(" "));
    }

    #[test]
    fn any_text_has_an_answer(text in any::<String>()) {
        check(&text);
    }
}

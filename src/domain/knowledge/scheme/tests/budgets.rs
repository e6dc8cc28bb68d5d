//! Expressions that want too much end by a budget. They run on the stack of a test's thread, which has 2 MiB.

use std::cell::Cell;

use super::super::{QueryAnswer, QueryBudget, QueryLimit, QueryWorld, evaluate};
use super::ask;
use super::sample::{SampleFacts, snapshot};

fn over(text: &str) -> QueryLimit {
    match ask(text) {
        QueryAnswer::Over(limit) => limit,
        other => panic!("{} gives {other}", text.chars().take(200).collect::<String>()),
    }
}

#[test]
fn endless_loops_end() {
    for text in [
        "(let loop ((i 0)) (loop (+ i 1)))",
        "(loop [] (recur))",
        "(define (f) (f)) (f)",
        "((lambda (x) (x x)) (lambda (x) (x x)))",
        "(define (even x) (odd x)) (define (odd x) (even x)) (even 1)",
        "(for [a (range 100) b (range 100) c (range 100)] 1)",
        "(sort (range 100000) (lambda (a b) (< b a)))",
    ] {
        let limit = over(text);
        assert!(matches!(limit, QueryLimit::Steps | QueryLimit::Memory), "{text}: {limit}");
    }
}

#[test]
fn deep_recursion_ends() {
    for text in [
        "(define (f n) (+ 1 (f n))) (f 0)",
        "(define (f n) (map f (list n))) (f 1)",
        "(define (f n) (fold (lambda (x y) (f x)) 0 '(1))) (f 1)",
        "(define (f n) (sort '(2 1) (lambda (a b) (f 1)))) (f 1)",
        "(define (f n) (let ((x (f n))) x)) (f 1)",
        "(define (f n) (and (f n) 1)) (f 1)",
        "(define g (complement (fn [x] (g x)))) (g 1)",
        "(let loop ((x 1) (n 0)) (if (> n 5000) x (loop (list x) (+ n 1))))",
        "(unique (list (reduce (fn [x n] (list x)) 1 (range 5000))))",
        "(= (reduce (fn [x n] {:a x}) 1 (range 900)) (reduce (fn [x n] {:a x}) 1 (range 900)))",
    ] {
        assert_eq!(over(text), QueryLimit::Depth, "{text}");
    }
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(3_000), close.repeat(3_000));
    for (open, close) in
        [("(", ")"), ("[", "]"), ("{1 ", "}"), ("'", ""), ("`", ""), ("#(", ")"), ("#_ ", "")]
    {
        assert_eq!(over(&nested(open, close)), QueryLimit::Depth, "{open}");
    }
    let lambdas = format!("{}1{}", "(lambda (x) ".repeat(500), ")".repeat(500));
    assert_eq!(over(&lambdas), QueryLimit::Depth);
}

#[test]
fn long_chains_are_not_deep() {
    assert_eq!(ask(&format!("(-> 0 {})", "inc ".repeat(5_000))).to_string(), "5000");
    let cond = format!("(cond {} (else 7))", "((= 1 2) 1) ".repeat(2_000));
    assert_eq!(ask(&cond).to_string(), "7");
    assert_eq!(ask(&format!("(+ {})", "1 ".repeat(9_000))).to_string(), "9000");
}

#[test]
fn memory_bombs_end() {
    for text in [
        "(let loop ((x '(1 2))) (loop (append x x)))",
        "(let loop ((x \"ab\")) (loop (str x x)))",
        "(let loop ((x \"ab\")) (loop (replace x \"a\" \"aaaaaaaaaaaaaaaa\")))",
        "(range 100000000)",
        "(repeat 9000000000000000000 1)",
        "(let loop ((x '(1))) (loop (mapcat (fn [y] x) x)))",
        "(let loop ((x [1])) (loop (list x x)))",
        "(let loop ((x '(1))) (loop (apply list (append x x))))",
        "(let loop ((s \"ab\")) (loop (join s (list s s s s))))",
        "(let loop ((s \"ab\")) (loop (str (split (str s s) \"\"))))",
    ] {
        let limit = over(text);
        assert!(
            matches!(limit, QueryLimit::Memory | QueryLimit::Steps | QueryLimit::AnswerSize),
            "{text}: {limit}"
        );
    }
}

#[test]
fn huge_answers_end() {
    assert_eq!(over("(range 50000)"), QueryLimit::AnswerSize);
    assert_eq!(over("(join \"\" (repeat 40000 \"ab\"))"), QueryLimit::AnswerSize);
    // One list in many places: small in memory, huge when it is printed.
    assert_eq!(over("(reduce (fn [x n] [x x x x]) (range 9) (range 20))"), QueryLimit::AnswerSize);
    assert_eq!(over("(repeat 40000 \"\u{1}\")"), QueryLimit::AnswerSize);
}

#[test]
fn an_expression_is_not_too_long() {
    assert_eq!(over(&" ".repeat(40_000)), QueryLimit::QuerySize);
}

#[test]
fn the_asker_decides_when_time_is_up() {
    let snapshot = snapshot();
    let facts = SampleFacts { looks: Some(Cell::new(20)) };
    let world = QueryWorld { snapshot: &snapshot, facts: &facts };
    let answer = evaluate("(let loop ((i 0)) (loop (+ i 1)))", &world, QueryBudget::default());
    assert_eq!(answer, QueryAnswer::Over(QueryLimit::Time));
    assert!(answer.to_string().contains(":budget time"), "{answer}");
}

/// Regular expressions that take other engines a year.
#[test]
fn patterns_are_bounded() {
    let hard = format!("(re-find \"(a*)*b\" \"{}\")", "a".repeat(10_000));
    assert_eq!(ask(&hard).to_string(), "nil");
    assert!(!ask("(re-find \"((a{100}){100}){100}\" \"a\")").is_value());
    assert!(!ask(&format!("(re-find \"{}\" \"a\")", "(".repeat(200))).is_value());
}

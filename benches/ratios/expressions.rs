//! Whatever an expression wants, it ends by its budget, within 100 ms.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use ravenry::domain::knowledge::scheme::{
    QueryBudget, QueryEvent, QueryFacts, QueryOutlineRow, QueryWorld, evaluate,
};
use ravenry::domain::knowledge::{
    Anchor, AnchorTarget, AnchorVerdict, Basis, Cell, CellKey, CellValue, KnowledgeSnapshot, Origin,
    RecordField, RecordId, Stamp, Statement, WriterId, merge,
};

use crate::figure::{Aim, Figure, Spread};

const RECORDS: usize = 10_000;
/// When the asker stops an expression, as `msg know` does.
const TIME_LIMIT: Duration = Duration::from_millis(80);
/// How often each expression is evaluated; the middle time counts.
const ATTEMPTS: usize = 3;

struct TimedFacts {
    start: Instant,
}

impl QueryFacts for TimedFacts {
    fn verdict(&self, _: &RecordId) -> Option<AnchorVerdict> {
        Some(AnchorVerdict::Fresh)
    }

    fn search(&self, _: &str, _: usize) -> Vec<RecordId> {
        Vec::new()
    }

    fn outline(&self, _: &str) -> Option<Vec<QueryOutlineRow>> {
        None
    }

    fn history(&self, _: &RecordId) -> Vec<QueryEvent> {
        Vec::new()
    }

    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn is_out_of_time(&self) -> bool {
        self.start.elapsed() >= TIME_LIMIT
    }
}

/// All records are anchored in files of one folder.
fn snapshot() -> KnowledgeSnapshot {
    let cell = |number: usize, field, entry: &str, value| Cell {
        key: CellKey {
            record: RecordId::parse(&format!("note/r{number}")).unwrap(),
            field,
            entry: entry.to_string(),
            writer: WriterId::new("ann").unwrap(),
        },
        stamp: Stamp { milliseconds: number as i64, counter: 0 },
        value,
    };
    let cells = (0..RECORDS).flat_map(|number| {
        let at = Timestamp::from_second(number as i64).unwrap();
        let origin = Origin::new(format!("a{}", number % 7), at);
        let text = format!("The lock number {number} is taken first, and then the others in their order");
        let statement = Box::new(Statement::new(text, Basis::Read, origin));
        let place = format!("src/f{}.rs:{}", number % 1000, number + 1);
        let anchor = Anchor::new(AnchorTarget::parse(&place).unwrap());
        [
            cell(number, RecordField::Text, "", CellValue::Statement { statement, replaces: Vec::new() }),
            cell(number, RecordField::Anchor, &place, CellValue::Anchor(Box::new(anchor))),
        ]
    });
    merge(cells)
}

pub fn measure() -> Vec<Figure> {
    let snapshot = snapshot();
    assert_eq!(snapshot.len(), RECORDS);
    let nested = format!("{}1{}", "(".repeat(9_000), ")".repeat(9_000));
    let pattern = format!("(re-find \"(a*)*b\" \"{}\")", "a".repeat(30_000));
    let expressions = [
        // Endless loops.
        "(let loop ((i 0)) (loop (+ i 1)))",
        "(define (even x) (odd x)) (define (odd x) (even x)) (even 1)",
        "(for [a (range 100) b (range 100) c (range 100)] 1)",
        "(sort (range 100000) (lambda (a b) (< b a)))",
        "(let loop ((m {}) (i 0)) (loop (assoc m i i) (+ i 1)))",
        "(let loop ((m {}) (i 0)) (loop (conj m [(str \"k\" i) i]) (+ i 1)))",
        "(let loop ((i 0)) (neighbours \"src\") (loop (+ i 1)))",
        "(let loop ((i 0)) (get-related-files \"src\") (who) (loop (+ i 1)))",
        "(map (fn [d] (get-related-files (:path d))) (get-notes))",
        "(map (fn [d] (neighbours d)) (get-notes))",
        "(let loop ((s (join \"\" (repeat 100000 \"ab\")))) (lower-case s) (loop s))",
        "(let loop ((s (join \"\" (repeat 100000 \"ab\")))) (re-find \"(b|c)+a$\" s) (loop s))",
        "(let loop ((s (join \"\" (repeat 100000 \"ab\")))) (contains? s \"abba\") (loop s))",
        &pattern,
        // Deep recursion.
        "(define (f n) (+ 1 (f n))) (f 0)",
        "(define (f n) (map f (list n))) (f 1)",
        "(unique (list (reduce (fn [x n] (list x)) 1 (range 5000))))",
        &nested,
        // Memory.
        "(let loop ((x '(1 2))) (loop (append x x)))",
        "(let loop ((x \"ab\")) (loop (str x x)))",
        "(let loop ((x \"ab\")) (loop (replace x \"a\" \"aaaaaaaaaaaaaaaa\")))",
        "(let loop ((s \"ab\")) (loop (str (split (str s s) \"\"))))",
        "(let loop ((s (join \"\" (repeat 100000 \"ab\")))) (split s \"\") (loop s))",
        "(let loop ((s (join \"\" (repeat 100000 \"ab\")))) (map count s) (loop s))",
        "(repeat 9000000000000000000 1)",
        "(let loop ((x '(1))) (loop (mapcat (fn [y] x) x)))",
        "(group-by (fn [d] (str (:description d) (:description d))) (get-notes))",
        // Answers.
        "(range 50000)",
        "(get-notes)",
        "(reduce (fn [x n] [x x x x]) (range 9) (range 20))",
        "(sort-by :description (get-notes))",
        "(neighbours \"src\")",
        "(get-related-files \"src\")",
    ];
    let median = |text: &str| Spread::of((0..ATTEMPTS).map(|_| time_of(text, &snapshot))).median;
    let times: Vec<f64> = expressions.iter().map(|text| median(text)).collect();
    let slowest = times.iter().copied().fold(0.0, f64::max);
    vec![Figure {
        name: "expressions: the slowest of those that want too much, 10,000 records",
        ours: format!("{slowest:.1} ms"),
        baseline: format!("{} expressions", times.len()),
        result: Spread::of([slowest]),
        unit: " ms",
        aim: Aim::Below(100.0),
    }]
}

/// In milliseconds.
fn time_of(text: &str, snapshot: &KnowledgeSnapshot) -> f64 {
    let start = Instant::now();
    let world = QueryWorld { snapshot, facts: &TimedFacts { start } };
    drop(evaluate(text, &world, QueryBudget::default()));
    start.elapsed().as_secs_f64() * 1e3
}

//! Tests of the verdicts on one file.

use super::*;
use crate::domain::knowledge::{OutlineSymbol, SymbolKind};

const BEFORE: &str = "use a;\n\nfn one() {\n    first();\n    second();\n}\n\nfn two() {\n    third();\n}\n";

fn path(text: &str) -> AnchorPath {
    AnchorPath::new(text).unwrap()
}

/// Every `fn` up to the next line that is a bracket.
fn outline_of(text: &str) -> Outline {
    let lines: Vec<&str> = text.lines().collect();
    let functions = lines.iter().enumerate().filter_map(|(at, line)| {
        let name = line.trim().strip_prefix("fn ")?.split('(').next()?.to_string();
        let length = lines[at..].iter().position(|line| line.trim() == "}")?;
        Some(OutlineSymbol {
            qualified: name.clone(),
            name,
            kind: SymbolKind::Function,
            first_line: at as u32 + 1,
            last_line: (at + length) as u32 + 1,
            depth: 0,
        })
    });
    Outline { symbols: functions.collect() }
}

fn anchor(target: &str) -> Anchor {
    let mut target = AnchorTarget::parse(target).unwrap();
    let lines: Vec<&str> = BEFORE.lines().collect();
    match &mut target {
        AnchorTarget::Symbol { symbol, hash, .. } => {
            *hash = outline_of(BEFORE).find(symbol).unwrap().hash(&lines);
        }
        AnchorTarget::Lines { first, last, text, hash, .. } => {
            let span = &lines[*first as usize - 1..*last as usize];
            *text = span.iter().take(10).map(|line| line.to_string()).collect();
            *hash = Some(TextHash::of(span));
        }
        _ => {}
    }
    Anchor { target, commit: None, file: Some(TextHash::of_file(BEFORE.as_bytes())) }
}

fn verdict(target: &str, now: &str) -> Option<AnchorFinding> {
    let (hash, outline) = (TextHash::of_file(now.as_bytes()), outline_of(now));
    let file = AnchoredFile { path: &path("a.rs"), text: now, hash: &hash, outline: Some(&outline) };
    judge_in_file(&anchor(target), &file)
}

fn word(target: &str, now: &str) -> &'static str {
    verdict(target, now).map_or("none", |verdict| verdict.word())
}

#[test]
fn unchanged_files() {
    for target in ["a.rs", "a.rs#one", "a.rs:4", "a.rs:3-6"] {
        assert_eq!(word(target, BEFORE), "fresh", "{target}");
    }
}

#[test]
fn changes_elsewhere_in_the_file() {
    let below = BEFORE.replace("third()", "third(1)");
    assert_eq!(word("a.rs", &below), "drifted");
    assert_eq!(word("a.rs#one", &below), "drifted");
    assert_eq!(word("a.rs:3-6", &below), "drifted");
    assert_eq!(word("a.rs#two", &below), "stale");
    assert_eq!(word("a.rs:9", &below), "stale");
}

#[test]
fn lines_that_moved_in_a_changed_neighbourhood() {
    let above = BEFORE.replace("use a;", "use a;\nuse b;\nuse c;").replace("first()", "changed()");
    assert_eq!(word("a.rs#two", &above), "drifted");
    let Some(AnchorFinding::Moved { to }) = verdict("a.rs:5", &above) else { panic!() };
    assert_eq!(to.to_string(), "a.rs:7");
    let Some(AnchorFinding::Moved { to }) = verdict("a.rs:8-10", &above) else { panic!() };
    assert_eq!(to.to_string(), "a.rs:10-12");
}

#[test]
fn indentation_is_not_a_change() {
    let deeper =
        format!("mod x {{\n{}}}\n", BEFORE.lines().map(|line| format!("    {line}\n")).collect::<String>());
    assert_eq!(word("a.rs#one", &deeper), "drifted");
    assert_eq!(word("a.rs:3-6", &deeper), "moved");
}

#[test]
fn changed_spans() {
    assert_eq!(word("a.rs:4", &BEFORE.replace("first()", "first(1)")), "stale", "one line, edited");
    assert_eq!(word("a.rs:3-6", &BEFORE.replace("    first();\n", "")), "stale", "a part is left");
    assert_eq!(word("a.rs#one", &BEFORE.replace("    first();\n", "    first();\n    more();\n")), "stale");
}

#[test]
fn nothing_left() {
    assert_eq!(word("a.rs#one", "fn other() {\n}\n"), "none");
    assert_eq!(word("a.rs:4", "entirely different\n"), "none");
    assert_eq!(word("a.rs", "entirely different\n"), "drifted");
}

#[test]
fn without_an_outline_only_the_name_counts() {
    let judge = |now: &str| {
        let hash = TextHash::of_file(now.as_bytes());
        let file = AnchoredFile { path: &path("a.rs"), text: now, hash: &hash, outline: None };
        judge_in_file(&anchor("a.rs#one"), &file).map(|verdict| verdict.word())
    };
    assert_eq!(judge(BEFORE), Some("fresh"));
    assert_eq!(judge("one"), Some("drifted"));
    assert_eq!(judge("oneself, no_one"), None);
}

#[test]
fn another_file_is_a_move() {
    let (hash, outline) = (TextHash::of_file(BEFORE.as_bytes()), outline_of(BEFORE));
    let there = path("b.rs");
    let file = AnchoredFile { path: &there, text: BEFORE, hash: &hash, outline: Some(&outline) };
    for (target, to) in [("a.rs", "b.rs"), ("a.rs#one", "b.rs#one"), ("a.rs:4", "b.rs:4")] {
        let Some(AnchorFinding::Moved { to: found }) = judge_in_file(&anchor(target), &file) else {
            panic!()
        };
        assert_eq!(found.to_string(), to);
    }
}

/// A span is looked for next to where it was first, so a limit leaves out what is far away.
#[test]
fn huge_files_are_searched_within_limits() {
    let anchor = anchor("a.rs:4");
    let judge = |now: &str| {
        let hash = TextHash::of_file(now.as_bytes());
        let file = AnchoredFile { path: &path("a.rs"), text: now, hash: &hash, outline: None };
        judge_in_file(&anchor, &file).map(|verdict| verdict.word())
    };
    // About as long as the line that was there, and not like it.
    let filler = "0123456789 987\n".repeat(100_000);
    assert_eq!(judge(&format!("use a;\n\n    first(1);\n{filler}")), Some("stale"), "next to it");
    assert_eq!(judge(&format!("{filler}    first();\n")), Some("moved"), "the line itself is found anywhere");
    assert_eq!(judge(&format!("{filler}    first(1);\n")), None, "one that is like it is not");
    assert_eq!(judge(&filler), None);
}

#[test]
fn a_span_of_equal_lines_is_hashed_within_limits() {
    let lines = vec!["same"; 60_000];
    let mut anchor = anchor("a.rs:1");
    let seen = [&lines[..29_999], &["other"]].concat();
    anchor.target = AnchorTarget::Lines {
        path: path("a.rs"),
        first: 1,
        last: 30_000,
        text: vec!["same".to_string()],
        hash: Some(TextHash::of(&seen)),
    };
    let text = lines.join("\n");
    let hash = TextHash::of_file(text.as_bytes());
    let file = AnchoredFile { path: &path("a.rs"), text: &text, hash: &hash, outline: None };
    assert_eq!(judge_in_file(&anchor, &file), Some(AnchorFinding::Stale));
}

#[test]
fn the_nearest_of_several_places_counts() {
    let text =
        |before: usize| format!("{}    first();\n{}    first();\n", "x\n".repeat(before), "y\n".repeat(4));
    for (before, line) in [(0, 6), (2, 3), (4, 5), (9, 10)] {
        let Some(AnchorFinding::Moved { to }) = verdict("a.rs:4", &text(before)) else { panic!() };
        assert_eq!(to.to_string(), format!("a.rs:{line}"));
    }
}

//! Tests of pages: what is written is read back, whatever it says, and what can't be read is refused with its place.

mod convergence;
mod history;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::domain::knowledge::{
    Anchor, AnchorTarget, Basis, DecisionStatus, RecordId, RecordKind, RecordName, RelationEnds,
    RelationType, TextHash,
};

fn id(text: &str) -> RecordId {
    RecordId::parse(text).unwrap()
}

/// Texts that YAML, Markdown, git or a terminal would take for something else.
const PIECES: [&str; 44] = [
    "---",
    "\n",
    "\n\n",
    "# x",
    "## Why",
    "<<<<<<< HEAD",
    "=======",
    ">>>>>>>",
    "\\",
    "&#65;",
    "&#x",
    " ",
    "  ",
    "\t",
    "\r\n",
    "é",
    "\u{202e}",
    "A. B",
    ". ",
    "word",
    "'",
    "\"",
    ":",
    ": ",
    "- a",
    "`x`",
    "\u{feff}",
    "\u{2028}",
    "~",
    "null",
    "{a: b}",
    "*x",
    "!t",
    "%",
    "@",
    "\u{1f600}\u{200d}\u{1f600}",
    "|",
    "> x",
    "\u{1}",
    "\u{85}",
    "[",
    ",",
    "#",
    "\u{ffff}",
];

/// It says something: a text without a letter is refused.
fn text(most: usize) -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 0..most);
    (pieces.clone(), pieces).prop_map(|(before, after)| format!("{}x{}", before.concat(), after.concat()))
}

fn entries() -> impl Strategy<Value = BTreeSet<String>> {
    prop::collection::btree_set(text(4), 0..3)
}

fn anchors() -> impl Strategy<Value = BTreeMap<String, Anchor>> {
    let hash = || Some(TextHash::of(&["x"]));
    let details = (any::<bool>(), any::<bool>(), prop::collection::vec(text(3), 0..3));
    let one = (0..5usize, details).prop_map(move |(kind, (has_hash, has_file, lines))| {
        let mut target =
            AnchorTarget::parse(["src/a b.rs", "é.rs#f", "a:7", "$ cargo test", "! E0502: x"][kind]).unwrap();
        match &mut target {
            AnchorTarget::Symbol { hash: of, .. } if has_hash => *of = hash(),
            AnchorTarget::Lines { hash: of, text, .. } => {
                *of = has_hash.then(hash).flatten();
                *text = lines;
            }
            _ => {}
        }
        let commit = has_file.then(|| "0123456789abcdef0123456789abcdef01234567".to_string());
        Anchor { target, commit, file: has_file.then(hash).flatten() }
    });
    prop::collection::vec(one, 0..4)
        .prop_map(|all| all.into_iter().map(|anchor| (anchor.target.to_string(), anchor)).collect())
}

fn page() -> impl Strategy<Value = RecordPage> {
    let kind = prop::sample::select(RecordKind::ALL);
    let texts = (text(8), prop::option::of(text(8)), text(4), text(4));
    let words = (prop::sample::select(Basis::ALL), prop::sample::select(DecisionStatus::ALL), 0..=10u8);
    let sets =
        (prop::collection::btree_map(text(3), text(3), 0..3), entries(), entries(), entries(), anchors());
    (kind, texts, words, sets).prop_map(
        |(kind, texts, (basis, status, impact), (tags, also, names, more, anchors))| {
            let is = |one: RecordKind| kind == one;
            let mut page = RecordPage::empty(RecordId::new(kind, RecordName::new("one-lock").unwrap()));
            page.description = texts.0;
            page.rationale = texts.1.unwrap_or_default();
            page.basis = basis;
            page.status = is(RecordKind::Decision).then_some(status);
            page.impact = is(RecordKind::Decision).then_some(impact);
            page.ends = is(RecordKind::Relationship).then(|| RelationEnds {
                from: texts.2.clone(),
                to: texts.3.clone(),
                relation: RelationType::Uses,
            });
            if is(RecordKind::Pattern) {
                page.pattern_type = texts.2;
            } else if is(RecordKind::File) {
                page.summary = texts.2;
                page.concepts = more;
                page.symbols = names.clone();
            } else if is(RecordKind::Principle) {
                page.evidence = more;
            }
            page.tags = tags;
            page.also = also;
            if !names.is_empty() {
                page.related.insert("files".to_string(), names);
                page.supersedes.insert(id("note/an-older-one"));
            }
            page.anchors = anchors;
            page
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back(page in page()) {
        let text = page.render();
        let back = RecordPage::parse(&page.id, &text);
        prop_assert_eq!(back.as_ref(), Ok(&page), "{}", text);
        prop_assert_eq!(RecordPage::parse(&page.id, &text.replace('\n', "\r\n")), Ok(page), "line ends of Windows");
        prop_assert!(!text.contains(['\u{202e}', '\u{1}', '\u{feff}', '\u{2028}']), "{:?}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40), cut in 0..400usize) {
        let id = id("note/one-lock");
        let mut page = RecordPage::empty(id.clone());
        page.description = "x".to_string();
        let good = page.render();
        let at = good.char_indices().map(|(at, _)| at).take_while(|at| *at <= cut).last().unwrap_or(0);
        let text = format!("{}{}{}", &good[..at], pieces.concat(), &good[at..]);
        if let Ok(read) = RecordPage::parse(&id, &text) {
            let written = read.render();
            prop_assert_eq!(RecordPage::parse(&id, &written), Ok(read.clone()), "{}", text);
            prop_assert_eq!(read.render(), written);
        }
    }
}

#[test]
fn a_decision_has_the_headings_of_madr() {
    let mut page = RecordPage::empty(id("decision/one-lock"));
    page.description = "One lock guards all names. It is a flock.".to_string();
    page.rationale = "Two locks deadlocked.".to_string();
    page.status = Some(DecisionStatus::Active);
    page.tags.insert("area".to_string(), "store".to_string());
    let target = AnchorTarget::parse("src/flock.rs").unwrap();
    page.anchors.insert(target.to_string(), Anchor::new(target));
    insta::assert_snapshot!(page.render(), @"
    ---
    kind: decision
    name: one-lock
    basis: told
    status: active
    tags:
      area: store
    anchors:
      - src/flock.rs
    ---

    # One lock

    ## Context and Problem Statement

    Two locks deadlocked.

    ## Decision Outcome

    One lock guards all names.
    It is a flock.
    ");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let good = "---\nkind: note\nname: one-lock\nbasis: told\n---\n\n# One lock\n\nText.\n";
    assert!(RecordPage::parse(&id("note/one-lock"), good).is_ok());
    let check = |from: &str, to: &str, line: usize, column: usize, word: &str| {
        assert!(good.contains(from), "{from}");
        let text = good.replacen(from, to, 1);
        let error = RecordPage::parse(&id("note/one-lock"), &text).expect_err(&text);
        assert_eq!((error.line, error.column), (line, column), "{error} in\n{text}");
        assert!(error.problem.contains(word), "{error}");
    };
    check("basis: told", "basis: [told", 5, 1, "not YAML");
    check("kind: note", "kind: notes", 2, 7, "`notes` is not a kind: use note");
    check("kind: note", "kind: tried", 2, 7, "differs from the directory, `note`");
    check("name: one-lock", "name: two-locks", 3, 7, "differs from the name of the file, `one-lock.md`");
    check("basis: told", "basis: hoped", 4, 8, "tested, read, told, guessed");
    check("basis: told", "colour: red", 4, 1, "unknown field `colour`");
    check("basis: told", "bassis: told", 4, 1, "did you mean basis?");
    check("basis: told", "basis: told\nbasis: read", 5, 1, "twice");
    check("basis: told", "tags: a", 4, 7, "`tags` is not a map");
    check("basis: told", "also:\n  - a\n  - [b]", 6, 5, "`also` is not a text");
    check("basis: told", "also: &a [b]", 4, 7, "aliases");
    check("basis: told", "anchors:\n  - /etc/passwd", 5, 5, "outside of the project");
    check("basis: told", "anchors:\n  - ../x", 5, 5, "outside of the project");
    check("basis: told", "anchors:\n  - at: a\n    commit: --all", 6, 13, "hexadecimal");
    check("basis: told", "supersedes:\n  - ../x", 5, 5, "name of a record");
    check("basis: told", "status: active", 4, 9, "a note has no `status`");
    check("Text.", "the key is AKIAIOSFODNN7EXAMPLE", 9, 1, "remove it");
    check("Text.", "## Reasons", 9, 1, "`## Why`");
    check("Text.", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x", 9, 1, "conflict");
    check("Text.", "", 6, 1, "says nothing");
    check("# One lock", "# Two", 7, 1, "`# One lock`");
    check("---\nkind", "kind", 1, 1, "does not begin");
    check("told\n---", "told\n", 1, 1, "no end");
    let long = "x".repeat(5000);
    check("Text.", &long, 9, 1, "4096 is the most");
}

/// A stranger's page takes neither long nor much memory.
#[test]
fn a_hostile_head_is_refused() {
    let bombs = [
        "a: ".to_string() + &"[".repeat(200_000),
        "a: ".to_string() + &"{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "a: &x [b, b]\nb: &y [*x, *x]\nc: [*y, *y]".to_string(),
        "? ".repeat(50_000),
        "a: |\n".to_string() + &" ".repeat(500_000),
        "a: \"".to_string() + &"\\".repeat(500_000),
        "!".repeat(100_000),
        "a: \0".to_string(),
    ];
    for bomb in bombs {
        let text = format!("---\n{bomb}\n---\n\nText.\n");
        assert!(RecordPage::parse(&id("note/x"), &text).is_err(), "{:.40}", bomb);
    }
    let huge = "x".repeat(2 * 1024 * 1024);
    assert!(RecordPage::parse(&id("note/x"), &huge).is_err());
}

#[test]
fn paths_of_pages() {
    let one = id("decision/one-lock");
    assert_eq!(page_path(&one), "docs/knowledge/decision/one-lock.md");
    assert_eq!(page_id("docs/knowledge/decision/one-lock.md"), Some(one));
    for path in [
        "docs/knowledge/README.md",
        "docs/knowledge/decisions/x.md",
        "docs/knowledge/note/../x.md",
        "docs/knowledge/note/X.md",
        "docs/knowledge/note/a/b.md",
        "note/x.md",
    ] {
        assert_eq!(page_id(path), None, "{path}");
    }
}

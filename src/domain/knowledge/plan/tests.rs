//! Tests of plans: what a batch writes, and what is wrong with one.

use jiff::Timestamp;

use super::*;
use crate::domain::knowledge::merge;

fn context(author: &str, at: i64) -> PlanContext {
    let at = Timestamp::from_millisecond(at).unwrap();
    PlanContext {
        writer: WriterId::new(author).unwrap(),
        origin: Origin::new(author, at),
        basis: Basis::Read,
    }
}

fn nothing_alike(_: RecordKind, _: &str, _: &BTreeSet<RecordId>) -> Option<RecordId> {
    None
}

fn decision(name: &str, description: &str) -> RecordDraft {
    RecordDraft {
        name: RecordName::new(name).ok(),
        description: Some(description.to_string()),
        ..RecordDraft::new(RecordKind::Decision)
    }
}

fn record(draft: RecordDraft) -> KnowledgeAction {
    KnowledgeAction::Record(Box::new(draft))
}

/// Plans one batch after another, and merges what they write.
fn play(batches: Vec<(PlanContext, Vec<KnowledgeAction>)>) -> KnowledgeSnapshot {
    let mut cells: BTreeMap<CellKey, Cell> = BTreeMap::new();
    for (context, actions) in batches {
        let snapshot = merge(cells.values().cloned());
        let plan = plan(&actions, &snapshot, &context, &nothing_alike).unwrap();
        cells.extend(plan.cells.into_iter().map(|cell| (cell.key.clone(), cell)));
    }
    merge(cells.into_values())
}

fn problems(snapshot: &KnowledgeSnapshot, actions: &[KnowledgeAction]) -> Vec<String> {
    let planned = plan(actions, snapshot, &context("ann", 9), &nothing_alike);
    let describe = |one: BatchProblem| format!("{}: {} → {}", one.action, one.message, one.fix);
    planned.map(|_| ()).unwrap_err().into_iter().map(describe).collect()
}

#[test]
fn an_update_keeps_the_fields_that_it_does_not_give() {
    let first =
        RecordDraft { rationale: Some("names race".into()), ..decision("one-lock", "One lock guards names") };
    let second = RecordDraft {
        rationale: Some("names and paths race".into()),
        ..RecordDraft::new(RecordKind::Decision)
    };
    let second = RecordDraft { name: RecordName::new("one-lock").ok(), ..second };
    let snapshot =
        play(vec![(context("ann", 1), vec![record(first)]), (context("bob", 2), vec![record(second)])]);
    let shown = snapshot.named("one-lock")[0];
    let said = (shown.statement.description.as_str(), shown.statement.rationale.as_str());
    assert_eq!(said, ("One lock guards names", "names and paths race"));
    assert_eq!((shown.statement.origin.author.as_str(), shown.also_said.len()), ("bob", 0));
    assert_eq!(shown.statement.status, Some(DecisionStatus::Active));
}

#[test]
fn steps_of_one_batch_add_to_each_other() {
    let reason =
        RecordDraft { rationale: Some("they race".into()), ..RecordDraft::new(RecordKind::Decision) };
    let reason = RecordDraft { name: RecordName::new("one-lock").ok(), ..reason };
    let steps = vec![record(decision("one-lock", "One lock guards names")), record(reason)];
    let snapshot = play(vec![(context("ann", 1), steps)]);
    let said = &snapshot.named("one-lock")[0].statement;
    assert_eq!((said.description.as_str(), said.rationale.as_str()), ("One lock guards names", "they race"));
}

#[test]
fn a_step_is_later_than_the_one_before() {
    let steps = vec![
        record(decision("one-lock", "One lock guards names")),
        KnowledgeAction::Delete { kind: None, name: "one-lock".into() },
    ];
    assert!(play(vec![(context("ann", 1), steps)]).is_empty());
}

#[test]
fn a_new_sentence_of_another_author_takes_over_no_reason() {
    let first = RecordDraft { rationale: Some("two deadlocked".into()), ..decision("locks", "Use one lock") };
    let snapshot = play(vec![
        (context("ann", 1), vec![record(first)]),
        (context("bob", 2), vec![record(decision("locks", "Use two locks"))]),
    ]);
    let said = &snapshot.named("locks")[0].statement;
    assert_eq!((said.description.as_str(), said.rationale.as_str()), ("Use two locks", ""));
}

#[test]
fn an_update_tells_what_becomes_of_the_text_of_another_author() {
    let first = RecordDraft { rationale: Some("two deadlocked".into()), ..decision("locks", "Use one lock") };
    let snapshot = play(vec![(context("ann", 1), vec![record(first)])]);
    let remarks = |author: &str, draft: RecordDraft| {
        let planned = plan(&[record(draft)], &snapshot, &context(author, 2), &nothing_alike).unwrap();
        planned.receipts[0].remarks.clone()
    };
    let ann = || "ann".to_string();
    let text = || decision("locks", "Use two locks");
    let why = || RecordDraft { description: None, rationale: Some("slow".into()), ..text() };
    assert_eq!(remarks("bob", text()), [ReceiptRemark::DroppedReason { author: ann() }]);
    assert_eq!(remarks("bob", why()), [ReceiptRemark::TookOverText { author: ann() }]);
    assert_eq!(remarks("bob", RecordDraft { rationale: Some("slow".into()), ..text() }), []);
    assert_eq!(remarks("ann", text()), []);
    assert_eq!(remarks("ann", why()), []);
}

/// A draft that is about a place.
fn at(place: &str, draft: RecordDraft) -> RecordDraft {
    let target = AnchorTarget::parse(place).unwrap();
    RecordDraft { anchors: vec![Anchor::new(target)], ..draft }
}

fn file(path: &str, summary: &str) -> KnowledgeAction {
    let draft = RecordDraft { summary: Some(summary.into()), ..RecordDraft::new(RecordKind::File) };
    record(at(path, draft))
}

#[test]
fn files_whose_names_look_alike_have_records_of_their_own() {
    let snapshot = play(vec![
        (context("ann", 1), vec![file("a/b.rs", "one"), file("a_b.rs", "two")]),
        (context("bob", 2), vec![file("a_b.rs", "three")]),
    ]);
    let found: Vec<(&str, &str)> =
        snapshot.records().map(|one| (one.id.name.as_str(), one.statement.summary.as_str())).collect();
    assert_eq!(found, [("a-b-rs", "one"), ("a-b-rs-2", "three")]);
    let gone = KnowledgeAction::Delete { kind: Some(RecordKind::File), name: "a_b.rs".into() };
    let planned = plan(&[gone], &snapshot, &context("ann", 3), &nothing_alike).unwrap();
    assert_eq!(planned.receipts[0].id.name.as_str(), "a-b-rs-2");
}

#[test]
fn an_anchor_in_the_same_file_replaces_the_old_one() {
    let one_lock = |place: &str| record(at(place, decision("one-lock", "One lock guards names")));
    let snapshot = play(vec![
        (context("ann", 1), vec![one_lock("a.rs:12"), one_lock("b.rs")]),
        (context("bob", 2), vec![one_lock("a.rs:20")]),
    ]);
    let places = snapshot.named("one-lock")[0].anchors.iter().map(|anchor| anchor.target.to_string());
    assert_eq!(places.collect::<Vec<_>>(), ["a.rs:20", "b.rs"]);
}

#[test]
fn a_secret_in_an_anchor_is_refused() {
    let draft = at("$ curl -H token=abc12345def", decision("x", "One lock"));
    let found = problems(&KnowledgeSnapshot::default(), &[record(draft)]);
    assert!(found[0].contains("`$ curl …` has a password or token"), "{found:?}");
}

#[test]
fn names_are_derived_and_distinct() {
    let note = |text: &str| {
        record(RecordDraft { description: Some(text.into()), ..RecordDraft::new(RecordKind::Note) })
    };
    let snapshot =
        play(vec![(context("ann", 1), vec![note("Use the lock."), note("Use the lock!"), note("—")])]);
    let names: Vec<&str> = snapshot.records().map(|record| record.id.name.as_str()).collect();
    assert_eq!(names, ["note", "use-the-lock", "use-the-lock-2"]);
}

#[test]
fn everything_that_is_wrong_is_listed_at_once() {
    let snapshot =
        play(vec![(context("ann", 1), vec![record(decision("one-lock", "One lock guards names"))])]);
    let wrong = [
        record(RecordDraft { impact: Some(11), ..decision("x", "password=hunter2222") }),
        KnowledgeAction::Delete { kind: None, name: "one-lok".into() },
        record(RecordDraft { summary: Some("s".into()), ..RecordDraft::new(RecordKind::Note) }),
        KnowledgeAction::UpdateConfidence { kind: None, name: "one-lock".into(), confidence: 1.5 },
        record(decision("fine", "This one is right")),
    ];
    insta::assert_snapshot!(problems(&snapshot, &wrong).join("\n"), @r"
    0: line 1 has a password or token (`hunt…`) → remove it: records are read by everyone here
    0: the impact 11 is not between 0 and 10 → give a number from 0 to 10
    1: there is no record named `one-lok` → did you mean one-lock?
    2: a note has no `summary` → leave it out, or record a file
    2: a new note needs `description` → add it: one sentence
    3: the confidence 1.5 is not between 0 and 1 → give a number such as 0.8
    ");
}

#[test]
fn supersedes_must_not_run_in_a_circle() {
    let newer = RecordDraft { supersedes: vec!["old".into()], ..decision("new", "New rule") };
    let snapshot = play(vec![(context("ann", 1), vec![record(decision("old", "Old rule")), record(newer)])]);
    assert!(snapshot.named("old")[0].is_superseded());
    let back = KnowledgeAction::Supersede { old: "new".into(), new: "old".into() };
    let found = problems(&snapshot, &[back]);
    assert!(found[0].contains("which supersedes it already"), "{found:?}");
    let itself = RecordDraft { supersedes: vec!["old".into()], ..decision("old", "Old rule again") };
    assert_eq!(problems(&snapshot, &[record(itself)]).len(), 1);
}

#[test]
fn a_batch_may_name_what_it_adds_itself() {
    let ends = RelationEnds {
        from: "one-lock".into(),
        to: "src/a.rs".into(),
        relation: super::super::RelationType::Uses,
    };
    let actions = vec![
        record(decision("one-lock", "One lock guards names")),
        link(ends.clone(), None),
        KnowledgeAction::Confirm { kind: None, name: "one-lock".into() },
    ];
    let snapshot = play(vec![(context("ann", 1), actions)]);
    assert_eq!(snapshot.len(), 2);
    let snapshot = play(vec![
        (context("ann", 1), vec![link(ends.clone(), None)]),
        (context("bob", 2), vec![KnowledgeAction::Unlink(ends)]),
    ]);
    assert!(snapshot.is_empty());
}

#[test]
fn a_near_duplicate_is_answered_with_what_is_there() {
    let there = RecordId::parse("decision/one-lock").unwrap();
    let alike = |_: RecordKind, _: &str, except: &BTreeSet<RecordId>| {
        Some(there.clone()).filter(|id| !except.contains(id))
    };
    let snapshot =
        play(vec![(context("ann", 1), vec![record(decision("one-lock", "One lock guards names"))])]);
    let outcome = |draft: RecordDraft| {
        let planned = plan(&[record(draft)], &snapshot, &context("bob", 2), &alike).unwrap();
        (planned.receipts[0].outcome, planned.cells.len())
    };
    let again = decision("a-lock", "One lock guards the names");
    assert_eq!(outcome(again.clone()), (ActionOutcome::AlreadyThere, 0));
    assert_eq!(
        outcome(RecordDraft { duplicates: DuplicatePolicy::AddAnyway, ..again.clone() }).0,
        ActionOutcome::Added
    );
    assert_eq!(outcome(RecordDraft { supersedes: vec!["one-lock".into()], ..again }).0, ActionOutcome::Added);
    assert_eq!(outcome(decision("one-lock", "Two locks guard names")).0, ActionOutcome::Updated);
}

#[test]
fn what_an_earlier_step_says_is_not_recorded_twice() {
    let snapshot = KnowledgeSnapshot::default();
    let note = |text: &str| RecordDraft {
        description: Some(text.to_string()),
        ..RecordDraft::new(RecordKind::Note)
    };
    let insisting = RecordDraft { duplicates: DuplicatePolicy::AddAnyway, ..note("One lock") };
    let steps = [note("One lock"), note("One  lock\n"), insisting, note("Two locks")].map(record);
    let planned = plan(&steps, &snapshot, &context("ann", 1), &nothing_alike).unwrap();
    let outcomes: Vec<(ActionOutcome, &str)> =
        planned.receipts.iter().map(|one| (one.outcome, one.id.name.as_str())).collect();
    let (added, there) = (ActionOutcome::Added, ActionOutcome::AlreadyThere);
    assert_eq!(
        outcomes,
        [(added, "one-lock"), (there, "one-lock"), (added, "one-lock-2"), (added, "two-locks")]
    );
}

#[test]
fn a_retired_record_is_called_retired() {
    let retire = |name: &str| KnowledgeAction::Delete { kind: None, name: name.to_string() };
    let snapshot = play(vec![
        (context("ann", 1), vec![record(decision("one-lock", "One lock guards names"))]),
        (context("ann", 2), vec![retire("one-lock")]),
    ]);
    let told = ["0: `decision/one-lock` is retired → to see it: msg knowledge show decision/one-lock"];
    assert_eq!(problems(&snapshot, &[retire("one-lock")]), told);
    assert_eq!(problems(&snapshot, &[retire("decision/one-lock")]), told);
    assert!(problems(&snapshot, &[retire("note/one-lock")])[0].contains("there is no record"));
}

/// Such as a page that was committed on a machine whose clock is wrong.
#[test]
fn a_date_in_the_future_moves_only_the_clock_of_its_own_record() {
    let (now, future) = (5, 4_000_000_000_000);
    let snapshot = play(vec![(context("ann", future), vec![record(decision("future", "Not yet"))])]);
    let actions = [record(decision("other", "Now")), record(decision("future", "Now as well"))];
    let planned = plan(&actions, &snapshot, &context("bob", now), &nothing_alike).unwrap();
    let stamp = |name: &str| {
        let of = planned.cells.iter().filter(|cell| cell.key.record.name.as_str() == name);
        of.map(|cell| cell.stamp).max().unwrap()
    };
    assert_eq!(stamp("other"), Stamp { milliseconds: now, counter: 0 });
    assert!(stamp("future") > Stamp { milliseconds: future, counter: 0 }, "it replaces what it has seen");
}

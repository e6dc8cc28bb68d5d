//! Tests of the merge: what is shown was said so, whatever the order.

use proptest::prelude::*;

use super::*;
use crate::domain::knowledge::{Basis, CellKey, Origin, RecordKind, RecordName, WriterId};

fn id(name: &str) -> RecordId {
    RecordId::new(RecordKind::Decision, RecordName::new(name).unwrap())
}

fn cell(record: &str, field: RecordField, entry: &str, (writer, at): (&str, i64), value: CellValue) -> Cell {
    let writer = WriterId::new(writer).unwrap();
    let key = CellKey { record: id(record), field, entry: entry.to_string(), writer };
    Cell { key, stamp: Stamp { milliseconds: at, counter: 0 }, value }
}

fn statement(author: &str, at: i64) -> Statement {
    let origin = Origin::new(author, Timestamp::from_millisecond(at).unwrap());
    let description = format!("description of {author} at {at}");
    Statement {
        rationale: format!("rationale of {author} at {at}"),
        ..Statement::new(description, Basis::Read, origin)
    }
}

fn text(record: &str, (writer, at): (&str, i64), seen: &[(&str, i64)]) -> Cell {
    let version = |(writer, at): &(&str, i64)| Version {
        stamp: Stamp { milliseconds: *at, counter: 0 },
        writer: WriterId::new(writer).unwrap(),
    };
    let statement = Box::new(statement(writer, at));
    let value = CellValue::Statement { statement, replaces: seen.iter().map(version).collect() };
    cell(record, RecordField::Text, "", (writer, at), value)
}

fn only(cells: Vec<Cell>) -> Record {
    let snapshot = merge(cells);
    assert_eq!(snapshot.len(), 1);
    snapshot.records().next().unwrap().clone()
}

#[test]
fn a_statement_that_its_successor_had_not_seen_stays_readable_until_somebody_confirms() {
    let (old, seen) = (text("x", ("ann", 1), &[]), text("x", ("bob", 2), &[("ann", 1)]));
    let record = only(vec![old.clone(), seen]);
    assert_eq!((record.statement.origin.author.as_str(), record.also_said.len()), ("bob", 0));
    let unseen = text("x", ("bob", 2), &[]);
    let record = only(vec![unseen.clone(), old.clone()]);
    assert_eq!(record.also_said, [statement("ann", 1)]);
    let origin = statement("cid", 3).origin;
    let confirmed = cell("x", RecordField::Confirmation, "cid", ("cid", 3), CellValue::Confirmation(origin));
    let record = only(vec![confirmed, unseen, old]);
    assert!(record.also_said.is_empty() && record.confirmations.len() == 1 && record.confidence > 0.75);
}

#[test]
fn a_confirmation_is_about_the_text_that_was_there() {
    let origin = statement("cid", 2).origin;
    let confirmed = cell("x", RecordField::Confirmation, "cid", ("cid", 2), CellValue::Confirmation(origin));
    let record = only(vec![confirmed, text("x", ("ann", 3), &[])]);
    assert!(record.confirmations.is_empty());
}

#[test]
fn nobody_confirms_their_own_statement() {
    let origin = statement("ann", 3).origin;
    let own = cell("x", RecordField::Confirmation, "ann", ("ann", 3), CellValue::Confirmation(origin));
    assert!(only(vec![text("x", ("ann", 1), &[]), own]).confirmations.is_empty());
}

#[test]
fn a_retired_record_comes_back_when_somebody_says_it_again() {
    let retired = cell("x", RecordField::Life, "", ("bob", 2), CellValue::Removed);
    assert!(merge([text("x", ("ann", 1), &[]), retired.clone()]).is_empty());
    assert_eq!(merge([text("x", ("ann", 1), &[]), retired, text("x", ("cid", 3), &[])]).len(), 1);
    let old = cell("x", RecordField::Tag, "old", ("ann", 1), CellValue::Present("yes".into()));
    let retired = cell("x", RecordField::Life, "", ("bob", 2), CellValue::Removed);
    let record = only(vec![text("x", ("ann", 1), &[]), old, retired, text("x", ("cid", 3), &[])]);
    assert!(record.tags.is_empty() && record.also_said.is_empty(), "nothing of before is left");
    let tag = cell("x", RecordField::Tag, "area", ("bob", 2), CellValue::Present("locks".into()));
    assert!(merge([tag]).is_empty(), "a tag alone says nothing");
}

#[test]
fn records_that_supersede_each_other_are_both_shown() {
    let supersedes = |new: &str, old: &str| {
        let present = CellValue::Present(String::new());
        cell(new, RecordField::Supersedes, &id(old).to_string(), ("ann", 5), present)
    };
    let texts = ["a", "b", "c", "d"].map(|name| text(name, ("ann", 1), &[]));
    let links = [supersedes("a", "b"), supersedes("b", "a"), supersedes("c", "a"), supersedes("d", "d")];
    let snapshot = merge(texts.into_iter().chain(links));
    let superseded: Vec<String> = snapshot
        .records()
        .filter(|record| record.is_superseded())
        .map(|record| record.id.to_string())
        .collect();
    assert_eq!(superseded, ["decision/a"], "c is outside of the circle");
}

/// What writers do: state, retire, tag and remove tags, in any order.
fn histories() -> impl Strategy<Value = Vec<Cell>> {
    let deed = (0..3usize, 0..4usize, 0..3usize, prop::collection::vec((0..4usize, 0..40i64), 0..4));
    prop::collection::vec(deed, 1..40).prop_map(|deeds| {
        let (names, writers) = (["x", "y", "z"], ["ann", "bob", "cid", "dee"]);
        let cells = deeds.into_iter().enumerate().map(|(at, (name, writer, what, seen))| {
            let by = (writers[writer], at as i64);
            let seen: Vec<(&str, i64)> = seen.into_iter().map(|(who, at)| (writers[who], at)).collect();
            match what {
                0 => text(names[name], by, &seen),
                1 => cell(names[name], RecordField::Life, "", by, CellValue::Removed),
                _ if at % 2 == 0 => cell(names[name], RecordField::Tag, "t", by, CellValue::Removed),
                _ => cell(names[name], RecordField::Tag, "t", by, CellValue::Present(at.to_string())),
            }
        });
        // A writer has one cell per key: the last.
        let last: HashMap<CellKey, Cell> = cells.map(|cell| (cell.key.clone(), cell)).collect();
        last.into_values().collect()
    })
}

proptest! {
    #[test]
    fn the_text_shown_is_one_authors_whole_text(cells in histories()) {
        for record in merge(cells).records() {
            for shown in record.also_said.iter().chain([&record.statement]) {
                let said = statement(&shown.origin.author, shown.origin.at.as_millisecond());
                prop_assert_eq!(shown, &said);
            }
        }
    }

    #[test]
    fn the_order_does_not_matter(cells in histories().prop_shuffle()) {
        let mut sorted = cells.clone();
        sorted.sort_by(|a, b| a.key.cmp(&b.key));
        let records = |cells: Vec<Cell>| merge(cells).records().cloned().collect::<Vec<Record>>();
        prop_assert_eq!(records(cells.clone()), records(sorted));
        let twice = [cells.clone(), cells.clone()].concat();
        prop_assert_eq!(records(cells), records(twice));
    }
}

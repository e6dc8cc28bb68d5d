//! Tests of reading and appending.

use super::*;
use crate::domain::knowledge::{
    Anchor, AnchorTarget, Basis, Cell, CellKey, CellValue, DecisionStatus, Origin, RecordField, RecordId,
    RelationEnds, RelationType, Stamp, Statement, TextHash, Version, WriterId,
};
use crate::domain::settings::Durability;
use crate::sys::files;

pub(super) fn writer(name: &str) -> WriterId {
    WriterId::new(name).unwrap()
}

pub(super) fn log() -> (tempfile::TempDir, KnowledgeLog) {
    let dir = tempfile::tempdir().unwrap();
    let log = KnowledgeLog::at(dir.path(), Durability::Process);
    (dir, log)
}

fn origin() -> Origin {
    let at = "2026-11-17T09:00:00.123456789Z".parse().unwrap();
    Origin { author: "Alice".into(), at, commit: Some("abc".into()), branch: None }
}

pub(super) fn cell(record: &str, by: &str, ms: i64, description: &str) -> Cell {
    let statement = Statement::new(description, Basis::Told, origin());
    let value = CellValue::Statement { statement: Box::new(statement), replaces: Vec::new() };
    with_value(record, RecordField::Text, "", by, ms, value)
}

fn with_value(record: &str, field: RecordField, entry: &str, by: &str, ms: i64, value: CellValue) -> Cell {
    let key = CellKey {
        record: RecordId::parse(record).unwrap(),
        field,
        entry: entry.to_string(),
        writer: writer(by),
    };
    Cell { key, stamp: Stamp { milliseconds: ms, counter: 0 }, value }
}

/// A cell of every sort, with odd texts.
pub(super) fn all_sorts() -> Vec<Cell> {
    let mut full = cell("decision/one", "a", 1_794_700_676_113, "é|\\\u{1F600}\n\0");
    full.stamp.counter = u32::MAX;
    if let CellValue::Statement { statement, replaces } = &mut full.value {
        statement.status = Some(DecisionStatus::Deprecated);
        statement.impact = Some(10);
        statement.rationale = "why".into();
        statement.summary = "in short".into();
        statement.pattern_type = "guard".into();
        let ends = RelationEnds { from: "a".into(), to: "b".into(), relation: RelationType::Uses };
        statement.ends = Some(ends);
        replaces.push(Version { stamp: Stamp { milliseconds: -5, counter: 2 }, writer: writer("b") });
    }
    let mut cells = vec![full, cell("decision/one", "b", 2, "")];
    for text in ["src/a.rs", "src/a.rs#A::b", "src/a.rs:3-9", "$ cargo test", "! E0502"] {
        let mut target = AnchorTarget::parse(text).unwrap();
        match &mut target {
            AnchorTarget::Lines { text, hash, .. } => {
                *text = vec!["fn a() {".into(), String::new()];
                *hash = Some(TextHash::stored("00ff"));
            }
            AnchorTarget::Symbol { hash, .. } => *hash = Some(TextHash::stored("ff")),
            _ => {}
        }
        let anchor = Anchor { target, commit: Some("abc".into()), file: Some(TextHash::stored("12")) };
        let value = CellValue::Anchor(Box::new(anchor));
        cells.push(with_value("decision/one", RecordField::Anchor, text, "a", 7, value));
    }
    let one = |field, entry, value| with_value("decision/one", field, entry, "a", 8, value);
    cells.extend([
        one(RecordField::Life, "", CellValue::Removed),
        one(RecordField::Tag, "area|x", CellValue::Present("store".into())),
        one(RecordField::Also, "mutex", CellValue::Present(String::new())),
        one(RecordField::Confidence, "", CellValue::Confidence(0.3)),
        one(RecordField::Confidence, "whole", CellValue::Confidence(1.0)),
        one(RecordField::Confirmation, "Bob", CellValue::Confirmation(origin())),
    ]);
    cells.sort_by(|one, two| one.key.cmp(&two.key));
    cells
}

fn read(log: &KnowledgeLog) -> Vec<Cell> {
    let content = log.read().unwrap();
    assert_eq!(content.problems, []);
    content.cells
}

#[test]
fn cells_of_every_sort_are_read_back() {
    let (_dir, log) = log();
    assert_eq!(log.read().unwrap(), LogContent::default());
    let cells = all_sorts();
    log.append(&writer("a"), &cells).unwrap();
    assert_eq!(read(&log), cells);
}

#[test]
fn a_writer_appends_to_its_file_and_the_latest_counts() {
    let (_dir, log) = log();
    for ms in 1..=5 {
        log.append(&writer("a"), &[cell("note/x", "a", ms, &format!("said at {ms}"))]).unwrap();
    }
    log.append(&writer("b"), &[cell("note/x", "b", 3, "b's")]).unwrap();
    assert_eq!(log.stamp().unwrap().file_count(), 2);
    assert_eq!(read(&log), [cell("note/x", "a", 5, "said at 5"), cell("note/x", "b", 3, "b's")]);
}

#[test]
fn a_writer_with_two_files_keeps_its_latest() {
    let (_dir, log) = log();
    let long = "x".repeat(100 * 1024);
    for ms in (1..=6).rev() {
        log.append(&writer("a"), &[cell("note/x", "a", ms, &format!("{ms}{long}"))]).unwrap();
    }
    assert!(log.stamp().unwrap().file_count() >= 3);
    assert_eq!(read(&log), [cell("note/x", "a", 6, &format!("6{long}"))]);
}

#[test]
fn what_could_not_be_read_back_is_refused() {
    let (_dir, log) = log();
    let wrong =
        with_value("note/x", RecordField::Text, "", "a", 1, CellValue::Present("no statement".into()));
    let error = log.append(&writer("a"), &[cell("note/y", "a", 1, "fine"), wrong]).unwrap_err();
    assert!(error.to_string().contains("note/x"), "{error}");
    assert_eq!(log.stamp().unwrap().file_count(), 0);
}

#[test]
fn the_directory_and_its_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, log) = log();
    log.append(&writer("a"), &[cell("note/x", "a", 1, "one")]).unwrap();
    let mode = |path: &std::path::Path| files::metadata(path).unwrap().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(log.directory()), 0o700);
    let name = &log.names().unwrap()[0];
    assert_eq!(mode(&log.directory().join(name)), 0o600);
}

/// `cp -r` of a tree: the copy has the same client id, which must not be used twice.
#[test]
fn a_copied_tree_begins_a_file_of_its_own() {
    let (_dir, log) = log();
    let (copy_dir, copy) = self::log();
    log.append(&writer("a"), &[cell("note/x", "a", 1, "one")]).unwrap();
    files::create_dir(copy.directory()).unwrap();
    let name = log.names().unwrap().remove(0);
    std::fs::copy(log.directory().join(&name), copy.directory().join(&name)).unwrap();
    log.append(&writer("a"), &[cell("note/x", "a", 2, "here")]).unwrap();
    copy.append(&writer("a"), &[cell("note/y", "a", 2, "there")]).unwrap();
    assert_eq!(copy.stamp().unwrap().file_count(), 2);
    for name in copy.names().unwrap().iter().filter(|other| **other != name) {
        std::fs::copy(copy.directory().join(name), log.directory().join(name)).unwrap();
    }
    assert_eq!(read(&log), [cell("note/x", "a", 2, "here"), cell("note/y", "a", 2, "there")]);
    drop(copy_dir);
}

#[test]
fn a_torn_tail_is_told_and_the_writer_goes_on_in_a_new_file() {
    let (_dir, log) = log();
    log.append(&writer("a"), &[cell("note/x", "a", 1, "one")]).unwrap();
    let path = log.directory().join(&log.names().unwrap()[0]);
    let whole = std::fs::read(&path).unwrap();
    log.append(&writer("a"), &[cell("note/y", "a", 2, "two")]).unwrap();
    let longer = std::fs::read(&path).unwrap();
    for length in whole.len() + 1..longer.len() {
        std::fs::write(&path, &longer[..length]).unwrap();
        let content = log.read().unwrap();
        assert_eq!(content.cells, [cell("note/x", "a", 1, "one")]);
        assert_eq!(content.problems.len(), 1, "{length}: {:?}", content.problems);
        assert_eq!(content.problems[0].kind, LogProblemKind::TornTail);
    }
    log.append(&writer("a"), &[cell("note/z", "a", 3, "three")]).unwrap();
    assert_eq!(log.stamp().unwrap().file_count(), 2);
    let names: Vec<_> = log.read().unwrap().cells.iter().map(|cell| cell.key.record.to_string()).collect();
    assert_eq!(names, ["note/x", "note/z"]);
}

#[test]
fn every_damaged_byte_is_told_and_nothing_false_is_read() {
    let (_dir, log) = log();
    let cells: Vec<Cell> = (1..=3).map(|ms| cell(&format!("note/n{ms}"), "a", ms, "text")).collect();
    for cell in &cells {
        log.append(&writer("a"), std::slice::from_ref(cell)).unwrap();
    }
    let path = log.directory().join(&log.names().unwrap()[0]);
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&path, &damaged).unwrap();
        let content = log.read().unwrap();
        assert!(!content.problems.is_empty(), "byte {at}");
        assert!(content.cells.len() >= 2, "byte {at}: one frame is lost at most");
        assert!(content.cells.iter().all(|cell| cells.contains(cell)), "byte {at}");
    }
}

/// The checksum of a frame does not help against who writes frames: a peer, or another program.
#[test]
fn a_whole_frame_with_any_update_is_read_without_a_panic() {
    let cells: Vec<Cell> = (1..=3).map(|ms| cell(&format!("note/n{ms}"), "a", ms, "text")).collect();
    let good = document::addition(7, 0, cells[..2].iter().map(cell_format::encode)).unwrap();
    let next = document::addition(8, 0, cells[2..].iter().map(cell_format::encode)).unwrap();
    let header = frames::FileHeader { version: 1, writer: "a".into(), client: Some(7), device: 1, inode: 2 };
    let mut refused = 0;
    for at in 0..good.len() {
        for flip in [1, 0x10, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= flip;
            let file = [frames::start(&header), frames::frame(&bad), frames::frame(&next)].concat();
            let read = LogContent::of_file(&file);
            refused += usize::from(!read.problems.is_empty());
        }
    }
    assert!(refused > good.len(), "most are noticed: {refused}");
}

#[test]
fn what_a_newer_version_wrote_is_read_as_far_as_it_is_understood() {
    let (_dir, log) = log();
    log.append(&writer("a"), &[cell("note/x", "a", 1, "one")]).unwrap();
    let old = log.directory().join(&log.names().unwrap()[0]);
    let content = std::fs::read(&old).unwrap();
    let scanned = frames::scan(&content);
    let header = frames::FileHeader { version: 2, ..scanned.header.clone().unwrap() };
    let frames =
        [frames::start(&header), frames::frame(scanned.updates[0]), frames::frame(b"\xff\xff other")];
    std::fs::remove_file(&old).unwrap();
    std::fs::write(&old, frames.concat()).unwrap();
    let before = std::fs::read(&old).unwrap();
    log.append(&writer("a"), &[cell("note/y", "a", 2, "two")]).unwrap();
    let content = log.read().unwrap();
    assert_eq!(content.cells, [cell("note/x", "a", 1, "one"), cell("note/y", "a", 2, "two")]);
    assert_eq!(content.problems[0].kind, LogProblemKind::Newer);
    assert_eq!(std::fs::read(&old).unwrap(), before);
}

#[test]
fn frames_in_any_order_say_the_same() {
    let (_dir, log) = log();
    for ms in 1..=40 {
        let by = format!("w{}", ms % 3);
        log.append(&writer(&by), &[cell(&format!("note/n{}", ms % 7), &by, ms, "text")]).unwrap();
    }
    let cells = read(&log);
    let mut updates = Vec::new();
    for name in log.names().unwrap() {
        let content = std::fs::read(log.directory().join(&name)).unwrap();
        updates.extend(frames::scan(&content).updates.iter().map(|update| update.to_vec()));
        std::fs::remove_file(log.directory().join(name)).unwrap();
    }
    for turn in 0..50 {
        let order = crate::sys::random::shuffled(updates.len());
        let header = frames::FileHeader::new("x", None, files::FileId { device: 0, inode: 0 });
        let mut content = frames::start(&header);
        order.iter().for_each(|at| content.extend(frames::frame(&updates[*at])));
        std::fs::write(log.directory().join("x.1.log"), content).unwrap();
        assert_eq!(read(&log), cells, "turn {turn}: {order:?}");
    }
}

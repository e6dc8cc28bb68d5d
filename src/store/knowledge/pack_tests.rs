//! Tests of packing, erasing, exchanging and the cache.

use std::collections::BTreeMap;

use super::tests::{all_sorts, cell, log, writer};
use super::*;
use crate::domain::knowledge::{Cell, RecordId};
use crate::sys::files;

fn filled(log: &KnowledgeLog) -> Vec<Cell> {
    for ms in 1..=30 {
        let by = format!("w{}", ms % 4);
        log.append(&writer(&by), &[cell(&format!("note/n{}", ms % 5), &by, ms, "text")]).unwrap();
    }
    log.read().unwrap().cells
}

fn contents(log: &KnowledgeLog) -> BTreeMap<String, Vec<u8>> {
    let read = |name: &String| std::fs::read(log.directory().join(name)).unwrap();
    log.names().unwrap().into_iter().map(|name| (name.clone(), read(&name))).collect()
}

#[test]
fn packing_keeps_what_counts_in_one_file() {
    let (_dir, log) = log();
    assert_eq!(log.pack().unwrap(), PackReport::default());
    let cells = filled(&log);
    let report = log.pack().unwrap();
    assert_eq!((report.folded, report.overwritten), (4, 30 - cells.len()));
    assert_eq!(log.read().unwrap(), LogContent { cells: cells.clone(), problems: Vec::new() });
    assert_eq!(log.stamp().unwrap().file_count(), 1);
    let before = contents(&log);
    assert_eq!(log.pack().unwrap(), PackReport::default(), "there is nothing more to fold");
    assert_eq!(contents(&log), before);
    log.append(&writer("w1"), &[cell("note/new", "w1", 99, "text")]).unwrap();
    log.pack().unwrap();
    assert_eq!(log.read().unwrap().cells.len(), cells.len() + 1);
}

/// A pack that was killed leaves the folded file and some of the others.
#[test]
fn files_beside_what_they_were_folded_into_change_nothing() {
    let (_dir, log) = log();
    let cells = filled(&log);
    let before = contents(&log);
    log.pack().unwrap();
    for (name, content) in before {
        std::fs::write(log.directory().join(name), content).unwrap();
        assert_eq!(log.read().unwrap(), LogContent { cells: cells.clone(), problems: Vec::new() });
    }
    log.pack().unwrap();
    assert_eq!(log.read().unwrap(), LogContent { cells, problems: Vec::new() });
    assert_eq!(log.stamp().unwrap().file_count(), 1);
}

#[test]
fn a_damaged_file_is_put_aside_and_its_good_frames_are_kept() {
    let (_dir, log) = log();
    for ms in 1..=3 {
        log.append(&writer("a"), &[cell(&format!("note/n{ms}"), "a", ms, "text")]).unwrap();
    }
    let name = log.names().unwrap().remove(0);
    let path = log.directory().join(&name);
    let mut content = std::fs::read(&path).unwrap();
    let at = content.windows(2).position(|pair| pair == b"n2").unwrap();
    content[at] ^= 1;
    std::fs::write(&path, &content).unwrap();
    let report = log.pack().unwrap();
    assert_eq!(report.quarantined, [log.directory().join("quarantine").join(&name)]);
    assert_eq!(std::fs::read(&report.quarantined[0]).unwrap(), content);
    let expected = [1, 3].map(|ms| cell(&format!("note/n{ms}"), "a", ms, "text"));
    assert_eq!(log.read().unwrap(), LogContent { cells: expected.to_vec(), problems: Vec::new() });
}

#[test]
fn what_is_erased_is_in_no_file() {
    let (_dir, log) = log();
    let secret = "correct-horse-battery";
    log.append(&writer("a"), &[cell("note/my-secret-name", "a", 1, secret)]).unwrap();
    log.append(&writer("a"), &[cell("note/my-secret-name", "a", 2, &format!("{secret} again"))]).unwrap();
    log.append(&writer("b"), &[cell("note/other", "b", 3, "stays")]).unwrap();
    let exported = log.export_yjs().unwrap();
    let report = log.lock().unwrap().erase(&[RecordId::parse("note/my-secret-name").unwrap()]).unwrap();
    assert_eq!(report.erased, 2);
    for (name, content) in contents(&log) {
        let text = String::from_utf8_lossy(&content).into_owned();
        assert!(!text.contains("secret") && !text.contains("battery"), "{name}");
    }
    let expected = LogContent { cells: vec![cell("note/other", "b", 3, "stays")], problems: Vec::new() };
    assert_eq!(log.read().unwrap(), expected);
    assert_eq!(log.import_yjs(&exported).unwrap(), ImportReport::default(), "it does not come back");
    assert_eq!(log.read().unwrap(), expected);
}

/// An erase that is killed may leave files that still have the record, although it is not in the log any more.
#[test]
fn what_a_killed_erase_left_is_found_and_erased() {
    let (_dir, log) = log();
    let id = RecordId::parse("note/secret").unwrap();
    log.append(&writer("a"), &[cell("note/secret", "a", 1, "battery")]).unwrap();
    let before = contents(&log);
    log.lock().unwrap().erase(std::slice::from_ref(&id)).unwrap();
    assert!(log.records_in_files().unwrap().is_empty());
    for (name, content) in before {
        std::fs::write(log.directory().join(name), content).unwrap();
    }
    assert_eq!(log.read().unwrap(), LogContent::default());
    assert!(log.records_in_files().unwrap().contains(&id));
    log.lock().unwrap().erase(&[id]).unwrap();
    assert!(log.records_in_files().unwrap().is_empty());
}

#[test]
fn an_erase_of_everything_is_exchanged() {
    let (_dir, one) = log();
    let (_other, two) = log();
    one.append(&writer("a"), &[cell("note/only", "a", 1, "text")]).unwrap();
    two.import_yjs(&one.export_yjs().unwrap()).unwrap();
    one.lock().unwrap().erase(&[RecordId::parse("note/only").unwrap()]).unwrap();
    assert_eq!(two.import_yjs(&one.export_yjs().unwrap()).unwrap().removed, 1);
    assert_eq!(two.read().unwrap(), LogContent::default());
}

#[test]
fn what_is_exported_is_imported_once() {
    let (_dir, one) = log();
    let (_other, two) = log();
    one.append(&writer("a"), &all_sorts()).unwrap();
    let update = one.export_yjs().unwrap();
    assert_eq!(two.import_yjs(&update).unwrap().added, all_sorts().len());
    assert_eq!(two.import_yjs(&update).unwrap(), ImportReport::default());
    assert_eq!(two.read().unwrap(), one.read().unwrap());
    assert_eq!(two.stamp().unwrap().file_count(), 1);
}

#[test]
fn garbage_is_refused() {
    let (_dir, log) = log();
    let (_other, other) = self::log();
    other.append(&writer("a"), &all_sorts()).unwrap();
    let update = other.export_yjs().unwrap();
    for garbage in [&b""[..], b"\0\0", b"garbage", &[0xff; 64], &update[..update.len() / 2]] {
        assert!(
            matches!(log.import_yjs(garbage), Err(crate::store::StoreError::BadImport(_))),
            "{garbage:?}"
        );
    }
    assert_eq!(log.stamp().unwrap().file_count(), 0);
}

/// Two clones that work, pack and sync in any order say the same in the end.
#[test]
fn clones_that_sync_converge() {
    for turn in 0..6 {
        let (_dir, one) = log();
        let (_other, two) = log();
        for ms in 0..12 {
            let dice = crate::sys::random::number();
            let (here, there, by) =
                if dice.is_multiple_of(2) { (&one, &two, "a") } else { (&two, &one, "b") };
            let name = format!("note/n{}", dice / 2 % 3);
            here.append(&writer(by), &[cell(&name, by, ms, &format!("{turn} {ms}"))]).unwrap();
            match dice / 8 % 4 {
                0 => drop(here.pack().unwrap()),
                1 => drop(there.import_yjs(&here.export_yjs().unwrap()).unwrap()),
                _ => {}
            }
        }
        for (from, to) in [(&one, &two), (&two, &one)] {
            if from.stamp().unwrap().file_count() > 0 {
                to.import_yjs(&from.export_yjs().unwrap()).unwrap();
            }
        }
        assert_eq!(one.read().unwrap(), two.read().unwrap());
        assert_eq!(one.read().unwrap().problems, []);
    }
}

#[test]
fn what_javascript_wrote_is_read() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/knowledge");
    let update = std::fs::read(dir.join("javascript.yjs")).unwrap();
    let (_dir, log) = log();
    let report = log.import_yjs(&update).unwrap();
    assert_eq!((report.added, report.newer), (7, 1));
    let json = std::fs::read(dir.join("javascript.json")).unwrap();
    let expected: BTreeMap<String, yrs::Any> = serde_json::from_slice(&json).unwrap();
    let exported = document::decode(&log.export_yjs().unwrap()).unwrap();
    let values = document::YjsDocument::load(vec![exported]).unwrap().values();
    let plain = |value: &yrs::Any| serde_json::to_value(value).unwrap();
    for (key, value) in &values {
        assert_eq!(plain(value), plain(&expected[key]), "{key}");
    }
    assert_eq!(values.len(), expected.len());
    let merged = crate::domain::knowledge::merge(log.read().unwrap().cells);
    let texts: Vec<&str> = merged.records().map(|record| record.statement.description.as_str()).collect();
    assert_eq!(texts, ["This replaced it.", "One lock is enough."]);
}

#[test]
fn the_cache_says_the_same_as_the_log() {
    let (dir, log) = log();
    let cache = KnowledgeCache::of(&dir.path().join("cache"), dir.path());
    assert_eq!(cache.read(&log).unwrap(), LogContent::default());
    let read = cache.read_stamped(&log).unwrap();
    let appended = log.append(&writer("a"), &all_sorts()).unwrap().unwrap();
    let (stamp, extended) = cache.extend(&log, read, (&appended, &all_sorts())).unwrap().unwrap();
    assert_eq!((stamp, &extended), (log.stamp().unwrap(), &log.read().unwrap()));
    let file = dir.path().join("cache/ravenry/knowledge");
    let file = file.join(files::list(&file).unwrap().iter().find(|name| name.ends_with(".cells")).unwrap());
    let content = std::fs::read(&file).unwrap();
    assert_eq!(cache.read(&log).unwrap(), log.read().unwrap());
    assert_eq!(cache_format::decode(&content, &log.stamp().unwrap()), Some(log.read().unwrap()));
    for at in 0..content.len() {
        let mut damaged = content.clone();
        damaged[at] ^= 0x10;
        assert_eq!(cache_format::decode(&damaged, &log.stamp().unwrap()), None, "byte {at}");
    }
    log.append(&writer("b"), &[cell("note/new", "b", 1, "text")]).unwrap();
    assert_eq!(cache_format::decode(&content, &log.stamp().unwrap()), None, "it is out of date");
    assert_eq!(cache.read(&log).unwrap(), log.read().unwrap());
    std::fs::write(&file, b"damaged").unwrap();
    assert_eq!(cache.read(&log).unwrap(), log.read().unwrap());
    assert_ne!(std::fs::read(&file).unwrap(), b"damaged", "it was renewed");
}

#[test]
fn a_cache_is_extended_only_by_what_was_appended_to_it() {
    let (dir, log) = log();
    let cache = KnowledgeCache::of(&dir.path().join("cache"), dir.path());
    let step = |ms: i64, others: &[i64]| {
        let read = cache.read_stamped(&log).unwrap();
        for other in others {
            log.append(&writer("b"), &[cell("note/x", "b", *other, "theirs")]).unwrap();
        }
        let cells = [cell("note/x", "a", ms, &format!("said at {ms}"))];
        let appended = log.append(&writer("a"), &cells).unwrap().unwrap();
        cache.extend(&log, read, (&appended, &cells)).unwrap().map(|(_, content)| content)
    };
    for ms in 1..5 {
        assert_eq!(step(ms, &[]), Some(log.read().unwrap()));
    }
    assert_eq!(step(9, &[7]), None, "a file was added");
    assert_eq!(step(10, &[8]), None, "a file has grown");
    assert_eq!(step(11, &[]), Some(log.read().unwrap()));
    // A second process of the same writer appended, too.
    let read = cache.read_stamped(&log).unwrap();
    let (one, two) = ([cell("note/x", "a", 12, "one")], [cell("note/x", "a", 13, "two")]);
    let first = log.append(&writer("a"), &one).unwrap().unwrap();
    let second = log.append(&writer("a"), &two).unwrap().unwrap();
    assert_eq!(cache.extend(&log, read.clone(), (&first, &one)).unwrap(), None);
    assert_eq!(cache.extend(&log, read, (&second, &two)).unwrap(), None);
}

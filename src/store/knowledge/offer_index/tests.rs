//! Tests of the index: what is found, and that damage is harmless.

use std::fs;

use super::*;
use crate::domain::knowledge::{
    Anchor, AnchorTarget, Cell, CellKey, CellValue, RecordField, RecordId, Stamp, WriterId,
};

struct Project {
    dir: tempfile::TempDir,
    log: KnowledgeLog,
    index: OfferIndex,
}

fn project() -> Project {
    let dir = tempfile::tempdir().unwrap();
    let log = KnowledgeLog::at(dir.path(), Durability::Process);
    let index = OfferIndex::of(&dir.path().join("cache"), dir.path(), None);
    Project { dir, log, index }
}

impl Project {
    fn append(&self, writer: &str, milliseconds: i64) {
        let writer = WriterId::new(writer).unwrap();
        let record = RecordId::parse("note/x").unwrap();
        let key = CellKey { record, field: RecordField::Also, entry: "x".into(), writer: writer.clone() };
        let value = CellValue::Present(String::new());
        let cell = Cell { key, stamp: Stamp { milliseconds, counter: 0 }, value };
        self.log.append(&writer, &[cell]).unwrap();
    }

    fn write(&self, offers: &[KnowledgeOffer]) {
        self.index.write(&self.log, &self.log.stamp().unwrap(), offers, &[]).unwrap();
    }

    /// `None`: the index does not hold.
    fn found(&self, key: OfferKey) -> Option<Vec<KnowledgeOffer>> {
        match self.index.open(&self.log).unwrap() {
            OfferIndexState::Open(open) => Some(open.find(key).unwrap()),
            OfferIndexState::Missing => None,
            OfferIndexState::NoLog => panic!("there is a log"),
        }
    }
}

fn offer(number: usize) -> KnowledgeOffer {
    let target = AnchorTarget::parse(&format!("src/file{}.rs", number / 2)).unwrap();
    KnowledgeOffer {
        id: RecordId::parse(&format!("note/n{number}")).unwrap(),
        headline: format!("text {number}"),
        rationale: String::new(),
        author: "Ann".to_string(),
        at: jiff::Timestamp::from_second(1_790_000_000).unwrap(),
        commit: Some("abc".to_string()),
        branch: None,
        anchors: vec![Anchor::new(target)],
    }
}

#[test]
fn every_record_is_found_by_its_keys() {
    let project = project();
    assert!(matches!(project.index.open(&project.log).unwrap(), OfferIndexState::NoLog));
    project.append("a", 1);
    assert_eq!(project.found(OfferKey::errors()), None, "no index yet");
    let offers: Vec<KnowledgeOffer> = (0..2000).map(offer).collect();
    project.write(&offers);
    for (number, offer) in offers.iter().enumerate() {
        assert_eq!(project.found(OfferKey::record(&offer.id)).unwrap(), std::slice::from_ref(offer));
        let in_file = project.found(OfferKey::path(&format!("src/file{}.rs", number / 2))).unwrap();
        assert!(in_file.len() == 2 && in_file.contains(offer));
    }
    for number in 0..500 {
        assert!(project.found(OfferKey::path(&format!("src/other{number}.rs"))).unwrap().is_empty());
    }
    project.write(&[]);
    assert!(project.found(OfferKey::path("src/file1.rs")).unwrap().is_empty());
}

#[test]
fn it_holds_as_long_as_the_log_is_the_same() {
    let project = project();
    project.append("a", 1);
    project.write(&[offer(0)]);
    assert!(project.found(OfferKey::errors()).is_some());
    project.append("a", 2);
    assert!(project.found(OfferKey::errors()).is_none(), "a frame was appended");
    project.write(&[offer(0)]);
    project.append("b", 3);
    assert!(project.found(OfferKey::errors()).is_none(), "a file was added");
    project.write(&[offer(0)]);
    let name = &project.log.stamp().unwrap().files[0].0;
    fs::remove_file(project.log.dir.join(name)).unwrap();
    assert!(project.found(OfferKey::errors()).is_none(), "a file was removed");
}

/// Only the latest files are compared, so nobody appends to an older one.
#[test]
fn it_does_not_hold_after_an_append_however_many_files_there_are() {
    let project = project();
    project.append("z", 1);
    (0..70).for_each(|number| project.append(&format!("a{number}"), 2));
    project.write(&[offer(0)]);
    assert!(project.found(OfferKey::errors()).is_some());
    project.append("z", 3);
    assert!(project.found(OfferKey::errors()).is_none(), "the oldest writer wrote");
    let files = project.log.stamp().unwrap().files;
    assert_eq!(files.iter().filter(|(name, _)| name.starts_with("z.")).count(), 2);
    project.write(&[offer(0)]);
    project.append("z", 4);
    assert!(project.found(OfferKey::errors()).is_none());
    assert_eq!(project.log.stamp().unwrap().files.len(), files.len(), "its latest file goes on");
}

#[test]
fn an_index_that_was_overtaken_is_removed() {
    let project = project();
    project.append("a", 1);
    let stamp = project.log.stamp().unwrap();
    project.append("b", 2);
    project.index.write(&project.log, &stamp, &[offer(0)], &[]).unwrap();
    assert!(project.found(OfferKey::errors()).is_none());
}

#[test]
fn damage_is_as_good_as_nothing() {
    let project = project();
    project.append("a", 1);
    let offers: Vec<KnowledgeOffer> = (0..3).map(offer).collect();
    project.write(&offers);
    let whole = fs::read(&project.index.path).unwrap();
    let look = || {
        let found = project.found(OfferKey::path("src/file0.rs")).unwrap_or_default();
        assert!(found.iter().all(|found| offers.contains(found)), "{found:?}");
        if let OfferIndexState::Open(open) = project.index.open(&project.log).unwrap() {
            open.overview().unwrap();
        }
    };
    for end in 0..whole.len() {
        fs::write(&project.index.path, &whole[..end]).unwrap();
        look();
    }
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x55;
        fs::write(&project.index.path, &damaged).unwrap();
        look();
    }
    fs::remove_file(&project.index.path).unwrap();
    fs::create_dir(&project.index.path).unwrap();
    look();
    drop(project.dir);
}

#[test]
fn a_renewal_is_claimed_once() {
    let project = project();
    assert!(project.index.is_renewal_due().unwrap());
    assert!(!project.index.is_renewal_due().unwrap());
}

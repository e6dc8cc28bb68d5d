//! Tests of what a record can be found by.

use super::*;
use crate::domain::knowledge::{Basis, Origin, Statement};
use crate::domain::shell::OutcomeEvidence;

pub(in crate::domain::knowledge) fn record(id: &str, text: &str, anchors: &[&str]) -> Record {
    let at: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    let statement = Statement::new(text, Basis::Read, Origin::new("Ann", at));
    let anchors = anchors.iter().map(|anchor| Anchor::new(AnchorTarget::parse(anchor).unwrap())).collect();
    Record { anchors, ..Record::new(RecordId::parse(id).unwrap(), statement) }
}

fn run(program: &str, arguments: &[&str]) -> ProgramRun {
    ProgramRun {
        program: program.to_string(),
        arguments: arguments.iter().map(|word| Some((*word).to_string())).collect(),
        dir: None,
        evidence: OutcomeEvidence::ALL,
    }
}

#[test]
fn only_what_holds_and_is_anchored_is_offered() {
    let good = record("decision/one", "x", &["src/a.rs"]);
    assert!(KnowledgeOffer::of(&good).is_some());
    assert!(KnowledgeOffer::of(&record("note/one", "x", &[])).is_none(), "no anchor");
    assert!(KnowledgeOffer::of(&record("pattern/one", "x", &["src/a.rs"])).is_none(), "not of these kinds");
    let mut old = good.clone();
    old.superseded_by.insert(RecordId::parse("decision/two").unwrap());
    assert!(KnowledgeOffer::of(&old).is_none() && OverviewRow::of(&old).is_none(), "superseded");
    let mut old = good;
    old.statement.status = Some(DecisionStatus::Deprecated);
    assert!(KnowledgeOffer::of(&old).is_none(), "deprecated");
}

#[test]
fn a_command_is_found_by_its_beginning() {
    let offer = KnowledgeOffer::of(&record("note/one", "x", &["$ cargo test --workspace"])).unwrap();
    let is_found = |run: &ProgramRun| {
        let keys = offer.keys();
        OfferKey::of_run(run).iter().any(|key| keys.contains(key)) && offer.anchor_to_run(run).is_some()
    };
    assert!(is_found(&run("cargo", &["test", "--workspace"])));
    assert!(is_found(&run("cargo", &["test", "--workspace", "--locked"])));
    assert!(!is_found(&run("cargo", &["test"])), "less than was recorded");
    assert!(!is_found(&run("cargo", &["build"])) && !is_found(&run("cargo", &[])));
    let short = KnowledgeOffer::of(&record("note/two", "x", &["$ ./scripts/make"])).unwrap();
    assert!(short.anchor_to_run(&run("make", &["all"])).is_some());
    assert!(OfferKey::of_run(&run("make", &["all"])).iter().any(|key| short.keys().contains(key)));
}

#[test]
fn an_error_text_is_part_of_the_output() {
    let offer = KnowledgeOffer::of(&record("tried/one", "x", &["! E0502", "! no"])).unwrap();
    assert!(offer.anchor_to_error("error[E0502]: cannot borrow").is_some());
    assert!(offer.anchor_to_error("error[E0503]: no").is_none());
    assert!(offer.keys().contains(&OfferKey::errors()));
}

#[test]
fn a_file_and_a_symbol_are_found_exactly() {
    let offer = KnowledgeOffer::of(&record("decision/one", "x", &["src/a.rs#Lock::new"])).unwrap();
    assert!(offer.anchor_in("src/a.rs").is_some() && offer.anchor_in("a.rs").is_none());
    assert!(offer.anchor_to_symbol("Lock::new").is_some() && offer.anchor_to_symbol("Lock").is_none());
    assert!(offer.keys().contains(&OfferKey::path("src/a.rs")));
    assert!(!offer.keys().contains(&OfferKey::path("src")));
}

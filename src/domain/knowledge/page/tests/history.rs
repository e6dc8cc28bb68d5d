//! Tests of which version of a page counts, and when.

use jiff::Timestamp;

use super::super::*;
use crate::domain::knowledge::{
    Basis, KnowledgeAction, Origin, PlanContext, RecordDraft, RecordId, RecordKind, RecordName, Stamp,
    WriterId, merge, plan,
};

/// A branch that side work was merged into, and whose page was damaged and deleted then.
#[test]
fn the_last_version_that_can_be_read_counts() {
    let change = |now, before| PageChange { now, before };
    let is_readable = |text: &str| !text.starts_with("bad");
    let changes = [
        change(None, Some("bad 2")),
        change(Some("bad 2"), Some("bad 1")),
        change(Some("bad 1"), Some("own")),
        // Newer, and not taken over by the merge.
        change(Some("side"), Some("first")),
        change(Some("own"), Some("first")),
        change(Some("first"), None),
    ];
    let unreadable = vec!["bad 2", "bad 1"];
    let own = LastContent { content: "own", change: 4, is_removed: true, unreadable };
    assert_eq!(last_content(&changes, None, is_readable), Some(own));
    let now = LastContent { content: "side", change: 3, is_removed: false, unreadable: Vec::new() };
    assert_eq!(last_content(&changes[3..], Some("side"), is_readable).map(|last| last.change), Some(0));
    assert_eq!(last_content(&changes, Some("side"), is_readable), Some(now));
    assert_eq!(last_content(&changes, None, |_| false), None);
    assert_eq!(last_content(&[], None, is_readable), None);
}

/// Git has no smaller unit than a second, and a log has.
#[test]
fn an_edit_is_later_than_what_was_recorded_in_the_same_second() {
    let id = RecordId::new(RecordKind::Note, RecordName::new("one").unwrap());
    let writer = WriterId::new("ann").unwrap();
    let at = Timestamp::from_millisecond(10_200).unwrap();
    let origin = Origin { author: "ann".to_string(), at, commit: None, branch: None };
    let context = PlanContext { writer: writer.clone(), origin, basis: Basis::Told };
    let draft = RecordDraft {
        name: Some(id.name.clone()),
        description: Some("Original.".to_string()),
        ..RecordDraft::new(RecordKind::Note)
    };
    let action = KnowledgeAction::Record(Box::new(draft));
    let mut cells = plan(&[action], &merge(Vec::new()), &context, &|_, _, _| None).unwrap().cells;
    let recorded = merge(cells.clone()).get(&id).unwrap().clone();
    let mut page = RecordPage::of(&recorded);
    let written = PageHash::of(&page.render());
    cells.push(publication_cell(&recorded, &written, &writer, Stamp::after(Stamp::default(), 10_700)));
    page.description = "Corrected.".to_string();
    let hash = PageHash::of(&page.render());
    // The branch was squashed: the page as it was written is in no commit.
    let commit =
        PageCommit { id: "c".repeat(40), author: "bob".to_string(), at: Timestamp::from_second(10).unwrap() };
    let last = LastPage { hash: hash.clone(), commit, is_removed: false, unreadable: Vec::new() };
    let history =
        PageHistory { id: id.clone(), head: Some(hash.clone()), last: Some(last), versions: vec![hash] };
    let published = PublishedPages::of(&cells);
    let edit = history.edit(&published).unwrap();
    let base = PageBase { page: None, publication: edit.publication };
    cells.extend(page_update(&page, &edit.last.hash, &edit.last.commit, &base));
    link_replaced_pages(&mut cells, &published);
    let record = merge(cells).get(&id).unwrap().clone();
    assert_eq!(record.statement.description, "Corrected.");
    assert_eq!(record.also_said.len(), 0, "its author has seen the page: {record:?}");
}

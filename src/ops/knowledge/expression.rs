//! Answers expressions about the records.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::domain::knowledge::scheme::{
    self, QueryAnswer, QueryBudget, QueryEvent, QueryFacts, QueryOutlineRow, QueryWorld,
};
use crate::domain::knowledge::search::{DocumentKey, SearchIndex, SearchQuery};
use crate::domain::knowledge::{AnchorPath, AnchorVerdict, KnowledgeSnapshot, Record, RecordId, Statement};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::sys::clock;

use super::ask::Viewer;
use super::project::KnowledgeProject;

/// How long an expression may take.
const TIME_LIMIT: Duration = Duration::from_millis(80);

/// Evaluates an expression. What is wrong with it is an answer, too.
pub fn evaluate(op: &Op, text: &str) -> Result<QueryAnswer, CommandError> {
    evaluate_as_of(op, text, None)
}

/// The same over what was recorded by a moment.
pub fn evaluate_as_of(op: &Op, text: &str, moment: Option<Timestamp>) -> Result<QueryAnswer, CommandError> {
    let project = KnowledgeProject::of(op);
    let stored = project.stored_as_of(op, moment)?;
    let snapshot = stored.snapshot();
    let viewer = RefCell::new(Viewer::of_commits(op, &project, stored.commits()));
    let facts = WorkTreeFacts { snapshot: &snapshot, viewer, index: stored.index(), start: Instant::now() };
    let world = QueryWorld { snapshot: &snapshot, facts: &facts };
    Ok(scheme::evaluate(text, &world, QueryBudget::default()))
}

/// What the asker's work tree knows.
struct WorkTreeFacts<'a> {
    snapshot: &'a KnowledgeSnapshot,
    viewer: RefCell<Viewer>,
    index: &'a SearchIndex,
    start: Instant,
}

impl QueryFacts for WorkTreeFacts<'_> {
    fn verdict(&self, id: &RecordId) -> Option<AnchorVerdict> {
        let record = self.snapshot.get(id)?;
        let has_place = record.anchors.iter().any(|anchor| anchor.target.path().is_some());
        has_place.then(|| self.viewer.borrow_mut().standing(record).verdict)
    }

    fn search(&self, words: &str, limit: usize) -> Vec<RecordId> {
        let standing = |key: &DocumentKey| {
            let record = self.snapshot.get(key.record()?)?;
            Some(self.viewer.borrow_mut().standing(record))
        };
        // The checksum of the index was right, so it can be read.
        let hits = self.index.search(&SearchQuery::new(words, limit), standing).unwrap_or_default();
        hits.into_iter().filter_map(|hit| hit.key.record().cloned()).collect()
    }

    fn outline(&self, path: &str) -> Option<Vec<QueryOutlineRow>> {
        let path = AnchorPath::new(path).ok()?;
        let outline = self.viewer.borrow_mut().judge.outline(&path).ok()??;
        let row = |symbol: &crate::domain::knowledge::OutlineSymbol| QueryOutlineRow {
            name: symbol.qualified.clone(),
            kind: symbol.kind.word().to_string(),
            first_line: symbol.first_line,
            last_line: symbol.last_line,
        };
        Some(outline.symbols.iter().map(row).collect())
    }

    fn history(&self, id: &RecordId) -> Vec<QueryEvent> {
        let Some(record) = self.snapshot.get(id) else { return Vec::new() };
        let mut events = history(record);
        events.sort_by_key(|event| event.at);
        events
    }

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn is_out_of_time(&self) -> bool {
        self.start.elapsed() >= TIME_LIMIT
    }
}

/// The texts that are known, and who confirmed the record.
fn history(record: &Record) -> Vec<QueryEvent> {
    let said = |statement: &Statement| QueryEvent {
        at: statement.origin.at,
        author: statement.origin.author.clone(),
        text: statement.headline().to_string(),
    };
    let confirmed = record.confirmations.iter().map(|confirmation| QueryEvent {
        at: confirmation.origin.at,
        author: confirmation.origin.author.clone(),
        text: "confirmed it".to_string(),
    });
    record.also_said.iter().chain([&record.statement]).map(said).chain(confirmed).collect()
}

//! Answers expressions about the records.

use std::cell::{Cell, OnceCell, RefCell};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::domain::knowledge::scheme::{
    self, QueryAnswer, QueryBudget, QueryEvent, QueryFacts, QueryOutlineRow, QueryWorld,
};
use crate::domain::knowledge::search::{DocumentKey, SearchQuery};
use crate::domain::knowledge::{
    AnchorPath, AnchorVerdict, KnowledgeEvent, KnowledgeEventKind, KnowledgeSnapshot, RecordId, timeline,
};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::StoredRecords;
use crate::sys::clock;

use super::ask::{Viewer, index_for};
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
    let facts = WorkTreeFacts {
        project: &project,
        stored: &stored,
        snapshot: &snapshot,
        viewer,
        moment,
        events: OnceCell::new(),
        start: Instant::now(),
        reading: Cell::default(),
    };
    let world = QueryWorld { snapshot: &snapshot, facts: &facts };
    Ok(scheme::evaluate(text, &world, QueryBudget::default()))
}

/// The error for an expression that has no value.
pub fn expression_error(answer: &QueryAnswer) -> Option<CommandError> {
    match answer {
        QueryAnswer::Value(_) | QueryAnswer::Help(_) => None,
        QueryAnswer::Wrong(wrong) => {
            let text = format!("{} (line {}, column {})", wrong.message, wrong.line, wrong.column);
            let error = CommandError::new(CommandErrorKind::InvalidValue, text);
            let near = wrong.near.iter().map(|near| format!("`{}`: `{}`", near.name, near.example));
            let error = near.fold(error, CommandError::hint).hint("`(help)` has examples");
            Some(error.fact("at", format!("{}:{}", wrong.line, wrong.column)))
        }
        QueryAnswer::Over(limit) => {
            let text = format!("the expression went over its budget: {limit}");
            let error = CommandError::new(CommandErrorKind::OverBudget, text).hint(limit.hint());
            Some(error.fact("budget", limit.as_str()))
        }
    }
}

/// What the asker's work tree knows.
struct WorkTreeFacts<'a> {
    project: &'a KnowledgeProject,
    stored: &'a StoredRecords,
    snapshot: &'a KnowledgeSnapshot,
    viewer: RefCell<Viewer>,
    /// What came later is not told.
    moment: Option<Timestamp>,
    /// What happened, the latest first, with texts that were replaced. Read when it is first asked for.
    events: OnceCell<Vec<KnowledgeEvent>>,
    start: Instant,
    /// How long it took to read what happened. That is not the fault of the expression.
    reading: Cell<Duration>,
}

impl WorkTreeFacts<'_> {
    fn events(&self) -> &[KnowledgeEvent] {
        self.events.get_or_init(|| {
            let start = Instant::now();
            // What is wrong with the log was told when the records were read.
            let mut cells = self.project.log.history().map(|content| content.cells).unwrap_or_default();
            self.project.pages().add_to(&mut cells);
            let mut events = timeline(&cells);
            events.retain(|event| self.moment.is_none_or(|moment| event.at <= moment));
            self.reading.set(start.elapsed());
            events
        })
    }
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
        let query = SearchQuery::new(words, limit);
        // The checksum of the index was right, so it can be read.
        let hits = index_for(&query, self.stored).search(&query, standing).unwrap_or_default();
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
        let told = self.events().iter().rev().filter(|event| event.id == *id);
        told.filter_map(query_event).collect()
    }

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn is_out_of_time(&self) -> bool {
        self.start.elapsed() >= TIME_LIMIT + self.reading.get()
    }
}

/// A text that was said, or what was done to the record. Changes of anchors and tags are not told.
fn query_event(event: &KnowledgeEvent) -> Option<QueryEvent> {
    let text = match (&event.statement, event.kind) {
        (Some(statement), _) => statement.words().into_owned(),
        (None, KnowledgeEventKind::Confirmed) => "confirmed it".to_string(),
        (None, KnowledgeEventKind::Retired) => "retired it".to_string(),
        (None, _) => return None,
    };
    Some(QueryEvent { at: event.at, author: event.author.clone(), text })
}

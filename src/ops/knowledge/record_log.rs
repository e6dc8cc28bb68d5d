//! What was recorded, by whom and when.

use jiff::Timestamp;

use crate::domain::knowledge::{KnowledgeEvent, RecordId, merge, timeline};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

use super::ask::unknown;
use super::project::KnowledgeProject;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct RecordLogQuestion {
    /// The name of a record, or `kind/name`; it may be retired.
    pub name: Option<String>,
    pub since: Option<Timestamp>,
    pub limit: usize,
}

/// What happened, the latest first.
#[derive(Clone, Debug)]
pub struct RecordLog {
    pub events: Vec<KnowledgeEvent>,
    /// How many there are that fit, shown or not.
    pub total: usize,
}

pub fn record_log(op: &Op, question: &RecordLogQuestion) -> Result<RecordLog, CommandError> {
    let project = KnowledgeProject::of(op);
    let cells = project.history_with_pages(op)?;
    let mut events = timeline(&cells);
    if let Some(name) = &question.name {
        let id = RecordId::parse(name);
        let is_meant = |event: &KnowledgeEvent| match &id {
            Some(id) => event.id == *id,
            None => event.id.name.as_str() == name,
        };
        events.retain(is_meant);
        if events.is_empty() {
            return Err(unknown(&merge(cells), name));
        }
    }
    events.retain(|event| question.since.is_none_or(|since| event.at >= since));
    let total = events.len();
    events.truncate(question.limit);
    Ok(RecordLog { events, total })
}

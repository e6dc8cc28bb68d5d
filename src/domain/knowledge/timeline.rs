//! What happened to the records, and what they said at an earlier moment.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;

use super::cell::{Cell, CellKey, CellValue, RecordField, Version, WriterId};
use super::merge::merge;
use super::record_id::RecordId;
use super::snapshot::KnowledgeSnapshot;
use super::statement::{Origin, Statement};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KnowledgeEventKind {
    /// The record was new, or had been retired.
    Recorded,
    /// Its text was said anew.
    Updated,
    /// Something else of it was changed, such as its anchors.
    Changed,
    Confirmed,
    /// A page of it was written.
    Published,
    Retired,
}

impl KnowledgeEventKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Updated => "updated",
            Self::Changed => "changed",
            Self::Confirmed => "confirmed",
            Self::Published => "published",
            Self::Retired => "retired",
        }
    }
}

/// What one writer did to one record in one step.
#[derive(Clone, Debug, PartialEq)]
pub struct KnowledgeEvent {
    pub id: RecordId,
    pub kind: KnowledgeEventKind,
    pub at: Timestamp,
    pub author: String,
    /// The text, if one was said.
    pub statement: Option<Statement>,
    /// The fields that were changed.
    pub fields: Vec<RecordField>,
}

/// What happened, the latest first. The cells are all that are kept, also those that later ones replaced.
pub fn timeline(cells: &[Cell]) -> Vec<KnowledgeEvent> {
    let authors = authors(cells);
    let mut steps: BTreeMap<(Version, &RecordId), Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        steps.entry((cell.version(), &cell.key.record)).or_default().push(cell);
    }
    let mut known: HashSet<&RecordId> = HashSet::new();
    let mut events: Vec<KnowledgeEvent> = Vec::with_capacity(steps.len());
    for ((version, id), cells) in steps {
        let statement = cells.iter().find_map(|cell| match &cell.value {
            CellValue::Statement { statement, .. } => Some((**statement).clone()),
            _ => None,
        });
        let mut fields: Vec<RecordField> = cells.iter().map(|cell| cell.key.field).collect();
        fields.dedup();
        let kind = match (&statement, fields.as_slice()) {
            (Some(_), _) if known.insert(id) => KnowledgeEventKind::Recorded,
            (Some(_), _) => KnowledgeEventKind::Updated,
            (None, [RecordField::Confirmation]) => KnowledgeEventKind::Confirmed,
            (None, [RecordField::Page]) => KnowledgeEventKind::Published,
            (None, fields) if fields.contains(&RecordField::Life) => {
                known.remove(id);
                KnowledgeEventKind::Retired
            }
            (None, _) => KnowledgeEventKind::Changed,
        };
        let at = statement.as_ref().map(|statement| statement.origin.at);
        let by_stamp = || Timestamp::from_millisecond(version.stamp.milliseconds).unwrap_or_default();
        let author = cells.iter().find_map(|cell| origin(cell)).map(|origin| origin.author.clone());
        let author = author.or_else(|| authors.get(&version.writer).cloned());
        events.push(KnowledgeEvent {
            id: id.clone(),
            kind,
            at: at.unwrap_or_else(by_stamp),
            author: author.unwrap_or_else(|| version.writer.to_string()),
            statement,
            fields,
        });
    }
    events.reverse();
    events
}

/// The name that each writer last used.
fn authors(cells: &[Cell]) -> HashMap<WriterId, String> {
    let mut authors: HashMap<WriterId, (Version, String)> = HashMap::new();
    for cell in cells {
        if let Some(origin) = origin(cell) {
            let version = cell.version();
            let is_later = authors.get(&cell.key.writer).is_none_or(|(known, _)| *known < version);
            if is_later {
                authors.insert(cell.key.writer.clone(), (version, origin.author.clone()));
            }
        }
    }
    authors.into_iter().map(|(writer, (_, author))| (writer, author)).collect()
}

fn origin(cell: &Cell) -> Option<&Origin> {
    match &cell.value {
        CellValue::Statement { statement, .. } => Some(&statement.origin),
        CellValue::Confirmation(origin) => Some(origin),
        _ => None,
    }
}

/// The records as they were at a moment. The cells are all that are kept, also those that later ones replaced: what is
/// not kept any more is not there.
pub fn snapshot_as_of(cells: Vec<Cell>, moment: Timestamp) -> KnowledgeSnapshot {
    merge_history(cells.into_iter().filter(|cell| cell.stamp.milliseconds <= moment.as_millisecond()))
}

/// The records that were retired, as they were then. The cells are all that are kept.
pub fn snapshot_of_retired(cells: Vec<Cell>) -> KnowledgeSnapshot {
    let mut ends: HashMap<RecordId, Version> = HashMap::new();
    for cell in cells.iter().filter(|cell| cell.key.field == RecordField::Life) {
        let end = ends.entry(cell.key.record.clone()).or_insert_with(|| cell.version());
        *end = end.clone().max(cell.version());
    }
    let is_before = |cell: &Cell| ends.get(&cell.key.record).is_some_and(|end| cell.version() < *end);
    merge_history(cells.into_iter().filter(is_before))
}

/// Merges the latest cell of each key.
fn merge_history(cells: impl Iterator<Item = Cell>) -> KnowledgeSnapshot {
    let mut latest: HashMap<CellKey, Cell> = HashMap::new();
    for cell in cells {
        match latest.get(&cell.key) {
            Some(known) if known.stamp >= cell.stamp => {}
            _ => drop(latest.insert(cell.key.clone(), cell)),
        }
    }
    merge(latest.into_values())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::knowledge::{Basis, Stamp};

    fn cell(record: &str, field: RecordField, by: &str, ms: i64, value: CellValue) -> Cell {
        let key = CellKey {
            record: RecordId::parse(record).unwrap(),
            field,
            entry: String::new(),
            writer: WriterId::new(by).unwrap(),
        };
        Cell { key, stamp: Stamp { milliseconds: ms, counter: 0 }, value }
    }

    fn said(record: &str, by: &str, ms: i64, text: &str) -> Cell {
        let origin = Origin::new(by.to_uppercase(), Timestamp::from_millisecond(ms).unwrap());
        let statement = Statement::new(text, Basis::Told, origin);
        let value = CellValue::Statement { statement: Box::new(statement), replaces: Vec::new() };
        cell(record, RecordField::Text, by, ms, value)
    }

    fn history() -> Vec<Cell> {
        vec![
            said("note/x", "a", 1, "first"),
            cell("note/x", RecordField::Also, "a", 1, CellValue::Present(String::new())),
            said("note/x", "a", 3, "second"),
            said("note/y", "b", 2, "other"),
            cell("note/x", RecordField::Life, "b", 4, CellValue::Removed),
            said("note/x", "a", 5, "again"),
            cell("note/y", RecordField::Tag, "b", 6, CellValue::Present("t".to_string())),
        ]
    }

    #[test]
    fn a_retired_record_is_as_it_was() {
        let snapshot = snapshot_of_retired(history());
        let texts: Vec<&str> = snapshot.records().map(|record| record.statement.headline()).collect();
        assert_eq!(texts, ["second"], "and what was never retired is not among them");
    }

    #[test]
    fn what_happened_is_told_latest_first() {
        let told: Vec<String> = timeline(&history())
            .iter()
            .map(|event| {
                format!(
                    "{} {} {} by {}",
                    event.at.as_millisecond(),
                    event.kind.as_str(),
                    event.id,
                    event.author
                )
            })
            .collect();
        let expected = [
            "6 changed note/y by B",
            "5 recorded note/x by A",
            "4 retired note/x by B",
            "3 updated note/x by A",
            "2 recorded note/y by B",
            "1 recorded note/x by A",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_moment_has_what_was_said_by_then() {
        let texts = |ms: i64| -> Vec<String> {
            let snapshot = snapshot_as_of(history(), Timestamp::from_millisecond(ms).unwrap());
            snapshot.records().map(|record| record.statement.description.clone()).collect()
        };
        assert_eq!(texts(0), [] as [&str; 0]);
        assert_eq!(texts(1), ["first"]);
        assert_eq!(texts(3), ["second", "other"]);
        assert_eq!(texts(4), ["other"]);
        assert_eq!(texts(9), ["again", "other"]);
    }
}

//! How the cells of all writers become records.
//!
//! Of a field's entries the latest version wins, each on its own; an entry that was removed later than it was added is
//! not there. The texts of a record are one entry, so they win together. The order of the cells does not matter.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::Timestamp;

use super::cell::{Cell, CellValue, RecordField, Stamp, Version};
use super::confidence::confidence;
use super::record::{Confirmation, Record};
use super::record_id::RecordId;
use super::snapshot::KnowledgeSnapshot;
use super::statement::Statement;

#[cfg(test)]
mod tests;

/// Merges cells. A record is there if it has a text that nobody removed.
pub fn merge(cells: impl IntoIterator<Item = Cell>) -> KnowledgeSnapshot {
    let mut drafts: BTreeMap<RecordId, Vec<Cell>> = BTreeMap::new();
    for cell in cells {
        drafts.entry(cell.key.record.clone()).or_default().push(cell);
    }
    let latest = drafts.iter().filter_map(|(id, cells)| {
        let stamps = cells.iter().map(|cell| cell.stamp);
        Some((id.clone(), stamps.max()?))
    });
    let latest = latest.collect();
    let records = drafts.into_iter().filter_map(|(id, cells)| Some((id.clone(), record(id, cells)?)));
    let mut records: BTreeMap<RecordId, Record> = records.collect();
    for (new, old) in supersessions(&records) {
        if let Some(record) = records.get_mut(&old) {
            record.superseded_by.insert(new);
        }
    }
    KnowledgeSnapshot::new(records, latest)
}

fn record(id: RecordId, mut cells: Vec<Cell>) -> Option<Record> {
    // Of a record that was retired and is said again, nothing of before is left.
    let removed = cells.iter().filter(|cell| cell.key.field == RecordField::Life).map(Cell::version).max();
    cells.retain(|cell| removed.as_ref().is_none_or(|removed| cell.version() > *removed));
    // A page says nothing new.
    cells.retain(|cell| cell.key.field != RecordField::Page);
    let changed = cells.iter().map(|cell| cell.stamp.milliseconds).max()?;
    let texts = Texts::of(&cells);
    let winners = winners(cells);
    let (version, statement) = texts.latest()?;
    let confirmed = winners.iter().filter(|cell| cell.key.field == RecordField::Confirmation);
    let settled = confirmed.map(|cell| cell.stamp).max();
    let (also_said, versions) = texts.unsettled(&version, settled);
    // What was said about an earlier text says nothing about this one.
    let is_about_it = |cell: &&Cell| cell.stamp >= version.stamp;
    let confirmations = confirmations(winners.iter().filter(is_about_it), &statement);
    let given = winners.iter().filter(is_about_it).find_map(|cell| match cell.value {
        CellValue::Confidence(given) => Some(given),
        _ => None,
    });
    let confidence = given.unwrap_or_else(|| confidence(statement.basis, confirmations.len()));
    let entries = |field: RecordField| present(&winners, field).map(|(entry, _)| entry.to_string());
    let mut related: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (entry, _) in present(&winners, RecordField::Related) {
        if let Some((group, name)) = entry.split_once('/') {
            related.entry(group.to_string()).or_default().insert(name.to_string());
        }
    }
    let anchors = winners.iter().filter_map(|cell| match &cell.value {
        CellValue::Anchor(anchor) => Some((**anchor).clone()),
        _ => None,
    });
    Some(Record {
        also_said,
        versions,
        tags: present(&winners, RecordField::Tag)
            .map(|(tag, value)| (tag.to_string(), value.to_string()))
            .collect(),
        related,
        anchors: anchors.collect(),
        also: entries(RecordField::Also).collect(),
        evidence: entries(RecordField::Evidence).collect(),
        concepts: entries(RecordField::Concept).collect(),
        symbols: entries(RecordField::Symbol).collect(),
        supersedes: entries(RecordField::Supersedes).filter_map(|entry| RecordId::parse(&entry)).collect(),
        superseded_by: BTreeSet::new(),
        confirmations,
        confidence,
        changed: Timestamp::from_millisecond(changed).unwrap_or(statement.origin.at),
        statement,
        id,
    })
}

/// The latest cell of each entry, in the order of fields and entries.
fn winners(cells: Vec<Cell>) -> Vec<Cell> {
    let mut winners: BTreeMap<(RecordField, String), Cell> = BTreeMap::new();
    for cell in cells {
        let place = (cell.key.field, cell.key.entry.clone());
        match winners.get(&place) {
            Some(winner) if winner.version() >= cell.version() => {}
            _ => {
                winners.insert(place, cell);
            }
        }
    }
    winners.into_values().collect()
}

fn present(winners: &[Cell], field: RecordField) -> impl Iterator<Item = (&str, &str)> {
    winners.iter().filter(move |cell| cell.key.field == field).filter_map(|cell| match &cell.value {
        CellValue::Present(text) => Some((cell.key.entry.as_str(), text.as_str())),
        _ => None,
    })
}

/// Those by others than the author: nobody confirms what they said themselves.
fn confirmations<'a>(winners: impl Iterator<Item = &'a Cell>, statement: &Statement) -> Vec<Confirmation> {
    let origins = winners.filter_map(|cell| match &cell.value {
        CellValue::Confirmation(origin) => Some(origin),
        _ => None,
    });
    let of_others = origins.filter(|origin| origin.author != statement.origin.author);
    of_others.map(|origin| Confirmation { origin: origin.clone() }).collect()
}

/// The statements about one record.
struct Texts {
    said: BTreeMap<Version, Statement>,
    /// Versions that the author of another one had seen.
    replaced: HashSet<Version>,
}

impl Texts {
    fn of(cells: &[Cell]) -> Self {
        let mut texts = Self { said: BTreeMap::new(), replaced: HashSet::new() };
        for cell in cells {
            if let CellValue::Statement { statement, replaces } = &cell.value {
                texts.said.insert(cell.version(), (**statement).clone());
                texts.replaced.extend(replaces.iter().cloned());
            }
        }
        texts
    }

    fn latest(&self) -> Option<(Version, Statement)> {
        self.said.last_key_value().map(|(version, statement)| (version.clone(), statement.clone()))
    }

    /// The statements besides `winner` that nobody replaced and that were not there when somebody last confirmed it, and
    /// the versions of all others.
    fn unsettled(&self, winner: &Version, settled: Option<Stamp>) -> (Vec<Statement>, Vec<Version>) {
        let is_open = |version: &Version| {
            !self.replaced.contains(version) && settled.is_none_or(|at| version.stamp > at)
        };
        let (mut open, mut rest): (Vec<Statement>, Vec<Version>) = (Vec::new(), Vec::new());
        for (version, statement) in self.said.iter().rev() {
            let is_repeated = |other: &Statement| other.is_same_text(statement);
            let is_new = !open.iter().any(is_repeated) && !is_repeated(&self.said[winner]);
            if version != winner && is_open(version) && is_new {
                open.push(statement.clone());
            } else {
                rest.push(version.clone());
            }
        }
        (open, rest)
    }
}

/// Who supersedes whom, without those who supersede each other in a circle.
fn supersessions(records: &BTreeMap<RecordId, Record>) -> Vec<(RecordId, RecordId)> {
    let circles = in_circles(records);
    let pairs = records.values().flat_map(|record| record.supersedes.iter().map(|old| (&record.id, old)));
    let is_circle = |new: &RecordId, old: &RecordId| match (circles.get(new), circles.get(old)) {
        (Some(one), Some(two)) => one == two,
        _ => false,
    };
    pairs.filter(|(new, old)| !is_circle(new, old)).map(|(new, old)| (new.clone(), old.clone())).collect()
}

/// Numbers the circles of supersession, and says in which one a record is.
fn in_circles(records: &BTreeMap<RecordId, Record>) -> HashMap<&RecordId, usize> {
    let reached = |start: &RecordId| {
        let mut seen: BTreeSet<&RecordId> = BTreeSet::new();
        let mut open: Vec<&RecordId> =
            records.get(start).into_iter().flat_map(|record| &record.supersedes).collect();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(records.get(next).into_iter().flat_map(|record| &record.supersedes));
            }
        }
        seen
    };
    let superseding = records.values().filter(|record| !record.supersedes.is_empty());
    let circular: BTreeMap<&RecordId, BTreeSet<&RecordId>> = superseding
        .map(|record| (&record.id, reached(&record.id)))
        .filter(|(id, reached)| reached.contains(id))
        .collect();
    let mut numbers = HashMap::new();
    for (number, (id, reached)) in circular.iter().enumerate() {
        for other in reached.iter().filter(|other| circular.get(*other).is_some_and(|back| back.contains(id)))
        {
            numbers.entry(*other).or_insert(number);
        }
    }
    numbers
}

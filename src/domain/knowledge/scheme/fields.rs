//! The fields of records.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::dialect::FIELD_DIALECT;
use super::fault::{Stop, WantedItem, excerpt};
use super::heap::Heap;
use super::value::Value;
use crate::domain::knowledge::{AnchorVerdict, Record, Statement};

/// The fields that every record has. They are `nil` or empty where a kind has no use for them. In this order they are
/// shown.
pub(super) const FIELDS: [&str; 37] = [
    "name",
    "kind",
    "id",
    "type",
    "status",
    "from",
    "to",
    "description",
    "rationale",
    "summary",
    "headline",
    "impact",
    "confidence",
    "basis",
    "verdict",
    "anchors",
    "path",
    "paths",
    "evidence",
    "concepts",
    "symbols",
    "tags",
    "related",
    "related-files",
    "related-decisions",
    "related-principles",
    "related-patterns",
    "also",
    "supersedes",
    "superseded-by",
    "superseded",
    "stale",
    "also-said",
    "confirmations",
    "author",
    "at",
    "changed",
];

/// Fields that are shown only if they are asked for, because others say the same.
pub(super) const DERIVED_FIELDS: [&str; 12] = [
    "id",
    "headline",
    "path",
    "paths",
    "related-files",
    "related-decisions",
    "related-principles",
    "related-patterns",
    "superseded",
    "stale",
    "commit",
    "branch",
];

/// What is shown of a record in a list.
const ROW_FIELDS: [&str; 10] =
    ["name", "kind", "type", "status", "from", "to", "confidence", "verdict", "superseded-by", "headline"];

/// Our name of a field: `relatedFiles`, `related_files` and `related-files` are one.
pub(super) fn field_name(written: &str) -> Option<&'static str> {
    let mut name = String::new();
    for char in written.chars().take(40) {
        if char.is_uppercase() && name.ends_with(char::is_lowercase) {
            name.push('-');
        }
        match char {
            '_' => name.push('-'),
            '?' => {}
            char => name.extend(char.to_lowercase()),
        }
    }
    let ours = FIELD_DIALECT.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours);
    let name = ours.unwrap_or(&name);
    FIELDS.iter().chain(&DERIVED_FIELDS).copied().find(|field| *field == name)
}

/// To the second.
pub(super) fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

impl<'w> Heap<'w> {
    /// A field of a record, or one of its tags.
    pub(super) fn field(&mut self, record: &'w Record, written: &str) -> Result<Value<'w>, Stop> {
        self.meter.steps(1)?;
        match field_name(written) {
            Some(field) => self.known_field(record, field),
            None => match record.tags.get(written) {
                Some(tag) => self.text(tag.as_str()),
                None => Err(Stop::wanting(
                    format!("records have no field `{}`", excerpt(written)),
                    WantedItem::Field(written.to_string()),
                )),
            },
        }
    }

    pub(super) fn known_field(&mut self, record: &'w Record, field: &str) -> Result<Value<'w>, Stop> {
        let statement = &record.statement;
        match field {
            "name" => self.text(record.id.name.as_str()),
            "kind" => self.symbol(record.id.kind.as_str()),
            "id" => self.text(record.id.to_string()),
            "description" => self.text_or_nil(&statement.description),
            "rationale" => self.text_or_nil(&statement.rationale),
            "summary" => self.text_or_nil(&statement.summary),
            "headline" => self.text_or_nil(statement.headline()),
            "status" => self.word_or_nil(record.status().map(|status| status.as_str())),
            "impact" => Ok(statement.impact.map_or(Value::Nil, |impact| Value::Integer(impact.into()))),
            "type" => match &statement.ends {
                Some(ends) => self.symbol(ends.relation.as_str()),
                None => self.text_or_nil(&statement.pattern_type),
            },
            "from" => self.text_or_nil(statement.ends.as_ref().map_or("", |ends| &ends.from)),
            "to" => self.text_or_nil(statement.ends.as_ref().map_or("", |ends| &ends.to)),
            "basis" => self.symbol(statement.basis.as_str()),
            "author" => self.text_or_nil(&statement.origin.author),
            "at" => self.text(time_text(statement.origin.at)),
            "commit" => self.text_or_nil(statement.origin.commit.as_deref().unwrap_or("")),
            "branch" => self.text_or_nil(statement.origin.branch.as_deref().unwrap_or("")),
            "changed" => self.text(time_text(record.changed)),
            "confidence" => Ok(Value::Float(record.confidence)),
            "verdict" => {
                let verdict = self.verdict(record)?;
                self.word_or_nil(verdict)
            }
            "stale" => Ok(Value::Truth(matches!(self.verdict(record)?, Some("stale" | "gone")))),
            "superseded" => Ok(Value::Truth(record.is_superseded())),
            _ => self.field_of_several(record, field),
        }
    }

    fn field_of_several(&mut self, record: &'w Record, field: &str) -> Result<Value<'w>, Stop> {
        let related = |group: &str| record.related.get(group).into_iter().flatten().map(String::as_str);
        match field {
            "anchors" => self.made_texts(record.anchors.iter().map(|anchor| anchor.target.to_string())),
            "path" => self.text_or_nil(paths(record).first().copied().unwrap_or("")),
            "paths" => self.texts(paths(record)),
            "tags" => {
                let mut tags = Vec::new();
                for (tag, value) in &record.tags {
                    tags.push((self.keyword(tag)?, self.text(value.as_str())?));
                }
                self.dict(tags)
            }
            "related" => {
                let mut groups = Vec::new();
                for (group, names) in &record.related {
                    groups.push((self.keyword(group)?, self.texts(names.iter().map(String::as_str))?));
                }
                self.dict(groups)
            }
            "related-files" => self.texts(related("files")),
            "related-decisions" => self.texts(related("decisions")),
            "related-principles" => self.texts(related("principles")),
            "related-patterns" => self.texts(related("patterns")),
            "also" => self.texts(record.also.iter().map(String::as_str)),
            "evidence" => self.texts(record.evidence.iter().map(String::as_str)),
            "concepts" => self.texts(record.concepts.iter().map(String::as_str)),
            "symbols" => self.texts(record.symbols.iter().map(String::as_str)),
            "supersedes" => self.made_texts(record.supersedes.iter().map(ToString::to_string)),
            "superseded-by" => self.made_texts(record.superseded_by.iter().map(ToString::to_string)),
            "confirmations" => self
                .texts(record.confirmations.iter().map(|confirmation| confirmation.origin.author.as_str())),
            "also-said" => {
                let said = record.also_said.iter().map(also_said);
                self.made_texts(said)
            }
            _ => Ok(Value::Nil),
        }
    }

    /// All fields of a record that say something.
    pub(super) fn shown_fields(
        &mut self,
        record: &'w Record,
    ) -> Result<Vec<(&'static str, Value<'w>)>, Stop> {
        self.fields_that_say_something(record, FIELDS.iter().filter(|field| !DERIVED_FIELDS.contains(field)))
    }

    /// The fields of a record that stand in a list.
    pub(super) fn row_fields(&mut self, record: &'w Record) -> Result<Vec<(&'static str, Value<'w>)>, Stop> {
        let mut row = self.fields_that_say_something(record, &ROW_FIELDS)?;
        // A fresh anchor is the rule and says nothing.
        let is_silent =
            |heap: &Self, value| matches!(heap.letters(value), Some("fresh" | "moved" | "drifted"));
        row.retain(|(field, value)| *field != "verdict" || !is_silent(self, *value));
        Ok(row)
    }

    fn fields_that_say_something<'f>(
        &mut self,
        record: &'w Record,
        fields: impl IntoIterator<Item = &'f &'static str>,
    ) -> Result<Vec<(&'static str, Value<'w>)>, Stop> {
        let mut shown = Vec::new();
        for field in fields {
            let value = self.known_field(record, field)?;
            let is_empty = match value {
                Value::Nil => true,
                Value::List(list) => list.len() == 0,
                Value::Dict(dict) => self.entries(dict).is_empty(),
                _ => false,
            };
            if !is_empty {
                shown.push((*field, value));
            }
        }
        Ok(shown)
    }

    /// What the asker's worktree says about the anchors of a record.
    pub(super) fn verdict(&mut self, record: &'w Record) -> Result<Option<&'static str>, Stop> {
        self.meter.steps(1)?;
        self.meter.look()?;
        Ok(self.world.facts.verdict(&record.id).map(AnchorVerdict::as_str))
    }

    pub(super) fn texts(&mut self, texts: impl IntoIterator<Item = &'w str>) -> Result<Value<'w>, Stop> {
        let texts = texts.into_iter().map(|text| self.text(text)).collect::<Result<_, _>>()?;
        self.list(texts)
    }

    pub(super) fn made_texts(&mut self, texts: impl IntoIterator<Item = String>) -> Result<Value<'w>, Stop> {
        let texts = texts.into_iter().map(|text| self.text(text)).collect::<Result<_, _>>()?;
        self.list(texts)
    }

    fn text_or_nil(&mut self, text: &'w str) -> Result<Value<'w>, Stop> {
        if text.is_empty() { Ok(Value::Nil) } else { self.text(text) }
    }

    fn word_or_nil(&mut self, word: Option<&str>) -> Result<Value<'w>, Stop> {
        word.map_or(Ok(Value::Nil), |word| self.symbol(word))
    }
}

fn also_said(statement: &Statement) -> String {
    let origin = &statement.origin;
    format!("{} ({}, {})", statement.headline(), origin.author, time_text(origin.at))
}

/// The files in which a record is anchored.
pub(super) fn paths(record: &Record) -> Vec<&str> {
    let paths: BTreeSet<&str> =
        record.anchors.iter().filter_map(|anchor| anchor.target.path()).map(|path| path.as_str()).collect();
    paths.into_iter().collect()
}

//! The records as they are after merging, with their search index, as one piece of bytes: what is made in memory is what
//! the cache stores. A question reads the index and the few records that it shows.
//!
//! ```text
//! "ravenry-records 2\n", length of the index u32, CRC-32 of what follows up to the index
//! key of the sources
//! problems of the log, commits at which records were made
//! records: how many, place of each in the order of ids, length of all
//! records
//! search index, with a checksum of its own
//! ```

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::cache_format::{Decoder, Encoder};
use super::source_key::SourceKey;
use crate::domain::knowledge::search::SearchIndex;
use crate::domain::knowledge::{Confirmation, KnowledgeSnapshot, Record, RecordId, RecordKind, RecordName};

const MAGIC: &[u8] = b"ravenry-records 2\n";
/// The magic, the length of the index and the checksum.
const HEADER: usize = MAGIC.len() + 8;

/// All records of a project, each read when it is asked for.
#[derive(Clone, Debug)]
pub struct StoredRecords {
    bytes: Vec<u8>,
    index: SearchIndex,
    problems: Vec<String>,
    commits: Vec<String>,
    count: usize,
    /// Where the places of the records, and the records, begin.
    places: usize,
    records: usize,
}

impl StoredRecords {
    /// `None` only if there are more records than can be stored, 4 GiB.
    pub fn of(key: &SourceKey, snapshot: &KnowledgeSnapshot, problems: &[String]) -> Option<Self> {
        let mut head = Encoder::default();
        head.text(key.as_str());
        head.texts(problems.iter().map(String::as_str));
        let commits = snapshot.records().filter_map(|record| record.statement.origin.commit.as_deref());
        head.texts(commits.collect::<BTreeSet<&str>>());
        let (mut places, mut records) = (Encoder::default(), Encoder::default());
        for record in snapshot.records() {
            places.u32(u32::try_from(records.0.len()).ok()?);
            records.merged_record(record);
        }
        head.count(snapshot.len());
        let body = [head.0, places.0, records.0].concat();
        let index = SearchIndex::of_records(snapshot.records());
        let index_length = u32::try_from(index.encode().len()).ok()?.to_le_bytes();
        let sum = crc32fast::hash(&body).to_le_bytes();
        Self::decode([MAGIC, &index_length, &sum, &body, index.encode()].concat(), key)
    }

    /// `None`: the bytes are of other sources or another version, or damaged.
    pub(super) fn decode(mut bytes: Vec<u8>, key: &SourceKey) -> Option<Self> {
        let mut header = Decoder(bytes.strip_prefix(MAGIC)?);
        let (index_length, sum) = (header.u32()? as usize, header.u32()?);
        let index = bytes.split_off(bytes.len().checked_sub(index_length)?);
        let body = bytes.get(HEADER..)?;
        let mut rest = Decoder(body);
        if rest.str()? != key.as_str() || crc32fast::hash(body) != sum {
            return None;
        }
        let (problems, commits) = (rest.texts()?, rest.texts()?);
        let count = rest.u32()? as usize;
        let places = bytes.len() - rest.0.len();
        let records = places.checked_add(count.checked_mul(4)?).filter(|records| *records <= bytes.len())?;
        let index = SearchIndex::decode(index).ok()?;
        Some(Self { index, problems, commits, count, places, records, bytes })
    }

    /// The bytes, for the cache.
    pub(super) fn encode(&self) -> Vec<u8> {
        [self.bytes.as_slice(), self.index.encode()].concat()
    }

    /// What could not be read of the log, as sentences.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The commits at which records were made, each once.
    pub fn commits(&self) -> &[String] {
        &self.commits
    }

    pub fn index(&self) -> &SearchIndex {
        &self.index
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn get(&self, id: &RecordId) -> Option<Record> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut reader = self.reader(middle)?;
            match reader.record_id()?.cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.reader(middle)?.merged_record(),
            }
        }
        None
    }

    /// All records, in memory.
    pub fn snapshot(&self) -> KnowledgeSnapshot {
        let records = (0..self.count).filter_map(|number| self.reader(number)?.merged_record());
        KnowledgeSnapshot::of_records(records)
    }

    fn reader(&self, number: usize) -> Option<Decoder<'_>> {
        let place = Decoder(self.bytes.get(self.places + 4 * number..)?).u32()? as usize;
        Some(Decoder(self.bytes.get(self.records.checked_add(place)?..)?))
    }
}

impl Encoder {
    fn texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a str, IntoIter: ExactSizeIterator>) {
        let texts = texts.into_iter();
        self.count(texts.len());
        texts.for_each(|text| self.text(text));
    }

    fn record_id(&mut self, id: &RecordId) {
        self.word(RecordKind::ALL, id.kind);
        self.text(id.name.as_str());
    }

    fn record_ids(&mut self, ids: &BTreeSet<RecordId>) {
        self.count(ids.len());
        ids.iter().for_each(|id| self.record_id(id));
    }

    fn merged_record(&mut self, record: &Record) {
        self.record_id(&record.id);
        self.statement(&record.statement);
        self.count(record.also_said.len());
        record.also_said.iter().for_each(|statement| self.statement(statement));
        self.count(record.versions.len());
        record.versions.iter().for_each(|version| self.version(version));
        self.count(record.tags.len());
        for (tag, value) in &record.tags {
            self.text(tag);
            self.text(value);
        }
        self.count(record.related.len());
        for (group, names) in &record.related {
            self.text(group);
            self.count(names.len());
            names.iter().for_each(|name| self.text(name));
        }
        self.count(record.anchors.len());
        record.anchors.iter().for_each(|anchor| self.anchor(anchor));
        self.count(record.also.len());
        record.also.iter().for_each(|word| self.text(word));
        for list in [&record.evidence, &record.concepts, &record.symbols] {
            self.texts(list.iter().map(String::as_str));
        }
        self.record_ids(&record.supersedes);
        self.record_ids(&record.superseded_by);
        self.count(record.confirmations.len());
        record.confirmations.iter().for_each(|confirmation| self.origin(&confirmation.origin));
        self.0.extend(record.confidence.to_le_bytes());
        self.0.extend(record.changed.as_nanosecond().to_le_bytes());
    }
}

impl Decoder<'_> {
    fn list<T, C: FromIterator<T>>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<C> {
        let count = self.u32()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        self.list(Self::text)
    }

    fn record_id(&mut self) -> Option<RecordId> {
        let kind = self.word(RecordKind::ALL)?;
        Some(RecordId::new(kind, RecordName::new(self.str()?).ok()?))
    }

    fn merged_record(&mut self) -> Option<Record> {
        let id = self.record_id()?;
        let statement = self.statement()?;
        let also_said = self.list(Self::statement)?;
        let versions = self.list(Self::version)?;
        let tags = self.list(|this| Some((this.text()?, this.text()?)))?;
        let related = self.list(|this| Some((this.text()?, this.list(Self::text)?)))?;
        let anchors = self.list(Self::anchor)?;
        let also = self.list(Self::text)?;
        let [evidence, concepts, symbols] = [self.texts()?, self.texts()?, self.texts()?];
        let supersedes = self.list(Self::record_id)?;
        let superseded_by = self.list(Self::record_id)?;
        let confirmations = self.list(|this| Some(Confirmation { origin: this.origin()? }))?;
        let confidence = f64::from_le_bytes(self.array()?);
        let changed = Timestamp::from_nanosecond(i128::from_le_bytes(self.array()?)).ok()?;
        Some(Record {
            id,
            statement,
            also_said,
            versions,
            tags,
            related,
            anchors,
            also,
            evidence,
            concepts,
            symbols,
            supersedes,
            superseded_by,
            confirmations,
            confidence,
            changed,
        })
    }
}

#[cfg(test)]
mod tests;

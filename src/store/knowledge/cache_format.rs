//! The format of the cache.
//!
//! ```text
//! "ravenry-cells 2\n", CRC-32 of the rest
//! files of the log: name, inode, size, modified, changed
//! problems: kind, path, text
//! records: kind, name, and their cells
//! ```
//!
//! Numbers are little-endian. A list and a text begin with their length (u32). A word of a closed set is its place in
//! the set.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use jiff::Timestamp;

use super::log::{LogContent, LogStamp};
use super::problem::{LogProblem, LogProblemKind};
use crate::domain::knowledge::{
    Anchor, AnchorPath, AnchorTarget, Basis, Cell, CellKey, CellValue, DecisionStatus, Origin, RecordField,
    RecordId, RecordKind, RecordName, RelationEnds, RelationType, Stamp, Statement, TextHash, Version,
    WriterId,
};
use crate::sys::files::FileStamp;

const MAGIC: &[u8] = b"ravenry-cells 2\n";

pub(super) fn encode(stamp: &LogStamp, content: &LogContent) -> Vec<u8> {
    let mut body = Encoder::default();
    body.stamp(stamp);
    body.count(content.problems.len());
    for problem in &content.problems {
        body.word(&LogProblemKind::ALL, problem.kind);
        body.bytes(problem.path.as_os_str().as_bytes());
        body.text(&problem.text);
    }
    let records: Vec<&[Cell]> = content.cells.chunk_by(|one, two| one.key.record == two.key.record).collect();
    body.count(records.len());
    records.into_iter().for_each(|cells| body.record(cells));
    [MAGIC, &crc32fast::hash(&body.0).to_le_bytes(), &body.0].concat()
}

/// `None`: the cache does not hold, or is damaged.
pub(super) fn decode(content: &[u8], stamp: &LogStamp) -> Option<LogContent> {
    let (sum, body) = content.strip_prefix(MAGIC)?.split_at_checked(4)?;
    let mut expected = Encoder::default();
    expected.stamp(stamp);
    let rest = body.strip_prefix(expected.0.as_slice())?;
    if crc32fast::hash(body).to_le_bytes() != *sum {
        return None;
    }
    let mut rest = Decoder(rest);
    let mut problems = Vec::new();
    for _ in 0..rest.u32()? {
        let kind = rest.word(&LogProblemKind::ALL)?;
        let path = PathBuf::from(std::ffi::OsString::from_vec(rest.bytes()?.to_vec()));
        problems.push(LogProblem { path, kind, text: rest.text()? });
    }
    let mut cells = Vec::new();
    for _ in 0..rest.u32()? {
        rest.record(&mut cells)?;
    }
    rest.0.is_empty().then_some(LogContent { cells, problems })
}

#[derive(Default)]
pub(super) struct Encoder(pub(super) Vec<u8>);

impl Encoder {
    pub(super) fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(super) fn count(&mut self, number: usize) {
        self.u32(number as u32);
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn i64(&mut self, number: i64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn word<T: PartialEq + Copy>(&mut self, all: &[T], word: T) {
        self.u8(all.iter().position(|other| *other == word).unwrap_or(usize::MAX) as u8);
    }

    /// Whether there is a value, then the value.
    fn optional<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.u8(u8::from(value.is_some()));
        if let Some(value) = value {
            put(self, value);
        }
    }

    pub(super) fn optional_text(&mut self, text: Option<&str>) {
        self.optional(text, Self::text);
    }

    pub(super) fn stamp(&mut self, stamp: &LogStamp) {
        self.count(stamp.files.len());
        for (name, FileStamp { inode, size, modified, changed }) in &stamp.files {
            self.text(name);
            self.0.extend(inode.to_le_bytes());
            self.0.extend(size.to_le_bytes());
            self.i64(*modified);
            self.i64(*changed);
        }
    }

    /// The cells of one record.
    fn record(&mut self, cells: &[Cell]) {
        if let Some(Cell { key, .. }) = cells.first() {
            self.word(RecordKind::ALL, key.record.kind);
            self.text(key.record.name.as_str());
        }
        self.count(cells.len());
        for cell in cells {
            self.word(&RecordField::ALL, cell.key.field);
            self.text(&cell.key.entry);
            self.version(&cell.version());
            self.value(&cell.value);
        }
    }

    pub(super) fn version(&mut self, version: &Version) {
        self.i64(version.stamp.milliseconds);
        self.u32(version.stamp.counter);
        self.text(version.writer.as_str());
    }

    fn value(&mut self, value: &CellValue) {
        match value {
            CellValue::Removed => self.u8(0),
            CellValue::Present(text) => {
                self.u8(1);
                self.text(text);
            }
            CellValue::Statement { statement, replaces } => {
                self.u8(2);
                self.statement(statement);
                self.count(replaces.len());
                replaces.iter().for_each(|version| self.version(version));
            }
            CellValue::Anchor(anchor) => {
                self.u8(3);
                self.anchor(anchor);
            }
            CellValue::Confidence(confidence) => {
                self.u8(4);
                self.0.extend(confidence.to_le_bytes());
            }
            CellValue::Confirmation(origin) => {
                self.u8(5);
                self.origin(origin);
            }
        }
    }

    pub(super) fn origin(&mut self, origin: &Origin) {
        self.text(&origin.author);
        self.0.extend(origin.at.as_nanosecond().to_le_bytes());
        self.optional_text(origin.commit.as_deref());
        self.optional_text(origin.branch.as_deref());
    }

    pub(super) fn statement(&mut self, statement: &Statement) {
        for text in
            [&statement.description, &statement.rationale, &statement.summary, &statement.pattern_type]
        {
            self.text(text);
        }
        self.optional(statement.status, |this, status| this.word(DecisionStatus::ALL, status));
        self.optional(statement.impact, Self::u8);
        self.optional(statement.ends.as_ref(), |this, ends| {
            this.text(&ends.from);
            this.text(&ends.to);
            this.word(RelationType::ALL, ends.relation);
        });
        self.word(Basis::ALL, statement.basis);
        self.origin(&statement.origin);
    }

    pub(super) fn anchor(&mut self, anchor: &Anchor) {
        let hash = |hash: &Option<TextHash>| hash.as_ref().map(|hash| hash.as_str().to_string());
        match &anchor.target {
            AnchorTarget::File { path } => {
                self.u8(0);
                self.text(path.as_str());
            }
            AnchorTarget::Symbol { path, symbol, hash: of } => {
                self.u8(1);
                self.text(path.as_str());
                self.text(symbol);
                self.optional_text(hash(of).as_deref());
            }
            AnchorTarget::Lines { path, first, last, text, hash: of } => {
                self.u8(2);
                self.text(path.as_str());
                self.u32(*first);
                self.u32(*last);
                self.count(text.len());
                text.iter().for_each(|line| self.text(line));
                self.optional_text(hash(of).as_deref());
            }
            AnchorTarget::Command { command } => {
                self.u8(3);
                self.text(command);
            }
            AnchorTarget::Error { text } => {
                self.u8(4);
                self.text(text);
            }
        }
        self.optional_text(anchor.commit.as_deref());
        self.optional_text(hash(&anchor.file).as_deref());
    }
}

/// The rest of what is being read. Every method is `None` if it is too short or wrong.
pub(super) struct Decoder<'a>(pub(super) &'a [u8]);

impl<'a> Decoder<'a> {
    pub(super) fn array<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn str(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(super) fn text(&mut self) -> Option<String> {
        self.str().map(str::to_string)
    }

    pub(super) fn word<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(usize::from(self.u8()?)).copied()
    }

    /// Whether a value follows.
    fn has_value(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn optional_text(&mut self) -> Result<Option<String>, Damaged> {
        match self.has_value().ok_or(Damaged)? {
            true => self.text().map(Some).ok_or(Damaged),
            false => Ok(None),
        }
    }

    fn record(&mut self, cells: &mut Vec<Cell>) -> Option<()> {
        let kind = self.word(RecordKind::ALL)?;
        let record = RecordId::new(kind, RecordName::new(self.str()?).ok()?);
        for _ in 0..self.u32()? {
            let field = self.word(&RecordField::ALL)?;
            let entry = self.text()?;
            let Version { stamp, writer } = self.version()?;
            let key = CellKey { record: record.clone(), field, entry, writer };
            cells.push(Cell { key, stamp, value: self.value()? });
        }
        Some(())
    }

    pub(super) fn version(&mut self) -> Option<Version> {
        let stamp = Stamp { milliseconds: self.i64()?, counter: self.u32()? };
        Some(Version { stamp, writer: WriterId::new(self.str()?)? })
    }

    fn value(&mut self) -> Option<CellValue> {
        Some(match self.u8()? {
            0 => CellValue::Removed,
            1 => CellValue::Present(self.text()?),
            2 => {
                let statement = Box::new(self.statement()?);
                let count = self.u32()?;
                CellValue::Statement {
                    statement,
                    replaces: (0..count).map(|_| self.version()).collect::<Option<_>>()?,
                }
            }
            3 => CellValue::Anchor(Box::new(self.anchor()?)),
            4 => CellValue::Confidence(f64::from_le_bytes(self.array()?)),
            5 => CellValue::Confirmation(self.origin()?),
            _ => return None,
        })
    }

    pub(super) fn origin(&mut self) -> Option<Origin> {
        Some(Origin {
            author: self.text()?,
            at: Timestamp::from_nanosecond(i128::from_le_bytes(self.array()?)).ok()?,
            commit: self.optional_text().ok()?,
            branch: self.optional_text().ok()?,
        })
    }

    pub(super) fn statement(&mut self) -> Option<Statement> {
        let [description, rationale, summary, pattern_type] =
            [self.text()?, self.text()?, self.text()?, self.text()?];
        let status = if self.has_value()? { Some(self.word(DecisionStatus::ALL)?) } else { None };
        let impact = if self.has_value()? { Some(self.u8()?) } else { None };
        let ends = match self.has_value()? {
            true => {
                let (from, to) = (self.text()?, self.text()?);
                Some(RelationEnds { from, to, relation: self.word(RelationType::ALL)? })
            }
            false => None,
        };
        let (basis, origin) = (self.word(Basis::ALL)?, self.origin()?);
        Some(Statement { description, rationale, summary, status, impact, pattern_type, ends, basis, origin })
    }

    pub(super) fn anchor(&mut self) -> Option<Anchor> {
        let path = |this: &mut Self| AnchorPath::new(this.str()?).ok();
        let hash = |this: &mut Self| this.optional_text().map(|text| text.as_deref().map(TextHash::stored));
        let target = match self.u8()? {
            0 => AnchorTarget::File { path: path(self)? },
            1 => AnchorTarget::Symbol { path: path(self)?, symbol: self.text()?, hash: hash(self).ok()? },
            2 => {
                let (path, first, last) = (path(self)?, self.u32()?, self.u32()?);
                let count = self.u32()?;
                let text = (0..count).map(|_| self.text()).collect::<Option<_>>()?;
                AnchorTarget::Lines { path, first, last, text, hash: hash(self).ok()? }
            }
            3 => AnchorTarget::Command { command: self.text()? },
            4 => AnchorTarget::Error { text: self.text()? },
            _ => return None,
        };
        Some(Anchor { target, commit: self.optional_text().ok()?, file: hash(self).ok()? })
    }
}

/// The cache ends too early, or a value is wrong.
pub(super) struct Damaged;

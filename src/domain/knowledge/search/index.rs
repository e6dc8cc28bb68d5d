//! The index as bytes: where its parts are, and how they are read.
//!
//! ```text
//! "RVSI"  version u32  checksum u32 of what follows  documents u32  terms u32  start of postings u32
//! place of each document u32 …    place of each term u32 …
//! documents: changed i64, flags u8, key, paths, superseding documents
//! terms in alphabetical order: text, number of documents, place of its postings
//! postings: distance to the document before, weight u16
//! ```

use std::cmp::Ordering;

use super::byte_reader::ByteReader;
use super::document::DocumentKey;
use super::index_error::{SearchIndexError, VERSION};
use super::terms::TermChoice;

const MAGIC: &[u8; 4] = b"RVSI";
/// The checksum is that of everything after it.
const CHECKED: usize = 12;
pub(super) const HEADER: usize = CHECKED + 12;
/// A weight in the postings is multiplied by this.
pub(super) const WEIGHT_UNIT: f32 = 512.0;

/// An index of documents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SearchIndex {
    bytes: Vec<u8>,
    documents: u32,
    terms: u32,
    postings: usize,
    /// Which words it has; one from a cache has the telling ones.
    choice: TermChoice,
}

/// A term of the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct TermEntry<'a> {
    pub(super) text: &'a str,
    /// In how many documents it is.
    pub(super) documents: u32,
    postings: usize,
}

/// What is stored about a document.
#[derive(Clone, Debug)]
pub(super) struct DocumentEntry<'a> {
    pub(super) key: DocumentKey,
    pub(super) changed: i64,
    pub(super) is_deprecated: bool,
    pub(super) paths: Vec<&'a str>,
    pub(super) superseded_by: Vec<u32>,
}

impl SearchIndex {
    /// The bytes, for a cache.
    pub fn encode(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes bytes from a cache. Nothing but the checksum is computed here: a search reads what it needs.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, SearchIndexError> {
        if bytes.get(..4) != Some(MAGIC) {
            return Err(SearchIndexError::Foreign);
        }
        let mut reader = ByteReader::at(&bytes, 4);
        let version = reader.u32()?;
        if version != VERSION {
            return Err(SearchIndexError::OtherVersion(version));
        }
        let checksum = reader.u32()?;
        if bytes.get(CHECKED..).map(crc32fast::hash) != Some(checksum) {
            return Err(SearchIndexError::Damaged);
        }
        let (documents, terms) = (reader.u32()?, reader.u32()?);
        let postings = reader.u32()? as usize;
        let tables = HEADER as u64 + 4 * (u64::from(documents) + u64::from(terms));
        if tables > bytes.len() as u64 {
            return Err(SearchIndexError::Damaged);
        }
        Ok(Self { documents, terms, postings, bytes, choice: TermChoice::default() })
    }

    /// Puts the parts together. The bytes of `parts` follow the header.
    pub(super) fn assemble(documents: u32, terms: u32, postings: u32, parts: &[&[u8]]) -> Self {
        let mut bytes = Vec::with_capacity(HEADER + parts.iter().map(|part| part.len()).sum::<usize>());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for number in [documents, terms, postings] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let checksum = crc32fast::hash(&bytes[CHECKED..]).to_le_bytes();
        bytes[CHECKED - 4..CHECKED].copy_from_slice(&checksum);
        Self { bytes, documents, terms, postings: postings as usize, choice: TermChoice::default() }
    }

    pub(super) fn with_choice(self, choice: TermChoice) -> Self {
        Self { choice, ..self }
    }

    pub(super) fn choice(&self) -> TermChoice {
        self.choice
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.documents as usize
    }

    pub fn is_empty(&self) -> bool {
        self.documents == 0
    }

    /// Calls `take` with each path that each document is about.
    pub fn each_path(&self, take: &mut dyn FnMut(&DocumentKey, &str)) -> Result<(), SearchIndexError> {
        for number in 0..self.documents {
            let entry = self.document(number)?;
            entry.paths.iter().for_each(|path| take(&entry.key, path));
        }
        Ok(())
    }

    pub(super) fn document(&self, number: u32) -> Result<DocumentEntry<'_>, SearchIndexError> {
        let mut reader = self.entry(number, self.documents, HEADER)?;
        let changed = reader.i64()?;
        let is_deprecated = reader.u8()? != 0;
        let key = DocumentKey::parse(reader.text()?).ok_or(SearchIndexError::Damaged)?;
        let paths = (0..reader.number()?).map(|_| reader.text()).collect::<Result<_, _>>()?;
        let above = (0..reader.number()?).map(|_| reader.number()).collect::<Result<_, _>>()?;
        Ok(DocumentEntry { key, changed, is_deprecated, paths, superseded_by: above })
    }

    pub(super) fn term(&self, number: u32) -> Result<TermEntry<'_>, SearchIndexError> {
        let mut reader = self.entry(number, self.terms, HEADER + 4 * self.documents as usize)?;
        let (text, documents) = (reader.text()?, reader.number()?);
        let postings = self.postings.checked_add(reader.number()? as usize);
        Ok(TermEntry { text, documents, postings: postings.ok_or(SearchIndexError::Damaged)? })
    }

    pub(super) fn find_term(&self, text: &str) -> Result<Option<TermEntry<'_>>, SearchIndexError> {
        let (mut low, mut high) = (0, self.terms);
        while low < high {
            let middle = low + (high - low) / 2;
            let entry = self.term(middle)?;
            match entry.text.cmp(text) {
                Ordering::Equal => return Ok(Some(entry)),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// Calls `take` with each document that has the term, and the weight of the term in it.
    pub(super) fn each_posting(
        &self,
        term: TermEntry<'_>,
        mut take: impl FnMut(u32, f32),
    ) -> Result<(), SearchIndexError> {
        let mut reader = ByteReader::at(&self.bytes, term.postings);
        let mut document = 0_u32;
        for _ in 0..term.documents {
            document = document.checked_add(reader.number()?).ok_or(SearchIndexError::Damaged)?;
            let weight = f32::from(reader.u16()?) / WEIGHT_UNIT;
            if document >= self.documents {
                return Err(SearchIndexError::Damaged);
            }
            take(document, weight);
        }
        Ok(())
    }

    fn entry(&self, number: u32, count: u32, table: usize) -> Result<ByteReader<'_>, SearchIndexError> {
        if number >= count {
            return Err(SearchIndexError::Damaged);
        }
        let place = ByteReader::at(&self.bytes, table + 4 * number as usize).u32()?;
        Ok(ByteReader::at(&self.bytes, place as usize))
    }
}

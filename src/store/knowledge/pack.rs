//! Folding the files of the log into one, and erasing records.
//!
//! The folded file is put into place before the others are removed. Both may be there for a while, or for ever if the
//! process is killed in between: reading a change twice is the same as reading it once.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use yrs::Any;

use super::cell_format;
use super::document::{self, SortedCells, YjsDocument};
use super::locked_log::{LOCK_TIMEOUT, LockedKnowledgeLog};
use super::log::{KnowledgeLog, LogContent, PACK, ReadFile, SUFFIX, refused};
use crate::domain::knowledge::RecordId;
use crate::store::error::StoreError;
use crate::store::lock_order::LockOrderGuard;
use crate::store::wire::pretty;
use crate::sys::files::{self, LockedLogFile, LogFileLock, Published};
use crate::sys::flock::{self, LockError};

/// The largest file that is folded, and the largest that is written, in bytes: no larger one would be read.
const LARGEST: u64 = 60 * 1024 * 1024;

const QUARANTINE: &str = "quarantine";

/// What `pack` and `erase` did.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PackReport {
    /// How many files were folded into one.
    pub folded: usize,
    /// How many entries went because the same writer had replaced them.
    pub overwritten: usize,
    /// How many entries were erased.
    pub erased: usize,
    /// Damaged files, where they are now. Their good frames were folded. They may still hold what was erased.
    pub quarantined: Vec<PathBuf>,
    /// Files of a newer version, and ones that are too large: they are as they were.
    pub untouched: Vec<PathBuf>,
}

/// A file with its lock held.
struct HeldFile {
    file: LockedLogFile,
    content: Vec<u8>,
}

impl HeldFile {
    fn read(&self) -> ReadFile {
        ReadFile::of(self.file.path(), &self.content)
    }
}

impl KnowledgeLog {
    /// Folds all files into one, and leaves out what its own writer replaced.
    pub fn pack(&self) -> Result<PackReport, StoreError> {
        match files::exists(&self.dir)? {
            true => self.fold(&self.lock()?, &[]),
            false => Ok(PackReport::default()),
        }
    }

    fn fold(&self, locked: &LockedKnowledgeLog<'_>, ids: &[RecordId]) -> Result<PackReport, StoreError> {
        let mut report = PackReport::default();
        self.files.sweep()?;
        let (good, damaged) = self.lock_all(locked.order(), &mut report)?;
        let (good, damaged) = self.without_incomplete(good, damaged)?;
        let folded = self.folded(&good, &damaged)?;
        erase_from(&folded, ids, &mut report);
        if report.erased + report.overwritten + damaged.len() == 0 && good.len() <= 1 {
            return Ok(report);
        }
        self.write_pack(&folded)?;
        for held in &good {
            files::remove(held.file.path())?;
        }
        report.folded = good.len();
        for held in &damaged {
            report.quarantined.push(self.quarantine(held)?);
        }
        Ok(report)
    }

    /// The damaged files that were put aside by every `pack` so far.
    pub fn quarantined(&self) -> Result<Vec<PathBuf>, StoreError> {
        let dir = self.dir.join(QUARANTINE);
        let names = files::list(&dir)?.into_iter().filter(|name| name.ends_with(SUFFIX));
        Ok(names.map(|name| dir.join(name)).collect())
    }

    /// The records that some file names by itself. An erase that was killed may leave files that name a record, although
    /// all files together do not have it any more.
    pub fn records_in_files(&self) -> Result<BTreeSet<RecordId>, StoreError> {
        let mut ids = BTreeSet::new();
        for name in self.names()? {
            // What can't be read is told by whoever reads all of them.
            if let Ok(Some(content)) = files::read_large(&self.dir.join(name)) {
                ids.extend(LogContent::of_file(&content).cells.into_iter().map(|cell| cell.key.record));
            }
        }
        Ok(ids)
    }

    /// Locks and reads all files: those that are whole, and those that are damaged.
    fn lock_all(
        &self,
        order: &LockOrderGuard,
        report: &mut PackReport,
    ) -> Result<(Vec<HeldFile>, Vec<HeldFile>), StoreError> {
        let (mut good, mut damaged) = (Vec::new(), Vec::new());
        for name in self.names()? {
            let path = self.dir.join(name);
            let mut file = match LockedLogFile::open(&path, order.left())? {
                LogFileLock::Held(file) => file,
                LogFileLock::Absent => continue,
                LogFileLock::Busy => {
                    let holder = flock::holder(&path);
                    return Err(LockError::TimedOut { path, holder, limit: LOCK_TIMEOUT }.into());
                }
            };
            let Some(content) = file.read(LARGEST)? else {
                report.untouched.push(path);
                continue;
            };
            let held = HeldFile { file, content };
            let read = held.read();
            match (read.is_newer, read.problems.is_empty()) {
                (true, _) => report.untouched.push(path),
                (false, true) => good.push(held),
                (false, false) => damaged.push(held),
            }
        }
        Ok((good, damaged))
    }

    /// Counts files as damaged if frames are missing in them. They can't be folded as they are.
    fn without_incomplete(
        &self,
        mut good: Vec<HeldFile>,
        mut damaged: Vec<HeldFile>,
    ) -> Result<(Vec<HeldFile>, Vec<HeldFile>), StoreError> {
        loop {
            let document = self.document(&good, &[])?;
            if document.is_complete() {
                return Ok((good, damaged));
            }
            let is_incomplete = |held: &HeldFile| {
                let clients = document::clients(&held.read().updates);
                document.incomplete.is_empty() || !clients.is_disjoint(&document.incomplete)
            };
            let (incomplete, rest) = good.into_iter().partition(is_incomplete);
            damaged.extend::<Vec<_>>(incomplete);
            good = rest;
        }
    }

    fn document(&self, good: &[HeldFile], more: &[HeldFile]) -> Result<YjsDocument, StoreError> {
        let updates = good.iter().chain(more).flat_map(|held| held.read().updates).collect();
        YjsDocument::load(updates).ok_or_else(|| refused(&self.dir))
    }

    /// The document of the good files, with the values that are in damaged files alone as new ones.
    fn folded(&self, good: &[HeldFile], damaged: &[HeldFile]) -> Result<YjsDocument, StoreError> {
        let folded = self.document(good, &[])?;
        if !damaged.is_empty() {
            let everything = self.document(good, damaged)?;
            let known: HashSet<String> = folded.values().into_iter().map(|(key, _)| key).collect();
            let lost = everything.values().into_iter().filter(|(key, _)| !known.contains(key));
            folded.add(lost.map(|(_, value)| value).collect::<Vec<Any>>());
        }
        Ok(folded)
    }

    fn write_pack(&self, document: &YjsDocument) -> Result<(), StoreError> {
        let update = document.encode();
        let fault = |reason: &str| StoreError::Corrupt { path: self.dir.clone(), reason: reason.to_string() };
        if update.len() as u64 > LARGEST {
            return Err(fault("it is too large to be packed"));
        }
        if !document::is_readable(&update) {
            return Err(fault("what would be written could not be read back"));
        }
        self.start_pack(&update)
    }

    /// Puts an update that needs no other into a file of its own.
    pub(super) fn start_pack(&self, update: &[u8]) -> Result<(), StoreError> {
        loop {
            let path = self.dir.join(format!("{PACK}{:x}{SUFFIX}", document::new_client()));
            if self.start(&path, "pack", None, update)? == Published::Done {
                return Ok(());
            }
        }
    }

    /// Moves a damaged file away, with a note that says why.
    fn quarantine(&self, held: &HeldFile) -> Result<PathBuf, StoreError> {
        let dir = self.dir.join(QUARANTINE);
        files::create_dir(&dir)?;
        let path = held.file.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let texts: Vec<String> = held.read().problems.into_iter().map(|problem| problem.text).collect();
        let reason = match texts.is_empty() {
            true => "frames are missing in it".to_string(),
            false => texts.join("; "),
        };
        let note = pretty(&serde_json::json!({ "was": path.display().to_string(), "reason": reason }));
        // The name has a random part, so only an earlier attempt for the same file was here.
        self.files.replace(&dir.join(format!("{name}.reason")), &note)?;
        let aside = dir.join(name.as_ref());
        self.files.take(path, &aside)?;
        Ok(aside)
    }
}

impl LockedKnowledgeLog<'_> {
    /// Deletes all that was ever said about these records, and packs, so that no file of the log holds it any more.
    pub fn erase(&self, ids: &[RecordId]) -> Result<PackReport, StoreError> {
        self.log().fold(self, ids)
    }
}

/// Deletes what is about these records, and what was overwritten.
fn erase_from(document: &YjsDocument, ids: &[RecordId], report: &mut PackReport) {
    let ids: HashSet<String> = ids.iter().map(RecordId::to_string).collect();
    let is_meant = |value: &Any| cell_format::record_of(value).is_some_and(|record| ids.contains(record));
    let (erased, kept): (Vec<_>, Vec<_>) =
        document.values().into_iter().partition(|(_, value)| is_meant(value));
    let overwritten = SortedCells::of(&kept).overwritten;
    document.remove(erased.iter().map(|(key, _)| key.as_str()));
    document.remove(overwritten.iter().map(|(key, _)| key.as_str()));
    report.erased = erased.len();
    report.overwritten = overwritten.len();
}

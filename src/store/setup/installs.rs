//! `ravenry-installs/`: records of what `install` wrote to the files of harnesses, and how to restore what was there
//! before.
//!
//! It is beside the state of the mesh, not inside it: somebody who deletes a mesh must still get their settings back. A
//! record is written before the file that it is about, so `install` and `uninstall` can continue after a crash in
//! between. Settings contain tokens, so a record has no copy of them: only hashes, the text that our edits removed, and
//! which of the members that we touch were there before.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::settings::Durability;
use crate::domain::sha256;
use crate::domain::text_edit::undo::{UndoSpan, apply_undo, undo_spans};
use crate::store::error::StoreError;
use crate::store::setup::setup_record::{self, SetupRecord};
use crate::store::wire::pretty;
use crate::sys::environment::Home;
use crate::sys::files::{self, Files};
use crate::sys::flock::FileLock;

/// How long to wait for the lock. An install takes an instant, unless its process is stopped.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// The current format. The first one had no number, and contained a copy of the whole file.
const FORMAT: u64 = 2;

/// The record of a file that we wrote to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InstallRecord {
    pub path: String,
    pub before: OriginalFile,
    /// The content that we wrote last and the one before it, in case we died before the last was in place.
    pub wrote: Vec<WrittenFile>,
    /// Directories that we created for it, outermost first.
    pub made: Vec<String>,
}

/// The file before our first edit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum OriginalFile {
    /// There was no file.
    Nothing,
    Known(OriginalOutline),
    /// The whole text, from a record of the first format.
    Copy(String),
}

/// What a record keeps of a file that was there.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OriginalOutline {
    pub hash: String,
    /// Which of the members that we touch were in it, without their values.
    pub outline: String,
    /// The hash of the text without trailing whitespace. `blanks` is that whitespace.
    pub stem: String,
    pub blanks: String,
}

/// Content that we wrote.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WrittenFile {
    pub hash: String,
    /// The edits that restore the original; `None` if there was no file or the edits are not known.
    pub undo: Option<Vec<UndoSpan>>,
}

impl OriginalOutline {
    pub fn new(content: &str, outline: String) -> Self {
        let stem = content.trim_ascii_end();
        let blanks = content[stem.len()..].to_string();
        Self { hash: sha256(content.as_bytes()), outline, stem: sha256(stem.as_bytes()), blanks }
    }
}

impl WrittenFile {
    /// `original` is the text from which `content` was made.
    pub fn new(content: &[u8], original: Option<&[u8]>) -> Self {
        let undo = || {
            let [content, original] = [content, original?].map(|bytes| std::str::from_utf8(bytes).ok());
            undo_spans(content?, original?)
        };
        Self { hash: sha256(content), undo: undo() }
    }
}

/// A file as it was before we changed it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RestoredFile {
    /// It cannot be derived.
    Unknown,
    /// There was no file.
    Absent,
    Content(Vec<u8>),
}

impl InstallRecord {
    /// Whether the file is still as we wrote it.
    pub fn is_untouched(&self, content: &[u8]) -> bool {
        self.wrote(content).is_some()
    }

    /// The record of this content, if we wrote it.
    pub fn wrote(&self, content: &[u8]) -> Option<&WrittenFile> {
        let hash = sha256(content);
        self.wrote.iter().find(|wrote| wrote.hash == hash)
    }

    /// Whether this is the original content.
    pub fn is_original(&self, content: Option<&[u8]>) -> bool {
        match (&self.before, content) {
            (OriginalFile::Nothing, None) => true,
            (OriginalFile::Known(known), Some(content)) => known.hash == sha256(content),
            (OriginalFile::Copy(copy), Some(content)) => copy.as_bytes() == content,
            _ => false,
        }
    }

    /// The original content, if it can be derived: the file is as it was, or as we wrote it.
    pub fn original(&self, content: &[u8]) -> RestoredFile {
        if self.is_original(Some(content)) {
            return RestoredFile::Content(content.to_vec());
        }
        let Some(wrote) = self.wrote(content) else { return RestoredFile::Unknown };
        match &self.before {
            OriginalFile::Nothing => RestoredFile::Absent,
            OriginalFile::Copy(copy) => RestoredFile::Content(copy.clone().into_bytes()),
            OriginalFile::Known(known) => {
                let text = || apply_undo(std::str::from_utf8(content).ok()?, wrote.undo.as_deref()?);
                match text() {
                    Some(text) if sha256(text.as_bytes()) == known.hash => {
                        RestoredFile::Content(text.into_bytes())
                    }
                    _ => RestoredFile::Unknown,
                }
            }
        }
    }
}

/// All records.
#[derive(Clone, Debug)]
pub struct InstallRecords {
    dir: PathBuf,
}

/// All records, with the lock held, so nobody else installs anything.
#[derive(Debug)]
pub struct InstallsLock {
    installs: InstallRecords,
    files: Files,
    _held: FileLock,
}

impl InstallRecords {
    pub fn of(home: &Home) -> Self {
        Self { dir: home.state.join("ravenry-installs") }
    }

    /// The record of a file. An unreadable record is an error: it may be the only way to restore somebody's settings.
    pub fn get(&self, path: &Path) -> Result<Option<InstallRecord>, StoreError> {
        read(&self.file(path))
    }

    /// All readable records.
    pub fn all(&self) -> Result<Vec<InstallRecord>, StoreError> {
        let names = files::list(&self.dir)?;
        let records = names.iter().filter(|name| name.ends_with(".json")).map(|name| self.dir.join(name));
        Ok(records.filter_map(|file| read(&file).ok().flatten()).collect())
    }

    pub fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(!files::list(&self.dir)?.iter().any(|name| name.ends_with(".json")))
    }

    /// What `setup` did on this machine; empty if it did nothing.
    pub fn setup(&self) -> Result<SetupRecord, StoreError> {
        setup_record::read(&self.setup_file())
    }

    /// Whether anything was ever installed from here, so that another process may be at it now.
    pub fn has_lock_file(&self) -> Result<bool, StoreError> {
        Ok(files::exists(&self.dir.join("lock"))?)
    }

    pub fn lock(&self) -> Result<InstallsLock, StoreError> {
        if !files::exists(&self.dir)? {
            files::create_dir(&self.dir)?;
        }
        let held = FileLock::acquire(&self.dir.join("lock"), LOCK_TIMEOUT)?;
        let files = Files::new(self.dir.join("tmp"), Durability::Power);
        files.sweep()?;
        Ok(InstallsLock { installs: self.clone(), files, _held: held })
    }

    fn setup_file(&self) -> PathBuf {
        self.dir.join(setup_record::NAME)
    }

    fn file(&self, path: &Path) -> PathBuf {
        let name = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, path.as_os_str().as_encoded_bytes());
        self.dir.join(format!("{}.json", name.simple()))
    }
}

impl InstallsLock {
    pub fn get(&self, path: &Path) -> Result<Option<InstallRecord>, StoreError> {
        self.installs.get(path)
    }

    pub fn note(&self, install: &InstallRecord) -> Result<(), StoreError> {
        let file = self.installs.file(Path::new(&install.path));
        Ok(self.files.replace(&file, &pretty(&Record::of(install)))?)
    }

    /// Changes the record of `setup`. One that becomes empty is removed.
    pub fn note_setup(&self, change: impl FnOnce(&mut SetupRecord)) -> Result<(), StoreError> {
        let before = self.installs.setup()?;
        let mut record = before.clone();
        change(&mut record);
        let file = self.installs.setup_file();
        if record == SetupRecord::default() {
            files::remove(&file)?;
        } else if record != before {
            self.files.replace(&file, &setup_record::write(&record))?;
        }
        Ok(())
    }

    pub fn forget(&self, path: &Path) -> Result<(), StoreError> {
        files::remove(&self.installs.file(path))?;
        Ok(())
    }
}

/// A record as written on disk.
#[derive(Debug, Deserialize, Serialize)]
struct Record {
    format: u64,
    path: String,
    before: Option<OriginalOutline>,
    wrote: Vec<WroteRecord>,
    made: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
struct WroteRecord {
    hash: String,
    /// Offset, length, and the text that was there.
    undo: Option<Vec<(usize, usize, String)>>,
}

/// A record of the first format. A later one does not parse as this: `wrote` has another type there.
#[derive(Debug, Deserialize)]
struct FirstRecord {
    path: String,
    original: Option<String>,
    wrote: Vec<String>,
    #[serde(default)]
    made: Vec<String>,
}

impl Record {
    fn of(install: &InstallRecord) -> Self {
        let known = match &install.before {
            OriginalFile::Known(known) => Some(known.clone()),
            OriginalFile::Copy(copy) => Some(OriginalOutline::new(copy, String::new())),
            OriginalFile::Nothing => None,
        };
        let span = |span: &UndoSpan| (span.at, span.length, span.text.clone());
        let wrote = |wrote: &WrittenFile| WroteRecord {
            hash: wrote.hash.clone(),
            undo: wrote.undo.as_ref().map(|spans| spans.iter().map(span).collect()),
        };
        Self {
            format: FORMAT,
            path: install.path.clone(),
            before: known,
            wrote: install.wrote.iter().map(wrote).collect(),
            made: install.made.clone(),
        }
    }

    fn install(self) -> InstallRecord {
        let span = |(at, length, text)| UndoSpan { at, length, text };
        let wrote = |wrote: WroteRecord| WrittenFile {
            hash: wrote.hash,
            undo: wrote.undo.map(|spans| spans.into_iter().map(span).collect()),
        };
        InstallRecord {
            path: self.path,
            before: self.before.map_or(OriginalFile::Nothing, OriginalFile::Known),
            wrote: self.wrote.into_iter().map(wrote).collect(),
            made: self.made,
        }
    }
}

impl FirstRecord {
    fn install(self) -> InstallRecord {
        InstallRecord {
            path: self.path,
            before: self.original.map_or(OriginalFile::Nothing, OriginalFile::Copy),
            wrote: self.wrote.into_iter().map(|hash| WrittenFile { hash, undo: None }).collect(),
            made: self.made,
        }
    }
}

fn read(file: &Path) -> Result<Option<InstallRecord>, StoreError> {
    let Some(bytes) = files::read_large(file)? else { return Ok(None) };
    let corrupt = |reason: String| StoreError::Corrupt { path: file.to_path_buf(), reason };
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| corrupt(error.to_string()))?;
    let install = match value.get("format").map(serde_json::Value::as_u64) {
        None => serde_json::from_value(value).map(FirstRecord::install),
        Some(Some(FORMAT)) => serde_json::from_value(value).map(Record::install),
        Some(_) => return Err(corrupt("another version of msg wrote it".to_string())),
    };
    install.map(Some).map_err(|error| corrupt(error.to_string()))
}

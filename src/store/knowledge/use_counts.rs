//! How records are used: offered, opened, confirmed, contradicted. One file for each project in the user's state
//! directory, on this machine only.
//!
//! ```text
//! offered decision/one-lock        a line for each use
//! offered decision/one-lock 12     the sum of earlier lines
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::knowledge::RecordId;
use crate::domain::settings::Durability;
use crate::domain::sha256;
use crate::store::error::StoreError;
use crate::store::lock_order::{LockOrderGuard, LockRank};
use crate::sys::files::{self, Files, LockedLineFile};

/// Size in bytes above which the lines are replaced by their sum.
const LONG: u64 = 64 * 1024;
/// How long to wait for the lock. Nobody holds it longer than it takes to write a line.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

/// What happened to a record.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum KnowledgeUse {
    /// A hook offered it to a model.
    Offered,
    /// A session looked at it after it was offered.
    Opened,
    Confirmed,
    /// Somebody other than its author retired or superseded it.
    Contradicted,
}

impl KnowledgeUse {
    pub const ALL: [Self; 4] = [Self::Offered, Self::Opened, Self::Confirmed, Self::Contradicted];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Opened => "opened",
            Self::Confirmed => "confirmed",
            Self::Contradicted => "contradicted",
        }
    }
}

/// How often each record was used in which way.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct UseCounts {
    pub records: BTreeMap<(KnowledgeUse, RecordId), u64>,
}

impl UseCounts {
    pub fn total(&self, of: KnowledgeUse) -> u64 {
        self.records.iter().filter(|((kind, _), _)| *kind == of).map(|(_, count)| count).sum()
    }

    /// A line that another version wrote is left out.
    fn of(bytes: &[u8]) -> Self {
        let mut counts = Self::default();
        for line in String::from_utf8_lossy(bytes).lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (kind, id, count) = match words[..] {
                [kind, id] => (kind, id, Some(1)),
                [kind, id, count] => (kind, id, count.parse::<u64>().ok()),
                _ => continue,
            };
            let kind = KnowledgeUse::ALL.into_iter().find(|one| one.as_str() == kind);
            if let (Some(kind), Some(id), Some(count)) = (kind, RecordId::parse(id), count) {
                let sum = counts.records.entry((kind, id)).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        counts
    }

    fn lines(&self) -> String {
        let line = |((kind, id), count): (&(KnowledgeUse, RecordId), &u64)| {
            format!("{} {id} {count}\n", kind.as_str())
        };
        self.records.iter().map(line).collect()
    }
}

/// The file of one project.
#[derive(Clone, Debug)]
pub struct UseLog {
    path: PathBuf,
    files: Files,
}

impl UseLog {
    /// The log of the project with that root, below the user's state directory.
    pub fn of(state_dir: &Path, root: &Path) -> Self {
        use std::os::unix::ffi::OsStrExt;
        let dir = state_dir.join("ravenry-knowledge");
        let name = &sha256(root.as_os_str().as_bytes())[..16];
        Self {
            path: dir.join(format!("{name}.uses")),
            files: Files::new(dir.join("tmp"), Durability::Process),
        }
    }

    /// Counts a use. Where nothing can be written, or another process keeps the file locked, it is not counted.
    pub fn add(&self, kind: KnowledgeUse, id: &RecordId) -> Result<(), StoreError> {
        match self.try_to_add(kind, id) {
            Err(StoreError::File(error)) if error.is_forbidden() || error.is_full() => Ok(()),
            added => added,
        }
    }

    fn try_to_add(&self, kind: KnowledgeUse, id: &RecordId) -> Result<(), StoreError> {
        if let Some(dir) = self.path.parent() {
            files::create_dir(dir)?;
        }
        let order = LockOrderGuard::begin(LockRank::Knowledge, LOCK_TIMEOUT);
        let Some(mut file) = LockedLineFile::open(&self.path, order.left())? else { return Ok(()) };
        let length = file.add(format!("{} {id}", kind.as_str()).as_bytes())?;
        if length > LONG {
            let sum = UseCounts::of(&file.read()?).lines();
            file.replace(&self.files, sum.as_bytes())?;
        }
        Ok(())
    }

    pub fn counts(&self) -> Result<UseCounts, StoreError> {
        Ok(UseCounts::of(&files::read_note(&self.path)?.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_counted_and_summed() {
        let dir = tempfile::tempdir().unwrap();
        let log = UseLog::of(dir.path(), Path::new("/project"));
        let id = RecordId::parse("decision/one-lock").unwrap();
        assert_eq!(log.counts().unwrap(), UseCounts::default());
        for _ in 0..4000 {
            log.add(KnowledgeUse::Offered, &id).unwrap();
        }
        log.add(KnowledgeUse::Opened, &id).unwrap();
        let counts = log.counts().unwrap();
        assert_eq!((counts.total(KnowledgeUse::Offered), counts.total(KnowledgeUse::Opened)), (4000, 1));
        let length = files::metadata(&log.path).unwrap().unwrap().len();
        assert!(length < LONG + 100, "{length}");
    }

    #[test]
    fn lines_of_others_are_left_out() {
        let counts = UseCounts::of(
            b"offered decision/x 2\nnonsense\noffered x\nburnt decision/x\n\xff\noffered decision/x\n",
        );
        assert_eq!(counts.total(KnowledgeUse::Offered), 3);
        assert_eq!(counts.records.len(), 1);
    }
}

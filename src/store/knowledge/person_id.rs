//! The id under which a person writes who has not joined: random, one for each person and log, in the user's state
//! directory. If it followed from the account's name, two people called `root` would be one writer, and would replace
//! each other's texts as soon as their logs meet. It must not come along with a copy of the log either, so the file is
//! named after the directory itself, not only after its path.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::log::KnowledgeLog;
use crate::domain::settings::Durability;
use crate::domain::sha256;
use crate::store::error::StoreError;
use crate::sys::files::{self, FileId, Files, Published};
use crate::sys::random;

/// The length of an id in digits.
const DIGITS: usize = 16;

/// The id of that person in this log, in hexadecimal digits. Before there is a log, and where nothing can be kept, it
/// holds for this process only: that makes more files, and never one writer of two.
pub fn person_id(state_dir: &Path, log: &KnowledgeLog, person: &str) -> String {
    kept(state_dir, log, person).ok().flatten().unwrap_or_else(|| of_process(log, person))
}

/// `None` if there is no log, or what was kept is damaged.
fn kept(state_dir: &Path, log: &KnowledgeLog, person: &str) -> Result<Option<String>, StoreError> {
    let Some(key) = key(log, person)? else { return Ok(None) };
    let dir = state_dir.join("ravenry-knowledge");
    let path = dir.join(format!("{}.writer", &key[..DIGITS]));
    if let Some(id) = read(&path)? {
        return Ok(Some(id));
    }
    files::create_dir(&dir)?;
    let id = digits(&format!("{} {key}", random::uuid()));
    // After a power cut it must not be there and empty.
    let files = Files::new(dir.join("tmp"), Durability::Power);
    match files.publish(&path, id.as_bytes())? {
        Published::Done => Ok(Some(id)),
        Published::Exists => read(&path),
    }
}

/// Names the person and the directory of the log. A directory that was removed and made again may have the same number,
/// but is younger, where the file system tells.
fn key(log: &KnowledgeLog, person: &str) -> Result<Option<String>, StoreError> {
    let Some(metadata) = files::metadata(log.directory())? else { return Ok(None) };
    let FileId { device, inode } = FileId::of(&metadata);
    let created = metadata.created().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let created = created.unwrap_or_default().as_nanos();
    let path = full_path(log);
    Ok(Some(sha256(format!("{device} {inode} {created} {} {person}", path.display()).as_bytes())))
}

fn full_path(log: &KnowledgeLog) -> PathBuf {
    std::fs::canonicalize(log.directory()).unwrap_or_else(|_| log.directory().to_path_buf())
}

fn read(path: &Path) -> Result<Option<String>, StoreError> {
    let text = files::read_note(path)?.and_then(|bytes| String::from_utf8(bytes).ok());
    let is_id = |text: &String| text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok(text.filter(is_id))
}

fn of_process(log: &KnowledgeLog, person: &str) -> String {
    static PROCESS: OnceLock<String> = OnceLock::new();
    let process = PROCESS.get_or_init(|| random::uuid().to_string());
    digits(&format!("{process} {} {person}", full_path(log).display()))
}

fn digits(text: &str) -> String {
    sha256(text.as_bytes())[..DIGITS].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_in(dir: &Path) -> KnowledgeLog {
        let log = KnowledgeLog::at(dir, Durability::Process);
        files::create_dir(log.directory()).unwrap();
        log
    }

    #[test]
    fn everybody_has_one_id_in_each_log() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let (one, two) = (log_in(&dir.path().join("one")), log_in(&dir.path().join("two")));
        let ids = [
            person_id(&state, &one, "root\nAnn"),
            person_id(&state, &one, "root\nBob"),
            person_id(&state, &two, "root\nAnn"),
            person_id(&dir.path().join("another state"), &one, "root\nAnn"),
        ];
        let different: std::collections::BTreeSet<&String> = ids.iter().collect();
        assert_eq!(different.len(), ids.len(), "{ids:?}");
        assert_eq!(person_id(&state, &one, "root\nAnn"), ids[0]);
    }

    #[test]
    fn a_new_log_at_the_same_path_has_new_writers() {
        let dir = tempfile::tempdir().unwrap();
        let (state, log) = (dir.path().join("state"), log_in(dir.path()));
        let before = person_id(&state, &log, "root\nAnn");
        let files = Files::new(dir.path().join("tmp"), Durability::Process);
        assert!(files.take(log.directory(), &dir.path().join("aside")).unwrap());
        assert_ne!(person_id(&state, &log, "root\nAnn"), before, "there is none");
        assert_ne!(person_id(&state, &log_in(dir.path()), "root\nAnn"), before);
    }

    #[test]
    fn where_nothing_can_be_kept_it_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let (state, log) = (dir.path().join("state"), log_in(dir.path()));
        let kept = person_id(&state, &log, "root\nAnn");
        // A file is where the directory should be.
        let file = log.directory().join("file");
        assert_eq!(files::create_empty(&file).unwrap(), Published::Done);
        let id = person_id(&file, &log, "root\nAnn");
        assert_ne!(id, kept);
        assert_eq!(person_id(&file, &log, "root\nAnn"), id, "in this process");
    }
}

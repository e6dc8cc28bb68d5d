//! `ravenry-trust/` in the user's state directory: which texts of a project a person trusted, one file per project.
//!
//! The whole text is kept, so that a later refusal can show what changed. A file that is damaged trusts nothing; it is
//! set aside when a person next trusts something there.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::settings::Durability;
use crate::domain::sha256;
use crate::domain::workers::unified_diff;
use crate::store::error::StoreError;
use crate::store::wire::{pretty, time};
use crate::sys::environment::Home;
use crate::sys::files::{self, Files};
use crate::sys::flock::FileLock;

/// The current format. A file of a newer one is not rewritten.
const FORMAT: u64 = 1;
/// How long to wait for the lock, which is held for an instant.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// What kind of text is trusted.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustKind {
    /// A project's `workers.toml`.
    Workers,
    /// The `verify:` lines of a spec.
    Verify,
}

/// Whether a person trusted a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TrustVerdict {
    Trusted,
    Untrusted {
        /// The text that was trusted last, if there is one.
        trusted: Option<String>,
        /// What changed since; all of the text if nothing was ever trusted.
        diff: String,
    },
}

/// A text that a person trusted.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrustedText {
    kind: TrustKind,
    /// Relative to the root of the project.
    path: String,
    hash: String,
    text: String,
    at: String,
}

/// What is in the file of a project.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProjectTrust {
    format: u64,
    /// The root of the project, for people who look.
    project: String,
    trusted: Vec<TrustedText>,
}

/// The texts of one project that a person trusted.
#[derive(Clone, Debug)]
pub struct TrustRecords {
    root: PathBuf,
    dir: PathBuf,
    path: PathBuf,
}

impl TrustRecords {
    /// Those of the project with this root, whatever the path by which it was reached.
    pub fn of(home: &Home, root: &Path) -> Self {
        let root = fs_err::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        let dir = home.state.join("ravenry-trust");
        let path = dir.join(format!("{}.json", sha256(root.as_os_str().as_bytes())));
        Self { root, dir, path }
    }

    /// Whether a person trusted exactly this text. The second value tells why records could not be used.
    pub fn judge(&self, kind: TrustKind, path: &str, text: &str) -> (TrustVerdict, Option<StoreError>) {
        let (records, trouble) = match self.read() {
            Ok(records) => (records, None),
            Err(error) => (ProjectTrust::default(), Some(error)),
        };
        let found = records.trusted.into_iter().find(|record| record.kind == kind && record.path == path);
        let verdict = match found {
            Some(record) if record.hash == sha256(text.as_bytes()) => TrustVerdict::Trusted,
            found => {
                let trusted = found.map(|record| record.text);
                let before = if trusted.is_some() { path } else { "/dev/null" };
                let diff = unified_diff(trusted.as_deref().unwrap_or_default(), text, (before, path));
                TrustVerdict::Untrusted { trusted, diff }
            }
        };
        (verdict, trouble)
    }

    /// Records that a person trusts this text from now on.
    pub fn trust(&self, kind: TrustKind, path: &str, text: &str, at: Timestamp) -> Result<(), StoreError> {
        self.change(|records| {
            records.trusted.retain(|record| record.kind != kind || record.path != path);
            let (hash, at) = (sha256(text.as_bytes()), time::iso(at));
            let (path, text) = (path.to_string(), text.to_string());
            records.trusted.push(TrustedText { kind, path, hash, text, at });
        })
    }

    /// Takes trust back. `None`: nothing was trusted; otherwise the text that was.
    pub fn revoke(&self, kind: TrustKind, path: &str) -> Result<Option<String>, StoreError> {
        if !files::exists(&self.path)? {
            return Ok(None);
        }
        let mut revoked = None;
        self.change(|records| {
            let is_it = |record: &TrustedText| record.kind == kind && record.path == path;
            revoked = records.trusted.iter().find(|record| is_it(record)).map(|record| record.text.clone());
            records.trusted.retain(|record| !is_it(record));
        })?;
        Ok(revoked)
    }

    fn change(&self, change: impl FnOnce(&mut ProjectTrust)) -> Result<(), StoreError> {
        if !files::exists(&self.dir)? {
            files::create_dir(&self.dir)?;
        }
        let held = FileLock::acquire(&self.dir.join(".lock"), LOCK_TIMEOUT)?;
        let files = Files::new(self.dir.join("tmp"), Durability::Power);
        let mut records = match self.read() {
            Err(StoreError::Corrupt { .. }) => {
                files.take(&self.path, &self.path.with_extension("damaged"))?;
                ProjectTrust::default()
            }
            read => read?,
        };
        change(&mut records);
        records.format = FORMAT;
        records.project = self.root.display().to_string();
        files.replace(&self.path, &pretty(&records))?;
        files.sweep()?;
        drop(held);
        Ok(())
    }

    /// What is recorded; nothing if there is no file.
    fn read(&self) -> Result<ProjectTrust, StoreError> {
        let corrupt = |reason: String| StoreError::Corrupt { path: self.path.clone(), reason };
        let Some(bytes) = files::read(&self.path)? else { return Ok(ProjectTrust::default()) };
        let records: ProjectTrust =
            serde_json::from_slice(&bytes).map_err(|error| corrupt(error.to_string()))?;
        if records.format > FORMAT {
            return Err(StoreError::BadSetting {
                path: self.path.clone(),
                reason: "a newer version of msg wrote it".to_string(),
            });
        }
        let is_whole = |record: &TrustedText| record.hash == sha256(record.text.as_bytes());
        if !records.trusted.iter().all(is_whole) {
            return Err(corrupt("a hash does not belong to its text".to_string()));
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = ".ravenry/workers.toml";

    fn home_in(dir: &Path) -> Home {
        let path = |name: &str| dir.join(name);
        Home { home: path("home"), config: path("config"), state: path("state"), cache: path("cache") }
    }

    #[test]
    fn one_text_of_one_project_is_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let home = home_in(dir.path());
        let roots = ["a", "b"].map(|name| dir.path().join(name));
        roots.iter().for_each(|root| files::create_dir(root).unwrap());
        let [one, two] = [&roots[0], &roots[1]].map(|root| TrustRecords::of(&home, root));
        let judge = |records: &TrustRecords, text: &str| {
            let (verdict, trouble) = records.judge(TrustKind::Workers, FILE, text);
            assert!(trouble.is_none(), "{trouble:?}");
            verdict
        };
        let never = judge(&one, "a = 1\n");
        let TrustVerdict::Untrusted { trusted: None, diff } = never else { panic!("{never:?}") };
        assert!(diff.contains("+a = 1") && diff.contains("/dev/null"), "{diff}");
        one.trust(TrustKind::Workers, FILE, "a = 1\n", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(judge(&one, "a = 1\n"), TrustVerdict::Trusted);
        // Another project, another kind and another path are not.
        assert_ne!(judge(&two, "a = 1\n"), TrustVerdict::Trusted);
        assert_ne!(one.judge(TrustKind::Verify, FILE, "a = 1\n").0, TrustVerdict::Trusted);
        assert_ne!(one.judge(TrustKind::Workers, "other", "a = 1\n").0, TrustVerdict::Trusted);
        let changed = judge(&one, "a = 2\n");
        let TrustVerdict::Untrusted { trusted: Some(before), diff } = changed else { panic!("{changed:?}") };
        assert_eq!(before, "a = 1\n");
        assert!(diff.contains("-a = 1\n+a = 2\n"), "{diff}");
        // The same project by another path.
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&roots[0], &link).unwrap();
        assert_eq!(judge(&TrustRecords::of(&home, &link), "a = 1\n"), TrustVerdict::Trusted);
        assert_eq!(one.revoke(TrustKind::Workers, FILE).unwrap().as_deref(), Some("a = 1\n"));
        assert_eq!(one.revoke(TrustKind::Workers, FILE).unwrap(), None);
        assert_ne!(judge(&one, "a = 1\n"), TrustVerdict::Trusted);
    }

    #[test]
    fn damaged_records_trust_nothing_and_are_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let records = TrustRecords::of(&home_in(dir.path()), dir.path());
        records.trust(TrustKind::Workers, FILE, "x", Timestamp::UNIX_EPOCH).unwrap();
        let whole = String::from_utf8(files::read(&records.path).unwrap().unwrap()).unwrap();
        let put = |text: &str| {
            Files::new(records.dir.clone(), Durability::Process)
                .replace(&records.path, text.as_bytes())
                .unwrap();
        };
        for damaged in ["", "{", "[]", &whole.replace("\"text\": \"x\"", "\"text\": \"y\"")] {
            put(damaged);
            let (verdict, trouble) = records.judge(TrustKind::Workers, FILE, "x");
            assert_ne!(verdict, TrustVerdict::Trusted, "{damaged}");
            assert!(trouble.unwrap().to_string().contains("can't be read"), "{damaged}");
            records.trust(TrustKind::Workers, FILE, "x", Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!(records.judge(TrustKind::Workers, FILE, "x").0, TrustVerdict::Trusted);
            let aside = files::read(&records.path.with_extension("damaged")).unwrap();
            assert_eq!(aside.as_deref(), Some(damaged.as_bytes()));
        }
        let newer = whole.replace("\"format\": 1", "\"format\": 2");
        put(&newer);
        assert_ne!(records.judge(TrustKind::Workers, FILE, "x").0, TrustVerdict::Trusted);
        assert!(records.trust(TrustKind::Workers, FILE, "x", Timestamp::UNIX_EPOCH).is_err());
        assert_eq!(files::read(&records.path).unwrap().as_deref(), Some(newer.as_bytes()));
    }
}

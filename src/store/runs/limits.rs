//! Limits of accounts: until when a harness does not answer this user, as one of its workers was told. For all meshes.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::error::StoreError;
use crate::store::location::machine_state;
use crate::store::wire::{pretty, time};
use crate::sys::environment::Home;
use crate::sys::files;

/// What is known of limits.
#[derive(Clone, Debug)]
pub struct HarnessLimits {
    dir: PathBuf,
}

/// The limit of one harness.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HarnessLimit {
    #[serde(with = "time")]
    pub until: Timestamp,
    /// The run whose worker was told.
    pub run: String,
}

impl HarnessLimits {
    pub fn of(home: &Home) -> Self {
        Self { dir: machine_state(home).join("limits") }
    }

    fn path(&self, harness: &str) -> PathBuf {
        // The names of harnesses are ours, but this one comes from a file.
        let name: String = harness.chars().filter(char::is_ascii_alphanumeric).collect();
        self.dir.join(format!("{name}.json"))
    }

    /// Records a limit.
    pub fn put(&self, harness: &str, limit: &HarnessLimit) -> Result<(), StoreError> {
        files::create_dir(&self.dir)?;
        Ok(files::replace_beside(&self.path(harness), &pretty(limit), 0o600)?)
    }

    /// The limit that was recorded last. One that can't be read counts as none: the harness will say it again.
    pub fn get(&self, harness: &str) -> Result<Option<HarnessLimit>, StoreError> {
        let content = files::read(&self.path(harness))?;
        Ok(content.and_then(|content| serde_json::from_slice(&content).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_reads_back_and_a_damaged_one_counts_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let limits = HarnessLimits { dir: dir.path().join("limits") };
        let limit = HarnessLimit { until: Timestamp::from_second(7).unwrap(), run: "abcdef".to_string() };
        assert_eq!(limits.get("x").unwrap(), None);
        limits.put("x", &limit).unwrap();
        assert_eq!(limits.get("x").unwrap(), Some(limit));
        files::replace_beside(&limits.path("x"), b"{", 0o600).unwrap();
        assert_eq!(limits.get("x").unwrap(), None);
    }
}

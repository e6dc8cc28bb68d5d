//! `told/<ms>-<hash>`: alerts that a person was told. The file is empty; that it is there is the mark.
//!
//! Whoever makes the file tells the person, by whatever means the settings name. It is made in one step and before the
//! person is told. So of several watchers only one tells, and what a killed one did not come to tell is told by nobody:
//! once at the most. The name begins with the time of what is told, so old marks are found without opening them.

use jiff::{SignedDuration, Timestamp};

use crate::domain::alert::Alert;
use crate::store::error::StoreError;
use crate::store::handles::ToldAlerts;
use crate::sys::files::{self, Published};

/// Marks are kept for this long, and so many at the most. Nobody tells what is as old as that.
const KEPT: SignedDuration = SignedDuration::from_hours(2);
const KEPT_AT_MOST: usize = 4_000;

/// Whether an alert was marked before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AlertMark {
    /// The caller has made the mark, and tells the alert.
    Made,
    /// Somebody tells it, or has told it.
    Found,
}

impl From<Published> for AlertMark {
    fn from(published: Published) -> Self {
        match published {
            Published::Done => Self::Made,
            Published::Exists => Self::Found,
        }
    }
}

impl ToldAlerts<'_> {
    /// Marks the alert as told.
    pub fn mark(self, alert: &Alert) -> Result<AlertMark, StoreError> {
        let dir = self.mesh.layout.told();
        let path = dir.join(file_name(alert));
        match files::create_empty(&path) {
            Ok(published) => Ok(published.into()),
            Err(_) if !files::exists(&dir)? => {
                files::create_dir(&dir)?;
                Ok(files::create_empty(&path)?.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes marks that nobody needs any more.
    pub fn prune(self, now: Timestamp) -> Result<(), StoreError> {
        let dir = self.mesh.layout.told();
        let names = files::list(&dir)?;
        let oldest = stamp(now - KEPT);
        let too_many = names.len().saturating_sub(KEPT_AT_MOST);
        for (number, name) in names.iter().enumerate() {
            if number < too_many || name.as_str() < oldest.as_str() {
                files::remove(&dir.join(name))?;
            }
        }
        Ok(())
    }
}

/// Keys have foreign text in them, so they are hashed.
fn file_name(alert: &Alert) -> String {
    let hash = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, alert.key.as_bytes()).simple();
    format!("{}-{hash}", stamp(alert.at))
}

/// Sorts like the time.
fn stamp(at: Timestamp) -> String {
    format!("{:013}", at.as_millisecond().clamp(0, 9_999_999_999_999))
}

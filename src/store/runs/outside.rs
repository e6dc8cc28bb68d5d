//! What changed in the tree that a run works for while its commands ran. Hooks of the worker write it.
//!
//! ```text
//! runs/<id>/tree-<call>     the fingerprint of that tree before a command that goes on
//! runs/<id>/tree-slow       it takes too long to look at the tree at each command
//! runs/<id>/outside.jsonl   a line for each command during which something changed
//! ```

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::runs::RunId;
use crate::store::error::StoreError;
use crate::store::handles::RunLedger;
use crate::store::wire::time;
use crate::sys::files;

const SLOW: &str = "tree-slow";
const CHANGES: &str = "outside.jsonl";

/// Files that changed in the tree that a run works for, while a command of its worker ran.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutsideChange {
    #[serde(with = "time")]
    pub at: Timestamp,
    /// The beginning of the command.
    pub command: String,
    /// Relative to that tree; `HEAD` if another commit is checked out.
    pub files: Vec<String>,
    /// Other agents that were at work there.
    pub others: Vec<String>,
}

impl RunLedger<'_> {
    /// Keeps a fingerprint until the command has ended.
    pub fn put_parent_tree(
        self,
        id: &RunId,
        call: &str,
        at: Timestamp,
        print: &[u8],
    ) -> Result<(), StoreError> {
        let mut content = format!("{}\n", at.as_nanosecond()).into_bytes();
        content.extend_from_slice(print);
        self.write(id, &format!("tree-{call}"), &content)
    }

    /// The fingerprint and its time. It is kept until [`RunLedger::forget_parent_tree`].
    pub fn parent_tree(self, id: &RunId, call: &str) -> Result<Option<(Timestamp, Vec<u8>)>, StoreError> {
        let name = format!("tree-{call}");
        let Some(content) = self.read(id, &name)? else { return Ok(None) };
        let end = content.iter().position(|byte| *byte == b'\n').unwrap_or(content.len());
        let at = std::str::from_utf8(&content[..end]).ok().and_then(|text| text.parse().ok());
        let at = at.and_then(|at| Timestamp::from_nanosecond(at).ok());
        Ok(at.map(|at| (at, content[(end + 1).min(content.len())..].to_vec())))
    }

    pub fn forget_parent_tree(self, id: &RunId, call: &str) -> Result<(), StoreError> {
        files::remove(&self.dir(id).join(format!("tree-{call}")))?;
        Ok(())
    }

    /// Whether it takes too long to look at the tree at each command.
    pub fn is_parent_tree_slow(self, id: &RunId) -> Result<bool, StoreError> {
        Ok(files::exists(&self.dir(id).join(SLOW))?)
    }

    pub fn note_slow_parent_tree(self, id: &RunId) -> Result<(), StoreError> {
        self.write(id, SLOW, b"")
    }

    pub fn note_fast_parent_tree(self, id: &RunId) -> Result<(), StoreError> {
        files::remove(&self.dir(id).join(SLOW))?;
        Ok(())
    }

    pub fn add_outside_change(self, id: &RunId, change: &OutsideChange) -> Result<(), StoreError> {
        let line = serde_json::to_vec(change).unwrap_or_default();
        Ok(files::append_line(&self.dir(id).join(CHANGES), &line)?)
    }

    /// What was written down so far. Lines that can't be read are left out.
    pub fn outside_changes(self, id: &RunId) -> Result<Vec<OutsideChange>, StoreError> {
        let content = self.read(id, CHANGES)?.unwrap_or_default();
        let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }
}

//! `hooks/` and `trouble.jsonl`: the state that hooks keep between calls, and the log of failed calls.
//!
//! ```text
//! hooks/<session>.turns           how often mail has kept that session going since its user last spoke
//! hooks/<session>.<call>.before   stamps of reserved files before a command ran
//! hooks/<session>.knowledge       what that session was offered, asked and recorded (`knowledge_marks`)
//! hooks/<session>.steps           what its hooks reported last (`hook_steps`)
//! hooks/<session>.looked          hashes of the lines that its screen had when somebody looked last
//! hooks/<session>.subagents       a line for each subagent that started (`+`) or ended (`-`) since its user last spoke
//! trouble.jsonl                   hook calls that failed and let the tool through, for `doctor`
//! ```

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::SessionId;
use crate::domain::screens::LookedLines;
use crate::store::agents::session_hash::session_hash;
use crate::store::error::StoreError;
use crate::store::handles::HookStates;
use crate::store::wire::{pretty, time};
use crate::sys::files::{self, FileStamp};
use crate::sys::{clock, random};

/// Size in bytes above which a new log is started. One old log is kept.
const MAX_TROUBLE: u64 = 128 * 1024;
/// The state of a session is kept this many times as long as other files.
const SESSIONS_LAST: u32 = 60;

/// How often mail has kept a session going since its user last spoke.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MailTurns {
    pub count: u32,
    /// The start of the text that kept it going last: some harnesses present it as if the user had said it.
    pub said: String,
}

/// The stamps of reserved files before a command ran.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StampsBefore {
    #[serde(with = "time")]
    pub at: Timestamp,
    pub files: BTreeMap<String, FileStamp>,
    /// Whether there were too many files to examine them all.
    #[serde(rename = "partial")]
    pub is_partial: bool,
}

/// What a harness reports about a subagent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SubagentChange {
    Started,
    Ended,
}

/// A hook call that failed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HookFailure {
    #[serde(with = "time")]
    pub ts: Timestamp,
    pub harness: String,
    pub event: String,
    pub error: String,
}

impl HookStates<'_> {
    pub fn mail_turns(self, session: &SessionId) -> Result<MailTurns, StoreError> {
        let bytes = files::read_note(&self.file(session, "turns"))?;
        // If it cannot be read, counting starts again.
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
    }

    pub fn set_mail_turns(self, session: &SessionId, turns: &MailTurns) -> Result<(), StoreError> {
        let path = self.file(session, "turns");
        if *turns == MailTurns::default() {
            files::remove(&path)?;
            return Ok(());
        }
        self.make_dir()?;
        Ok(self.mesh.files.replace(&path, &pretty(turns))?)
    }

    /// Keeps the stamps taken before that tool call.
    pub fn save_stamps(
        self,
        session: &SessionId,
        call: &str,
        before: &StampsBefore,
    ) -> Result<(), StoreError> {
        self.make_dir()?;
        let path = self.mesh.layout.hooks().join(before_name(session, call));
        Ok(self.mesh.files.replace(&path, &pretty(before))?)
    }

    /// The stamps kept before that tool call. Removes them.
    pub fn take_stamps(self, session: &SessionId, call: &str) -> Result<Option<StampsBefore>, StoreError> {
        let path = self.mesh.layout.hooks().join(before_name(session, call));
        let Some(bytes) = files::read_note(&path)? else { return Ok(None) };
        files::remove(&path)?;
        Ok(serde_json::from_slice(&bytes).ok())
    }

    /// Counts a subagent of that session. Several may start at once, so each change is a line of its own.
    pub fn count_subagent(self, session: &SessionId, change: SubagentChange) -> Result<(), StoreError> {
        let line: &[u8] = match change {
            SubagentChange::Started => b"+\n",
            SubagentChange::Ended => b"-\n",
        };
        self.make_dir()?;
        Ok(files::append_line(&self.file(session, "subagents"), line)?)
    }

    /// Whether a subagent of that session runs. One that its user interrupted counts until the next prompt.
    pub fn has_subagents(self, session: &SessionId) -> Result<bool, StoreError> {
        let changes = files::read_note(&self.file(session, "subagents"))?.unwrap_or_default();
        let count = |sign: u8| changes.iter().filter(|byte| **byte == sign).count();
        Ok(count(b'+') > count(b'-'))
    }

    pub fn forget_subagents(self, session: &SessionId) -> Result<(), StoreError> {
        files::remove(&self.file(session, "subagents"))?;
        Ok(())
    }

    /// Remembers what somebody saw on the screen of that session, and returns what was seen before.
    pub fn exchange_look(
        self,
        session: &SessionId,
        now: &LookedLines,
    ) -> Result<Option<LookedLines>, StoreError> {
        let path = self.file(session, "looked");
        let before = files::read_note(&path)?;
        let before = before.map(|bytes| LookedLines::stored(&String::from_utf8_lossy(&bytes)));
        if before.as_ref() != Some(now) {
            self.make_dir()?;
            self.mesh.files.replace(&path, format!("{}\n", now.text()).as_bytes())?;
        }
        Ok(before)
    }

    /// Remembers that nothing happens any more in a session whose last hook has that number and whose screen shows that.
    pub fn note_stall(self, session: &SessionId, hooks: u64, seen: &LookedLines) -> Result<(), StoreError> {
        if self.has_stall(session, hooks, seen)? {
            return Ok(());
        }
        self.make_dir()?;
        Ok(self.mesh.files.replace(&self.file(session, "stalled"), stall_text(hooks, seen).as_bytes())?)
    }

    /// Whether that was remembered, and neither a hook has run since nor the screen has changed.
    pub fn has_stall(self, session: &SessionId, hooks: u64, seen: &LookedLines) -> Result<bool, StoreError> {
        let noted = files::read_note(&self.file(session, "stalled"))?;
        Ok(noted.is_some_and(|noted| noted == stall_text(hooks, seen).as_bytes()))
    }

    /// Removes the files of a session that ends.
    pub fn remove(self, session: &SessionId) -> Result<(), StoreError> {
        let own = format!("{}.", session_hash(session));
        for name in files::list(&self.mesh.layout.hooks())? {
            if name.starts_with(&own) {
                files::remove(&self.mesh.layout.hooks().join(name))?;
            }
        }
        Ok(())
    }

    /// Removes old files of sessions that ended without notice, in one of `one_in` calls on average.
    pub fn remove_old(self, older_than: std::time::Duration, one_in: u32) -> Result<(), StoreError> {
        if !random::number().is_multiple_of(one_in) {
            return Ok(());
        }
        for name in files::list(&self.mesh.layout.hooks())? {
            // The state of a session stays valid as long as the session, which may last for weeks.
            const KINDS: [&str; 9] = [
                "working",
                "resting",
                "roused",
                "unasked",
                "planning",
                "waiter",
                "server",
                "knowledge",
                "steps",
            ];
            let lasts = KINDS.iter().any(|kind| name.ends_with(kind));
            let limit = if lasts { older_than * SESSIONS_LAST } else { older_than };
            let path = self.mesh.layout.hooks().join(name);
            let modified = files::metadata(&path)?.and_then(|metadata| metadata.modified().ok());
            if modified.is_some_and(|modified| clock::age(modified) > limit) {
                files::remove(&path)?;
            }
        }
        Ok(())
    }

    pub fn log_failure(self, trouble: &HookFailure) -> Result<(), StoreError> {
        let path = self.mesh.layout.trouble();
        let mut line = serde_json::to_vec(trouble)
            .map_err(|error| StoreError::Corrupt { path: path.clone(), reason: error.to_string() })?;
        line.push(b'\n');
        if files::metadata(&path)?.is_some_and(|metadata| metadata.len() > MAX_TROUBLE) {
            self.mesh.files.take(&path, &path.with_extension("old.jsonl"))?;
        }
        Ok(files::append_line(&path, &line)?)
    }

    /// The hook calls that failed, oldest first.
    pub fn failures(self) -> Result<Vec<HookFailure>, StoreError> {
        let bytes = files::read_note(&self.mesh.layout.trouble())?.unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    pub fn forget_failures(self) -> Result<(), StoreError> {
        files::remove(&self.mesh.layout.trouble())?;
        files::remove(&self.mesh.layout.trouble().with_extension("old.jsonl"))?;
        Ok(())
    }

    pub(in crate::store) fn make_dir(self) -> Result<(), StoreError> {
        let dir = self.mesh.layout.hooks();
        if !files::exists(&dir)? {
            files::create_dir(&dir)?;
        }
        Ok(())
    }
}

/// The file name for a call. The call's id comes from the harness, so the name is a hash of it.
fn before_name(session: &SessionId, call: &str) -> String {
    let call = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, call.as_bytes()).simple();
    format!("{}.{call}.before", session_hash(session))
}

fn stall_text(hooks: u64, seen: &LookedLines) -> String {
    format!("{hooks}\n{}\n", seen.text())
}

//! What the hooks of a session reported last: prompts, tool calls and ends of turns.
//!
//! ```text
//! hooks/<session>.steps   {"at":1794700676113,"step":"before","tool":"Bash","call":"toolu_1","mark":"0c1d…","work":"build"}
//! ```
//!
//! Prompts, commands and arguments (`args`) are there as hashes only. Several hooks of one session run at once, so each appends its line
//! under the lock of the file; one that finds it longer than `LONG` keeps the newer half.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::SessionId;
use crate::domain::screens::{HookStep, HookStepKind, HookSteps, ToolWork};
use crate::store::error::StoreError;
use crate::store::handles::HookStates;
use crate::store::lock_order::{LockOrderGuard, LockRank};
use crate::sys::files::{self, LockedLineFile};

/// Size in bytes above which the older half is dropped.
const LONG: u64 = 16 * 1024;
/// How long to wait for the lock on the file. Nobody holds it longer than it takes to write a line.
const LOCK_TIMEOUT: Duration = Duration::from_millis(300);
/// How many characters of a tool's name and of a call's id are kept.
const LONGEST_WORD: usize = 80;

#[derive(Deserialize, Serialize)]
struct StepLine {
    at: i64,
    step: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

impl StepLine {
    fn of(step: &HookStep) -> Self {
        let short = |word: &String| word.chars().take(LONGEST_WORD).collect();
        Self {
            at: step.at.as_millisecond(),
            step: step.kind.name().to_string(),
            tool: step.tool.as_ref().map(short),
            call: step.call.as_ref().map(short),
            mark: step.mark.clone(),
            args: step.arguments.clone(),
            work: step.work.map(|work| work.name().to_string()),
            result: step.result.clone(),
            by: step.by.clone(),
        }
    }

    fn step(self) -> Option<HookStep> {
        Some(HookStep {
            at: Timestamp::from_millisecond(self.at).ok()?,
            kind: HookStepKind::of_name(&self.step)?,
            tool: self.tool,
            call: self.call,
            mark: self.mark,
            arguments: self.args,
            work: self.work.as_deref().and_then(ToolWork::of_name),
            result: self.result,
            by: self.by,
        })
    }
}

impl HookStates<'_> {
    /// Adds what a hook reports, and returns how many bytes are recorded. `None`: another process held the file for the
    /// whole wait, and it is not recorded.
    pub fn add_step(self, session: &SessionId, step: &HookStep) -> Result<Option<u64>, StoreError> {
        self.make_dir()?;
        let path = self.file(session, "steps");
        let order = LockOrderGuard::begin(LockRank::Presence, LOCK_TIMEOUT);
        let Some(mut file) = LockedLineFile::open(&path, order.left())? else { return Ok(None) };
        let line = serde_json::to_vec(&StepLine::of(step))
            .map_err(|error| StoreError::Corrupt { path, reason: error.to_string() })?;
        let length = file.add(&line)?;
        if length > LONG {
            let content = file.read()?;
            let half = &content[content.len() / 2..];
            let start = half.iter().position(|byte| *byte == b'\n').map_or(half.len(), |at| at + 1);
            file.replace(&self.mesh.files, &half[start..])?;
        }
        Ok(Some(length))
    }

    /// What the session's hooks reported last. Lines that can't be read are skipped: they were cut short.
    pub fn steps(self, session: &SessionId) -> Result<HookSteps, StoreError> {
        let content = files::read_note(&self.file(session, "steps"))?.unwrap_or_default();
        let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let steps = lines.filter_map(|line| serde_json::from_slice::<StepLine>(line).ok()?.step());
        Ok(HookSteps::new(steps.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::Durability;
    use crate::store::{Mesh, MeshLocation, MeshOptions};

    #[test]
    fn steps_of_many_processes_are_kept_and_the_oldest_are_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(1) };
        let mesh = Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap();
        let session = SessionId::new("one").unwrap();
        assert_eq!(mesh.hooks().steps(&session).unwrap(), HookSteps::default());
        let step = |at: i64, call: String| HookStep {
            tool: Some("Bash".to_string()),
            call: Some(call),
            mark: Some(HookStep::mark_of("make")),
            arguments: Some(HookStep::arguments_mark("make")),
            work: Some(ToolWork::TestsOrBuild),
            by: Some(HookStep::mark_of("a subagent")),
            ..HookStep::new(Timestamp::from_millisecond(at).unwrap(), HookStepKind::ToolBegins)
        };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (mesh, session, step) = (&mesh, &session, &step);
                scope.spawn(move || {
                    for i in 0..20 {
                        let step = step(i, format!("{thread}.{i}"));
                        while mesh.hooks().add_step(session, &step).unwrap().is_none() {}
                    }
                });
            }
        });
        assert_eq!(mesh.hooks().steps(&session).unwrap().all().len(), 80);
        for i in 0..500 {
            mesh.hooks().add_step(&session, &step(i, "last".to_string())).unwrap();
        }
        let steps = mesh.hooks().steps(&session).unwrap();
        assert!((50..400).contains(&steps.all().len()), "{}", steps.all().len());
        assert_eq!(steps.last(), Some(&step(499, "last".to_string())));
    }
}

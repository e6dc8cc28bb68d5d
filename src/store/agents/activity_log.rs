//! The content of `presence/<Name>`: the log of what an agent did, from which its counts and its activity are read.
//!
//! ```text
//! {"calls":31,"files":["src/a.rs"],"last":"test: passed"}          the sum of earlier lines
//! {"now":"editing src/a.rs"}
//! {"calls":1,"files":["src/a.rs"],"last":"edit: src/a.rs","told":{"src/a.rs":1794700676113}}
//! {"rests":true}
//! {"calls":1,"last":"test: passed","test":{"at":1794700676113,"passed":true,"command":"cargo test"}}
//! ```
//!
//! `edited` and `test` are the times of the last edit and of the last test run whose outcome is known.
//!
//! Every hook is a separate process, and several hooks of one agent run at once. Each appends a line; a hook that finds
//! the file longer than `LONG` replaces its lines by their sum. So no count is lost, and the registration needs
//! rewriting only every `REWRITE_EVERY`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::domain::{ActivityChange, ActivityCounts, ActivityDelta, Agent, AgentName, SeenTest, SeenWork};
use crate::store::error::StoreError;
use crate::store::handles::ActivityLogs;
use crate::store::lock_order::{LockOrderGuard, LockRank};
use crate::store::locked_mesh::LockedMesh;
use crate::store::mesh::Mesh;
use crate::sys::clock;
use crate::sys::files::{self, LockedLineFile};

/// Minimum time between two rewrites of the registration for the counts alone.
const REWRITE_EVERY: SignedDuration = SignedDuration::from_secs(10);
/// Size in bytes above which the lines are replaced by their sum.
const LONG: u64 = 4096;
/// How long to wait for the lock on the file. Nobody holds it longer than it takes to write a line.
const LOCK_TIMEOUT: Duration = Duration::from_millis(300);
/// How many edited paths are kept with the time at which the feed last reported them, and for how long.
const MOST_TOLD: usize = 64;
const TOLD_FOR: SignedDuration = SignedDuration::from_secs(10);

/// One line of the file.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Line {
    #[serde(default, skip_serializing_if = "is_zero")]
    calls: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    tokens: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rests: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    /// Paths whose edits were reported to the feed, with the time in milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    told: BTreeMap<String, i64>,
    /// The last commit that was reported to the feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// The time of the last edit, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<TestLine>,
}

/// The last test run whose outcome is known.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct TestLine {
    at: i64,
    passed: bool,
    command: String,
}

/// What a line says about edits and tests. A time that is none counts as not seen.
fn seen(edited: Option<i64>, test: Option<TestLine>) -> SeenWork {
    let time = |at: i64| Timestamp::from_millisecond(at).ok();
    let test = test.and_then(|TestLine { at, passed, command }| {
        Some(SeenTest { command, has_passed: passed, at: time(at)? })
    });
    SeenWork { test, edited_at: edited.and_then(time) }
}

/// The same, as a line says it.
fn seen_keys(seen: SeenWork) -> (Option<i64>, Option<TestLine>) {
    let test = seen.test.map(|SeenTest { command, has_passed, at }| TestLine {
        at: at.as_millisecond(),
        passed: has_passed,
        command,
    });
    (seen.edited_at.map(Timestamp::as_millisecond), test)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The sum of all lines.
#[derive(Clone, Debug, Default)]
struct Sum {
    counts: ActivityCounts,
    told: BTreeMap<String, i64>,
    commit: Option<String>,
    seen: SeenWork,
}

impl Sum {
    /// Skips lines that cannot be parsed: they were cut short or written by somebody else.
    fn of(content: &[u8]) -> Self {
        let mut sum = Self::default();
        let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        for line in lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok()) {
            let Line { calls, tokens, files, now, rests, last, told, commit, edited, test } = line;
            let seen = seen(edited, test);
            sum.seen.add(seen.clone());
            let activity = match (now, rests) {
                (Some(now), _) => ActivityChange::Set(now),
                (None, true) => ActivityChange::Clear,
                (None, false) => ActivityChange::Unchanged,
            };
            sum.counts.add(ActivityDelta {
                tool_calls: calls,
                tokens,
                files,
                activity,
                last_tool_call: last,
                seen,
            });
            sum.told.extend(told);
            sum.commit = commit.or(sum.commit);
        }
        sum
    }

    /// The sum as one line. Reports older than `TOLD_FOR` are dropped.
    fn line(self, now: Timestamp) -> Line {
        let ActivityCounts { tool_calls, tokens, files_modified, activity, last_tool_call } = self.counts;
        let mut told: Vec<(String, i64)> = self.told.into_iter().collect();
        told.retain(|(_, at)| {
            now.as_millisecond().abs_diff(*at) < TOLD_FOR.unsigned_abs().as_millis() as u64
        });
        told.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
        told.truncate(MOST_TOLD);
        let (edited, test) = seen_keys(self.seen);
        Line {
            calls: tool_calls,
            tokens,
            files: files_modified,
            now: activity,
            rests: false,
            last: last_tool_call,
            told: told.into_iter().collect(),
            commit: self.commit,
            edited,
            test,
        }
    }
}

impl From<ActivityDelta> for Line {
    fn from(delta: ActivityDelta) -> Self {
        let ActivityDelta { tool_calls, tokens, files, activity, last_tool_call, seen } = delta;
        let (now, rests) = match activity {
            ActivityChange::Unchanged => (None, false),
            ActivityChange::Set(now) => (Some(now), false),
            ActivityChange::Clear => (None, true),
        };
        let (edited, test) = seen_keys(seen);
        Self {
            calls: tool_calls,
            tokens,
            files,
            now,
            rests,
            last: last_tool_call,
            edited,
            test,
            ..Self::default()
        }
    }
}

/// The activity log of an agent with its lock held, so no other process of that agent can append.
#[derive(Debug)]
#[must_use = "it is free again as soon as this is dropped"]
pub struct LockedActivityLog<'m> {
    mesh: &'m Mesh,
    file: LockedLineFile,
    sum: Sum,
    told: BTreeMap<String, i64>,
    commit: Option<String>,
}

impl LockedActivityLog<'_> {
    /// Whether an edit of this path is due for the feed: none was reported within `gathered`. If so, it counts as
    /// reported at `now`.
    pub fn is_due(&mut self, path: &str, now: Timestamp, gathered: SignedDuration) -> bool {
        let now = now.as_millisecond();
        let told = self.told.get(path).or_else(|| self.sum.told.get(path)).copied();
        let is_due = told.is_none_or(|told| now.abs_diff(told) >= gathered.unsigned_abs().as_millis() as u64);
        if is_due {
            self.told.insert(path.to_string(), now);
        }
        is_due
    }

    /// Whether this commit has not been reported to the feed yet. If so, it counts as reported.
    pub fn is_new_commit(&mut self, id: &str) -> bool {
        let is_new = self.sum.commit.as_deref() != Some(id);
        if is_new {
            self.commit = Some(id.to_string());
        }
        is_new
    }

    /// Appends the activity and what was reported to the feed.
    pub fn enter(mut self, delta: ActivityDelta) -> Result<(), StoreError> {
        let line = Line { told: self.told, commit: self.commit, ..Line::from(delta) };
        let length = self.file.add(&text(&line))?;
        add_up(self.mesh, self.file, length)
    }
}

impl<'m> ActivityLogs<'m> {
    /// Locks the agent's activity log, for a caller whose next line depends on its content. `None`: the lock was held
    /// by another process for the whole wait.
    pub fn lock(self, name: &AgentName) -> Result<Option<LockedActivityLog<'m>>, StoreError> {
        let Some(mut file) = self.locked_file(name)? else { return Ok(None) };
        let sum = Sum::of(&file.read()?);
        Ok(Some(LockedActivityLog { mesh: self.mesh, file, sum, told: BTreeMap::new(), commit: None }))
    }

    /// Appends an activity, which is also a sign of life. `false`: the lock was held by another process for the whole
    /// wait, and the activity is not counted.
    pub fn append(self, name: &AgentName, delta: ActivityDelta) -> Result<bool, StoreError> {
        let Some(mut file) = self.locked_file(name)? else { return Ok(false) };
        let length = file.add(&text(&Line::from(delta)))?;
        add_up(self.mesh, file, length)?;
        Ok(true)
    }

    /// The agent's counts so far: from its activity log, or from its registration if the log has no lines.
    pub fn counts(self, agent: &Agent) -> Result<ActivityCounts, StoreError> {
        let path = self.mesh.layout.presence(&agent.name);
        let has_lines = || files::metadata(&path).map(|found| found.is_some_and(|file| file.len() > 0));
        if !agent.is_ours() || !has_lines()? {
            return Ok(agent.counts.clone());
        }
        Ok(Sum::of(&files::read_note(&path)?.unwrap_or_default()).counts)
    }

    /// The last test run and the last edit that the agent's hooks reported.
    pub fn seen(self, name: &AgentName) -> Result<SeenWork, StoreError> {
        Ok(Sum::of(&files::read_note(&self.mesh.layout.presence(name))?.unwrap_or_default()).seen)
    }

    fn locked_file(self, name: &AgentName) -> Result<Option<LockedLineFile>, StoreError> {
        let path = self.mesh.layout.presence(name);
        let order = LockOrderGuard::begin(LockRank::Presence, LOCK_TIMEOUT);
        match LockedLineFile::open(&path, order.left()) {
            Err(_) if !files::exists(&self.mesh.layout.directory("presence"))? => {
                files::create_dir(&self.mesh.layout.directory("presence"))?;
                Ok(LockedLineFile::open(&path, order.left())?)
            }
            opened => Ok(opened?),
        }
    }
}

/// Replaces the lines by their sum if the file is longer than `LONG`.
fn add_up(mesh: &Mesh, mut file: LockedLineFile, length: u64) -> Result<(), StoreError> {
    if length <= LONG {
        return Ok(());
    }
    let sum = Sum::of(&file.read()?);
    let mut line = text(&sum.line(clock::now()));
    line.push(b'\n');
    Ok(file.replace(&mesh.files, &line)?)
}

#[expect(clippy::expect_used, reason = "a line holds nothing that JSON can't say")]
fn text(line: &Line) -> Vec<u8> {
    serde_json::to_vec(line).expect("plain data")
}

/// Whether the registration is due to be rewritten with the current counts.
pub fn is_rewrite_due(agent: &Agent, now: Timestamp) -> bool {
    // `abs`, because after the clock was set back the last rewrite is in the future and would block further ones.
    let is_old = |last: Timestamp| now.duration_since(last).abs() >= REWRITE_EVERY;
    agent.is_ours() && agent.last_activity.is_none_or(is_old)
}

impl LockedMesh<'_> {
    /// Writes the last activity time and the counts into the registration, for pi-messenger, unless that was done less
    /// than `REWRITE_EVERY` ago. The session record is not updated: nobody reads counts from it.
    pub fn note_activity(&self, who: &Agent, now: Timestamp) -> Result<bool, StoreError> {
        let mut record = self.own_record(who)?;
        if !is_rewrite_due(&record.agent, now) {
            return Ok(false);
        }
        record.agent.counts = self.mesh.activity().counts(&record.agent)?;
        record.agent.last_activity = Some(now);
        record.agent.drop_expired(now);
        let path = self.mesh.layout.registration(&record.agent.name);
        self.mesh.files.replace(&path, &record.bytes(&path)?)?;
        Ok(true)
    }

    /// Moves the counts of a renamed agent from its old name to its new one.
    pub(in crate::store) fn carry_counts(&self, from: &AgentName, to: &AgentName) -> Result<(), StoreError> {
        let (old, new) = (self.mesh.layout.presence(from), self.mesh.layout.presence(to));
        let has_lines = files::metadata(&new)?.is_some_and(|metadata| metadata.len() > 0);
        if !has_lines {
            self.mesh.files.take(&old, &new)?;
            return Ok(());
        }
        let line = Sum::of(&files::read_note(&old)?.unwrap_or_default()).line(clock::now());
        if let Some(mut file) = self.mesh.activity().locked_file(to)? {
            let length = file.add(&text(&line))?;
            add_up(self.mesh, file, length)?;
        }
        files::remove(&old)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::settings::Durability;
    use crate::store::{MeshLocation, MeshOptions};

    fn mesh(dir: &tempfile::TempDir) -> Mesh {
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(1) };
        Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap()
    }

    fn sum(mesh: &Mesh, name: &AgentName) -> Sum {
        Sum::of(&files::read(&mesh.layout.presence(name)).unwrap().unwrap())
    }

    #[test]
    fn adding_up_changes_nothing_and_keeps_the_file_short() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, name) = (mesh(&dir), AgentName::new("Alice").unwrap());
        let mut expected = ActivityCounts::default();
        for number in 0..500 {
            let delta = ActivityDelta {
                tool_calls: 1,
                tokens: 7,
                files: vec![format!("src/file{}.rs", number % 30)],
                activity: if number % 7 == 0 {
                    ActivityChange::Clear
                } else {
                    ActivityChange::Set(format!("editing {number}"))
                },
                last_tool_call: (number % 3 == 0).then(|| format!("edit: {number}")),
                seen: SeenWork { test: None, edited_at: Timestamp::from_millisecond(number).ok() },
            };
            expected.add(delta.clone());
            assert!(mesh.activity().append(&name, delta).unwrap());
            assert_eq!(sum(&mesh, &name).counts, expected);
            let seen = mesh.activity().seen(&name).unwrap();
            assert_eq!(seen.edited_at, Timestamp::from_millisecond(number).ok());
        }
        let length = files::metadata(&mesh.layout.presence(&name)).unwrap().unwrap().len();
        assert!(length <= LONG + 1024, "{length}");
    }

    #[test]
    fn what_was_told_is_remembered_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, name) = (mesh(&dir), AgentName::new("Alice").unwrap());
        let gathered = SignedDuration::from_secs(5);
        let at = |seconds: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_000_000 + seconds);
        let is_due = |path: &str, seconds: i64| {
            let mut log = mesh.activity().lock(&name).unwrap().unwrap();
            let is_due = log.is_due(path, at(seconds), gathered);
            log.enter(ActivityDelta::default()).unwrap();
            is_due
        };
        assert!(is_due("a", 0) && !is_due("a", 1) && is_due("b", 1) && !is_due("a", 4));
        assert!(is_due("a", 5), "counted from when it was told");
        assert!(!is_due("a", 4) && is_due("a", -100), "a clock that was set back");
        let mut log = mesh.activity().lock(&name).unwrap().unwrap();
        assert!(log.is_new_commit("1") && mesh.activity().locked_file(&name).unwrap().is_none());
        log.enter(ActivityDelta::default()).unwrap();
        assert!(!mesh.activity().lock(&name).unwrap().unwrap().is_new_commit("1"));
        for number in 0..200 {
            assert!(is_due(&format!("file{number}"), 10));
        }
        assert!(!mesh.activity().lock(&name).unwrap().unwrap().is_new_commit("1"), "nor is it forgotten");
        assert!(!is_due("file199", 11));
    }

    #[test]
    fn what_is_no_line_is_left_out() {
        let sum =
            Sum::of(b"\n{\"calls\":2}\n\n{\"calls\":\nnonsense\n[1]\n{\"calls\":3,\"later\":1}\n{\"cal");
        assert_eq!(sum.counts.tool_calls, 5);
    }
}

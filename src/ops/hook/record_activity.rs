//! Records what a hook reports about its agent: that it is alive, what it is doing, what it did. Some of that goes to
//! the feed.
//!
//! All of this happens after the answer, and none of it is worth failing for.
//!
//! The activity log also records which edits were reported, so of a burst at most one is. The feed is written after the
//! log: if the hook is killed in between, its line is missing there.
//! `domain::shell` says which programs a command ran, and what the outcome of the line says about each: of `cargo test
//! | tail` it says nothing, and so does the feed. Whether a commit was made is read from git's log of `HEAD`.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use crate::domain::activity::{GitCommit, NotableRuns, TestRun, activity};
use crate::domain::hook::{ToolOutcome, ToolUse};
use crate::domain::shell::ProgramRun;
use crate::domain::{ActivityChange, ActivityDelta, Agent, EventKind, SeenTest, SeenWork};
use crate::ops::agents::identity;
use crate::ops::agents::publish_activity::refresh;
use crate::ops::agents::stuck;
use crate::ops::error::CommandError;
use crate::ops::reservations::reserve::PatternBase;
use crate::store::LockedActivityLog;
use crate::sys::clock;
use crate::sys::git::WorkTree;

use super::{HookRun, planned_changes};

/// Edits of one path by one agent within this time are one event.
const EDIT_EVENT_INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// A commit may be this old if the harness doesn't report how long the command ran. The clocks may differ by `SLACK`,
/// because git's knows only whole seconds.
const RECENT: SignedDuration = SignedDuration::from_mins(10);
const SLACK: SignedDuration = SignedDuration::from_secs(2);

impl HookRun<'_> {
    /// Records a sign of life. Recording an activity is one, too.
    pub(super) fn record_presence(&self) {
        if let Some(me) = &self.me {
            identity::record_presence(self.op, self.mesh, me);
        }
    }

    /// Records that a tool call begins that was not refused.
    pub(super) fn record_tool_start(&self, tool: &ToolUse, runs: &[ProgramRun]) -> Result<(), CommandError> {
        let activity = self.activity(tool, runs);
        match self.counted().filter(|_| activity != ActivityChange::Unchanged) {
            Some(me) => self.count(me, ActivityDelta { activity, ..ActivityDelta::default() }),
            None => {
                self.record_presence();
                Ok(())
            }
        }
    }

    /// Records a finished tool call.
    pub(super) fn record_tool_end(&self, tool: &ToolUse) -> Result<(), CommandError> {
        let Some(me) = self.counted() else { return Ok(()) };
        self.record_files(tool);
        let runs = planned_changes::runs(self.op, tool);
        let notable = NotableRuns::of(&runs);
        let files = self.changed(tool);
        let mut delta = ActivityDelta {
            tool_calls: 1,
            tokens: self.call.event.tokens,
            activity: self.activity(tool, &runs),
            last_tool_call: files.last().map(|file| format!("edit: {file}")),
            files,
            seen: SeenWork::default(),
        };
        if delta.files.is_empty() && notable == NotableRuns::default() {
            self.count(me, delta)?;
            return refresh(self.mesh, me);
        }
        // The lock is held from the check to the new line, so that of several processes only one reports an event.
        match self.mesh.activity().lock(&me.name)? {
            Some(mut account) => {
                let now = clock::now();
                delta.seen = seen(&notable, tool, &delta.files, now);
                let told: Vec<String> = delta
                    .files
                    .iter()
                    .filter(|file| account.is_due(file, now, EDIT_EVENT_INTERVAL))
                    .cloned()
                    .collect();
                if let Some(test) = &notable.test {
                    delta.last_tool_call = Some(self.tell_of_test(me, test, tool));
                }
                if let Some(commit) = &notable.commit {
                    delta.last_tool_call =
                        self.tell_of_commit(me, &mut account, commit, tool).or(delta.last_tool_call);
                }
                // Write the count first: appending to the feed may have to wait, the count should not.
                account.enter(delta)?;
                for file in &told {
                    self.op.feed(EventKind::Edit, &me.name, Some(file), None);
                }
            }
            None => self.was_busy(me),
        }
        refresh(self.mesh, me)
    }

    /// Records the end of a turn.
    pub(super) fn record_turn_end(&self) -> Result<(), CommandError> {
        let Some(me) = self.counted() else { return Ok(()) };
        let tokens = self.call.event.tokens;
        self.count(
            me,
            ActivityDelta { activity: ActivityChange::Clear, tokens, ..ActivityDelta::default() },
        )?;
        refresh(self.mesh, me)
    }

    /// Records that a prompt was submitted.
    pub(super) fn record_prompt(&self) -> Result<(), CommandError> {
        let Some(me) = self.counted() else { return Ok(()) };
        if self.call.event.tokens > 0 {
            self.count(me, ActivityDelta { tokens: self.call.event.tokens, ..ActivityDelta::default() })?;
        }
        refresh(self.mesh, me)?;
        stuck::report_occasionally(self.op, self.mesh)
    }

    /// The agent, unless it is pi-messenger's, which counts its own agents' activity.
    fn counted(&self) -> Option<&Agent> {
        self.me.as_ref().filter(|me| !me.is_foreign())
    }

    fn count(&self, me: &Agent, delta: ActivityDelta) -> Result<(), CommandError> {
        match self.mesh.activity().append(&me.name, delta)? {
            true => Ok(()),
            false => {
                self.record_presence();
                self.was_busy(me);
                Ok(())
            }
        }
    }

    fn was_busy(&self, me: &Agent) {
        let text = format!("what {} did could not be counted: another process held its file", me.name);
        self.leave_trouble(&CommandError::new(crate::ops::CommandErrorKind::LockTimeout, text));
    }

    fn activity(&self, tool: &ToolUse, runs: &[ProgramRun]) -> ActivityChange {
        let place = self.place();
        activity(tool, runs, |path| self.shorten(place, path))
    }

    fn shorten(&self, place: &PatternBase, path: &str) -> String {
        place.shorten(&self.op.cwd.join(self.op.home.expand(path)).to_string_lossy())
    }

    /// The files that were changed, as far as the harness reports them.
    fn changed(&self, tool: &ToolUse) -> Vec<String> {
        if tool.outcome == Some(ToolOutcome::Failed) {
            return Vec::new();
        }
        let place = self.place();
        // In some harnesses `@` before a path mentions it; both forms are among the edits.
        let is_mention = |path: &&String| {
            path.strip_prefix('@').is_some_and(|rest| tool.edits.iter().any(|edit| edit == rest))
        };
        let edits = tool.edits.iter().filter(|path| !is_mention(path));
        let mut changed = Vec::new();
        for path in edits.chain(tool.changed.iter().flatten()) {
            let shown = self.shorten(place, path);
            if !changed.contains(&shown) {
                changed.push(shown);
            }
        }
        changed
    }

    /// Reports a test run. Says whether it passed only if the harness's report proves it.
    fn tell_of_test(&self, me: &Agent, test: &TestRun, tool: &ToolUse) -> String {
        let result = test.has_passed(tool.outcome).map(|passed| if passed { "passed" } else { "failed" });
        self.op.feed(EventKind::Test, &me.name, Some(&test.shown), result);
        format!("test: {}", result.unwrap_or("ran"))
    }

    /// Reports a commit if git's log has it: a command may fail after its commit, or succeed without one. If git keeps
    /// no log, the outcome of the command decides.
    fn tell_of_commit(
        &self,
        me: &Agent,
        account: &mut LockedActivityLog<'_>,
        commit: &GitCommit,
        tool: &ToolUse,
    ) -> Option<String> {
        let made = commit.was_made(tool.outcome);
        if made == Some(false) {
            return None;
        }
        let dir = commit.dir.as_deref().map_or(self.cwd(), Path::new);
        let subject = match WorkTree::containing(dir)?.last_commit() {
            Some(last) => {
                let ran_for =
                    tool.duration_ms.map(|ms| SignedDuration::from_millis(ms.try_into().unwrap_or(i64::MAX)));
                let now = clock::from_system(clock::machine_time());
                let is_recent = now.duration_since(last.at) <= ran_for.unwrap_or(RECENT) + SLACK;
                let is_it = commit.subject.as_ref().is_none_or(|subject| *subject == last.subject);
                (is_recent && is_it && account.is_new_commit(&last.id)).then_some(last.subject)?
            }
            None => commit.subject.clone().filter(|_| made == Some(true))?,
        };
        self.op.feed(EventKind::Commit, &me.name, None, Some(&subject));
        Some(format!("commit: {subject}"))
    }
}

/// What the tool call says about tasks: that something was edited, and that tests passed or failed.
fn seen(notable: &NotableRuns, tool: &ToolUse, edited: &[String], now: Timestamp) -> SeenWork {
    // When it began, if that is known: what is edited while it runs may not have been tested.
    let ran_for = tool.duration_ms.and_then(|ms| i64::try_from(ms).ok()).map(SignedDuration::from_millis);
    let began = ran_for.and_then(|ran_for| now.checked_sub(ran_for).ok()).unwrap_or(now);
    let test = notable.test.as_ref().and_then(|test| {
        let has_passed = test.has_passed(tool.outcome)?;
        Some(SeenTest { command: test.shown.clone(), has_passed, at: began })
    });
    SeenWork { test, edited_at: (!edited.is_empty()).then_some(now) }
}

//! `msg runs diff|merge|pr|discard|gc`: what a run did in a worktree of its own, and what becomes of it.

use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::domain::runs::{Run, RunClaim};
use crate::domain::shell_word;
use crate::faces::cli::output::{Page, Report, Ui, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::json;
use crate::ops::runs::diff::RunDiff;
use crate::ops::runs::discard::DiscardReport;
use crate::ops::runs::gc::{GcAction, GcMode, GcStep};
use crate::ops::runs::merge::{MergeEnd, MergeReport};
use crate::ops::runs::pr::PullRequestReport;
use crate::ops::{CommandError, CommandErrorKind};
use crate::sys::git::run_tree::{FileChangeKind, TreeChange};

fn kind_name(kind: FileChangeKind) -> &'static str {
    match kind {
        FileChangeKind::Added => "added",
        FileChangeKind::Removed => "removed",
        FileChangeKind::Changed => "changed",
    }
}

/// What is shown of a diff.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum DiffView {
    Text,
    Files,
}

/// What a run changed.
pub(super) struct DiffReport {
    pub(super) diff: RunDiff,
    pub(super) view: DiffView,
}

impl Report for DiffReport {
    fn json(&self) -> Map<String, Value> {
        let row = |change: &TreeChange| {
            let (added, removed) = change.lines.unzip();
            json!({
                "path": change.path.to_string_lossy(),
                "kind": kind_name(change.kind),
                "added": added,
                "removed": removed,
            })
        };
        Map::from_iter([
            ("run".to_string(), self.diff.run.id.as_str().into()),
            ("files".to_string(), self.diff.changes.iter().map(row).collect()),
            ("diff".to_string(), self.diff.text.clone().into()),
        ])
    }

    fn text(&self, page: &mut Page) {
        if self.diff.changes.is_empty() {
            page.line(format!("Run {} changed no file.", self.diff.run.id));
            return;
        }
        if self.view == DiffView::Text && !page.is_quiet {
            self.diff.text.lines().for_each(|line| page.line(coloured(line)));
            return;
        }
        let mut table = Table::default();
        for change in &self.diff.changes {
            let path = escape_invisible(&change.path.to_string_lossy()).into_owned();
            if page.is_quiet {
                page.line(path);
                continue;
            }
            let lines = match change.lines {
                Some((added, removed)) => format!("+{added} -{removed}"),
                None => "not a text".to_string(),
            };
            table.row(vec![
                TableCell::plain(&path),
                TableCell::plain(kind_name(change.kind)),
                TableCell::plain(&lines),
            ]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
    }
}

/// A line of a diff, with what a worker may have hidden in it made visible.
fn coloured(line: &str) -> String {
    let shown = escape_invisible(line);
    let is_header = |start: &str| shown.starts_with(start);
    if ["diff ", "index ", "--- ", "+++ "].into_iter().any(is_header) {
        style::bold(&shown)
    } else if is_header("@@") {
        style::dim(&shown)
    } else if is_header("+") {
        style::good(&shown)
    } else if is_header("-") {
        style::bad(&shown)
    } else {
        shown.into_owned()
    }
}

impl Report for MergeReport {
    fn json(&self) -> Map<String, Value> {
        let (state, files, commit) = match &self.end {
            MergeEnd::Merged { files, commit } => ("merged", files.as_slice(), commit.clone()),
            MergeEnd::Already => ("already", [].as_slice(), None),
            MergeEnd::Nothing => ("nothing", [].as_slice(), None),
        };
        let row = |(path, kind): &(String, FileChangeKind)| json!({"path": path, "kind": kind_name(*kind)});
        let files: Vec<Value> = files.iter().map(row).collect();
        let merged = json!({"state": state, "files": files, "commit": commit, "root": self.root});
        Map::from_iter([("run".to_string(), json::run::run(&self.run)), ("merged".to_string(), merged)])
    }

    fn text(&self, page: &mut Page) {
        let run = &self.run;
        match &self.end {
            MergeEnd::Already => page.line(format!("Run {} was merged before.", run.id)),
            MergeEnd::Nothing => page.line(format!("There is nothing to merge of run {}.", run.id)),
            MergeEnd::Merged { files, commit } => {
                for (path, kind) in files {
                    let mark = match kind {
                        FileChangeKind::Added => style::good("A"),
                        FileChangeKind::Removed => style::bad("D"),
                        FileChangeKind::Changed => style::warn("M"),
                    };
                    page.line(format!("{mark} {}", escape_invisible(path)));
                }
                if page.is_quiet {
                    return;
                }
                let how = match commit {
                    Some(commit) => format!("committed as {}", &commit[..commit.len().min(10)]),
                    None => "as uncommitted changes".to_string(),
                };
                page.line(style::dim(&format!("— run {} merged into {}, {how}", run.id, self.root)));
            }
        }
    }
}

/// Asks the person at the terminal whether the work is to be given up.
pub(super) fn confirm_discard(run: &Run, task: Option<&RunClaim>, ui: &Ui) -> Result<(), CommandError> {
    let files = match run.changed.as_ref().map(Vec::len) {
        Some(1) => "1 changed file".to_string(),
        Some(count) => format!("{count} changed files"),
        None => "what it changed".to_string(),
    };
    let anew = task.map_or_else(String::new, |claim| format!(" `{}` of its crew begins anew.", claim.task));
    let question =
        format!("Give up the work of run {} ({}): {files}?{anew} Type y or n.", run.id, run.title(60));
    if ui.is_confirmed(&question) {
        return Ok(());
    }
    let text = format!("the work of run {} is kept", run.id);
    let hint = format!("`msg runs discard {} --yes` does not ask", run.id);
    Err(CommandError::new(CommandErrorKind::NotConfirmed, text).hint(hint))
}

impl Report for DiscardReport {
    fn json(&self) -> Map<String, Value> {
        let task = self.begins_anew.as_ref().map(|claim| claim.task.as_str());
        let discarded = json!({"tip": self.tip, "keptBranch": self.kept_branch, "beginsAnew": task});
        Map::from_iter([("run".to_string(), json::run::run(&self.run)), ("discarded".to_string(), discarded)])
    }

    fn text(&self, page: &mut Page) {
        let run = &self.run;
        page.line(format!("The work of run {} is discarded.", run.id));
        if page.is_quiet {
            return;
        }
        if let Some(RunClaim { task, spec, .. }) = &self.begins_anew {
            let (task, spec) = (escape_invisible(task), shell_word(spec));
            page.line(format!("`{task}` begins anew when its crew goes on: msg crew work {spec}"));
        }
        if let Some(branch) = &self.kept_branch {
            page.line(format!("The branch `{branch}` stays: somebody moved it, or has it checked out."));
        }
        if let Some(tip) = &self.tip {
            let tip = &tip[..tip.len().min(12)];
            page.line(style::dim(&format!(
                "git keeps it for a while: `git branch again {tip}` brings it back"
            )));
        }
    }
}

impl Report for PullRequestReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([
            ("run".to_string(), json::run::run(&self.run)),
            ("commands".to_string(), self.commands.clone().into()),
            ("pushed".to_string(), self.answer.is_some().into()),
            ("answer".to_string(), self.answer.clone().into()),
        ])
    }

    fn text(&self, page: &mut Page) {
        match &self.answer {
            Some(answer) => page.line(escape_invisible(answer)),
            None => self.commands.iter().for_each(|command| page.line(escape_invisible(command))),
        }
    }
}

/// What was freed, or would be.
pub(super) struct GcReport {
    pub(super) steps: Vec<GcStep>,
    pub(super) mode: GcMode,
}

impl Report for GcReport {
    fn json(&self) -> Map<String, Value> {
        let row =
            |step: &GcStep| json!({"run": step.run.as_str(), "action": step.action.name(), "why": step.why});
        Map::from_iter([
            ("steps".to_string(), self.steps.iter().map(row).collect()),
            ("dryRun".to_string(), (self.mode == GcMode::DryRun).into()),
        ])
    }

    fn text(&self, page: &mut Page) {
        if self.steps.is_empty() {
            page.nothing("Nothing to free.", "`msg runs --all` shows all runs.");
        }
        for step in &self.steps {
            let (done, would) = match step.action {
                GcAction::Save => ("saved its work", "its work would be saved"),
                GcAction::Free => ("freed its directory", "its directory would be freed"),
                GcAction::Keep => ("its directory stays", "its directory stays"),
                GcAction::KeepRefs => ("its refs stay", "its refs stay"),
                GcAction::Unbranch => ("removed its branch", "its branch would be removed"),
                GcAction::Forget => ("forgot it", "it would be forgotten"),
            };
            let what = if self.mode == GcMode::DryRun { would } else { done };
            page.line(format!("{}  {what}: {}", style::bold(step.run.as_str()), escape_invisible(&step.why)));
        }
    }
}

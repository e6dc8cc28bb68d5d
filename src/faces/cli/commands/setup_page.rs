//! What `msg setup` prints: what was found, what is set up, what would change or has changed, and what to do next.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::domain::{Harness, escape_invisible};
use crate::faces::cli::output::{Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::harness::{self, HarnessSupport, texts};
use crate::ops::CommandError;
use crate::ops::setup::Execution;
use crate::ops::setup::assistant::{
    PartState, PartView, PersonShell, SetupChange, SetupOutcome, SetupPart, SetupSurvey, SetupUndoOutcome,
};
use crate::sys::environment::Home;

/// How many files of one directory are named; of more, only the directory.
const MOST: usize = 3;

/// What a person calls the part.
pub(super) fn label(part: SetupPart) -> String {
    match part {
        SetupPart::Hooks(harness) => format!("hooks of {harness}"),
        SetupPart::Joining => "sessions join by themselves".to_string(),
        SetupPart::Guard => "commit guard of this repository".to_string(),
        SetupPart::StatusLine(harness) => format!("status line of {harness}"),
        SetupPart::Completions(shell) => format!("completions for {}", shell.name()),
        SetupPart::ManPages => "man pages".to_string(),
    }
}

/// What the page is for.
pub(super) enum SetupStage {
    /// Shown before a person is asked.
    Plan,
    DryRun,
    /// Everything that is wanted is set up.
    NothingToDo,
    Done(SetupOutcome),
}

pub(super) struct SetupPage {
    pub(super) home: Home,
    pub(super) survey: SetupSurvey,
    /// What this call sets up, or would set up.
    pub(super) chosen: Vec<SetupPart>,
    pub(super) stage: SetupStage,
}

impl SetupPage {
    fn changes(&self) -> &[SetupChange] {
        if let SetupStage::Done(outcome) = &self.stage { &outcome.changes } else { &[] }
    }

    fn change(&self, part: SetupPart) -> Option<&SetupChange> {
        self.changes().iter().find(|change| change.part == part)
    }

    /// Why it could not be set up.
    fn failure(&self, part: SetupPart) -> Option<&CommandError> {
        let SetupStage::Done(outcome) = &self.stage else { return None };
        outcome.failed.iter().find(|(failed, _)| *failed == part).map(|(_, error)| error)
    }

    fn part_json(&self, view: &PartView) -> Value {
        let (state, reason) = match (&view.state, self.failure(view.part)) {
            (PartState::Set, _) => ("set", None),
            (PartState::Failed(error), _) | (PartState::Missing, Some(error)) => {
                ("failed", Some(&error.message))
            }
            (PartState::Missing, None) => ("missing", None),
            (PartState::Unavailable(reason), _) => ("unavailable", Some(reason)),
        };
        let files: Vec<String> = view.files.iter().map(|path| text_of(path)).collect();
        json!({ "part": view.part.name(), "program": view.part.program(), "state": state, "reason": reason,
                "planned": self.chosen.contains(&view.part), "files": files })
    }

    fn row(&self, view: &PartView) -> Vec<TableCell> {
        let is_planned = self.chosen.contains(&view.part);
        let files = |files: &[PathBuf]| paths(&self.home, files);
        let failure = self.failure(view.part).map(|error| error.message.clone());
        let (state, detail) = match (&view.state, self.change(view.part)) {
            (PartState::Set, Some(change)) => {
                (TableCell::styled("set now", style::good), files(&change.files))
            }
            (PartState::Set, None) => (TableCell::styled("set", style::good), String::new()),
            (PartState::Missing, _) if failure.is_some() => {
                (TableCell::styled("failed", style::bad), failure.unwrap_or_default())
            }
            (PartState::Missing, _) if is_planned => {
                (TableCell::styled("would be set", style::warn), files(&view.files))
            }
            (PartState::Missing, _) => (TableCell::styled("not set", style::dim), files(&view.files)),
            (PartState::Unavailable(reason), _) => {
                (TableCell::styled("left alone", style::dim), reason.clone())
            }
            (PartState::Failed(error), _) => (TableCell::styled("failed", style::bad), error.message.clone()),
        };
        vec![TableCell::plain(&label(view.part)), state, TableCell::plain(&escape_invisible(&detail))]
    }

    /// What else has to be known of what was set up.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> =
            self.changes().iter().flat_map(|change| change.notes.iter().cloned()).collect();
        for change in self.changes() {
            if let (SetupPart::Completions(PersonShell::Zsh), Some(dir)) =
                (change.part, change.files.first().and_then(|file| file.parent()))
            {
                let dir = self.home.shorten(&text_of(dir));
                notes.push(format!("zsh: put `fpath=({dir} $fpath)` before `compinit` in ~/.zshrc"));
            }
        }
        notes
    }

    /// Two programs to start agents with, the same twice if there is one.
    fn two_programs(&self) -> Option<(&'static str, &'static str)> {
        let first = self.survey.found.first()?;
        Some((first.name(), self.survey.found.get(1).unwrap_or(first).name()))
    }

    fn next(&self) -> Vec<String> {
        match self.two_programs() {
            Some((one, other)) => [one, other, "msg tui"].map(str::to_string).to_vec(),
            None => vec!["msg setup".to_string()],
        }
    }

    /// What to do next, a line each.
    fn closing(&self) -> Vec<String> {
        let is_offered = self.survey.parts.iter().any(|view| {
            matches!(view.state, PartState::Missing)
                && !self.chosen.contains(&view.part)
                && !view.part.is_needed()
        });
        let mut lines = Vec::new();
        if is_offered && !matches!(self.stage, SetupStage::Plan) {
            lines.push("`msg setup --all` also sets up what is not set.".to_string());
        }
        if matches!(self.stage, SetupStage::Plan | SetupStage::DryRun) {
            return lines;
        }
        if !self.changes().is_empty() {
            lines.push("`msg setup --undo` takes all of it back.".to_string());
        }
        if let Some((one, other)) = self.two_programs() {
            let restart = if self.changes().is_empty() { "" } else { "restart running sessions; then " };
            lines.push(format!("Next: {restart}start two agents in one project,"));
            lines.push(format!("for example `{one}` in one terminal and `{other}` in another."));
            lines.push("`msg tui` shows them, and lets you talk to them.".to_string());
        }
        lines
    }
}

impl Report for SetupPage {
    fn json(&self) -> Map<String, Value> {
        let harness =
            |present: bool| move |name: &Harness| json!({ "name": name.name(), "present": present });
        let found = self.survey.found.iter().map(harness(true));
        let harnesses: Vec<Value> = found.chain(self.survey.not_found.iter().map(harness(false))).collect();
        let parts: Vec<Value> = self.survey.parts.iter().map(|view| self.part_json(view)).collect();
        let changed: Vec<String> =
            self.changes().iter().flat_map(|change| &change.files).map(|path| text_of(path)).collect();
        let mut members = Map::from_iter([
            ("harnesses".to_string(), json!(harnesses)),
            ("parts".to_string(), json!(parts)),
            ("changed".to_string(), json!(changed)),
            ("notes".to_string(), json!(self.notes())),
            ("next".to_string(), json!(self.next())),
        ]);
        if matches!(self.stage, SetupStage::DryRun) {
            members.insert("dryRun".to_string(), json!(true));
        }
        members
    }

    fn text(&self, page: &mut Page) {
        if self.survey.found.is_empty() {
            page.line(format!("No harness was found on this machine. msg works with {}.", texts::titles()));
            page.line("Install one of them, then run `msg setup` again.");
        } else {
            page.line(format!("Found: {}.", titles(&self.survey.found)));
        }
        page.line("");
        let mut table = Table::default();
        self.survey.parts.iter().for_each(|view| table.row(self.row(view)));
        table.lines().into_iter().for_each(|line| page.line(line));
        self.notes().iter().for_each(|note| page.line(style::warn(&escape_invisible(note))));
        let closing = self.closing();
        if !closing.is_empty() || matches!(self.stage, SetupStage::Plan) {
            page.line("");
        }
        closing.iter().for_each(|line| page.line(line));
    }

    fn is_answer(&self) -> bool {
        !matches!(self.stage, SetupStage::Done(_))
    }
}

pub(super) struct SetupUndoPage {
    pub(super) home: Home,
    pub(super) outcome: SetupUndoOutcome,
    pub(super) execution: Execution,
    /// Where something of msg is installed, as `install` names it.
    pub(super) installed: Vec<String>,
}

impl Report for SetupUndoPage {
    fn json(&self) -> Map<String, Value> {
        let changed: Vec<String> = self.outcome.changed.iter().map(|path| text_of(path)).collect();
        let kept: Vec<Value> = self
            .outcome
            .kept
            .iter()
            .map(|kept| json!({ "path": text_of(&kept.path), "reason": kept.reason }))
            .collect();
        let mut members = Map::from_iter([
            ("changed".to_string(), json!(changed)),
            ("kept".to_string(), json!(kept)),
            ("installed".to_string(), json!(self.installed)),
        ]);
        if self.execution == Execution::DryRun {
            members.insert("dryRun".to_string(), json!(true));
        }
        members
    }

    fn text(&self, page: &mut Page) {
        let SetupUndoOutcome { changed, kept, failed } = &self.outcome;
        if changed.is_empty() && kept.is_empty() && failed.is_empty() {
            page.line("Nothing of `msg setup` is left to take back.");
        }
        if !changed.is_empty() {
            page.line(match self.execution {
                Execution::Apply => "Taken back; what was not there before is removed:",
                Execution::DryRun => "Would be taken back; what was not there before would be removed:",
            });
        }
        for line in grouped(&self.home, changed) {
            page.line(format!("  {}", escape_invisible(&line)));
        }
        for file in kept {
            let path = self.home.shorten(&text_of(&file.path));
            page.line(style::warn(&escape_invisible(&format!("`{path}`: {}", file.reason))));
        }
        if self.execution == Execution::DryRun {
            return;
        }
        if !changed.is_empty() {
            page.line(style::dim("Running sessions keep the old hooks until you restart them."));
        }
        if !self.installed.is_empty() {
            let names = self.installed.join(", ");
            page.line(format!("Still installed, because `msg setup` did not do it: {names}. `msg uninstall NAME` removes it."));
        }
    }

    fn is_answer(&self) -> bool {
        self.execution == Execution::DryRun
    }
}

fn text_of(path: &Path) -> String {
    path.display().to_string()
}

fn titles(harnesses: &[Harness]) -> String {
    let title = |harness: &Harness| {
        harness::support(*harness).map_or(harness.name(), HarnessSupport::title).to_string()
    };
    harnesses.iter().map(title).collect::<Vec<_>>().join(", ")
}

fn paths(home: &Home, files: &[PathBuf]) -> String {
    files.iter().map(|path| home.shorten(&text_of(path))).collect::<Vec<_>>().join(", ")
}

/// The files, a line each; where many are in one directory, only that.
fn grouped(home: &Home, files: &[PathBuf]) -> Vec<String> {
    let mut dirs: BTreeMap<&Path, Vec<&PathBuf>> = BTreeMap::new();
    for path in files {
        dirs.entry(path.parent().unwrap_or(path)).or_default().push(path);
    }
    let mut lines = Vec::new();
    for (dir, files) in dirs {
        if files.len() > MOST {
            lines.push(format!("{}/…", home.shorten(&text_of(dir))));
        } else {
            lines.extend(files.into_iter().map(|path| home.shorten(&text_of(path))));
        }
    }
    lines
}

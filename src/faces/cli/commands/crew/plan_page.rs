//! A plan as it is shown, and what became of it.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::domain::crews::{BegunState, PlanChange};
use crate::domain::runs::{Run, RunId};
use crate::domain::{escape_invisible, escape_invisible_line};
use crate::faces::cli::commands::run::{DryRunReport, RunReport};
use crate::faces::cli::output::{Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::ops::crew::{DraftedTask, PlanDraft, Planning};

/// How many lines of a task's text are shown, and of a plan that can't be read.
const MOST_LINES: usize = 8;
const MOST_RAW_LINES: usize = 60;

/// What became of a plan.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PlanOutcome {
    /// It is only shown.
    Shown,
    Written,
    /// The person has seen it before.
    WrittenAfterShown,
    /// The file has the same text.
    AlreadyThere,
    /// It has faults.
    NotUsed,
}

/// A plan and what became of it.
pub(super) struct PlanPage {
    file: PathBuf,
    name: String,
    draft: PlanDraft,
    /// The runs of its planners.
    runs: Vec<RunId>,
    outcome: PlanOutcome,
}

impl PlanPage {
    pub(super) fn new(planning: &Planning, draft: PlanDraft, runs: Vec<RunId>, outcome: PlanOutcome) -> Self {
        let (file, name) = (planning.file().to_path_buf(), planning.name().to_string());
        Self { file, name, draft, runs, outcome }
    }

    /// The run that the plan is from.
    pub(super) fn last_run(&self) -> Option<&RunId> {
        self.runs.last()
    }

    fn is_written(&self) -> bool {
        matches!(self.outcome, PlanOutcome::Written | PlanOutcome::WrittenAfterShown)
    }

    /// `2 added, 1 kept, 1 dropped`.
    fn changes(&self) -> String {
        let count = |change: PlanChange| (self.draft.ids(change).len(), change.name());
        let changes = [PlanChange::Added, PlanChange::Changed, PlanChange::Same, PlanChange::Kept].map(count);
        let all = changes.into_iter().chain([(self.draft.dropped.len(), "dropped")]);
        let told = all.filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}"));
        told.collect::<Vec<_>>().join(", ")
    }

    fn heading(&self, page: &mut Page) {
        let tasks = match self.draft.tasks.len() {
            1 => "1 task".to_string(),
            count => format!("{count} tasks"),
        };
        let name = style::bold(&escape_invisible(&self.name));
        page.line(match self.outcome {
            PlanOutcome::AlreadyThere => format!("{name} has this plan already: {tasks}."),
            PlanOutcome::Written | PlanOutcome::WrittenAfterShown => {
                format!("{name} is written: {tasks} ({}).", self.changes())
            }
            PlanOutcome::Shown => format!("Plan for {name}: {tasks} ({})", self.changes()),
            PlanOutcome::NotUsed => format!("Plan for {name}, which is not used: {tasks}"),
        });
    }

    fn tasks(&self, page: &mut Page) {
        let mut heads = Table::default();
        self.draft.tasks.iter().for_each(|drafted| heads.row(head(drafted)));
        for (drafted, line) in self.draft.tasks.iter().zip(heads.lines()) {
            page.line("");
            page.line(line);
            let task = &drafted.task;
            let lines: Vec<&str> = task.body.lines().collect();
            lines
                .iter()
                .take(MOST_LINES)
                .for_each(|line| page.line(format!("  {}", escape_invisible_line(line))));
            if lines.len() > MOST_LINES {
                page.line(style::dim(&format!("  … {} more lines", lines.len() - MOST_LINES)));
            }
            let mut detail = |name: &str, text: &str| {
                page.line(format!("  {} {}", style::dim(&format!("{name:<7}")), escape_invisible(text)));
            };
            if !task.needs.is_empty() {
                detail("needs", &task.needs.join(", "));
            }
            if !task.paths.is_empty() {
                detail("paths", &task.paths.join(", "));
            }
            task.verify.iter().for_each(|command| detail("verify", command));
            for warning in self.draft.warnings.iter().filter(|warning| warning.id() == task.id) {
                page.line(format!("  {} {}", style::warn("warning"), warning.what()));
            }
        }
        if !self.draft.dropped.is_empty() {
            page.line("");
            page.line(format!("Dropped: {}", escape_invisible(&self.draft.dropped.join(", "))));
        }
    }
}

/// The first line of a task.
fn head(drafted: &DraftedTask) -> Vec<TableCell> {
    let change = match (drafted.change, drafted.state) {
        (PlanChange::Kept, Some(state)) => format!("kept: {}", state.name()),
        (change, _) => change.name().to_string(),
    };
    let paint = match drafted.change {
        PlanChange::Added => style::good,
        PlanChange::Changed => style::warn,
        PlanChange::Same | PlanChange::Kept => style::dim,
    };
    vec![
        TableCell::styled(&escape_invisible(&drafted.task.id), style::bold),
        TableCell::styled(&change, paint),
        TableCell::plain(&escape_invisible(&drafted.task.title)),
    ]
}

fn task_json(drafted: &DraftedTask) -> Value {
    let task = &drafted.task;
    json!({
        "id": task.id,
        "title": task.title,
        "state": drafted.state.map_or("open", BegunState::name),
        "change": drafted.change.name(),
        "needs": task.needs,
        "paths": task.paths,
        "verify": task.verify,
    })
}

impl Report for PlanPage {
    fn json(&self) -> Map<String, Value> {
        let draft = &self.draft;
        let texts = |list: Vec<String>| Value::from(list);
        let ids = |change: PlanChange| Value::from(draft.ids(change));
        Map::from_iter([
            ("file".to_string(), json!(self.file.to_string_lossy())),
            ("written".to_string(), self.is_written().into()),
            ("tasks".to_string(), draft.tasks.iter().map(task_json).collect()),
            ("added".to_string(), ids(PlanChange::Added)),
            ("changed".to_string(), ids(PlanChange::Changed)),
            ("same".to_string(), ids(PlanChange::Same)),
            ("kept".to_string(), ids(PlanChange::Kept)),
            ("dropped".to_string(), draft.dropped.clone().into()),
            ("warnings".to_string(), texts(draft.warnings.iter().map(ToString::to_string).collect())),
            ("faults".to_string(), texts(draft.faults.iter().map(ToString::to_string).collect())),
            ("runs".to_string(), texts(self.runs.iter().map(ToString::to_string).collect())),
            ("text".to_string(), draft.text.clone().into()),
        ])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            if self.outcome != PlanOutcome::NotUsed {
                page.line(escape_invisible(&self.file.to_string_lossy()));
            }
            return;
        }
        self.heading(page);
        if self.outcome == PlanOutcome::WrittenAfterShown || self.outcome == PlanOutcome::AlreadyThere {
            return;
        }
        if !self.draft.intro.is_empty() {
            page.line("");
            page.foreign_text(&self.draft.intro);
        }
        if self.draft.tasks.is_empty() {
            let lines: Vec<&str> = self.draft.text.lines().collect();
            page.line("");
            lines
                .iter()
                .take(MOST_RAW_LINES)
                .for_each(|line| page.line(format!("> {}", escape_invisible_line(line))));
            if lines.len() > MOST_RAW_LINES {
                page.line(style::dim(&format!("… {} more lines", lines.len() - MOST_RAW_LINES)));
            }
        }
        self.tasks(page);
        if !self.draft.faults.is_empty() {
            page.line("");
            page.line("What is wrong with it:");
            for fault in &self.draft.faults {
                page.line(format!("- {}", escape_invisible(&fault.to_string())));
            }
        }
        if self.outcome == PlanOutcome::Shown {
            page.line("");
        }
    }
}

/// A planner that goes on, inside a harness.
pub(super) struct PlanRunGoesOn {
    pub(super) run: Run,
    /// The line to type when it has ended.
    pub(super) next: String,
}

impl Report for PlanRunGoesOn {
    fn json(&self) -> Map<String, Value> {
        let mut members = RunReport(self.run.clone()).json();
        members.insert("written".to_string(), false.into());
        members.insert("next".to_string(), self.next.clone().into());
        members
    }

    fn text(&self, page: &mut Page) {
        RunReport(self.run.clone()).text(page);
        if !page.is_quiet {
            page.line(format!("When it has ended, this checks and writes its plan: {}", self.next));
        }
    }
}

/// What a planner would be told.
pub(super) struct PlanDryRun {
    pub(super) file: PathBuf,
    pub(super) told: String,
    pub(super) report: DryRunReport,
}

impl Report for PlanDryRun {
    fn json(&self) -> Map<String, Value> {
        let mut members = self.report.json();
        members.insert("file".to_string(), json!(self.file.to_string_lossy()));
        members.insert("told".to_string(), self.told.clone().into());
        members
    }

    fn text(&self, page: &mut Page) {
        self.report.text_with_task(page, "planner", &self.told);
    }
}

//! What `msg crew report` tells: the story of each task, attempt by attempt, what proves it, and what all of it cost.

use crate::domain::escape_invisible_line;
use crate::domain::runs::{CrewEnd, ReviewOutcome, ReviewedBill, Run};
use crate::faces::cli::commands::run::{took, used};
use crate::faces::cli::output::{Page, style};
use crate::faces::cli::progress_block::{terminal_width, wrap};
use crate::faces::json;
use crate::ops::crew::{CrewTask, CrewTaskState, KnownCrew, merge_command};
use crate::sys::clock;

use super::task_lines::state;

/// How many findings of one review are told.
const MOST_FINDINGS: usize = 5;

/// How a report is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ReportForm {
    Text,
    Markdown,
}

/// Writes a report, in which facts are beneath other facts.
pub(super) struct ReportWriter<'p> {
    page: &'p mut Page,
    is_markdown: bool,
    /// How wide a line may be; `None`: as long as it is.
    width: Option<usize>,
}

impl<'p> ReportWriter<'p> {
    pub(super) fn new(page: &'p mut Page, form: ReportForm) -> Self {
        let is_markdown = form == ReportForm::Markdown;
        let width = (page.is_terminal && !is_markdown).then(terminal_width);
        Self { page, is_markdown, width }
    }

    pub(super) fn write(&mut self, crew: &KnownCrew) {
        let spec = escape_invisible_line(&crew.spec);
        let branch = format!("Branch {}, {}, of {spec}.", crew.branch, counted(crew.commits, "commit"));
        if self.is_markdown {
            self.page.line(format!("# What became of {spec}\n"));
        }
        self.text(&branch);
        for task in &crew.tasks {
            self.page.line("");
            self.task(task);
        }
        self.page.line("");
        let done = crew.tasks.iter().filter(|task| task.state == CrewTaskState::Done).count();
        let of = crew.tasks.len();
        self.text(&format!("{done} of {of} tasks are done, by {}.", billed(&crew.bill)));
        if crew.commits > 0 {
            let merge = merge_command(&crew.branch);
            match self.is_markdown {
                true => self.page.line(format!("\nTo take the work:\n\n    {merge}")),
                false => self.page.line(format!("To take the work: {}", style::bold(&merge))),
            }
        }
    }

    fn task(&mut self, task: &CrewTask) {
        let title = escape_invisible_line(&format!("{}: {}", task.spec.id, task.spec.title));
        let state = state(task);
        match self.is_markdown {
            true => self.page.line(format!("## {title} ({state})")),
            false => self.page.line(format!("{} ({state})", style::bold(&title))),
        }
        match &task.state {
            CrewTaskState::Blocked(why) | CrewTaskState::Held(why) => {
                // Of an attempt that was stopped, this is told below.
                if task.runs.last().and_then(|run| run.reason.as_ref()) != Some(why) {
                    self.fact(0, why);
                }
            }
            CrewTaskState::Waiting(needs) => self.fact(0, &format!("it needs {}", needs.join(", "))),
            CrewTaskState::Ready | CrewTaskState::Live | CrewTaskState::Done => {}
        }
        for (number, run) in task.runs.iter().enumerate() {
            self.fact(0, &format!("attempt {}: {}", number + 1, attempt(run)));
            self.end(run);
        }
        if !task.runs.is_empty() && task.state == CrewTaskState::Done {
            self.fact(0, &proof(task));
        }
        let outside = task.outside_plan();
        if !outside.is_empty() {
            self.fact(0, &format!("outside of the plan: {}", outside.join(", ")));
        }
        if !task.runs.is_empty() {
            self.fact(0, &format!("in all: {}", billed(&task.bill())));
        }
    }

    /// What became of the work of a run, in the order in which it happened.
    fn end(&mut self, run: &Run) {
        let end = run.crew.as_ref().and_then(|part| part.end.as_ref());
        if end.is_none()
            && let Some(reason) = &run.reason
        {
            self.fact(1, reason);
        }
        if let Some(review) = &run.review {
            self.fact(1, &format!("review: {}", review.summary()));
            let findings = review.findings();
            findings.iter().take(MOST_FINDINGS).for_each(|finding| self.fact(2, &finding.sentence()));
            if findings.len() > MOST_FINDINGS {
                self.fact(
                    2,
                    &format!("and {} more: `msg runs show {}`", findings.len() - MOST_FINDINGS, run.id),
                );
            }
        }
        let has_verdict =
            || matches!(run.review.as_ref().map(|it| &it.outcome), Some(ReviewOutcome::Given(_)));
        match end {
            None => {}
            Some(CrewEnd::NotShipped) if has_verdict() => {}
            Some(CrewEnd::Merged { commit: Some(commit), .. }) => {
                self.fact(1, &format!("merged as commit {}", short(commit)));
            }
            Some(CrewEnd::Conflict(files)) => {
                self.fact(1, &format!("conflict; others changed the same lines in {}", files.join(", ")));
            }
            Some(CrewEnd::Merged { commit: None, .. }) => self.fact(1, "the branch had all of it already"),
            Some(end) => match json::crew::end_reason(end) {
                Some(why) => self.fact(1, &format!("{}; {why}", end.name())),
                None => self.fact(1, end.name()),
            },
        }
    }

    /// A fact, beneath `level` others.
    fn fact(&mut self, level: usize, text: &str) {
        let text = escape_invisible_line(text);
        if self.is_markdown {
            return self.page.line(format!("{}- {text}", "  ".repeat(level)));
        }
        let indent = 2 * (level + 1);
        let Some(width) = self.width else {
            return self.page.line(format!("{}{text}", " ".repeat(indent)));
        };
        // What goes on on the next line is indented further.
        let rows = wrap(&text, width.saturating_sub(indent + 2));
        for (number, row) in rows.iter().enumerate() {
            let indent = if number == 0 { indent } else { indent + 2 };
            self.page.line(format!("{}{row}", " ".repeat(indent)));
        }
    }

    fn text(&mut self, text: &str) {
        match self.width {
            Some(width) => wrap(text, width).iter().for_each(|row| self.page.line(row)),
            None => self.page.line(text),
        }
    }
}

/// Who made the attempt, how it ended, how long it took and what it used.
fn attempt(run: &Run) -> String {
    let program = run.harness.as_deref().unwrap_or("a command");
    let kind = match &run.model {
        Some(model) => format!("{}, {program}, {model}", run.profile),
        None => format!("{}, {program}", run.profile),
    };
    let who = run.agent.as_ref().map_or_else(|| kind.clone(), |agent| format!("{agent} ({kind})"));
    let used: String = used(run).iter().map(|used| format!(", {used}")).collect();
    format!("{who}, run {}, {}, {}{used}", run.id, run.outcome(), took(run, clock::now()))
}

/// What shows that a task is done.
fn proof(task: &CrewTask) -> String {
    let Some(test) = json::crew::proof(task) else {
        let why = if task.spec.verify.is_empty() {
            "no command of the spec proves it"
        } else {
            "no run of its commands is recorded"
        };
        return format!("proof: none; {why}");
    };
    let commands: Vec<String> = test.command.lines().map(|command| format!("`{command}`")).collect();
    let on = task.commit().map(|commit| format!(" on commit {}", short(commit))).unwrap_or_default();
    format!("proof: {} ended with {}{on}", commands.join(" and "), test.how)
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// `2 runs and 1 review, 340 tokens, $0.34, $0.04 of it for reviews`.
fn billed(bill: &ReviewedBill) -> String {
    let all = bill.all();
    let mut parts = vec![counted(bill.builders.runs, "run")];
    if bill.reviewers.runs > 0 {
        parts[0].push_str(&format!(" and {}", counted(bill.reviewers.runs, "review")));
    }
    parts.extend(all.known_tokens().map(|tokens| format!("{tokens} tokens")));
    parts.extend(all.known().map(|known| known.to_string()));
    parts.extend(bill.reviewers.known().map(|known| format!("{known} of it for reviews")));
    parts.join(", ")
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

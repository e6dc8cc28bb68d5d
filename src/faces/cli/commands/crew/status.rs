//! `msg crew status` and `msg crew report`: how far a crew is, and what became of each task.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible_line;
use crate::domain::runs::{ReviewOutcome, ReviewedBill, Run};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::progress_block::bar;
use crate::faces::json;
use crate::ops::crew::{CrewTask, CrewTaskState, KnownCrew, known_crew, merge_command};
use crate::ops::{CommandError, Op};

use super::work::line;

/// Show how far a crew is
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg crew status
  msg crew status PLAN.md --json | jq '.tasks[] | {id, state}'")]
pub(super) struct StatusArgs {
    /// The Markdown file with the tasks [default: that of the crew which worked here last]
    #[arg(value_name = "SPEC")]
    spec: Option<String>,
    /// The end of the branch's name [default: the name of the spec]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
}

/// Tell what became of each task of a crew: who did it, attempts, verdicts, proof and cost
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg crew report
  msg crew report PLAN.md --markdown > report.md")]
pub(super) struct ReportArgs {
    /// The Markdown file with the tasks [default: that of the crew which worked here last]
    #[arg(value_name = "SPEC")]
    spec: Option<String>,
    /// The end of the branch's name [default: the name of the spec]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// As Markdown
    #[arg(long)]
    markdown: bool,
}

pub(super) fn run(op: &Op, args: StatusArgs) -> Result<CommandOutput, CommandError> {
    let crew = known_crew(op, args.spec.as_deref(), args.branch.as_deref())?;
    Ok(CommandOutput { report: Some(Box::new(StatusPage { crew })), error: None })
}

pub(super) fn run_report(op: &Op, args: ReportArgs) -> Result<CommandOutput, CommandError> {
    let crew = known_crew(op, args.spec.as_deref(), args.branch.as_deref())?;
    Ok(CommandOutput { report: Some(Box::new(ReportPage { crew, is_markdown: args.markdown })), error: None })
}

fn crew_json(crew: &KnownCrew) -> Map<String, Value> {
    let tasks: Vec<Value> = crew.tasks.iter().map(json::crew::crew_task).collect();
    let all = crew.bill.all();
    let members = json!({
        "spec": crew.spec,
        "branch": crew.branch,
        "start": crew.start,
        "tip": crew.at,
        "commits": crew.commits,
        "tasks": tasks,
        "runs": crew.bill.builders.runs,
        "tokens": all.known_tokens(),
        "costUsd": all.known().map(|known| known.dollars()),
        "bill": json::crew::reviewed_bill(&crew.bill),
        "merge": merge_command(&crew.branch),
    });
    members.as_object().cloned().unwrap_or_default()
}

fn done(crew: &KnownCrew) -> usize {
    crew.tasks.iter().filter(|task| task.state == CrewTaskState::Done).count()
}

struct StatusPage {
    crew: KnownCrew,
}

impl Report for StatusPage {
    fn json(&self) -> Map<String, Value> {
        crew_json(&self.crew)
    }

    fn text(&self, page: &mut Page) {
        for task in &self.crew.tasks {
            page.line(line(task));
        }
        page.line(style::dim(&format!(
            "{} · {}",
            bar(done(&self.crew), self.crew.tasks.len()),
            self.crew.branch
        )));
    }
}

struct ReportPage {
    crew: KnownCrew,
    is_markdown: bool,
}

impl Report for ReportPage {
    fn json(&self) -> Map<String, Value> {
        crew_json(&self.crew)
    }

    fn text(&self, page: &mut Page) {
        let crew = &self.crew;
        let heading = |text: &str| if self.is_markdown { format!("## {text}") } else { style::bold(text) };
        let branch =
            format!("Branch {}, {}, of {}.", crew.branch, counted(crew.commits, "commit"), crew.spec);
        page.line(match self.is_markdown {
            true => format!("# What became of {}\n\n{branch}", escape_invisible_line(&crew.spec)),
            false => branch,
        });
        for task in &crew.tasks {
            page.line("");
            let title = format!(
                "{}: {}",
                escape_invisible_line(&task.spec.id),
                escape_invisible_line(&task.spec.title)
            );
            page.line(format!("{} ({})", heading(&title), task.state.name()));
            for fact in facts(task) {
                page.line(if self.is_markdown { format!("- {fact}") } else { format!("  {fact}") });
            }
        }
        page.line("");
        page.line(format!(
            "{} of {} tasks are done, by {}.",
            done(crew),
            crew.tasks.len(),
            billed(&crew.bill)
        ));
        if crew.commits > 0 {
            page.line(format!("To take the work: {}", merge_command(&crew.branch)));
        }
    }
}

/// What is told of a task, a line each.
fn facts(task: &CrewTask) -> Vec<String> {
    let mut facts = Vec::new();
    match &task.state {
        CrewTaskState::Blocked(why) | CrewTaskState::Held(why) => facts.push(escape_invisible_line(why)),
        CrewTaskState::Waiting(needs) => facts.push(format!("it needs {}", needs.join(", "))),
        CrewTaskState::Ready | CrewTaskState::Live | CrewTaskState::Done => {}
    }
    for (number, run) in task.runs.iter().enumerate() {
        facts.push(format!("attempt {}: {}", number + 1, attempt(run)));
    }
    facts.extend(task.commit().map(|commit| format!("commit {commit}")));
    let outside = task.outside_plan();
    if !outside.is_empty() {
        facts.push(format!("outside of the plan: {}", escape_invisible_line(&outside.join(", "))));
    }
    if !task.runs.is_empty() {
        facts.push(billed(&task.bill()));
    }
    facts
}

fn attempt(run: &Run) -> String {
    let who =
        run.agent.as_ref().map_or_else(|| run.profile.clone(), |agent| format!("{agent} ({})", run.profile));
    let mut parts = vec![format!("{who}, run {}, {}", run.id, run.outcome())];
    parts.extend(run.harness.clone());
    if let Some(review) = &run.review {
        parts.push(format!("review: {}", escape_invisible_line(&review.summary())));
        if let ReviewOutcome::Given(given) = &review.outcome {
            parts.extend(
                given.findings.iter().take(3).map(|finding| escape_invisible_line(&finding.sentence())),
            );
        }
    }
    match run.crew.as_ref().and_then(|part| part.end.as_ref()) {
        Some(end) => {
            parts.push(end.name().to_string());
            parts.extend(json::crew::end_reason(end).map(|why| escape_invisible_line(&why)));
        }
        None => parts.extend(run.reason.as_deref().map(escape_invisible_line)),
    }
    parts.join("; ")
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
    let for_reviews = bill.reviewers.known().map(|known| format!("{known} of it for reviews"));
    parts.extend(for_reviews);
    parts.join(", ")
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

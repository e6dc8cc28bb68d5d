//! `msg crew status` and `msg crew report`: how far a crew is, and what became of each task.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::progress_block::{bar, terminal_width};
use crate::faces::json;
use crate::ops::crew::{CrewTask, CrewTaskState, KnownCrew, known_crew, merge_command};
use crate::ops::{CommandError, Op};

use super::report_page::{ReportForm, ReportWriter};
use super::task_lines::{TaskLines, needs_person};

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
    let form = if args.markdown { ReportForm::Markdown } else { ReportForm::Text };
    Ok(CommandOutput { report: Some(Box::new(ReportPage { crew, form })), error: None })
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
        let lines = TaskLines::of(&self.crew.tasks, page.is_terminal.then(terminal_width));
        // What needs a person is on top.
        let (needy, others): (Vec<&CrewTask>, Vec<&CrewTask>) =
            self.crew.tasks.iter().partition(|task| needs_person(task));
        for task in needy.into_iter().chain(others) {
            lines.lines(task).iter().for_each(|line| page.line(line));
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
    form: ReportForm,
}

impl Report for ReportPage {
    fn json(&self) -> Map<String, Value> {
        crew_json(&self.crew)
    }

    fn text(&self, page: &mut Page) {
        ReportWriter::new(page, self.form).write(&self.crew);
    }
}

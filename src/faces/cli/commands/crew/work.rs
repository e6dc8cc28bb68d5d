//! `msg crew work`: the tasks of a spec become a branch.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::escape_invisible_line;
use crate::faces::cli::commands::run::{parse_budget, took, used};
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::progress_block::{ProgressBlock, bar};
use crate::faces::json;
use crate::ops::crew::{Crew, CrewEnding, CrewRequest, CrewTask, CrewTaskState, check, merge_command, work};
use crate::ops::runs::plan::ReviewWish;
use crate::ops::runs::tell::{AnswerChoice, answer_command, is_waiting};
use crate::ops::{CommandError, CommandErrorKind, Op, is_inside_harness};
use crate::sys::clock;
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

/// Let workers do the tasks of a spec: each is built, proven, reviewed and merged
///
/// Every ready task whose paths are free is given to a worker in a worktree of its own. When that is done, the commands of
/// its `verify:` lines are run, a reviewer looks at it, and it is merged and tested together with what others did. What
/// passes becomes a commit of the branch `ravenry/crew-NAME`; what does not goes back to its worker with the reasons. Your
/// branch, your index and your files are not touched. Ctrl-C stops the workers; run it again to go on.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg crew work shop.plan.md --workers 3
  msg crew work PLAN.md --profile builder,senior --review reviewer
  msg crew work PLAN.md --yes --json | jq '.tasks[] | {id, state, attempts}'
  git merge ravenry/crew-PLAN         take the result")]
pub(super) struct WorkArgs {
    /// The Markdown file with the tasks
    #[arg(value_name = "SPEC")]
    spec: String,
    /// How many workers at once
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=100))]
    workers: u16,
    /// The profile of the workers; several, separated by commas, take turns
    #[arg(long, value_name = "PROFILE", value_delimiter = ',', default_value = "builder")]
    profile: Vec<String>,
    /// The profile that reviews [default: the one that the workers' profile names]
    #[arg(long, value_name = "PROFILE", conflicts_with = "no_review")]
    review: Option<String>,
    /// Let nobody review
    #[arg(long)]
    no_review: bool,
    /// What each worker may use at most: 2.50usd, 200ktok
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,
    /// The end of the branch's name [default: the name of the spec]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Let the branch begin with what you have not committed, new files included
    #[arg(long)]
    from_snapshot: bool,
    /// Don't ask before the first worker is started
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(op: &Op, args: WorkArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let review = match (args.review, args.no_review) {
        (Some(profile), _) => ReviewWish::By(profile),
        (None, true) => ReviewWish::Nobody,
        (None, false) => ReviewWish::OfProfile,
    };
    let request = CrewRequest {
        spec: args.spec,
        workers: usize::from(args.workers),
        profiles: args.profile,
        review,
        budget: parse_budget(args.budget.as_deref())?,
        branch: args.branch,
        is_from_snapshot: args.from_snapshot,
    };
    let crew = check(op, request)?;
    if !args.yes {
        confirm(ui, &crew)?;
    }
    let crew = crew.begin()?;
    let interrupt = StopRequest::listen_to_interrupt().map_err(FileError::from)?;
    let limit = is_inside_harness().then(|| op.settings.follow_limit());
    let mut progress =
        WorkProgress { ui, block: ProgressBlock::new(ui), told: Vec::new(), asked: Vec::new() };
    let done = work(op, &crew, limit, &interrupt, |tasks| progress.show(tasks));
    progress.block.clear();
    let (tasks, end) = done?;
    let error = error_of(&tasks, end);
    Ok(CommandOutput { report: Some(Box::new(WorkReport { crew, tasks, end })), error })
}

fn confirm(ui: &Ui, crew: &Crew) -> Result<(), CommandError> {
    let question = crew.question();
    if !ui.is_with_person() {
        let text = "nobody can be asked whether the workers are to start";
        return Err(CommandError::new(CommandErrorKind::NotConfirmed, text).hint("add `--yes` to start them"));
    }
    match ui.is_confirmed(&question) {
        true => Ok(()),
        false => Err(CommandError::new(CommandErrorKind::NotConfirmed, "nothing was started")),
    }
}

fn error_of(tasks: &[CrewTask], end: CrewEnding) -> Option<CommandError> {
    let left = tasks.iter().filter(|task| task.state != CrewTaskState::Done).count();
    match end {
        CrewEnding::Stopped => Some(CommandError::new(CommandErrorKind::Interrupted, "")),
        CrewEnding::Ended if left > 0 => {
            let text = format!("{left} of {} tasks did not get done", tasks.len());
            let hint = "`msg crew report` tells what became of each; run the same command again to go on";
            Some(CommandError::new(CommandErrorKind::RunFailed, text).hint(hint))
        }
        CrewEnding::Ended | CrewEnding::GoesOn => None,
    }
}

/// What a person at a terminal sees of it, and what a pipe gets.
struct WorkProgress<'a> {
    ui: &'a Ui,
    block: ProgressBlock<'a>,
    /// What was told of each task last.
    told: Vec<String>,
    /// The number of each task's question that was told last.
    asked: Vec<u32>,
}

impl WorkProgress<'_> {
    fn show(&mut self, tasks: &[CrewTask]) {
        if self.told.len() != tasks.len() {
            self.told = tasks.iter().map(change_key).collect();
            self.asked = vec![0; tasks.len()];
        }
        for (place, task) in tasks.iter().enumerate() {
            let key = change_key(task);
            let is_new = std::mem::replace(&mut self.told[place], key.clone()) != key;
            // At a terminal those that go on are in the block below.
            let is_settled = matches!(task.state, CrewTaskState::Done | CrewTaskState::Blocked(_));
            if is_new && (is_settled || !self.ui.is_terminal()) && !self.ui.is_json() {
                self.block.clear();
                self.ui.progress_change(&line(task));
            }
            self.tell_question(place, task);
        }
        let done = tasks.iter().filter(|task| task.state == CrewTaskState::Done).count();
        // What needs a person is on top.
        let mut lines: Vec<String> = tasks
            .iter()
            .filter(|task| matches!(task.state, CrewTaskState::Blocked(_) | CrewTaskState::Held(_)))
            .map(line)
            .collect();
        lines.push(bar(done, tasks.len()));
        lines.extend(
            tasks
                .iter()
                .filter(|task| task.state == CrewTaskState::Live)
                .map(|task| format!("  {}", line(task))),
        );
        self.block.draw(&lines);
    }

    /// Tells a new question of a worker, and how to answer it.
    fn tell_question(&mut self, place: usize, task: &CrewTask) {
        let Some(run) = task.runs.last().filter(|run| is_waiting(run)) else { return };
        let Some(question) = &run.question else { return };
        if std::mem::replace(&mut self.asked[place], question.number) == question.number {
            return;
        }
        let commands = AnswerChoice::ALL.map(|choice| format!("  {}", answer_command(run, question, choice)));
        self.block.clear();
        self.ui.note(&format!(
            "run {} asks whether it may use {}\n{}",
            run.id,
            question.line(),
            commands.join("\n")
        ));
    }
}

/// What must be different for a line of its own.
fn change_key(task: &CrewTask) -> String {
    let doing =
        task.runs.last().filter(|_| task.state == CrewTaskState::Live).and_then(|run| run.doing.clone());
    let stage = doing.filter(|doing| doing.starts_with("is ") || doing.starts_with("waiting for"));
    format!("{} {} {stage:?}", task.state.name(), task.runs.len())
}

/// One task on one line.
pub(super) fn line(task: &CrewTask) -> String {
    let title: String = task.spec.title.chars().take(48).collect();
    let mut parts = vec![format!(
        "{:<10} {:<8} {}",
        escape_invisible_line(&task.spec.id),
        task.state.name(),
        escape_invisible_line(&title)
    )];
    match &task.state {
        CrewTaskState::Held(why) | CrewTaskState::Blocked(why) => parts.push(escape_invisible_line(why)),
        CrewTaskState::Live => {
            if let Some(run) = task.runs.last() {
                if task.runs.len() > 1 {
                    parts.push(format!("attempt {}", task.runs.len()));
                }
                parts.push(run.profile.clone());
                parts.extend(run.doing.as_deref().or(run.reason.as_deref()).map(escape_invisible_line));
                parts.push(took(run, clock::now()));
                parts.extend(used(run));
            }
        }
        CrewTaskState::Done => {
            parts.extend(task.commit().map(|commit| commit.chars().take(10).collect()));
            if task.runs.len() > 1 {
                parts.push(format!("{} attempts", task.runs.len()));
            }
        }
        CrewTaskState::Waiting(needs) => parts.push(format!("needs {}", needs.join(", "))),
        CrewTaskState::Ready => {}
    }
    parts.join(" · ")
}

/// How the work of a crew ended.
struct WorkReport {
    crew: Crew,
    tasks: Vec<CrewTask>,
    end: CrewEnding,
}

impl Report for WorkReport {
    fn json(&self) -> Map<String, Value> {
        let tasks: Vec<Value> = self.tasks.iter().map(json::crew::crew_task).collect();
        Map::from_iter([
            ("branch".to_string(), self.crew.branch.name().into()),
            ("start".to_string(), self.crew.start.clone().into()),
            ("tasks".to_string(), tasks.into()),
            ("merge".to_string(), merge_command(self.crew.branch.name()).into()),
        ])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            page.line(self.crew.branch.name());
            return;
        }
        for task in self.tasks.iter().filter(|task| task.state != CrewTaskState::Done) {
            page.line(line(task));
        }
        let done = self.tasks.iter().filter(|task| task.state == CrewTaskState::Done).count();
        page.line(style::dim(&format!("— {done} of {} tasks are done", self.tasks.len())));
        match self.end {
            CrewEnding::GoesOn => {
                page.line("The workers go on. Run the same command again to go on with the rest.");
            }
            CrewEnding::Ended | CrewEnding::Stopped if done > 0 => {
                page.line(format!(
                    "The work is on the branch {}. To take it:",
                    style::bold(self.crew.branch.name())
                ));
                page.line(format!("  {}", merge_command(self.crew.branch.name())));
            }
            CrewEnding::Ended | CrewEnding::Stopped => {}
        }
    }
}

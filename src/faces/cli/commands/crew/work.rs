//! `msg crew work`: the tasks of a spec become a branch.

use clap::Args;
use serde_json::{Map, Value};

use crate::faces::cli::commands::run::parse_budget;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::progress_block::{ProgressBlock, bar, terminal_width};
use crate::faces::json;
use crate::ops::crew::{Crew, CrewEnding, CrewRequest, CrewTask, CrewTaskState, check, merge_command, work};
use crate::ops::runs::plan::ReviewWish;
use crate::ops::runs::tell::{AnswerChoice, answer_command, is_waiting};
use crate::ops::{CommandError, CommandErrorKind, Op, is_inside_harness};
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

use super::task_lines::{TaskLines, needs_person, why_again};

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
    let mut progress = WorkProgress {
        ui,
        block: ProgressBlock::new(ui),
        told: Vec::new(),
        asked: Vec::new(),
        interrupt: interrupt.clone(),
    };
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
    /// What was told of each task last, and at which attempt.
    told: Vec<(usize, String)>,
    /// The number of each task's question that was told last.
    asked: Vec<u32>,
    interrupt: StopRequest,
}

impl WorkProgress<'_> {
    fn show(&mut self, tasks: &[CrewTask]) {
        if self.told.len() != tasks.len() {
            // What was done before is not told again.
            let is_done = |task: &&CrewTask| task.state == CrewTaskState::Done;
            let told = |task: &CrewTask| Some(task).filter(is_done).and_then(change_key).unwrap_or_default();
            self.told = tasks.iter().map(told).collect();
            self.asked = vec![0; tasks.len()];
        }
        let lines = TaskLines::of(tasks, self.ui.is_terminal().then(terminal_width));
        for (place, task) in tasks.iter().enumerate() {
            self.tell_change(place, task, &lines);
            self.tell_question(place, task);
        }
        self.draw(tasks);
    }

    /// Tells what has happened to a task. At a terminal all but what is done is in the block below.
    fn tell_change(&mut self, place: usize, task: &CrewTask, lines: &TaskLines) {
        let Some(key) = change_key(task) else { return };
        let before = std::mem::replace(&mut self.told[place], key.clone());
        let is_in_block = self.ui.is_terminal() && task.state != CrewTaskState::Done;
        if before == key || is_in_block || self.ui.is_json() {
            return;
        }
        self.block.clear();
        let is_new_attempt = task.state == CrewTaskState::Live && before.0 != key.0;
        let why = why_again(task).filter(|_| is_new_attempt).map(|why| format!(" · {why}"));
        let text = lines.lines(task).join("\n");
        self.ui.progress_change(&format!("{text}{}", why.unwrap_or_default()));
    }

    /// What needs a person on top, then the bar, then a line for each worker.
    fn draw(&mut self, tasks: &[CrewTask]) {
        let lines = TaskLines::of(tasks, Some(terminal_width()));
        let done = tasks.iter().filter(|task| task.state == CrewTaskState::Done).count();
        let (needy, others): (Vec<&CrewTask>, Vec<&CrewTask>) =
            tasks.iter().partition(|task| needs_person(task));
        let mut block: Vec<String> = needy.into_iter().flat_map(|task| lines.lines(task)).collect();
        let stopping = if self.interrupt.is_requested() { " · stopping the workers" } else { "" };
        block.push(format!("{}{stopping}", bar(done, tasks.len())));
        let workers = others.into_iter().filter(|task| task.state == CrewTaskState::Live);
        block.extend(workers.map(|task| lines.line(task)));
        self.block.draw(&block);
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

/// What must be different for a line of its own. `None`: nothing happens to it.
fn change_key(task: &CrewTask) -> Option<(usize, String)> {
    let run = task.runs.last();
    let what = match &task.state {
        CrewTaskState::Waiting(_) | CrewTaskState::Ready => return None,
        CrewTaskState::Held(why) => format!("held {why}"),
        CrewTaskState::Live => {
            let doing = run.and_then(|run| run.doing.as_deref());
            let stage = doing.filter(|doing| doing.starts_with("is ") || doing.starts_with("waiting for"));
            // Which run that is becomes known later.
            let stage = stage.and_then(|stage| stage.split(" (run ").next());
            format!("working {stage:?}")
        }
        CrewTaskState::Done | CrewTaskState::Blocked(_) => task.state.name().to_string(),
    };
    Some((task.runs.len(), what))
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
        let lines = TaskLines::of(&self.tasks, page.is_terminal.then(terminal_width));
        let (needy, others): (Vec<&CrewTask>, Vec<&CrewTask>) = self
            .tasks
            .iter()
            .filter(|task| task.state != CrewTaskState::Done)
            .partition(|task| needs_person(task));
        for task in needy.into_iter().chain(others) {
            lines.lines(task).iter().for_each(|line| page.line(line));
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
        if let CrewEnding::Stopped = self.end {
            page.line("Stopped; no worker is left. The same command goes on where it was.");
        }
    }
}

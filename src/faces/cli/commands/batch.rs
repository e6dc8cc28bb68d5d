//! `msg batch` and `msg chain`: many tasks, each done by a worker.

use std::io::Read;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible_line;
use crate::domain::runs::{BatchKind, Run, RunState};
use crate::domain::workers::Budget;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::progress_block::{ProgressBlock, bar};
use crate::faces::json;
use crate::ops::runs::batch::{Batch, BatchEnd, BatchRequest, BatchTask, BatchTaskState, check, run_batch};
use crate::ops::runs::tell::{AnswerChoice, answer_command};
use crate::ops::{CommandError, CommandErrorKind, Op, is_inside_harness, readable_text_file};
use crate::sys::clock;
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

use super::run::{parse_budget, took, used};

/// The largest file with tasks, in bytes.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Start a worker for each task of a list
///
/// The file has one task a line, or one JSON object a line: `task`, and if you like `id`, `profile`, `needs` (ids of tasks
/// that must be done first), `input` (replaces `$INPUT`), `reserve` and `worktree`. All of it is checked before anything is
/// started. Run it again to go on: tasks that are done are not done again. Ctrl-C stops the workers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg batch tasks.txt --profile scout
  ls src/*.rs | sed 's/^/Find bugs in /' | msg batch - --profile reviewer --jobs 4
  echo '{\"id\": \"a\", \"task\": \"…\", \"profile\": \"scout\"}' | msg batch -
  msg batch tasks.jsonl --json | jq '.runs[] | {taskId, state, result}'")]
pub(in crate::faces::cli) struct BatchArgs {
    /// The file with the tasks, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// The profile of tasks that name none
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// How many workers at once [default: as many as there are slots]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    jobs: Option<u16>,
    /// What each worker may use at most: 2.50usd, 200ktok
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,
}

/// Start workers one after the other, each with the result of the one before
///
/// The file is that of `msg batch`. In a task, `$INPUT` is the result of the step before, and `$ORIGINAL` the `input` of the
/// first step, or its task. They are replaced literally. The chain stops at the first step that does not get done; run it
/// again to go on from there.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg chain steps.txt --profile scout
  printf '%s\\n' 'List the public functions of src/a.rs' 'Which of these have no test? $INPUT' | msg chain - --profile scout
  msg chain steps.jsonl --json | jq -r .result")]
pub(in crate::faces::cli) struct ChainArgs {
    /// The file with the steps, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// The profile of steps that name none
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// What each step may use at most: 2.50usd, 200ktok
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,
}

pub(super) fn run(op: &Op, args: BatchArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let limits = (args.jobs.map(usize::from), parse_budget(args.budget.as_deref())?);
    work(op, BatchKind::Batch, &args.file, args.profile, limits, ui)
}

pub(super) fn run_chain(op: &Op, args: ChainArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let limits = (None, parse_budget(args.budget.as_deref())?);
    work(op, BatchKind::Chain, &args.file, args.profile, limits, ui)
}

fn work(
    op: &Op,
    kind: BatchKind,
    file: &str,
    profile: Option<String>,
    (jobs, budget): (Option<usize>, Budget),
    ui: &Ui,
) -> Result<CommandOutput, CommandError> {
    let (lines, problems) = json::task_lines::parse(&read(file)?);
    let batch = check(op, BatchRequest { kind, lines, problems, profile, jobs, budget })?;
    let interrupt = StopRequest::listen_to_interrupt().map_err(FileError::from)?;
    let limit = is_inside_harness().then(|| op.settings.follow_limit());
    let mut progress = BatchProgress::new(ui, &batch);
    let done = run_batch(op, &batch, limit, &interrupt, |tasks| progress.show(tasks));
    progress.block.clear();
    let (tasks, end) = done?;
    let result = match kind {
        BatchKind::Chain => batch.last_result(op, &tasks)?,
        BatchKind::Batch => None,
    };
    let error = error_of(&tasks, end);
    Ok(CommandOutput { report: Some(Box::new(BatchReport { batch, tasks, end, result })), error })
}

fn read(file: &str) -> Result<String, CommandError> {
    let unreadable = |error: std::io::Error| {
        let text = format!("`{}` can't be read as text: {error}", file.escape_debug());
        CommandError::new(CommandErrorKind::InvalidValue, text)
    };
    let mut text = String::new();
    if file == "-" {
        std::io::stdin().lock().take(MOST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    } else {
        let file = fs_err::File::open(readable_text_file(file)?).map_err(unreadable)?;
        file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    }
    if text.len() as u64 > MOST_BYTES {
        let text = format!("the tasks have more than {} MiB", MOST_BYTES >> 20);
        return Err(CommandError::new(CommandErrorKind::TooLarge, text).hint("split the file"));
    }
    Ok(text)
}

fn error_of(tasks: &[BatchTask], end: BatchEnd) -> Option<CommandError> {
    let left = tasks.iter().filter(|task| !task.state.is_done()).count();
    match end {
        BatchEnd::Stopped => Some(CommandError::new(CommandErrorKind::Interrupted, "")),
        BatchEnd::Ended if left > 0 => {
            let text = format!("{left} of {} tasks did not get done", tasks.len());
            let hint = "run the same command again to do only these; what is done is not done again";
            Some(CommandError::new(CommandErrorKind::RunFailed, text).hint(hint))
        }
        BatchEnd::Ended | BatchEnd::GoesOn => None,
    }
}

/// What a person at a terminal sees of it, and what a pipe gets.
struct BatchProgress<'a> {
    ui: &'a Ui,
    batch: &'a Batch,
    block: ProgressBlock<'a>,
    /// The states that were told.
    told: Vec<&'static str>,
    /// The number of each task's question that was told last.
    asked: Vec<u32>,
}

impl<'a> BatchProgress<'a> {
    fn new(ui: &'a Ui, batch: &'a Batch) -> Self {
        let count = batch.plan.lines.len();
        Self { ui, batch, block: ProgressBlock::new(ui), told: vec!["pending"; count], asked: vec![0; count] }
    }

    fn show(&mut self, tasks: &[BatchTask]) {
        for (place, task) in tasks.iter().enumerate() {
            let name = task.state.name();
            let is_new = std::mem::replace(&mut self.told[place], name) != name;
            // At a terminal those that go on are in the block below.
            if is_new && (task.state.is_settled() || !self.ui.is_terminal()) && !self.ui.is_json() {
                self.block.clear();
                self.ui.progress_change(&self.line(place, task));
            }
            self.tell_question(place, task);
        }
        let settled = tasks.iter().filter(|task| task.state.is_settled()).count();
        let live = |task: &BatchTask| matches!(task.state, BatchTaskState::Live(_));
        let mut lines = vec![bar(settled, tasks.len())];
        let workers = tasks.iter().enumerate().filter(|(_, task)| live(task));
        lines.extend(workers.map(|(place, task)| format!("  {}", self.line(place, task))));
        self.block.draw(&lines);
    }

    /// Tells a new question of a worker, and how to answer it. A person who started the batch gets no mail.
    fn tell_question(&mut self, place: usize, task: &BatchTask) {
        let Some((run, question)) = task.state.question() else { return };
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

    /// One task on one line.
    fn line(&self, place: usize, task: &BatchTask) -> String {
        let number = format!("{}/{}", place + 1, self.told.len());
        let title = match task.state.run() {
            Some(run) => run.title(48),
            None => self.batch.plan.lines[place].task.chars().take(48).collect(),
        };
        let id = task.state.run().map_or("------", |run| run.id.as_str());
        let mut parts =
            vec![format!("{number:>7} {id} {:<10} {}", task.state.name(), escape_invisible_line(&title))];
        match &task.state {
            BatchTaskState::Live(run) => {
                parts.extend(run.doing.as_deref().or(run.reason.as_deref()).map(escape_invisible_line));
                parts.push(took(run, clock::now()));
                parts.extend(used(run));
            }
            BatchTaskState::Ended(_) if task.is_from_before => parts.push("done before".to_string()),
            BatchTaskState::Ended(run) => {
                parts.push(took(run, clock::now()));
                parts.extend(used(run));
                parts.extend(
                    run.reason.as_deref().filter(|_| run.state != RunState::Done).map(escape_invisible_line),
                );
            }
            BatchTaskState::Skipped(why) => parts.push(escape_invisible_line(why)),
            BatchTaskState::Refused(error) => parts.push(escape_invisible_line(&error.message)),
            BatchTaskState::Pending => {}
        }
        parts.join(" · ")
    }
}

/// How a batch ended.
struct BatchReport {
    batch: Batch,
    tasks: Vec<BatchTask>,
    end: BatchEnd,
    /// The result of a chain.
    result: Option<String>,
}

impl BatchReport {
    /// A task in JSON: its run, or an object with the same keys as far as they are known.
    fn task(&self, place: usize) -> Value {
        let (line, task) = (&self.batch.plan.lines[place], &self.tasks[place]);
        let mut value = match &task.state {
            BatchTaskState::Live(run) | BatchTaskState::Ended(run) => json::run::run(run),
            BatchTaskState::Pending => json!({"id": null, "reason": null}),
            BatchTaskState::Skipped(why) => json!({"id": null, "reason": why}),
            BatchTaskState::Refused(error) => {
                json!({"id": null, "reason": error.message, "error": json::error(error)})
            }
        };
        if let Some(members) = value.as_object_mut() {
            if task.state.run().is_none() {
                members.insert("state".to_string(), task.state.name().into());
                members.insert("task".to_string(), line.task.clone().into());
                members.insert("profile".to_string(), line.profile.clone().into());
                members.insert("result".to_string(), Value::Null);
            }
            members.insert("taskId".to_string(), line.id.clone().into());
            members.insert("line".to_string(), line.line.into());
            members.insert("fromBefore".to_string(), task.is_from_before.into());
        }
        value
    }

    /// `12 done, 1 failed, 1 skipped`, in the order in which they first come.
    fn summary(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for name in self.tasks.iter().map(|task| task.state.name()) {
            match counts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        let counts = counts.into_iter().map(|(name, count)| format!("{count} {}", name.replace('_', " ")));
        counts.collect::<Vec<_>>().join(", ")
    }
}

impl Report for BatchReport {
    fn json(&self) -> Map<String, Value> {
        let runs: Vec<Value> = (0..self.tasks.len()).map(|place| self.task(place)).collect();
        let mut members = Map::from_iter([("runs".to_string(), runs.into())]);
        if self.batch.plan.kind == BatchKind::Chain {
            members.insert("result".to_string(), self.result.clone().into());
        }
        members
    }

    fn text(&self, page: &mut Page) {
        if let Some(result) = &self.result {
            page.foreign_text(result);
        }
        if page.is_quiet {
            if self.batch.plan.kind == BatchKind::Batch {
                let runs = self.tasks.iter().filter_map(|task| task.state.run());
                runs.for_each(|run: &Run| page.line(run.id.as_str()));
            }
            return;
        }
        page.line(style::dim(&format!("— {}", self.summary())));
        for (run, question) in self.tasks.iter().filter_map(|task| task.state.question()) {
            let line = escape_invisible_line(&question.line());
            page.line(format!("Run {} asks whether it may use {line}", style::bold(run.id.as_str())));
            for choice in AnswerChoice::ALL {
                page.line(format!("  {}", answer_command(run, question, choice)));
            }
        }
        match self.end {
            BatchEnd::GoesOn => {
                page.line("Their ends come as mail. Run the same command again to go on with the rest.");
            }
            _ if self.batch.plan.kind == BatchKind::Batch => {
                page.line(style::dim("`msg runs show ID` shows a result."));
            }
            _ => {}
        }
    }
}

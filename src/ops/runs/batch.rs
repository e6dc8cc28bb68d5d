//! A batch: many tasks, each a run of its own, in the order of what they need. A chain is a batch in which each task needs
//! the one before.
//!
//! A batch has no process that lives on: it starts runs and follows them. Which run does which task is recorded in the
//! mesh, so whoever starts the same batch again goes on where it was.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crossbeam_channel::{after, select};

use crate::domain::runs::{BatchKind, BatchLine, BatchPlan, Run, RunQuestion, RunState, TaskLineProblem};
use crate::domain::workers::{Budget, Isolation};
use crate::domain::{Liveness, sha256};
use crate::store::{Mesh, OrderedProgram, StopUrgency};
use crate::sys::git::WorkTree;
use crate::sys::process;
use crate::sys::signals::StopRequest;

use super::admission::doing;
use super::list::as_it_is;
use super::plan::{RunRequest, plan};
use super::start::{NewRun, StartedRun, start_once};
use super::stop::stop;
use super::tell::is_waiting;
use super::turn::most_at_once;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind, ErrorDetail};

/// How often it looks while something happens, and when nothing has for a while.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LAST_LOOK: Duration = Duration::from_millis(100);
/// The most tasks of one batch.
const MOST_TASKS: usize = 10_000;

/// What somebody asked for.
#[derive(Clone, Debug)]
pub struct BatchRequest {
    pub kind: BatchKind,
    pub lines: Vec<BatchLine>,
    /// What is wrong with lines that could not be read.
    pub problems: Vec<TaskLineProblem>,
    /// The profile of tasks that name none.
    pub profile: Option<String>,
    /// How many of its runs may go on at once; `None`: as many as there are slots.
    pub jobs: Option<usize>,
    /// What each of its runs may use up.
    pub budget: Budget,
}

/// A batch that was checked and can be started.
#[derive(Debug)]
pub struct Batch {
    pub plan: BatchPlan,
    jobs: usize,
    budget: Budget,
    /// Where its tasks are done, and the commit that is checked out there.
    base: (PathBuf, Option<String>),
}

/// A task of a batch.
#[derive(Debug)]
pub struct BatchTask {
    pub state: BatchTaskState,
    /// Whether it was done, or was being done, when this batch came to it.
    pub is_from_before: bool,
    /// Whether its run is stopped with this batch.
    is_ours: bool,
    /// The hash by which it is known, once it was begun.
    key: Option<String>,
}

impl BatchTask {
    /// A task without a run of this batch.
    fn without_run(state: BatchTaskState) -> Self {
        Self { state, is_from_before: false, is_ours: false, key: None }
    }
}

/// Where a task of a batch is.
#[derive(Debug)]
pub enum BatchTaskState {
    /// It was not started yet.
    Pending,
    Live(Run),
    Ended(Run),
    /// It was not started, and will not be: why.
    Skipped(String),
    /// A gate said no, or its run could not be started, followed or stopped.
    Refused(CommandError),
}

impl BatchTaskState {
    /// Whether nothing further becomes of it.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Pending | Self::Live(_))
    }

    pub fn is_done(&self) -> bool {
        matches!(self, Self::Ended(run) if run.state == RunState::Done)
    }

    pub fn run(&self) -> Option<&Run> {
        match self {
            Self::Live(run) | Self::Ended(run) => Some(run),
            Self::Pending | Self::Skipped(_) | Self::Refused(_) => None,
        }
    }

    /// The question that its worker waits for an answer to, and its run.
    pub fn question(&self) -> Option<(&Run, &RunQuestion)> {
        let Self::Live(run) = self else { return None };
        Some((run, run.question.as_ref().filter(|_| is_waiting(run))?))
    }

    /// A word for it: the state of its run, `pending`, `skipped` or `refused`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Live(run) | Self::Ended(run) => run.state.name(),
            Self::Skipped(_) => "skipped",
            Self::Refused(_) => "refused",
        }
    }
}

/// Why following a batch ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BatchEnd {
    /// Every task is settled.
    Ended,
    /// The time is over, or a question is open. What was started goes on.
    GoesOn,
    /// It was stopped, and its runs with it.
    Stopped,
}

/// Checks all tasks before anything is started. Everything that is wrong is told at once.
pub fn check(op: &Op, request: BatchRequest) -> Result<Batch, CommandError> {
    let BatchRequest { kind, mut lines, mut problems, profile, jobs, budget } = request;
    if lines.is_empty() && problems.is_empty() {
        problems.push(TaskLineProblem::new(1, "there is no task in it"));
    }
    if lines.len() > MOST_TASKS {
        let text = format!("there are {} tasks, and a batch has at most {MOST_TASKS}", lines.len());
        problems.push(TaskLineProblem::new(lines[MOST_TASKS].line, text));
        lines.truncate(MOST_TASKS);
    }
    for line in &mut lines {
        line.profile = line.profile.take().or_else(|| profile.clone());
        if let Err(problem) = check_line(op, line) {
            problems.push(problem);
        }
    }
    let plan = match BatchPlan::new(kind, lines) {
        Ok(plan) if problems.is_empty() => plan,
        Ok(_) => return Err(problems_error(kind, problems)),
        Err(more) => {
            problems.extend(more);
            return Err(problems_error(kind, problems));
        }
    };
    let tree = WorkTree::containing(&op.cwd);
    let base = (op.cwd.clone(), tree.and_then(|tree| tree.head_commit()));
    let jobs = jobs.unwrap_or_else(|| most_at_once(&op.settings) as usize).max(1);
    Ok(Batch { plan, jobs, budget, base })
}

fn check_line(op: &Op, line: &BatchLine) -> Result<(), TaskLineProblem> {
    let wrong = |error: CommandError| TaskLineProblem {
        line: line.line,
        message: error.message,
        hint: error.hints.into_iter().next(),
    };
    if line.profile.is_none() {
        let hint = Some("give the line a `profile`, or the command `--profile`".to_string());
        return Err(TaskLineProblem { hint, ..TaskLineProblem::new(line.line, "it names no profile") });
    }
    plan(op, request_of(line, line.task.clone())).map(drop).map_err(wrong)
}

fn request_of(line: &BatchLine, task: String) -> RunRequest {
    let isolation = line.has_worktree.map(|has_worktree| match has_worktree {
        true => Isolation::Worktree,
        false => Isolation::None,
    });
    RunRequest {
        profile: line.profile.clone().unwrap_or_default(),
        task,
        isolation,
        reserve: line.reserve.clone(),
        // Tasks of one batch may want the same paths, one after the other.
        is_to_wait: true,
        ..RunRequest::default()
    }
}

fn problems_error(kind: BatchKind, mut problems: Vec<TaskLineProblem>) -> CommandError {
    problems.sort();
    problems.dedup();
    let what = match kind {
        BatchKind::Batch => "batch",
        BatchKind::Chain => "chain",
    };
    let text = format!("nothing was started, because the {what} is wrong");
    let mut error = CommandError::new(CommandErrorKind::InvalidBatch, text);
    let mut hints: Vec<String> = problems.iter().filter_map(|problem| problem.hint.clone()).collect();
    hints.dedup();
    error.hints = hints;
    let row = |problem: TaskLineProblem| {
        vec![
            ("line", Some(ErrorDetail::Number(problem.line as u64))),
            ("message", Some(ErrorDetail::Text(problem.message))),
            ("hint", problem.hint.map(ErrorDetail::Text)),
        ]
    };
    error.facts.push(("problems", ErrorDetail::Rows(problems.into_iter().map(row).collect())));
    error
}

/// Starts the tasks and follows them, for `limit` at most. `show` gets them whenever something may have changed.
pub fn run_batch(
    op: &Op,
    batch: &Batch,
    limit: Option<Duration>,
    request: &StopRequest,
    mut show: impl FnMut(&[BatchTask]),
) -> Result<(Vec<BatchTask>, BatchEnd), CommandError> {
    let mesh = op.create_mesh()?;
    let until = limit.map(|limit| Instant::now() + limit);
    let fresh = || BatchTask::without_run(BatchTaskState::Pending);
    let mut engine = BatchEngine { op, mesh: &mesh, batch, tasks: Vec::new() };
    engine.tasks.resize_with(batch.plan.lines.len(), fresh);
    let mut pause = FIRST_LOOK;
    let mut is_stopping = false;
    loop {
        let mut has_changed = engine.look();
        if request.is_requested() && !is_stopping {
            is_stopping = true;
            engine.stop();
        }
        if !is_stopping {
            has_changed |= engine.advance(request);
        }
        show(&engine.tasks);
        if engine.tasks.iter().all(|task| task.state.is_settled()) {
            let end = if is_stopping { BatchEnd::Stopped } else { BatchEnd::Ended };
            return Ok((engine.tasks, end));
        }
        let is_asked = |task: &BatchTask| matches!(&task.state, BatchTaskState::Live(run) if run.state == RunState::Waiting);
        let is_over = until.is_some_and(|until| until <= Instant::now());
        if !is_stopping && (is_over || limit.is_some() && engine.tasks.iter().any(is_asked)) {
            return Ok((engine.tasks, BatchEnd::GoesOn));
        }
        pause = if has_changed { FIRST_LOOK } else { (pause * 2).min(LAST_LOOK) };
        // Once it was asked to stop, the channel has nothing further to say.
        select! {
            recv(request.wake()) -> _ => {}
            recv(after(pause)) -> _ => {}
        }
    }
}

struct BatchEngine<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    batch: &'a Batch,
    tasks: Vec<BatchTask>,
}

impl BatchEngine<'_> {
    /// Looks what became of the runs that go on. Returns whether something changed.
    fn look(&mut self) -> bool {
        let mut has_changed = false;
        for task in &mut self.tasks {
            let BatchTaskState::Live(run) = &task.state else { continue };
            let gone = || CommandError::new(CommandErrorKind::UnknownRun, format!("run {} is gone", run.id));
            let found = self.mesh.runs().get(&run.id).map_err(CommandError::from);
            let now = found.and_then(|found| found.ok_or_else(gone));
            let next = match now.map(|now| as_it_is(self.mesh, now)) {
                Ok(now) if now.state.is_final() => BatchTaskState::Ended(now),
                Ok(now) => BatchTaskState::Live(now),
                // The others are followed all the same.
                Err(error) => BatchTaskState::Refused(error),
            };
            has_changed |= next.name() != task.state.name();
            task.state = next;
        }
        has_changed
    }

    /// Starts what can be started, and passes over what can't be any more. Returns whether something changed.
    fn advance(&mut self, request: &StopRequest) -> bool {
        let mut has_changed = false;
        let is_live = |task: &BatchTask| matches!(task.state, BatchTaskState::Live(_));
        let mut live = self.tasks.iter().filter(|task| is_live(task)).count();
        for place in 0..self.tasks.len() {
            if !matches!(self.tasks[place].state, BatchTaskState::Pending) {
                continue;
            }
            let needs = self.batch.plan.needs(place);
            let failed = needs.iter().find(|need| {
                let state = &self.tasks[**need].state;
                state.is_settled() && !state.is_done()
            });
            if let Some(failed) = failed {
                let state = self.tasks[*failed].state.name().replace('_', " ");
                let text = format!("it needs {}, which is {state}", self.batch.plan.name(*failed));
                self.tasks[place].state = BatchTaskState::Skipped(text);
                has_changed = true;
                continue;
            }
            let is_ready = needs.iter().all(|need| self.tasks[*need].state.is_done());
            if is_ready && live < self.batch.jobs && !request.is_requested() {
                // What stands in the way of one task may not stand in the way of the next.
                let begun = self.begin(place);
                self.tasks[place] =
                    begun.unwrap_or_else(|error| BatchTask::without_run(BatchTaskState::Refused(error)));
                live += usize::from(is_live(&self.tasks[place]));
                has_changed = true;
            }
        }
        has_changed
    }

    /// Starts a task, or finds the run that does it.
    fn begin(&self, place: usize) -> Result<BatchTask, CommandError> {
        let results = self.batch.plan.needs(place).iter().map(|need| self.result_of(*need));
        let results = results.collect::<Result<Vec<String>, CommandError>>()?;
        let results: Vec<&str> = results.iter().map(String::as_str).collect();
        let text = self.batch.plan.text(place, &results);
        let request = request_of(&self.batch.plan.lines[place], text);
        let mut new = plan(self.op, RunRequest { budget: self.batch.budget, ..request })?;
        let needed = self.batch.plan.needs(place).iter().filter_map(|need| self.tasks[*need].key.as_deref());
        let key = self.batch.key(place, &new, &needed.collect::<String>());
        new.order.batch_task = Some(key.clone());
        let started = match doing(self.mesh, &key)? {
            Some(run) => StartedRun::Other(run),
            None => start_once(self.op, new)?,
        };
        let is_from_before = matches!(started, StartedRun::Other(_));
        let (StartedRun::New(run) | StartedRun::Other(run)) = started;
        // A run whose batch is dead is ours from now on. What can't be read is left to whoever it belongs to.
        let is_ours = !is_from_before || {
            let record = self.mesh.runs().batch_task(&key).ok().flatten();
            record.is_some_and(|record| process::liveness(&record.starter) == Liveness::Gone)
        };
        let state = if run.state.is_final() { BatchTaskState::Ended(run) } else { BatchTaskState::Live(run) };
        Ok(BatchTask { state, is_from_before, is_ours, key: Some(key) })
    }

    fn result_of(&self, place: usize) -> Result<String, CommandError> {
        let Some(run) = self.tasks[place].state.run() else { return Ok(String::new()) };
        Ok(self.mesh.runs().whole_result(run)?.unwrap_or_default())
    }

    /// Stops our runs. Those of another batch go on, and so does what can't be stopped; they are not waited for.
    fn stop(&mut self) {
        for task in &mut self.tasks {
            match &task.state {
                BatchTaskState::Live(run) if task.is_ours => {
                    match stop(self.op, run.id.as_str(), StopUrgency::Now) {
                        Ok(_) => {}
                        // It has just ended by itself.
                        Err(error) if error.kind == CommandErrorKind::NotRunning => {}
                        Err(mut error) => {
                            error.message = format!("run {} can't be stopped: {}", run.id, error.message);
                            task.state = BatchTaskState::Refused(error);
                        }
                    }
                }
                BatchTaskState::Live(run) => {
                    let text = format!("the batch was stopped; run {} of another batch goes on", run.id);
                    task.state = BatchTaskState::Skipped(text);
                }
                BatchTaskState::Pending => {
                    task.state = BatchTaskState::Skipped("the batch was stopped".to_string());
                }
                _ => {}
            }
        }
    }
}

impl Batch {
    /// The hash by which a task is known when the batch is started again: where it is done, on which commit, by what
    /// kind of worker, after which others (`needed` has their hashes), and the text before and after values were put in.
    fn key(&self, place: usize, new: &NewRun, needed: &str) -> String {
        let line = &self.plan.lines[place];
        let order = &new.order;
        let program = match &order.program {
            OrderedProgram::Command(words) => words.join("\0"),
            OrderedProgram::Harness { name, .. } => name.clone(),
        };
        let env: Vec<String> = order.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let parts = [
            self.base.0.to_string_lossy().into_owned(),
            self.base.1.clone().unwrap_or_default(),
            self.plan.repetition(place).to_string(),
            new.profile.clone(),
            program,
            order.model.clone().unwrap_or_default(),
            order.instructions.clone().unwrap_or_default(),
            order.is_to_write.to_string(),
            order.tools.join("\0"),
            order.args.join("\0"),
            env.join("\0"),
            order.worktree.is_some().to_string(),
            needed.to_string(),
            line.input.is_some().to_string(),
            line.input.clone().unwrap_or_default(),
            line.task.clone(),
            new.task.clone(),
        ];
        // Each part has a hash of its own, so that no two lists of parts look the same.
        sha256(parts.map(|part| sha256(part.as_bytes())).concat().as_bytes())
    }

    /// The result of the last task: that of a chain.
    pub fn last_result(&self, op: &Op, tasks: &[BatchTask]) -> Result<Option<String>, CommandError> {
        let Some(run) = tasks.last().filter(|task| task.state.is_done()).and_then(|task| task.state.run())
        else {
            return Ok(None);
        };
        match op.mesh()? {
            Some(mesh) => Ok(mesh.runs().whole_result(run)?),
            None => Ok(None),
        }
    }
}

//! `msg crew work`: the tasks of a spec, each built, proven, reviewed and merged by a run of its own.
//!
//! A crew has no process that lives on: it starts runs and follows them, and what follows on their work is done by their
//! supervisors. Which runs there were for a task, what became of each, and what is on the branch is in the ledger and in
//! refs, so whoever starts the same crew again goes on where it was.

use std::time::{Duration, Instant};

use crossbeam_channel::{after, select};

use crate::domain::crews::{AgainReason, BuilderBrief, TaskStep, again_text, next_step};
use crate::domain::runs::{EarlierRun, Run, RunState};
use crate::domain::workers::Isolation;
use crate::domain::{Harness, SessionId, escape_invisible_line, sha256};
use crate::harness;
use crate::harness::worker::WorkerAdapter;
use crate::store::{CrewOrder, Mesh, StopUrgency};
use crate::sys::signals::StopRequest;

use super::checked_crew::Crew;
use super::crew_task::{CrewTask, CrewTaskState, crew_tasks};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::list::as_it_is;
use crate::ops::runs::plan::{RunRequest, plan};
use crate::ops::runs::settle::settle;
use crate::ops::runs::start::{NewRun, start};
use crate::ops::runs::stop::stop;
use crate::ops::runs::work::RunWork;
use crate::ops::tasks::{CrewSpecTask, trusted_commands};

/// How often it looks while something happens, and when nothing has for a while.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LAST_LOOK: Duration = Duration::from_millis(100);
/// How often it tries again what somebody else holds.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// Why following a crew ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CrewEnding {
    /// Nothing is left that can be done.
    Ended,
    /// The time is over. What was started goes on.
    GoesOn,
    /// It was stopped, and its runs with it.
    Stopped,
}

/// Works until nothing is left that can be done, for `limit` at most. `show` gets the tasks whenever something may have
/// changed.
pub fn work(
    op: &Op,
    crew: &Crew,
    limit: Option<Duration>,
    request: &StopRequest,
    mut show: impl FnMut(&[CrewTask]),
) -> Result<(Vec<CrewTask>, CrewEnding), CommandError> {
    let mesh = op.create_mesh()?;
    settle(op, &mesh)?;
    let until = limit.map(|limit| Instant::now() + limit);
    let mut engine =
        CrewEngine { op, mesh: &mesh, crew, tasks: Vec::new(), held: Vec::new(), blocked: Vec::new() };
    let mut pause = FIRST_LOOK;
    let mut is_stopping = false;
    loop {
        let before = engine.states();
        engine.look()?;
        if request.is_requested() && !is_stopping {
            is_stopping = true;
            engine.stop();
        }
        if !is_stopping {
            engine.advance(request)?;
        }
        show(&engine.tasks);
        let is_live = engine.tasks.iter().any(|task| task.state == CrewTaskState::Live);
        let is_held = engine.tasks.iter().any(|task| matches!(task.state, CrewTaskState::Held(_)));
        let is_ready = engine.tasks.iter().any(|task| task.state == CrewTaskState::Ready);
        if !is_live && (is_stopping || !is_held && !is_ready) {
            let end = if is_stopping { CrewEnding::Stopped } else { CrewEnding::Ended };
            return Ok((engine.tasks, end));
        }
        if !is_stopping && until.is_some_and(|until| until <= Instant::now()) {
            return Ok((engine.tasks, CrewEnding::GoesOn));
        }
        pause = if engine.states() != before { FIRST_LOOK } else { (pause * 2).min(LAST_LOOK) };
        select! {
            recv(request.wake()) -> _ => {}
            recv(after(pause)) -> _ => {}
        }
    }
}

struct CrewEngine<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    crew: &'a Crew,
    tasks: Vec<CrewTask>,
    /// Tasks that could not be started because of somebody else: when, and why.
    held: Vec<(String, Instant, String)>,
    /// Tasks that could not be started at all, and why.
    blocked: Vec<(String, String)>,
}

impl CrewEngine<'_> {
    fn states(&self) -> Vec<(CrewTaskState, usize)> {
        self.tasks.iter().map(|task| (task.state.clone(), task.runs.len())).collect()
    }

    fn look(&mut self) -> Result<(), CommandError> {
        self.tasks = crew_tasks(self.op, &self.crew.request.spec, &self.crew.stem, Some(self.crew.since))?;
        let now = Instant::now();
        self.held.retain(|(_, since, _)| now.duration_since(*since) < TRY_AGAIN);
        for task in self.tasks.iter_mut().filter(|task| task.state == CrewTaskState::Ready) {
            if let Some((_, why)) = self.blocked.iter().find(|(id, _)| *id == task.spec.id) {
                task.state = CrewTaskState::Blocked(why.clone());
            } else if let Some((_, _, why)) = self.held.iter().find(|(id, ..)| *id == task.spec.id) {
                task.state = CrewTaskState::Held(why.clone());
            }
        }
        Ok(())
    }

    /// Starts what can be started.
    fn advance(&mut self, request: &StopRequest) -> Result<(), CommandError> {
        let mut live = self.tasks.iter().filter(|task| task.state == CrewTaskState::Live).count();
        for place in 0..self.tasks.len() {
            if live >= self.crew.request.workers || request.is_requested() {
                break;
            }
            if self.tasks[place].state != CrewTaskState::Ready {
                continue;
            }
            match self.begin(place) {
                Ok(run) => {
                    self.tasks[place].state = CrewTaskState::Live;
                    self.tasks[place].runs.push(run);
                    live += 1;
                }
                Err(error) => self.cannot_begin(place, error),
            }
        }
        Ok(())
    }

    fn cannot_begin(&mut self, place: usize, error: CommandError) {
        use CommandErrorKind::{AlreadyClaimed, AlreadyCompleted, AtWork, Blocked, Conflict};
        let id = self.tasks[place].spec.id.clone();
        let is_reserved = error.facts.iter().any(|(name, _)| *name == "conflicts");
        match error.kind {
            AlreadyClaimed | AlreadyCompleted | AtWork | Blocked | Conflict => {
                self.held.push((id, Instant::now(), error.message.clone()));
                self.tasks[place].state = CrewTaskState::Held(error.message);
            }
            _ if is_reserved => {
                self.held.push((id, Instant::now(), error.message.clone()));
                self.tasks[place].state = CrewTaskState::Held(error.message);
            }
            _ => {
                self.blocked.push((id, error.message.clone()));
                self.tasks[place].state = CrewTaskState::Blocked(error.message);
            }
        }
    }

    /// Starts the next run of a task.
    fn begin(&self, place: usize) -> Result<Run, CommandError> {
        self.crew.branch.require_there()?;
        let task = &self.tasks[place];
        // What a dead supervisor left is saved or given up before it is decided where the next run goes on.
        settle(self.op, self.mesh)?;
        let verify = trusted_commands(self.op, &self.crew.request.spec, &task.spec.id)?;
        let kept = self.run_with_work(&task.runs)?;
        let mut step = match kept {
            // Somebody gave the work up, or there never was any.
            None => TaskStep::Begin,
            Some(_) => next_step(&task.runs, |_| false),
        };
        let last = task.runs.last();
        if let (TaskStep::Again { why, .. }, Some(last)) = (&mut step, last) {
            self.bring_up_to_date(last, why)?;
        }
        let (again, is_worked) = match (&step, last) {
            (TaskStep::Begin, _) => (None, false),
            (TaskStep::Again { why, .. }, Some(last)) => (Some((last, why)), false),
            (TaskStep::Finish(_) | TaskStep::Merged(_), Some(last)) => {
                self.check_review_over(last)?;
                (None, true)
            }
            _ => {
                let text = format!("nothing can be started for `{}`", task.spec.id);
                return Err(CommandError::new(CommandErrorKind::AtWork, text));
            }
        };
        let profile = last.map_or_else(|| self.next_profile(), |last| last.profile.clone());
        // A session that nobody has seen alive may not be there.
        let has_worked =
            |run: &Run| run.state == RunState::Done || run.usage.output.is_some_and(|output| output > 0);
        let session =
            again.as_ref().filter(|(last, _)| has_worked(last)).and_then(|(last, _)| session_of(last));
        let brief = self.brief(task);
        let text = match (&again, &session) {
            (Some((_, why)), Some((harness, _))) if !forgets_first_prompt(*harness) => again_text(why),
            (Some((_, why)), _) => brief.text(Some(why)),
            (None, _) => brief.text(None),
        };
        let request = RunRequest {
            profile,
            task: text,
            budget: self.crew.request.budget,
            root: Some(self.crew.root.clone()),
            resumes: session,
            isolation: Some(Isolation::Worktree),
            continues: kept.map(|run| run.id.clone()),
            crew: Some(self.crew.stem.clone()),
            claims: Some((task.spec.id.clone(), Some(self.crew.request.spec.clone()))),
            review: self.crew.request.review.clone(),
            ..RunRequest::default()
        };
        let earlier = last.map(|last| match &request.resumes {
            Some(_) => EarlierRun::Resumed(last.id.clone()),
            None => EarlierRun::Retried(last.id.clone()),
        });
        let mut new = plan(self.op, request)?;
        new.order.crew = Some(CrewOrder {
            crew: self.crew.stem.clone(),
            verify,
            verify_seconds: self.op.settings.verify_timeout().as_secs(),
            message: self.message(&task.spec),
            is_worked,
        });
        new.order.batch_task = Some(self.key(task));
        start(self.op, NewRun { earlier, ..new })
    }

    /// The last of these runs that left work which is still there. The next one goes on with it.
    fn run_with_work<'r>(&self, runs: &'r [Run]) -> Result<Option<&'r Run>, CommandError> {
        for run in runs.iter().rev() {
            if let Some(work) = RunWork::load(self.op, self.mesh, &run.id)?
                && work.is_there()?
            {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    /// An error while the reviewer of a run, whose supervisor has died, goes on: its verdict is waited for.
    fn check_review_over(&self, last: &Run) -> Result<(), CommandError> {
        let Some(id) = last.review.as_ref().and_then(|review| review.run.as_ref()) else { return Ok(()) };
        match self.mesh.runs().get(id)?.map(|review| as_it_is(self.mesh, review)) {
            Some(review) if !review.state.is_final() => {
                Err(CommandError::new(CommandErrorKind::AtWork, format!("it is reviewed in run {id}")))
            }
            _ => Ok(()),
        }
    }

    /// The hash by which an attempt is known: whoever was killed while it was started, and starts it again, gets it.
    fn key(&self, task: &CrewTask) -> String {
        let parts = [
            "crew".to_string(),
            self.crew.root.to_string_lossy().into_owned(),
            self.crew.stem.clone(),
            task.spec.id.clone(),
            task.runs.last().map_or_else(String::new, |last| last.id.to_string()),
            task.spec.reopened_at.map_or_else(String::new, |reopened| reopened.to_string()),
        ];
        sha256(parts.map(|part| sha256(part.as_bytes())).concat().as_bytes())
    }

    /// Puts the work of a run that has ended onto what is on the branch now, if it could not be merged.
    fn bring_up_to_date(&self, last: &Run, why: &mut AgainReason) -> Result<(), CommandError> {
        if !matches!(why, AgainReason::Conflict { .. } | AgainReason::RedTogether(_)) {
            return Ok(());
        }
        let _lock = self.mesh.runs().lock_work()?;
        let gone =
            || CommandError::new(CommandErrorKind::NoWork, format!("the work of run {} is gone", last.id));
        let work = RunWork::load(self.op, self.mesh, &last.id)?.ok_or_else(gone)?;
        work.tree.move_base(
            &self.crew.branch.base()?,
            &format!("The work of run {}, on a new base.\n", last.id),
        )?;
        if let AgainReason::Conflict { unmarked, .. } = why {
            let files = work.tree.unmarked_files()?;
            *unmarked = files.iter().map(|path| path.display().to_string()).collect();
        }
        Ok(())
    }

    /// The profile that the fewest runs at work have.
    fn next_profile(&self) -> String {
        let at_work = |profile: &&String| {
            let live = self.tasks.iter().filter(|task| task.state == CrewTaskState::Live);
            live.filter(|task| task.runs.last().is_some_and(|run| run.profile == **profile)).count()
        };
        self.crew.request.profiles.iter().min_by_key(at_work).cloned().unwrap_or_default()
    }

    fn brief<'t>(&self, task: &'t CrewTask) -> BuilderBrief<'t> {
        let notes = |id: &String| {
            let needed = self.tasks.iter().find(|other| other.spec.id == *id)?;
            let said = || needed.runs.last().and_then(|run| run.result.clone());
            needed.spec.completion.as_ref().and_then(|done| done.notes.clone()).or_else(said)
        };
        let CrewSpecTask { id, title, text, paths, verify, needs, .. } = &task.spec;
        let needs = needs.iter().map(|id| (id.clone(), notes(id))).collect();
        BuilderBrief { id, title, text, paths, verify, needs }
    }

    fn message(&self, task: &CrewSpecTask) -> String {
        let title: String = task.title.chars().take(72).collect();
        format!("{title}\n\nTask {} of {}.\n", task.id, escape_invisible_line(&self.crew.request.spec))
    }

    /// Stops our runs. What can't be stopped goes on.
    fn stop(&mut self) {
        for task in self.tasks.iter().filter(|task| task.state == CrewTaskState::Live) {
            let Some(run) = task.runs.last() else { continue };
            match stop(self.op, run.id.as_str(), StopUrgency::Now) {
                Ok(_) => {}
                // It has just ended by itself.
                Err(error) if error.kind == CommandErrorKind::NotRunning => {}
                Err(error) => self.op.warn(format!("run {} can't be stopped: {}", run.id, error.message)),
            }
        }
    }
}

/// The session in which a worker can go on.
fn session_of(run: &Run) -> Option<(Harness, SessionId)> {
    let harness = harness::parse(run.harness.as_deref()?)?;
    Some((harness, run.session.clone()?))
}

/// Whether a session of that harness has to be told its task again.
fn forgets_first_prompt(harness: Harness) -> bool {
    let worker = harness::support(harness).and_then(|support| support.worker());
    worker.is_some_and(WorkerAdapter::forgets_first_prompt)
}

//! The tasks and runs on an exported page.

use jiff::Timestamp;

use super::masker::Masker;
use super::page::{ExportRun, ExportSpec, ExportTask, Newest};
use crate::domain::runs::{Run, RunState};
use crate::domain::{TaskEvidence, TaskProof};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::runs::list::{RunScope, runs};
use crate::ops::tasks::{ActiveSpec, TaskState, TaskView, boards_and};
use crate::store::{Census, Completion, Mesh};
use crate::sys::clock;

/// The most specs, and the most tasks of one.
const MOST_SPECS: usize = 50;
const MOST_TASKS: usize = 500;
/// The longest title of a run, in characters.
const TITLE: usize = 120;

/// The specs that agents work on, and those with tasks that were finished since `since`: these last first.
pub(super) fn specs(
    op: &Op,
    mesh: &Mesh,
    census: &Census,
    since: Option<Timestamp>,
    masker: &Masker,
) -> Result<Newest<ExportSpec>, CommandError> {
    let completions = mesh.tasks().completions()?;
    let mut finished: Vec<(Timestamp, Vec<Completion>)> = Vec::new();
    for of_spec in completions.specs() {
        let done = completions.of(of_spec);
        let last = done.iter().map(|done| done.at).max();
        finished
            .extend(last.filter(|last| since.is_none_or(|since| *last >= since)).map(|last| (last, done)));
    }
    finished.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
    let key = |done: &[Completion]| done.first().map(|first| first.spec.clone());
    let keys = finished.iter().filter_map(|(_, done)| key(done)).collect();
    let boards = boards_and(mesh, census, keys, usize::MAX)?;
    let total = boards.len();
    let of_board = |ActiveSpec { spec, tasks }: ActiveSpec| {
        let shown = op.home.shorten(&spec);
        match tasks {
            Ok(list) => {
                let (progress, views) = (list.progress, list.tasks);
                let total = views.len();
                let tasks = views.into_iter().take(MOST_TASKS).map(|view| task(view, masker)).collect();
                ExportSpec {
                    spec: shown,
                    tasks: Newest { shown: tasks, total },
                    done: progress.done,
                    claimed: progress.claimed,
                    open: progress.open,
                    blocked: progress.blocked,
                    problem: None,
                }
            }
            Err(error) => {
                let done = finished.iter().find(|(_, done)| key(done).as_ref() == Some(&spec));
                unreadable(shown, done.map_or(&[], |(_, done)| done.as_slice()), &error, masker)
            }
        }
    };
    Ok(Newest { shown: boards.into_iter().take(MOST_SPECS).map(of_board).collect(), total })
}

/// A spec whose file is gone or can't be read.
fn unreadable(spec: String, done: &[Completion], error: &CommandError, masker: &Masker) -> ExportSpec {
    let tasks = done.iter().take(MOST_TASKS).map(|done| ExportTask {
        id: done.task.clone(),
        title: String::new(),
        state: TaskState::Done.name(),
        agent: Some(done.by.clone()),
        at: Some(done.at),
        notes: masker.optional(done.notes.as_deref()),
        blocked_by: Vec::new(),
        proof: None,
        evidence: done.evidence.as_ref().map_or(Vec::new(), |known| evidence(known, masker)),
        reopened: 0,
    });
    ExportSpec {
        spec,
        tasks: Newest { shown: tasks.collect(), total: done.len() },
        done: done.len(),
        claimed: 0,
        open: 0,
        blocked: 0,
        problem: Some(error.message.clone()),
    }
}

fn task(view: TaskView, masker: &Masker) -> ExportTask {
    let claimed = view.claim.as_ref().map(|claim| (&claim.agent, claim.claimed_at, claim.reason.as_deref()));
    let done = view.completion.as_ref().map(|done| (&done.by, done.at, done.notes.as_deref()));
    let owner = done.or(claimed);
    let notes = owner.and_then(|(_, _, notes)| notes).or(view.came_back.as_deref());
    let known = view.completion.as_ref().and_then(|done| done.evidence.as_ref());
    ExportTask {
        title: masker.text(&view.title),
        state: view.state.name(),
        agent: owner.map(|(agent, _, _)| agent.clone()),
        at: owner.map(|(_, at, _)| at),
        notes: masker.optional(notes),
        proof: view.proof.map(words),
        evidence: known.map_or(Vec::new(), |known| evidence(known, masker)),
        reopened: view.reopened.len(),
        blocked_by: match view.state {
            TaskState::Blocked(by) => by,
            _ => Vec::new(),
        },
        id: view.id,
    }
}

fn words(proof: TaskProof) -> &'static str {
    match proof {
        TaskProof::Proven => "proven",
        TaskProof::Stale { .. } => "stale proof",
        TaskProof::Said => "only said",
    }
}

/// What was said, run and seen.
fn evidence(known: &TaskEvidence, masker: &Masker) -> Vec<String> {
    let said = known.text.as_deref().map(|text| masker.text(text));
    let verified = known.verified.as_ref().map(|run| {
        let commands = masker.text(&run.command).lines().collect::<Vec<_>>().join("; ");
        format!("{commands}: exit code {}", run.exit_code)
    });
    let seen = known.seen.test.as_ref().map(|test| {
        format!("{} {}", masker.text(&test.command), if test.has_passed { "passed" } else { "failed" })
    });
    let commit = known
        .commit
        .as_deref()
        .map(|commit| format!("commit {}", commit.chars().take(12).collect::<String>()));
    said.into_iter().chain(verified).chain(seen).chain(commit).collect()
}

/// The newest runs that were asked for or ended since `since`, oldest first.
pub(super) fn newest_runs(
    op: &Op,
    since: Option<Timestamp>,
    most: usize,
    masker: &Masker,
) -> Result<Newest<ExportRun>, CommandError> {
    let is_in_time =
        |run: &Run| since.is_none_or(|since| run.queued_at.max(run.ended_at.unwrap_or(since)) >= since);
    let mut all: Vec<Run> = runs(op, RunScope::All)?.into_iter().filter(is_in_time).collect();
    all.sort_by_key(|run| run.queued_at);
    let now = clock::now();
    let of_run = |run: Run| ExportRun {
        // Before it is cut: the beginning of a secret does not look like one.
        title: Run { task: masker.text(&run.title(usize::MAX)), ..run.clone() }.title(TITLE),
        worker: [run.harness.as_deref(), run.model.as_deref()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", "),
        outcome: run.outcome(),
        is_failure: run.state.is_failure(),
        is_done: run.state == RunState::Done,
        at: run.queued_at,
        took: run.took(now),
        used: run.used(),
        remark: masker.optional(run.remark().as_deref()),
        review: masker.optional(run.review.as_ref().map(|review| review.summary()).as_deref()),
        crew: run.crew.as_ref().map(|part| part.crew.clone()),
        agent: run.agent.as_ref().map(ToString::to_string),
        parent: run.parent.agent.as_ref().map(ToString::to_string),
        profile: run.profile,
        id: run.id.to_string(),
    };
    let Newest { shown, total } = Newest::last(all, most);
    Ok(Newest { shown: shown.into_iter().map(of_run).collect(), total })
}

//! What somebody wants to be reviewed: a run, a task or commits, by what was typed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::quote_code;
use crate::domain::runs::{CrewEnd, Run, RunId};
use crate::domain::spec::resolve_id;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::diff::diff;
use crate::ops::runs::list::as_it_is;
use crate::ops::runs::review_task::{
    ReviewFacts, ReviewedChanges, ReviewedCommits, commit_review_task, review_task,
};
use crate::ops::runs::work::RunWork;
use crate::ops::tasks::{NamedTask, named_task};
use crate::store::{Mesh, ReviewedWork};
use crate::sys::git::{CommitNaming, CommitRange, NamedCommits, ReadOnlyGit, WorkTree};

use super::commit_authors::note_authors;

/// How long git may take to tell what was changed.
const GIT_LIMIT: Duration = Duration::from_secs(60);

/// Work to be reviewed, what its reviewer is told, and where that works.
#[derive(Debug)]
pub(super) struct ReviewTarget {
    pub(super) work: ReviewedWork,
    pub(super) task: String,
    pub(super) root: PathBuf,
}

/// Finds what was named: a run, else a task, else commits. The beginning of a run's id counts only if it can be nothing else.
pub(super) fn find_target(op: &Op, typed: &str, spec: Option<&str>) -> Result<ReviewTarget, CommandError> {
    let mesh = op.create_mesh()?;
    if spec.is_none()
        && let Ok(id) = RunId::new(typed)
        && let Some(run) = mesh.runs().get(&id)?
    {
        return run_target(op, &mesh, as_it_is(&mesh, run), None);
    }
    let runs: Vec<Run> = mesh.runs().list()?.runs.into_iter().map(|run| as_it_is(&mesh, run)).collect();
    let task = named_task(op, spec, typed)?;
    let of_task = runs_of_task(op, &runs, &task)?;
    let start = typed.to_ascii_lowercase();
    let is_begun = |run: &&&Run| spec.is_none() && !start.is_empty() && run.id.as_str().starts_with(&start);
    let begun: Vec<&Run> = runs.iter().filter(|run| is_begun(&run)).collect();
    if !begun.is_empty() {
        let is_otherwise = !of_task.is_empty() || task.is_in_spec || commits_named(op, typed)?.is_some();
        return match (&begun[..], is_otherwise) {
            ([run], false) => run_target(op, &mesh, (*run).clone(), None),
            _ => Err(ambiguous(typed, &begun, is_otherwise)),
        };
    }
    if task.is_in_spec || !of_task.is_empty() || spec.is_some() {
        return task_target(op, &mesh, &task, &of_task);
    }
    match commits_named(op, typed)? {
        Some((tree, range)) => commits_target(op, &mesh, &tree, (typed, range)),
        None => Err(unknown(op, typed)),
    }
}

/// The runs for the task, the newest first. Without a spec it has to be one of one spec in this repository.
fn runs_of_task(op: &Op, runs: &[Run], task: &NamedTask) -> Result<Vec<Run>, CommandError> {
    let repository = |dir: &Path| WorkTree::containing(dir).and_then(|tree| tree.repository());
    let here = repository(&op.cwd);
    let is_here = |run: &Run| {
        here.is_some() && repository(Path::new(run.project.as_ref().unwrap_or(&run.root))) == here
    };
    let of_spec = |run: &&Run| match (&run.claim, &task.spec) {
        (None, _) => false,
        (Some(claim), Some(spec)) => claim.spec == *spec,
        (Some(_), None) => is_here(run),
    };
    let ids = runs.iter().filter(of_spec).filter_map(|run| Some(run.claim.as_ref()?.task.as_str()));
    let Some(id) = resolve_id(&task.id, ids) else { return Ok(Vec::new()) };
    let is_its = |run: &&Run| run.claim.as_ref().is_some_and(|claim| claim.task == id);
    let found: Vec<Run> = runs.iter().filter(of_spec).filter(is_its).cloned().collect();
    let mut specs: Vec<String> =
        found.iter().filter_map(|run| Some(run.claim.as_ref()?.spec.clone())).collect();
    specs.sort();
    specs.dedup();
    if specs.len() > 1 {
        let text = format!("{} is a task of {} specs", quote_code(&task.id), specs.len());
        return Err(CommandError::new(CommandErrorKind::UnknownTask, text)
            .hint(format!("name the one that is meant with `--spec`: {}", specs.join(", ")))
            .facts("specs", specs));
    }
    Ok(found)
}

/// The last run of a task that left work.
fn task_target(op: &Op, mesh: &Mesh, task: &NamedTask, runs: &[Run]) -> Result<ReviewTarget, CommandError> {
    let id = quote_code(&task.id);
    if runs.is_empty() && !task.is_in_spec {
        let text = format!("the spec has no task {id}");
        return Err(
            CommandError::new(CommandErrorKind::UnknownTask, text).hint("`msg tasks` lists its tasks")
        );
    }
    for run in runs {
        let has_work = mesh.runs().work(&run.id)?.is_some_and(|work| work.changed_count > 0);
        if !run.state.is_final() || has_work || merged_commit(run).is_some() {
            return run_target(op, mesh, run.clone(), Some(task.id.clone()));
        }
    }
    let text = match runs.len() {
        0 => format!("no run has worked on the task {id}"),
        _ => format!("no run for the task {id} has left work in a worktree of its own"),
    };
    Err(CommandError::new(CommandErrorKind::NoWork, text).hint(COMMITS))
}

/// The commit by which the work of a run is on the branch of its crew.
fn merged_commit(run: &Run) -> Option<&str> {
    match run.crew.as_ref()?.end.as_ref()? {
        CrewEnd::Merged { commit, .. } => commit.as_deref(),
        _ => None,
    }
}

fn run_target(op: &Op, mesh: &Mesh, run: Run, task: Option<String>) -> Result<ReviewTarget, CommandError> {
    if !run.state.is_final() {
        let text = format!("run {} goes on: it is {}", run.id, run.outcome());
        return Err(CommandError::new(CommandErrorKind::AtWork, text)
            .hint(format!("wait for its end, or stop it with `msg runs stop {}`", run.id))
            .fact("state", run.state.name()));
    }
    let named = task.clone().unwrap_or_else(|| run.id.to_string());
    let mut work = ReviewedWork {
        named,
        run: Some(run.id.to_string()),
        task: task.or_else(|| run.claim.as_ref().map(|claim| claim.task.clone())),
        by_runs: vec![run.id.to_string()],
        ..ReviewedWork::default()
    };
    let left = match (left_by(op, mesh, &run), merged_commit(&run)) {
        // What it left itself was tidied up, and the branch of the crew has it.
        (Err(error), Some(commit)) if error.kind == CommandErrorKind::NoWork => merged_as(&run, commit)?,
        (left, _) => left?,
    };
    if left.diff.trim().is_empty() {
        let text = format!("run {} changed no file, so there is nothing to review", run.id);
        return Err(CommandError::new(CommandErrorKind::NoWork, text));
    }
    (work.base, work.tip, work.files) = (left.base, left.tip, left.files);
    let changes =
        ReviewedChanges::Elsewhere { run: run.id.clone(), commit: work.tip.clone(), text: left.diff };
    let task = review_task(&ReviewFacts::of_run(mesh, &run, changes));
    Ok(ReviewTarget { work, task, root: left.root })
}

/// What a run changed, and the work tree that it did so for.
struct LeftWork {
    base: String,
    tip: String,
    diff: String,
    files: usize,
    root: PathBuf,
}

fn left_by(op: &Op, mesh: &Mesh, run: &Run) -> Result<LeftWork, CommandError> {
    let is_gone = |error: CommandError| match error.kind {
        CommandErrorKind::NoWork => error.hint(COMMITS),
        _ => error,
    };
    let found = diff(op, run.id.as_str()).map_err(is_gone)?;
    let gone = || CommandError::new(CommandErrorKind::NoWork, format!("the work of run {} is gone", run.id));
    let tree = RunWork::load(op, mesh, &run.id)?.ok_or_else(gone)?.tree;
    let root = tree.repository().root().to_path_buf();
    Ok(LeftWork { base: tree.base()?, tip: tree.tip()?, diff: found.text, files: found.changes.len(), root })
}

/// The work of a run as it is on the branch of its crew.
fn merged_as(run: &Run, commit: &str) -> Result<LeftWork, CommandError> {
    let root = PathBuf::from(run.project.as_ref().unwrap_or(&run.root));
    let git = ReadOnlyGit::at(&tree_at(&root)?, GIT_LIMIT)?;
    let NamedCommits::Found(range) = git.named_commits(commit)? else {
        let text = format!("the commit {commit} of run {} is gone", run.id);
        return Err(CommandError::new(CommandErrorKind::NoWork, text));
    };
    let diff = git.range_diff(&range)?;
    Ok(LeftWork { base: range.base, tip: range.tip, diff: diff.text, files: diff.files, root })
}

/// The commits that were named, if git knows such. An error if it is a range that can't be, or there is nothing in it.
fn commits_named(op: &Op, typed: &str) -> Result<Option<(WorkTree, CommitRange)>, CommandError> {
    let is_range = typed.contains("..");
    let tree = match tree_at(&op.cwd) {
        Err(_) if !is_range => return Ok(None),
        tree => tree?,
    };
    match ReadOnlyGit::at(&tree, GIT_LIMIT)?.named_commits(typed)? {
        NamedCommits::Found(range) => Ok(Some((tree, range))),
        NamedCommits::Unknown(_) if !is_range => Ok(None),
        NamedCommits::Unknown(part) => {
            let text = format!("git knows no commit {}", quote_code(&part));
            Err(CommandError::new(CommandErrorKind::InvalidValue, text).hint(FORMS))
        }
        NamedCommits::Unrelated(from, to) => {
            let text = format!("{} and {} have no commit in common", quote_code(&from), quote_code(&to));
            Err(CommandError::new(CommandErrorKind::InvalidValue, text))
        }
    }
}

fn commits_target(
    op: &Op,
    mesh: &Mesh,
    tree: &WorkTree,
    (typed, range): (&str, CommitRange),
) -> Result<ReviewTarget, CommandError> {
    let git = ReadOnlyGit::at(tree, GIT_LIMIT)?;
    if range.commits.is_empty() {
        let text = format!("there is no commit in {}", quote_code(typed));
        let hint = match range.naming {
            CommitNaming::Branch => {
                "HEAD has all that is on it; name where it began: `msg crew review START..BRANCH`"
            }
            CommitNaming::One | CommitNaming::Range => {
                "`A..B` is what B has and A has not: is it the other way round?"
            }
        };
        return Err(CommandError::new(CommandErrorKind::NoWork, text).hint(hint));
    }
    let diff = git.range_diff(&range)?;
    if diff.text.trim().is_empty() {
        let text =
            format!("the commits of {} change no file, so there is nothing to review", quote_code(typed));
        return Err(CommandError::new(CommandErrorKind::NoWork, text));
    }
    let messages = git.messages(&range)?;
    let facts = ReviewedCommits { base: &range.base, tip: &range.tip, messages: &messages, diff: &diff.text };
    let task = commit_review_task(&facts);
    let mut work = ReviewedWork {
        named: typed.to_string(),
        base: range.base.clone(),
        tip: range.tip.clone(),
        commits: range.commits.len(),
        files: diff.files,
        ..ReviewedWork::default()
    };
    if let Err(error) = note_authors(mesh, &git, &range, &mut work) {
        op.warn(format!("whose commits these are can't be told: {}", error.message));
    }
    Ok(ReviewTarget { work, task, root: tree.root.clone() })
}

fn tree_at(dir: &Path) -> Result<WorkTree, CommandError> {
    WorkTree::containing(dir).ok_or_else(|| {
        let text =
            format!("`{}` is not in a git repository, so there are no commits to review", dir.display());
        CommandError::new(CommandErrorKind::NoRepository, text)
            .hint("change to a work tree of the repository")
    })
}

const COMMITS: &str = "if the work is committed, name the commits: `msg crew review A..B`";

const FORMS: &str = "name a run (`msg runs` lists them), a task of a spec (`TASK --spec PATH`), or commits (`HEAD`, \
                     `main..HEAD`, a branch)";

fn unknown(op: &Op, typed: &str) -> CommandError {
    let text = format!("{} is not a run, a task or a commit", quote_code(typed));
    let error = CommandError::new(CommandErrorKind::UnknownRun, text).hint(FORMS);
    match tree_at(&op.cwd) {
        Ok(_) => error,
        Err(nowhere) => error.hint(nowhere.message),
    }
}

fn ambiguous(typed: &str, runs: &[&Run], is_otherwise: bool) -> CommandError {
    let ids: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
    let or = if is_otherwise { ", and is a task or a commit" } else { "" };
    let text = format!("{} is the beginning of {}{or}", quote_code(typed), ids.join(", "));
    CommandError::new(CommandErrorKind::UnknownRun, text)
        .hint("type the whole id of the run; `refs/heads/NAME` is always a branch, and `--spec PATH` makes it a task")
        .facts("candidates", ids)
}

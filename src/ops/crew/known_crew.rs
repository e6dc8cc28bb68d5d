//! A crew that was started, as it is: for `msg crew status` and `msg crew report`.

use crate::domain::runs::ReviewedBill;
use crate::domain::shell_word;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::work::git_state;
use crate::ops::tasks::crew_spec;
use crate::sys::git::run_tree::{CrewBranch, RunRepository};

use super::crew_branch_name::branch_stem;
use super::crew_task::{CrewTask, crew_tasks};

/// What there is of a crew.
#[derive(Debug)]
pub struct KnownCrew {
    /// The file with the tasks.
    pub spec: String,
    pub branch: String,
    /// Where the branch is; `None`: it was not begun.
    pub at: Option<String>,
    /// Where it began.
    pub start: Option<String>,
    /// How many commits it has.
    pub commits: usize,
    pub tasks: Vec<CrewTask>,
    pub bill: ReviewedBill,
}

/// The crew of that spec; without one, the one whose run was asked for last in this repository.
pub fn known_crew(op: &Op, spec: Option<&str>, branch: Option<&str>) -> Result<KnownCrew, CommandError> {
    let (spec, stem) = match spec {
        Some(spec) => {
            let file = crew_spec(op, spec)?.file;
            let stem = branch.map_or_else(|| branch_stem(&file), str::to_string);
            (file.to_string_lossy().into_owned(), stem)
        }
        None => last_crew(op, branch)?,
    };
    let repository = RunRepository::open(&op.cwd, &git_state(&op.home))?;
    let branch = CrewBranch::of(&repository, &stem)?;
    let (at, start) = (branch.at()?, branch.start()?);
    let commits = match (&at, &start) {
        (Some(_), Some(start)) => branch.commits_since(start)?,
        _ => 0,
    };
    let tasks = crew_tasks(op, &spec, &stem, None)?;
    let bill = ReviewedBill::of(tasks.iter().flat_map(|task| task.runs.iter().chain(&task.reviews)));
    Ok(KnownCrew { spec, branch: branch.name().to_string(), at, start, commits, tasks, bill })
}

/// The spec and the end of the branch's name of the crew that was at work last.
fn last_crew(op: &Op, branch: Option<&str>) -> Result<(String, String), CommandError> {
    let none = || {
        let text = "no crew has worked in this repository";
        CommandError::new(CommandErrorKind::UnknownTask, text).hint("`msg crew work SPEC` starts one")
    };
    let root = RunRepository::open(&op.cwd, &git_state(&op.home))?.root().to_string_lossy().into_owned();
    let mesh = op.mesh()?.ok_or_else(none)?;
    let runs = mesh.runs().list()?.runs.into_iter();
    let found = runs.filter(|run| run.project.as_deref().unwrap_or(&run.root) == root);
    let crews = found.filter_map(|run| Some((run.queued_at, run.id, run.claim?.spec, run.crew?.crew)));
    let wanted = crews.filter(|(.., crew)| branch.is_none_or(|branch| branch == crew));
    let (_, id, spec, crew) = wanted.max_by_key(|(queued_at, ..)| *queued_at).ok_or_else(none)?;
    // In a linked work tree, the spec is claimed by its path in the main one, and may be only here.
    let file = mesh.runs().order(&id)?.task.and_then(|task| task.file);
    Ok((file.unwrap_or(spec), crew))
}

/// The command that brings the work of a crew to the branch that is checked out.
pub fn merge_command(branch: &str) -> String {
    format!("git merge {}", shell_word(branch))
}

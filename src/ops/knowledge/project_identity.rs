//! How a project is recognised in a batch that was written elsewhere: by its name, or by its first commit.

use std::time::Duration;

use crate::domain::knowledge::BatchProblem;
use crate::sys::git::ReadOnlyGit;

use super::project::KnowledgeProject;

/// How long git may take to find the first commit.
const GIT_LIMIT: Duration = Duration::from_secs(2);
/// The fewest digits of a commit that identify a project.
const FEWEST_DIGITS: usize = 7;

/// What identifies a project.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProjectIdentity {
    /// The name of its folder.
    pub name: String,
    /// The first commit of its history; of several the least. `None` without git or commits.
    pub root_commit: Option<String>,
}

pub(super) fn identity(project: &KnowledgeProject) -> ProjectIdentity {
    let mut commits = root_commits(project);
    commits.sort_unstable();
    ProjectIdentity { name: name(project), root_commit: commits.into_iter().next() }
}

fn name(project: &KnowledgeProject) -> String {
    let main = std::fs::canonicalize(&project.main).unwrap_or_else(|_| project.main.clone());
    let name = main.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // The git directory of a bare repository.
    name.strip_suffix(".git").map(str::to_string).unwrap_or(name)
}

fn root_commits(project: &KnowledgeProject) -> Vec<String> {
    let Some(tree) = &project.tree else { return Vec::new() };
    ReadOnlyGit::at(tree, GIT_LIMIT).and_then(|git| git.root_commits()).unwrap_or_default()
}

/// What is wrong with the `projectId` of a batch; `None` if it is that of this project.
pub(super) fn project_problem(project: &KnowledgeProject, id: &str) -> Option<BatchProblem> {
    let name = name(project);
    if id.eq_ignore_ascii_case(&name) {
        return None;
    }
    let commits = root_commits(project);
    let is_commit =
        |commit: &String| id.len() >= FEWEST_DIGITS && commit.starts_with(&id.to_ascii_lowercase());
    if commits.iter().any(is_commit) {
        return None;
    }
    let commit = commits.first().map_or(String::new(), |commit| format!(" or `{commit}`"));
    let message =
        format!("the batch is for the project `{}`", id.chars().take(80).collect::<String>().escape_debug());
    let fix = format!("this is `{name}`{commit}; run it there, or leave `projectId` out");
    Some(BatchProblem::new(0, "projectId", message, fix))
}

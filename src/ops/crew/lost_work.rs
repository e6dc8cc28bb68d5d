//! Whether the work of the tasks that a crew has done is where the next ones start from.

use crate::domain::shell_word;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::sys::git::run_tree::CrewBranch;

use super::crew_task::{CrewTaskState, crew_tasks};

/// An error if a task counts as done whose commit is no longer on the branch: somebody removed the branch or moved it
/// back. `start` is where the branch would begin if it is not there.
pub(super) fn require_no_lost_work(
    op: &Op,
    spec: &str,
    stem: &str,
    (branch, start): (&CrewBranch, &str),
) -> Result<(), CommandError> {
    let at = branch.at()?.unwrap_or_else(|| start.to_string());
    let mut lost: Vec<(String, String)> = Vec::new();
    for task in crew_tasks(op, spec, stem, None)?.iter().filter(|task| task.state == CrewTaskState::Done) {
        if let Some(commit) = task.commit()
            && !branch.has_work(&at, commit)?
        {
            lost.push((task.spec.id.clone(), commit.to_string()));
        }
    }
    let Some((first, _)) = lost.first() else { return Ok(()) };
    let name = branch.name();
    let text = match lost.len() {
        1 => format!("`{first}` is done, but its commit is not on `{name}` any more"),
        count => {
            format!("{count} tasks are done whose commits are not on `{name}` any more: {}", names(&lost))
        }
    };
    let error = CommandError::new(CommandErrorKind::NoWork, text);
    let error = match last_of(branch, &lost)? {
        Some(last) => {
            let line = format!("git branch -f {} {}", shell_word(name), short(last));
            error.hint(format!("`{line}` puts the branch back to the last of them"))
        }
        None => error,
    };
    let line = format!("msg reopen {first} --spec {} --reason \"its commit is gone\"", shell_word(spec));
    let error = error.hint(format!("`{line}` lets the crew do it again"));
    Err(error.facts("tasks", lost.into_iter().map(|(id, _)| id).collect()))
}

fn names(lost: &[(String, String)]) -> String {
    lost.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(", ")
}

/// The commit that has all the others below it, if git still has it.
fn last_of<'l>(branch: &CrewBranch, lost: &'l [(String, String)]) -> Result<Option<&'l str>, CommandError> {
    let mut last: Option<&str> = None;
    for (_, commit) in lost {
        if !branch.has_commit(commit)? {
            return Ok(None);
        }
        match last {
            Some(last) if !branch.is_below(last, commit)? => {}
            _ => last = Some(commit),
        }
    }
    Ok(last)
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

//! Validates task ids, notes and evidence, and releases the paths that were reserved with a task.

use crate::domain::{Agent, Reservation, TaskRef};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{Claim, StagedChange};

/// The longest id of a task, in bytes.
const MAX_ID: usize = 200;

/// The longest notes, in bytes: they are kept for good.
const MAX_NOTES: usize = 16 * 1024;

pub(super) fn check_id(id: &str) -> Result<(), CommandError> {
    let why = if id.is_empty() {
        "it is empty".to_string()
    } else if id.len() > MAX_ID {
        format!("it has {} bytes, and {MAX_ID} is the most", id.len())
    } else if id.chars().any(char::is_control) {
        "it has control characters in it".to_string()
    } else {
        return Ok(());
    };
    let start: String = id.chars().take(40).collect();
    Err(CommandError::new(
        CommandErrorKind::InvalidValue,
        format!("`{}` can't be a task: {why}", start.escape_debug()),
    ))
}

pub(super) fn check_notes(notes: Option<&str>) -> Result<(), CommandError> {
    match notes.map(str::len) {
        Some(length) if length > MAX_NOTES => {
            let text = format!("the notes have {length} bytes; {MAX_NOTES} is the most");
            Err(CommandError::new(CommandErrorKind::TooLarge, text).hint("put them into a file, and name it"))
        }
        _ => Ok(()),
    }
}

pub(super) fn check_evidence(evidence: Option<&str>) -> Result<(), CommandError> {
    match evidence {
        Some(text) if text.trim().is_empty() => {
            let error = CommandError::new(CommandErrorKind::InvalidValue, "the evidence is empty");
            Err(error.hint("say what proves that it is done, or leave `--evidence` out"))
        }
        Some(text) if text.len() > MAX_NOTES => {
            let text = format!("the evidence has {} bytes; {MAX_NOTES} is the most", text.len());
            Err(CommandError::new(CommandErrorKind::TooLarge, text).hint("put it into a file, and name it"))
        }
        _ => Ok(()),
    }
}

pub(super) fn task_of(claim: &Claim) -> TaskRef {
    TaskRef { spec: claim.spec.clone(), id: claim.task.clone() }
}

/// Removes the reservations that were taken with a task. Without its claim they bind nobody.
pub(super) fn release_task_paths(
    change: &mut StagedChange<'_>,
    me: &Agent,
    task: &TaskRef,
) -> Result<Agent, CommandError> {
    let is_of = |held: &Reservation| held.task.as_ref() == Some(task);
    if !me.reservations.iter().any(is_of) {
        return Ok(me.clone());
    }
    Ok(change.edit(me, |agent| agent.reservations.retain(|held| !is_of(held)))?)
}

//! Whether a task that a run was given may still be worked on.

use crate::domain::runs::RunClaim;
use crate::ops::error::CommandError;
use crate::store::{Census, Claims, Mesh};

use super::elsewhere::TasksElsewhere;
use super::spec_key::Spellings;
use super::spec_ref::SpecRef;
use super::task_board::{ParsedSpec, TaskBoard};

/// Whether the task is in its spec and not done. If the spec can't be read now, it may be.
pub(in crate::ops) fn is_open(mesh: &Mesh, claim: &RunClaim) -> Result<bool, CommandError> {
    let completions = mesh.tasks().completions()?;
    let spellings = Spellings::default();
    if spellings.completion(&completions, &claim.spec, &claim.task).is_some() {
        return Ok(false);
    }
    let Ok(parsed_spec) = ParsedSpec::read(SpecRef::worked_on(&claim.spec)) else { return Ok(true) };
    let (claims, census) = (Claims::default(), Census::default());
    let elsewhere = TasksElsewhere::of(Some(mesh)).spec(&parsed_spec.place.key);
    let board = TaskBoard::new(&parsed_spec, &claims, &completions, &census, &spellings, &elsewhere);
    let is_there = parsed_spec.spec.tasks.iter().any(|task| task.id == claim.task);
    Ok(is_there && !board.is_done(&claim.task))
}

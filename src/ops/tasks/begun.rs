//! Which tasks of a spec somebody has begun: for whoever is about to write the spec anew.

use std::path::Path;

use crate::domain::crews::{BegunState, BegunTask};
use crate::ops::error::CommandError;
use crate::store::{Census, Mesh};

use super::elsewhere::TasksElsewhere;
use super::spec_key::{Spellings, key};
use super::spec_ref::SpecRef;
use super::task_board::{ParsedSpec, TaskBoard, TaskState};

/// The tasks of the spec at `path` that are done or claimed, also those that are not in it any more. There may be no such
/// file.
pub(in crate::ops) fn begun_tasks(mesh: Option<&Mesh>, path: &Path) -> Result<Vec<BegunTask>, CommandError> {
    let file = path.is_file().then(|| path.to_path_buf());
    let parsed_spec = ParsedSpec::read(SpecRef { key: key(path), file })?;
    let (claims, completions, census) = match mesh {
        Some(mesh) => (mesh.tasks().claims()?, mesh.tasks().completions()?, mesh.registry().census()?),
        None => (Default::default(), Default::default(), Census::default()),
    };
    let spellings = Spellings::default();
    let elsewhere = TasksElsewhere::of(mesh).spec(&parsed_spec.place.key);
    let board = TaskBoard::new(&parsed_spec, &claims, &completions, &census, &spellings, &elsewhere);
    let begun = board.views().into_iter().filter_map(|task| {
        let state = match task.state {
            TaskState::Done => BegunState::Done,
            TaskState::Claimed => BegunState::Claimed,
            TaskState::Open | TaskState::Blocked(_) => return None,
        };
        Some(BegunTask { id: task.id, state })
    });
    Ok(begun.collect())
}

//! `msg spec`: shows or sets the spec that an agent works on.

use std::path::PathBuf;

use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::sys::paths;

use super::spec_ref::SpecRef;

/// The spec that an agent works on.
#[derive(Clone, Debug)]
pub struct SpecInUse {
    /// `None`: the agent has none.
    pub path: Option<String>,
    pub tasks: usize,
    /// Checkboxes that are not tasks because they have no id.
    pub boxes_without_id: usize,
    pub problems: Vec<String>,
}

/// Shows the caller's spec, or sets it.
pub fn spec(op: &Op, path: Option<&str>) -> Result<SpecInUse, CommandError> {
    let place = path.map(|text| SpecRef::named(op, text)).transpose()?;
    let (mesh, caller) = identity::caller(op)?;
    let agent = match &place {
        Some(SpecRef { file: Some(file), .. }) => {
            let real = paths::resolve(file).to_string();
            let mut locked = mesh.lock()?;
            let mut change = locked.change();
            let agent = change.edit(&caller.agent, |agent| agent.spec = Some(real))?;
            change.commit()?;
            agent
        }
        _ => caller.agent,
    };
    let Some(path) = agent.spec.clone() else {
        return Ok(SpecInUse { path: None, tasks: 0, boxes_without_id: 0, problems: Vec::new() });
    };
    let spec = SpecRef::find(op, None, Some(&agent))?.read()?;
    let problems = spec.problems.iter().map(ToString::to_string).collect();
    let boxes_without_id = spec.boxes_without_id;
    Ok(SpecInUse { path: Some(path), tasks: spec.tasks.len(), boxes_without_id, problems })
}

/// Lists what is wrong with an agent's spec.
pub(in crate::ops) fn problems(path: &str) -> Result<Vec<String>, CommandError> {
    let place = SpecRef { key: String::new(), file: Some(PathBuf::from(path)) };
    Ok(place.read()?.problems.iter().map(ToString::to_string).collect())
}

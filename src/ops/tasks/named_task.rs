//! The task that somebody means by an id, for commands that look at what runs did for it.

use crate::domain::spec::resolve_id;
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

use super::spec_ref::SpecRef;
use super::task_board::ParsedSpec;

/// A task as somebody named it.
#[derive(Clone, Debug)]
pub(in crate::ops) struct NamedTask {
    /// The key of its spec; `None`: none was named, and the caller has none.
    pub(in crate::ops) spec: Option<String>,
    pub(in crate::ops) id: String,
    /// Whether the spec has it.
    pub(in crate::ops) is_in_spec: bool,
}

/// The task with that id of the named spec, else of the caller's. The spec of the caller may be gone; a named one is an error
/// then.
pub(in crate::ops) fn named_task(
    op: &Op,
    named: Option<&str>,
    typed: &str,
) -> Result<NamedTask, CommandError> {
    let unknown = || NamedTask { spec: None, id: typed.to_string(), is_in_spec: false };
    let caller = match op.mesh()? {
        Some(mesh) => identity::caller_if_certain(op, &mesh, &mesh.registry().census()?),
        None => None,
    };
    if named.is_none() && caller.as_ref().is_none_or(|agent| agent.spec.is_none()) {
        return Ok(unknown());
    }
    let place = SpecRef::find(op, named, caller.as_ref())?;
    let spec = place.key.clone();
    let parsed = match ParsedSpec::read(place) {
        Err(_) if named.is_none() => return Ok(NamedTask { spec: Some(spec), ..unknown() }),
        parsed => parsed?,
    };
    let found = resolve_id(typed, parsed.spec.tasks.iter().map(|task| task.id.as_str()));
    let id = found.unwrap_or(typed).to_string();
    Ok(NamedTask { spec: Some(spec), id, is_in_spec: found.is_some() })
}

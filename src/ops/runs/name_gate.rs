//! The name that a worker is to have: nobody else may have it, and no other run may be about to give it to its worker.
//! A worker is told its name, so with that of another agent it would act as that one.

use crate::domain::AgentName;
use crate::domain::runs::{Run, RunId};
use crate::store::{Mesh, RunOrder};
use crate::sys::clock;

use super::list::as_it_is;
use super::own_run::kept_session;
use crate::ops::agents::names;
use crate::ops::error::{CommandError, CommandErrorKind};

/// Whether the worker of this run can have the name that was asked for. The place that its supervisor keeps is its own.
pub(super) fn check_name(mesh: &Mesh, id: &RunId, order: &RunOrder) -> Result<(), CommandError> {
    let Some(name) = order.name.clone().map(AgentName::new).transpose()? else { return Ok(()) };
    let mut census = mesh.registry().census()?;
    let own = kept_session(id)?;
    census.records.retain(|record| record.agent.session != own);
    if let Some(holder) = names::holder(&census, &name, None, clock::now()) {
        return Err(taken(&name, &holder));
    }
    // An order that can't be read names nobody.
    let is_for_it = |run: &Run| {
        let order = mesh.runs().order(&run.id);
        order.is_ok_and(|order| order.name.is_some_and(|its| its.eq_ignore_ascii_case(name.as_str())))
    };
    let others = mesh.runs().list()?.runs.into_iter().filter(|run| run.id != *id && !run.state.is_final());
    match others.filter(is_for_it).map(|run| as_it_is(mesh, run)).find(|run| !run.state.is_final()) {
        Some(run) => Err(taken(&name, &format!("the worker of run {}", run.id))),
        None => Ok(()),
    }
}

fn taken(name: &AgentName, holder: &str) -> CommandError {
    CommandError::new(CommandErrorKind::NameTaken, format!("the name {name} is taken by {holder}"))
        .hint("choose another; without --name, the worker gets one that is free")
        .fact("name", name.as_str())
}

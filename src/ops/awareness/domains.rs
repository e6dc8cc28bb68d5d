//! `msg topics --domains`: parts of the project that belong together, configured or shown by what was counted.

use std::path::Path;

use crate::domain::AgentName;
use crate::domain::awareness::learned_domains::learned_domains;
use crate::domain::awareness::work_domain::WorkDomain;
use crate::ops::agents::list::whois;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{CounterFile, Mesh, StoreError};

use super::{WorkPlace, agent_topics};

/// The domains of a repository.
#[derive(Clone, Debug, Default)]
pub struct DomainReport {
    /// Those of the configuration first.
    pub domains: Vec<WorkDomain>,
    /// The prompts and commits that were counted; 0 if nothing was counted yet.
    pub events: u32,
}

/// The domains of this repository, or those in which that agent works, in its own repository.
pub fn domains(op: &Op, name: Option<&AgentName>) -> Result<DomainReport, CommandError> {
    let Some(mesh) = op.mesh()? else {
        op.note_absent_mesh();
        if let Some(name) = name {
            whois(op, name)?;
        }
        return Ok(DomainReport { domains: configured(op), events: 0 });
    };
    let here = WorkPlace::of(&op.cwd);
    let Some(name) = name else { return in_place(&mesh, &here, configured(op)) };
    let (profile, _) = whois(op, name)?;
    let place = WorkPlace::of(Path::new(&profile.agent.cwd));
    // The settings are those of this project: they say nothing about another one.
    let configured = if place.repository == here.repository { configured(op) } else { Vec::new() };
    let mut report = in_place(&mesh, &place, configured)?;
    let agent = agent_topics::of_agent(&mesh, &profile.agent)?;
    report.domains.retain(|domain| domain.presence(&agent.prompts, &agent.changed) > 0.0);
    Ok(report)
}

fn in_place(
    mesh: &Mesh,
    place: &WorkPlace,
    configured: Vec<WorkDomain>,
) -> Result<DomainReport, CommandError> {
    let found = mesh.awareness().counts(&place.repository).and_then(|counts| {
        let events = counts.as_ref().map_or(0, |counts| counts.events);
        Ok((learned(counts.as_ref())?, events))
    });
    let (learned, events) = match found {
        // A background job will make the counts again.
        Err(StoreError::Corrupt { .. }) => (Vec::new(), 0),
        found => found?,
    };
    Ok(DomainReport { domains: [configured, learned].concat(), events })
}

/// Configured domains, and those that the counts show. It reads all counts, so it is not for hooks.
pub(super) fn known(op: &Op, counts: Option<&CounterFile>) -> Result<Vec<WorkDomain>, StoreError> {
    Ok([configured(op), learned(counts)?].concat())
}

fn learned(counts: Option<&CounterFile>) -> Result<Vec<WorkDomain>, StoreError> {
    let Some(counts) = counts else { return Ok(Vec::new()) };
    let all = counts.all()?;
    Ok(learned_domains(&all.counters, &all.topics, &all.paths))
}

fn configured(op: &Op) -> Vec<WorkDomain> {
    op.settings.domains().iter().map(|domain| domain.to_domain()).collect()
}

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
    let Some(name) = name else { return in_place(op, &mesh, &WorkPlace::of(&op.cwd)) };
    let (profile, _) = whois(op, name)?;
    let mut report = in_place(op, &mesh, &WorkPlace::of(Path::new(&profile.agent.cwd)))?;
    let agent = agent_topics::of_agent(&mesh, &profile.agent)?;
    report.domains.retain(|domain| domain.presence(&agent.prompts, &agent.changed) > 0.0);
    Ok(report)
}

fn in_place(op: &Op, mesh: &Mesh, place: &WorkPlace) -> Result<DomainReport, CommandError> {
    let found = mesh.awareness().counts(&place.repository).and_then(|counts| {
        let events = counts.as_ref().map_or(0, |counts| counts.events);
        Ok(DomainReport { domains: known(op, counts.as_ref())?, events })
    });
    match found {
        // A background job will make the counts again.
        Err(StoreError::Corrupt { .. }) => Ok(DomainReport { domains: configured(op), events: 0 }),
        found => Ok(found?),
    }
}

/// Configured domains, and those that the counts show. It reads all counts, so it is not for hooks.
pub(super) fn known(op: &Op, counts: Option<&CounterFile>) -> Result<Vec<WorkDomain>, StoreError> {
    let mut domains = configured(op);
    if let Some(counts) = counts {
        let all = counts.all()?;
        domains.extend(learned_domains(&all.counters, &all.topics, &all.paths));
    }
    Ok(domains)
}

fn configured(op: &Op) -> Vec<WorkDomain> {
    op.settings.domains().iter().map(|domain| domain.to_domain()).collect()
}

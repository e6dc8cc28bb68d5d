//! `doctor` checks of pi-messenger's agents that share the mesh.

use crate::domain::AgentName;
use crate::store::{Census, Mesh, OwnerlessInbox, Registration, StoreError, UnreadableFile};

use super::{HealthCheck, REPAIR, count};

pub(super) fn odd_registration(file: &UnreadableFile, record: &Registration) -> HealthCheck {
    let UnreadableFile { path, reason, .. } = file;
    if !record.is_live() {
        return HealthCheck::ok(
            "registry",
            format!("`{path}` of pi-messenger is gone; pi-messenger will clear it away"),
        );
    }
    let text = format!(
        "`{path}` of pi-messenger is odd: {reason}; it is listed as {}, and what it reserves counts",
        record.agent.name
    );
    HealthCheck::warn("registry", text, "let that agent take another name, so that it can be written to")
}

/// Names that differ only in case: pi-messenger tells them apart, people may not.
pub(super) fn differ_in_case(census: &Census) -> Vec<HealthCheck> {
    let names: Vec<&AgentName> = census.records.iter().map(|record| &record.agent.name).collect();
    let mut checks = Vec::new();
    for (at, name) in names.iter().enumerate() {
        for other in names[at + 1..].iter().filter(|other| *other == name) {
            let text = format!("the names {name} and {other} differ only in case");
            checks.push(HealthCheck::warn(
                "registry",
                text,
                "spell them exactly, or let one of the two take another",
            ));
        }
    }
    checks
}

/// Mail that nobody reads.
pub(super) fn orphans(mesh: &Mesh, census: &Census) -> Result<Vec<HealthCheck>, StoreError> {
    let check = |orphaned: OwnerlessInbox| {
        let OwnerlessInbox { name, unread, now_called } = orphaned;
        let text = format!("{} for {name}, and nobody is called that", count(unread, "unread message"));
        match now_called {
            Some(new) => HealthCheck::warn("mail", format!("{text}: its owner is called {new} now"), REPAIR),
            None => {
                HealthCheck::warn("mail", text, "it waits in `inbox/` for whoever had the name to come back")
            }
        }
    };
    Ok(mesh.inboxes().orphans(census)?.into_iter().map(check).collect())
}

//! A new name for an agent; everything that is its own goes along.

use jiff::SignedDuration;

use crate::domain::{Agent, AgentName, FormerName};
use crate::store::{Mesh, StoreError};
use crate::sys::clock;
use crate::sys::files::Published;

use super::claims;
use super::context::Context;
use super::error::{CommandError, Kind};
use super::identity;
use super::names::{self, holder, name_taken};
use super::profile::Profile;

/// For so long the old name stays taken and leads to the new one.
const FOLLOWED: SignedDuration = SignedDuration::from_mins(10);

/// Returns the agent and the name that it had.
pub fn rename(ctx: &Context, new: &AgentName) -> Result<(Profile, AgentName), CommandError> {
    let (mesh, caller) = identity::caller(ctx)?;
    let old = caller.agent.name.clone();
    if caller.agent.is_foreign() {
        return Err(StoreError::Foreign(old.to_string()).into());
    }
    let agent = if old.as_str() == new.as_str() {
        caller.agent
    } else if old == *new {
        // It would be the same file on some file systems.
        let text = format!("{old} and {new} are the same name: case makes no difference");
        return Err(CommandError::new(Kind::NameTaken, text).fact("name", new.as_str()));
    } else {
        change(&mesh, &caller.agent, new)?
    };
    let profile = Profile::of(&mesh, agent, &mesh.claims()?)?;
    Ok((profile, old))
}

/// Publish the new registration, rewrite the claims, remove the old one: a crash after any of these leaves one agent
/// under one name, because a registration that names the other in `formerly` stands for it.
fn change(mesh: &Mesh, caller: &Agent, new: &AgentName) -> Result<Agent, CommandError> {
    let locked = mesh.lock()?;
    let now = clock::now();
    let census = locked.census()?;
    let record = census
        .records
        .iter()
        .find(|record| record.agent.is_same_session(caller))
        .ok_or_else(|| StoreError::NoRegistration(caller.name.to_string()))?;
    let old = &record.agent;
    if let Some(holder) = holder(&census, new, Some(old), now) {
        return Err(name_taken(new, &holder));
    }
    names::clear(&locked, &census, new, Some(old), now)?;
    let mut renamed = record.clone();
    renamed.agent.name = new.clone();
    // A former name that has run out harms nobody, and mail may still lie under it.
    renamed.agent.formerly.retain(|former| former.name != *new);
    renamed.agent.formerly.push(FormerName { name: old.name.clone(), until: now + FOLLOWED });
    if locked.register(&renamed)? == Published::Exists {
        return Err(name_taken(new, "an agent of pi-messenger, who was faster"));
    }
    claims::carry_over(&locked, &renamed.agent, new, &renamed.agent.session)?;
    locked.unregister(&old.name)?;
    mesh.touch(new)?;
    Ok(renamed.agent)
}

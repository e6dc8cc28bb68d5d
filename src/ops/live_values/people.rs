//! Agents, groups of them, and what they hold.

use std::collections::BTreeSet;

use crate::domain::{Agent, Reservation};
use crate::ops::agents::identity;
use crate::ops::agents::list::verb;
use crate::ops::agents::roster::Roster;
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::ops::reservations::contest_target::{check_contestable, reservations_here};
use crate::store::Mesh;

use super::LiveCandidate;

/// Groups that `send` knows by itself.
const GROUPS: [(&str, &str); 3] = [
    ("@all", "the other agents of this project"),
    ("@spec", "those who work with your spec"),
    ("@branch", "those on your branch"),
];

pub(super) fn agents(mesh: &Mesh) -> Result<Vec<LiveCandidate>, CommandError> {
    Ok(by_name(Roster::read(mesh)?.live().map(candidate)))
}

pub(super) fn known_agents(mesh: &Mesh) -> Result<Vec<LiveCandidate>, CommandError> {
    let roster = Roster::read(mesh)?;
    let mut found = by_name(roster.live().map(candidate));
    let ended = roster.census().records.iter().filter(|record| !record.is_live());
    found.extend(
        ended.map(|record| LiveCandidate::new(record.agent.name.as_str(), "gone: its process ended")),
    );
    // Whoever is not in order in one grave must not hide the others.
    let mut graves = mesh.graves().all()?.graves;
    graves.sort_by_key(|grave| std::cmp::Reverse(grave.at));
    let gone = |grave: &crate::store::Grave| {
        LiveCandidate::new(grave.id.name(), &format!("gone: it {}", verb(grave.why)))
    };
    found.extend(graves.iter().map(gone));
    Ok(found)
}

pub(super) fn groups(mesh: &Mesh) -> Result<Vec<LiveCandidate>, CommandError> {
    let roster = Roster::read(mesh)?;
    let harnesses: BTreeSet<&str> = roster.live().map(Agent::harness_name).collect();
    let fixed = GROUPS.iter().map(|(name, about)| LiveCandidate::new(*name, about));
    let of_harness = harnesses
        .into_iter()
        .map(|name| LiveCandidate::new(format!("@harness:{name}"), &format!("those that run in {name}")));
    Ok(fixed.chain(of_harness).collect())
}

fn by_name(agents: impl Iterator<Item = LiveCandidate>) -> Vec<LiveCandidate> {
    let mut found: Vec<LiveCandidate> = agents.collect();
    found.sort_by(|a, b| a.value.cmp(&b.value));
    found
}

fn candidate(agent: &Agent) -> LiveCandidate {
    let machine = agent.machine.as_ref().map(|machine| machine.name.as_str());
    let parts = [machine, Some(agent.harness_name()), agent.git_branch.as_deref(), agent.status.as_deref()];
    let about: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    LiveCandidate::new(agent.name.as_str(), &about.join(" · "))
}

pub(super) fn contestable(
    ctx: &Context,
    mesh: &Mesh,
    holder: Option<&str>,
) -> Result<Vec<LiveCandidate>, CommandError> {
    let roster = Roster::read(mesh)?;
    let me = identity::caller_if_certain(ctx, mesh, roster.census());
    let is_wanted = |agent: &Agent| {
        let is_other = me.as_ref().is_none_or(|me| !me.is_same_agent(agent));
        let is_named = holder.is_none_or(|name| agent.name.as_str().eq_ignore_ascii_case(name));
        is_other && is_named && check_contestable(agent, me.as_ref()).is_ok()
    };
    Ok(patterns(reservations_here(ctx, mesh, &roster, is_wanted)))
}

pub(super) fn own_reservations(ctx: &Context, mesh: &Mesh) -> Result<Vec<LiveCandidate>, CommandError> {
    let roster = Roster::read(mesh)?;
    let Some(me) = identity::caller_if_certain(ctx, mesh, roster.census()) else { return Ok(Vec::new()) };
    Ok(patterns(reservations_here(ctx, mesh, &roster, |agent| agent.is_same_agent(&me))))
}

pub(super) fn reservations(ctx: &Context, mesh: &Mesh) -> Result<Vec<LiveCandidate>, CommandError> {
    let roster = Roster::read(mesh)?;
    Ok(patterns(reservations_here(ctx, mesh, &roster, |_| true)))
}

fn patterns(held: Vec<(String, &Agent, &Reservation)>) -> Vec<LiveCandidate> {
    by_name(held.into_iter().map(|(text, holder, held)| {
        let about = match held.reason.as_deref() {
            Some(reason) => format!("{}: {reason}", holder.name),
            None => holder.name.to_string(),
        };
        LiveCandidate::new(text, &about)
    }))
}

//! Reports agents that hold something and have been quiet for long, once, to those who work on the same spec.
//!
//! Any command that looks at agents reports it, if the lock is free at once. It checks again under the lock, posts the
//! notices, and records after that that it was reported. If it is killed in between, the next command posts them again:
//! twice is better than never. The line of the feed and the wakes come last, from the runner: a process that is killed
//! between the record and the runner loses those. A peer whose notice could not be posted is not told later; the
//! command warns.
//!
//! The last sign of life at the time of a report is kept (`store::agents::stuck_reports`), so an agent is reported
//! again only after another sign of life. All hooks together check once a minute, never before a tool.

use std::time::Duration;

use crate::domain::{Agent, EventKind, Importance, Notice, PeerText, Presence, notice_words};
use crate::store::{Census, Claims, LockedMesh, Mesh};
use crate::sys::clock;

use super::profile::AgentProfile;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::notices::post_owed;
use crate::ops::tasks::Spellings;

/// All hooks together look once in this time.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The most held paths and tasks named in a notice.
const MOST_HELD: usize = 3;

/// Reports stuck agents among these profiles.
pub(in crate::ops) fn report<'a>(op: &Op, mesh: &Mesh, profiles: impl IntoIterator<Item = &'a AgentProfile>) {
    let stuck: Vec<&Agent> =
        profiles.into_iter().filter(|one| is_news(mesh, one)).map(|one| &one.agent).collect();
    if stuck.is_empty() {
        return;
    }
    if let Err(error) = tell(op, mesh, &stuck) {
        op.warn(format!("could not report a stuck agent: {error}"));
    }
}

/// Like [`report`], for callers that have no profiles. Only agents that hold something are checked.
pub(in crate::ops) fn report_from_census(
    op: &Op,
    mesh: &Mesh,
    census: &Census,
    claims: &Claims,
) -> Result<(), CommandError> {
    let mut profiles = Vec::new();
    for record in census.local() {
        let held = claims.of(&record.agent);
        // Only an agent that holds something can be stuck.
        if !held.is_empty() || !record.agent.reservations.is_empty() {
            profiles.push(AgentProfile::of_record(op, mesh, record, claims)?);
        }
    }
    report(op, mesh, &profiles);
    Ok(())
}

/// Like [`report_from_census`], for hooks: only if no hook of any agent did it within the last minute.
pub(in crate::ops) fn report_occasionally(op: &Op, mesh: &Mesh) -> Result<(), CommandError> {
    match mesh.presence().begin_stuck_check_if_due(LOOK_EVERY)? {
        true => report_from_census(op, mesh, &mesh.registry().local_census()?, &mesh.tasks().claims()?),
        false => Ok(()),
    }
}

fn is_news(mesh: &Mesh, profile: &AgentProfile) -> bool {
    let was_told = || {
        mesh.presence()
            .reported_stuck_at(&profile.agent.name)
            .is_ok_and(|told| told == Some(profile.last_sign))
    };
    profile.presence == Presence::Stuck && !profile.agent.is_remote() && !was_told()
}

fn tell(op: &Op, mesh: &Mesh, stuck: &[&Agent]) -> Result<(), CommandError> {
    let Some(locked) = mesh.try_lock()? else { return Ok(()) };
    let (census, claims) = (locked.local_census()?, locked.claims()?);
    for agent in stuck {
        let Some(record) = census.records.iter().find(|record| record.agent.is_same_session(agent)) else {
            continue;
        };
        let profile = AgentProfile::of_record(op, mesh, record, &claims)?;
        if is_news(mesh, &profile) {
            tell_of(op, &locked, mesh, &profile, (&census, &claims))?;
        }
    }
    Ok(())
}

fn tell_of(
    op: &Op,
    locked: &LockedMesh<'_>,
    mesh: &Mesh,
    stuck: &AgentProfile,
    (census, claims): (&Census, &Claims),
) -> Result<(), CommandError> {
    let name = &stuck.agent.name;
    let notice = words(stuck);
    for record in census.records.iter().filter(|record| record.is_live()) {
        let peer = &record.agent;
        // pi-messenger does this itself.
        if peer.is_same_session(&stuck.agent) || peer.is_foreign() || !share_spec(stuck, peer, claims) {
            continue;
        }
        match post_owed(locked, mesh, &peer.name, &notice, Importance::Normal) {
            Ok(true) => op.wake(&peer.name),
            Ok(false) => {}
            Err(error) => op.warn(format!("could not tell {} that {name} is stuck: {error}", peer.name)),
        }
    }
    let held = held(stuck);
    let mut shown: Vec<&str> = held.iter().take(MOST_HELD).map(PeerText::raw).collect();
    let more = format!("{} more", held.len().saturating_sub(MOST_HELD));
    shown.extend((held.len() > MOST_HELD).then_some(more.as_str()));
    let held = shown.join(", ");
    op.feed(EventKind::Stuck, name, Some(&held), None);
    Ok(locked.note_told_stuck(name, stuck.last_sign)?)
}

/// Whether they work on the same spec: their own, or that of a task they have claimed.
fn share_spec(stuck: &AgentProfile, peer: &Agent, claims: &Claims) -> bool {
    let spellings = Spellings::default();
    let theirs: Vec<String> =
        peer.spec.iter().cloned().chain(claims.of(peer).into_iter().map(|claim| claim.spec)).collect();
    let mut own = stuck.agent.spec.iter().chain(stuck.claims.iter().map(|claim| &claim.spec));
    own.any(|own| theirs.iter().any(|spec| spellings.are_same(own, spec)))
}

/// The tasks and paths it holds, which others may wait for.
fn held(stuck: &AgentProfile) -> Vec<PeerText> {
    let tasks = stuck.claims.iter().map(|claim| claim.task.as_str());
    let paths = stuck.agent.reservations.iter().map(|held| held.pattern.as_str());
    tasks.chain(paths).map(PeerText::new).collect()
}

fn words(stuck: &AgentProfile) -> Notice {
    let name = &stuck.agent.name;
    let held = held(stuck);
    let quiet = clock::now().duration_since(stuck.last_sign);
    let notice = Notice::new().name(name).say(notice_words::AGENT_IS_QUIET);
    let notice = notice.duration(quiet).say(" and still holds ");
    let notice = notice.codes(held.iter().take(MOST_HELD));
    let notice = match held.len().saturating_sub(MOST_HELD) {
        0 => notice,
        more => notice.say(", ").number(more).say(" more"),
    };
    let notice = notice.say(". It is still running and keeps what it holds. Ask: msg send ");
    notice.name(name).say(" \"…\"")
}

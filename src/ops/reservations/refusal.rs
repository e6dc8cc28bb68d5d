//! What a refusal says: who holds what is in the way, since when and why.

use jiff::Timestamp;

use crate::domain::{Agent, EventKind, PathWait, Reservation, quote_code, quote_sentence};
use crate::store::{Mesh, StagedChange, iso};

use super::conflicts::WantedReservations;
use super::holdings::Holding;
use super::waiting;
use crate::ops::agents::roster::Roster;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind, ErrorDetail};
use crate::ops::link::ask::agent_text;
use crate::ops::messages::rendered_message::format_age;

/// Refuses what others hold, and records that at once. All agents at that moment otherwise.
pub(super) fn refuse_conflicts(
    op: &Op,
    mesh: &Mesh,
    change: &mut StagedChange<'_>,
    me: &Agent,
    wanted: &WantedReservations<'_>,
    now: Timestamp,
) -> Result<Roster<'static>, CommandError> {
    let roster = Roster::locked(mesh, change.locked())?;
    let conflicts = wanted.conflicts(&roster, me, now);
    if !conflicts.is_empty() {
        let mut refused: Vec<&(&Reservation, Holding)> = conflicts.iter().collect();
        refused.dedup_by_key(|(wanted, _)| std::ptr::from_ref(*wanted));
        let waits = refused.into_iter().map(|(wanted, holding)| wait(wanted, holding, now)).collect();
        waiting::remember(change, me, waits)?;
        op.feed(EventKind::Refused, &me.name, Some(&conflicts[0].0.pattern), None);
        return Err(refusal(&conflicts, now));
    }
    Ok(roster)
}

fn wait(wanted: &Reservation, holding: &Holding, now: Timestamp) -> PathWait {
    wait_for(wanted, holding.holder.name.to_string(), now)
}

pub(super) fn wait_for(wanted: &Reservation, holder: String, now: Timestamp) -> PathWait {
    let Reservation { pattern, root, is_literal, reach, .. } = wanted.clone();
    PathWait { pattern, named: None, root, is_literal, holder, since: now, reach }
}

pub(super) fn refusal(conflicts: &[(&Reservation, Holding)], now: Timestamp) -> CommandError {
    let (wanted, first) = &conflicts[0];
    // A whole work tree is named by its path.
    let whole = wanted.root.as_deref().filter(|_| wanted.pattern == ".");
    let more = others(conflicts.iter().skip(1).map(|(_, holding)| holding));
    let text = format!("{}{more}", describe_conflict(whole.unwrap_or(&wanted.pattern), first, now));
    let rows = conflicts.iter().map(|(wanted, holding)| {
        let theirs = &holding.reservation;
        let mut row = [
            ("pattern", Some(theirs.pattern.clone())),
            ("wanted", Some(wanted.pattern.clone())),
            ("holder", Some(holding.holder.name.to_string())),
            ("reason", theirs.reason.clone()),
            ("since", Some(iso(theirs.since))),
            ("root", theirs.root_here().map(str::to_string)),
            ("expiresAt", theirs.expires_at.map(iso)),
        ]
        .map(|(name, text)| (name, text.map(ErrorDetail::Text)))
        .to_vec();
        if let Some(commit) = theirs.reach.repository() {
            let keys = [("reach", "repository"), ("repository", commit.as_str())];
            row.extend(keys.map(|(name, text)| (name, Some(ErrorDetail::Text(text.to_string())))));
        }
        let machine = holding.holder.machine.as_ref().map(|machine| machine.name.to_string());
        row.extend(machine.map(|machine| ("machine", Some(ErrorDetail::Text(machine)))));
        row
    });
    let rows = ErrorDetail::Rows(rows.collect());
    let mut error = CommandError::new(CommandErrorKind::Reserved, text)
        .hint(format!("ask: `msg send {} \"…\"`; you get a message when it is free", first.holder.name));
    error.facts.push(("conflicts", rows));
    error
}

/// Describes who is in the way of `wanted`, since when and why.
pub(in crate::ops) fn describe_conflict(wanted: &str, holding: &Holding, now: Timestamp) -> String {
    let Holding { holder, reservation, .. } = holding;
    let reason =
        reservation.reason.as_deref().map_or(String::new(), |reason| format!(": {}", quote_sentence(reason)));
    let pattern = quote_code(&reservation.pattern);
    let age = format_age(reservation.since, now);
    let held = format!("{} holds {pattern}{} ({age})", agent_text(holder), holding.reach_text());
    let caveat = holding.caveat();
    let prefix = reservation.pattern.trim_end_matches('/');
    let is_inside = |rest: &str| rest.is_empty() || rest.starts_with('/');
    match wanted.strip_prefix(prefix) {
        Some("" | "/") => format!("{held}{reason}{caveat}"),
        Some(rest) if is_inside(rest) => {
            format!("{held}, which covers {}{reason}{caveat}", quote_code(wanted))
        }
        _ => format!("{held}, which overlaps {}{reason}{caveat}", quote_code(wanted)),
    }
}

/// Describes who else is in the way, and with what.
pub(in crate::ops) fn others<'h>(holdings: impl Iterator<Item = &'h Holding>) -> String {
    const MOST: usize = 3;
    let mut named: Vec<String> = holdings
        .map(|Holding { holder, reservation, .. }| {
            format!("{} ({})", agent_text(holder), quote_code(&reservation.pattern))
        })
        .collect();
    named.dedup();
    let rest = named.len().saturating_sub(MOST);
    named.truncate(MOST);
    match (named.is_empty(), rest) {
        (true, _) => String::new(),
        (false, 0) => format!("; also in the way: {}", named.join(", ")),
        (false, rest) => format!("; also in the way: {} and {rest} more", named.join(", ")),
    }
}

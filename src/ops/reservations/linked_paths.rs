//! Asking the server of a linked mesh for paths that bind in every clone of a repository, before the lock is taken.

use crate::domain::link::shared;
use crate::domain::{Agent, EventKind, Reservation, RootCommit, quote_code, quote_name, quote_sentence};
use crate::ops::agents::roster::Roster;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind, ErrorDetail};
use crate::ops::link::ask::{self, LinkGrant};
use crate::ops::link::is_linked;
use crate::ops::messages::rendered_message::format_age;
use crate::store::link_protocol::{Holder, LinkAnswer, LinkRequest};
use crate::store::{Mesh, iso};
use crate::sys::clock;

use super::conflicts::WantedReservations;
use super::refusal::{refuse_conflicts, wait_for};
use super::repository_reach::RequestedReach;
use super::waiting;

/// How often a command looks again at what others held here a moment ago.
const TRIES: usize = 32;

/// Lets the server decide about what is wanted in every clone. An error if another machine holds a part of it, or if the
/// server can't be asked; nothing has changed here then, except that the refusal is remembered. `None`: it need not be
/// asked. The grant must outlive the lock.
pub(super) fn decide<'a>(
    op: &'a Op,
    mesh: &'a Mesh,
    me: &Agent,
    wanted: &WantedReservations<'_>,
    reach: RequestedReach,
) -> Result<Option<LinkGrant<'a>>, CommandError> {
    if wanted.is_decided() {
        return Ok(None);
    }
    if !is_linked(mesh) {
        wanted.set_decided();
        return Ok(None);
    }
    for _ in 0..TRIES {
        if !is_held_here(mesh, me, wanted)? {
            return ask_for_all(op, mesh, me, wanted, reach).map(Some);
        }
        let mut locked = mesh.lock()?;
        let me = locked.own_record(me)?.agent;
        refuse_conflicts(op, mesh, &mut locked.change(), &me, wanted, clock::now())?;
    }
    Err(CommandError::new(CommandErrorKind::ChangedMeanwhile, "what is wanted kept changing its holder")
        .hint("try again"))
}

/// Whether an agent of this machine holds a part of it, or another one a part of what is wanted in this work tree alone.
/// What the mirror says of the rest is not asked: the server knows better.
fn is_held_here(mesh: &Mesh, me: &Agent, wanted: &WantedReservations<'_>) -> Result<bool, CommandError> {
    let roster = Roster::read(mesh)?;
    let conflicts = wanted.conflicts(&roster, me, clock::now());
    let is_decided_there =
        |wanted: &Reservation, holder: &Agent| holder.is_remote() && wanted.reach.repository().is_some();
    Ok(conflicts.iter().any(|(wanted, holding)| !is_decided_there(wanted, &holding.holder)))
}

fn ask_for_all<'a>(
    op: &'a Op,
    mesh: &'a Mesh,
    me: &Agent,
    wanted: &WantedReservations<'_>,
    reach: RequestedReach,
) -> Result<LinkGrant<'a>, CommandError> {
    let mut repositories: Vec<&RootCommit> = Vec::new();
    for repository in wanted.reservations.iter().filter_map(|wanted| wanted.reach.repository()) {
        if !repositories.contains(&repository) {
            repositories.push(repository);
        }
    }
    let grant = LinkGrant::new(op, mesh);
    for repository in repositories {
        let of_it = wanted.reservations.iter().filter(|one| one.reach.repository() == Some(repository));
        let reservations: Vec<Reservation> = of_it.filter_map(|one| shared(one, &me.cwd)).collect();
        let (agent, repository) = (ask::local(me), repository.clone());
        let request = LinkRequest::TakePaths { agent, repository, reservations };
        match ask::decide(op, mesh, &request).map_err(|error| not_asked(error, reach))? {
            LinkAnswer::Granted { .. } | LinkAnswer::Done => {}
            LinkAnswer::Taken { holders } => return Err(refuse(op, mesh, me, wanted, &holders)?),
            answer => {
                let text = format!("the link process gave a wrong answer: {answer:?}");
                return Err(CommandError::new(CommandErrorKind::Bug, text));
            }
        }
    }
    wanted.set_decided();
    Ok(grant)
}

/// The error of a command that could not ask, with what can be done without the server.
fn not_asked(error: CommandError, reach: RequestedReach) -> CommandError {
    match (error.kind, reach) {
        (CommandErrorKind::NotLinked | CommandErrorKind::NotBuiltIn, RequestedReach::Usual) => {
            error.hint("with `--no-repo` it is reserved in this work tree, on this machine alone")
        }
        (CommandErrorKind::NotLinked | CommandErrorKind::NotBuiltIn, _) => {
            error.hint("without `--repo` (or with `--no-repo`) it can be reserved on this machine alone")
        }
        _ => error,
    }
}

/// Remembers what was refused, so that the agent is told when it is free.
fn refuse(
    op: &Op,
    mesh: &Mesh,
    me: &Agent,
    wanted: &WantedReservations<'_>,
    holders: &[Holder],
) -> Result<CommandError, CommandError> {
    let now = clock::now();
    let meant = |holder: &Holder| {
        let is_it = |one: &&Reservation| {
            one.reach.repository().is_some()
                && holder.wanted.as_ref().is_none_or(|text| is_pattern(one, me, text))
        };
        wanted.reservations.iter().find(is_it)
    };
    let rows: Vec<(&Reservation, &Holder)> =
        holders.iter().filter_map(|holder| Some((meant(holder)?, holder))).collect();
    let Some((first, holder)) = rows.first() else {
        let text = "the link process does not say who holds what is wanted";
        return Ok(CommandError::new(CommandErrorKind::Bug, text));
    };
    let mut locked = mesh.lock()?;
    let me = locked.own_record(me)?.agent;
    let waits = rows.iter().map(|(wanted, holder)| wait_for(wanted, holder.agent.clone(), now)).collect();
    waiting::remember(&mut locked.change(), &me, waits)?;
    drop(locked);
    op.feed(EventKind::Refused, &me.name, Some(&first.pattern), None);
    let mut error = CommandError::new(CommandErrorKind::Reserved, sentence(first, holder, rows.len() - 1))
        .hint(format!(
            "ask: `msg send {} \"…\"`; you get a message when it is free",
            quote_name(&holder.agent)
        ));
    let rows = rows.into_iter().map(|(wanted, holder)| row(wanted, holder));
    error.facts.push(("conflicts", ErrorDetail::Rows(rows.collect())));
    Ok(error)
}

/// Whether the link process means this one: it knows it as it is below the root of the repository.
fn is_pattern(wanted: &Reservation, me: &Agent, text: &str) -> bool {
    wanted.pattern == text || shared(wanted, &me.cwd).is_some_and(|shared| shared.pattern == text)
}

fn sentence(wanted: &Reservation, holder: &Holder, more: usize) -> String {
    let pattern = holder.pattern.as_deref().unwrap_or(&wanted.pattern);
    let age = holder.since.map_or(String::new(), |since| format!(" ({})", format_age(since, clock::now())));
    let who = ask::holder_text(holder);
    let held = format!("{who} holds {} in every work tree of this repository{age}", quote_code(pattern));
    let overlap = match pattern.trim_end_matches('/') == wanted.pattern.trim_end_matches('/') {
        true => String::new(),
        false => format!(", which overlaps {}", quote_code(&wanted.pattern)),
    };
    let reason =
        holder.reason.as_deref().map_or(String::new(), |reason| format!(": {}", quote_sentence(reason)));
    let more = if more == 0 { String::new() } else { format!("; {more} more in the way") };
    format!("{held}{overlap}{reason}{more}")
}

fn row(wanted: &Reservation, holder: &Holder) -> Vec<(&'static str, Option<ErrorDetail>)> {
    let repository = wanted.reach.repository().map(|commit| commit.as_str().to_string());
    [
        ("pattern", holder.pattern.clone().or_else(|| Some(wanted.pattern.clone()))),
        ("wanted", Some(wanted.pattern.clone())),
        ("holder", Some(holder.agent.clone())),
        ("reason", holder.reason.clone()),
        ("since", holder.since.map(iso)),
        ("root", None),
        ("expiresAt", None),
        ("reach", Some("repository".to_string())),
        ("repository", repository),
        ("machine", Some(holder.machine.clone())),
    ]
    .map(|(name, text)| (name, text.map(ErrorDetail::Text)))
    .to_vec()
}

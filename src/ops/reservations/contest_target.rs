//! Finds the one reservation that a contest is about, and the agents that contest it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::domain::pattern::{NormalPath, Pattern, SearchBudget};
use crate::domain::{
    Agent, AgentName, Conflict, Contest, ContestMark, MachineTime, Reservation, Thing, is_made_up_path,
    quote_code, shell_word,
};
use crate::store::{Mesh, Registration, RepositoryPlaces, StoreError, patterns_seen, resolved_patterns};
use crate::sys::git::WorkTree;
use crate::sys::{clock, paths};

use super::conflicts::STEPS_UNDER_LOCK;
use super::covering::covers_all_of;
use super::holdings::Holding;
use super::reserve::{BroadPatterns, PatternBase};
use super::rules::is_same_place;
use super::things;
use crate::ops::agents::names;
use crate::ops::agents::roster::Roster;
use crate::ops::context::Context;
use crate::ops::error::{CommandError, CommandErrorKind};

/// The reservation of a live agent that is `wanted`, or else that `wanted` is inside of. It must be only one: the holder
/// loses it whole. With `from`, only that agent's count.
pub(super) fn find_target(
    places: &RepositoryPlaces<'_>,
    roster: &Roster<'_>,
    me: Option<&Agent>,
    wanted: &Reservation,
    from: Option<&Agent>,
    now: Timestamp,
) -> Result<Holding, CommandError> {
    let own = patterns_here(places, roster, wanted);
    let is_meant = |record: &&Registration| {
        let agent = &record.agent;
        me.is_none_or(|me| !me.is_same_agent(agent)) && from.is_none_or(|from| from.is_same_agent(agent))
    };
    let mut found: Vec<Holding> = Vec::new();
    for record in roster.records().filter(is_meant) {
        let binding = record.agent.reservations.iter().filter(|held| held.binds(now));
        for held in binding.filter(|held| is_inside(&record.agent, held, wanted, &own)) {
            // A path may be reserved with a task and without one: that is one reservation.
            let is_known = |known: &Holding| {
                known.holder.is_same_agent(&record.agent) && is_same_place(&known.reservation, held)
            };
            if !found.iter().any(is_known) && record.is_live() {
                let holder = Arc::new(record.agent.clone());
                found.push(Holding { holder, reservation: held.clone(), is_assumed: false });
            }
        }
    }
    let is_named = |one: &Holding| is_named_by(places, &one.reservation, wanted);
    if found.iter().any(is_named) {
        found.retain(is_named);
    }
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => Err(ambiguous(wanted, found.iter().chain([&last]))),
        (None, _) => Err(no_target(roster, me, wanted, &own, from, now)),
    }
}

/// The patterns of what is wanted, in their repositories too if somebody holds something there.
fn patterns_here(places: &RepositoryPlaces<'_>, roster: &Roster<'_>, wanted: &Reservation) -> Vec<Pattern> {
    let mut patterns = wanted.patterns("/");
    if roster.has_repository_reservation() {
        patterns.extend(places.patterns(&patterns));
    }
    patterns
}

/// Whether the reservation is the wanted one itself: written alike at the same place, or in another work tree of the
/// repository that it binds in.
fn is_named_by(places: &RepositoryPlaces<'_>, held: &Reservation, wanted: &Reservation) -> bool {
    let root = NormalPath::absolute(wanted.root.as_deref().unwrap_or("/"));
    let seen = places.seen_from(&root, held);
    let held = Reservation { reach: wanted.reach.clone(), ..seen.as_ref().unwrap_or(held).clone() };
    is_same_place(&held, wanted)
}

/// Whether `me` may contest what `holder` has. A caller that is not known counts as an agent.
pub(in crate::ops) fn check_contestable(holder: &Agent, me: Option<&Agent>) -> Result<(), CommandError> {
    check_holder(holder)?;
    if me.is_some_and(|me| me.is_human) { Ok(()) } else { check_agent(holder) }
}

/// An agent of pi-messenger is never taken from: its registration is not ours to change.
pub(super) fn check_holder(holder: &Agent) -> Result<(), CommandError> {
    if let Some(machine) = &holder.machine {
        let text = format!("{} is on {}: nothing can be taken from it here", holder.name, machine.name);
        return Err(CommandError::new(CommandErrorKind::RemoteAgent, text)
            .hint(format!("ask: `msg send {} \"…\"`", holder.name))
            .fact("agent", holder.name.as_str())
            .fact("machine", machine.name.as_str()));
    }
    if !holder.is_foreign() {
        return Ok(());
    }
    let text = format!("{} is an agent of pi-messenger: nothing can be taken from it", holder.name);
    Err(CommandError::new(CommandErrorKind::ForeignAgent, text)
        .hint(format!("ask: `msg send {} \"…\"`", holder.name)))
}

/// A person is never taken from by an agent: no hook sees its edits, so its silence says nothing.
pub(super) fn check_agent(holder: &Agent) -> Result<(), CommandError> {
    if !holder.is_human {
        return Ok(());
    }
    let text = format!("{} is a person, whose edits no hook sees: nothing is taken from it", holder.name);
    Err(CommandError::new(CommandErrorKind::HeldByPerson, text)
        .hint(format!("ask: `msg send {} \"…\"`", holder.name)))
}

/// What live agents have reserved in this project, as it is written from here, each with its holder.
pub(in crate::ops) fn reservations_here<'r>(
    ctx: &Context,
    mesh: &Mesh,
    roster: &'r Roster<'_>,
    is_wanted: impl Fn(&Agent) -> bool,
) -> Vec<(String, &'r Agent, &'r Reservation)> {
    let (now, place) = (clock::now(), PatternBase::here(ctx));
    let places = RepositoryPlaces::new(mesh);
    let holders = roster.records().filter(|record| is_wanted(&record.agent) && record.is_live());
    let held = holders.flat_map(|record| record.agent.reservations.iter().map(|held| (&record.agent, held)));
    let binding = held.filter(|(_, held)| held.binds(now));
    let written = binding
        .filter_map(|(holder, held)| Some((written_here(ctx, &place, &places, holder, held)?, holder, held)));
    written.collect()
}

/// What to type here for this reservation; `None` if it is elsewhere, or if `contest` would read the text otherwise, as
/// that of a file called `[id].tsx` that is gone.
fn written_here(
    ctx: &Context,
    place: &PatternBase,
    places: &RepositoryPlaces<'_>,
    holder: &Agent,
    held: &Reservation,
) -> Option<String> {
    if held.is_thing() {
        let tree = WorkTree::containing(&ctx.cwd);
        return things::is_here(held, tree.as_ref()).then(|| held.pattern.clone());
    }
    let cwd = paths::resolve(&ctx.cwd);
    let seen = places.seen_from(place.root(), held);
    let patterns = patterns_seen(holder, seen.as_ref(), held);
    let held = seen.as_ref().unwrap_or(held);
    let is_here =
        |pattern: &&Pattern| place.is_near(pattern.head()) && !is_made_up_path(pattern.head().as_str());
    let near = patterns.iter().filter(is_here);
    let mut texts = near.map(|pattern| {
        let text = pattern.written_from(&cwd);
        // Neither an option nor the home directory nor a thing.
        let is_other = text.starts_with(['-', '~']) || Thing::is_meant_by(&text);
        let start = if is_other { "./" } else { "" };
        let is_dir = held.pattern.ends_with('/') && !text.ends_with('/') && text != ".";
        format!("{start}{text}{}", if is_dir { "/" } else { "" })
    });
    texts.find(|text| {
        let wanted = place.draft(ctx, text, BroadPatterns::Accept);
        wanted.is_ok_and(|wanted| is_inside(holder, held, &wanted, &wanted.patterns("/")))
    })
}

/// Whether the reservation is at the wanted place, or covers it.
fn is_inside(holder: &Agent, held: &Reservation, wanted: &Reservation, own: &[Pattern]) -> bool {
    let theirs = resolved_patterns(holder, held);
    let covers = |own: &Pattern| theirs.iter().any(|theirs| covers_all_of(theirs, own));
    is_same_place(held, wanted) || own.iter().any(covers)
}

fn ambiguous<'h>(wanted: &Reservation, found: impl Iterator<Item = &'h Holding>) -> CommandError {
    let list = found.map(|one| format!("{} ({})", quote_code(&one.reservation.pattern), one.holder.name));
    let list: Vec<String> = list.collect();
    let text = format!("{} is inside several reservations: {}", quote_code(&wanted.pattern), list.join(", "));
    CommandError::new(CommandErrorKind::AmbiguousPattern, text).hint("name one of them exactly")
}

/// Says why nothing was found: it is the caller's own, it reaches beyond what is reserved, or nobody holds it.
fn no_target(
    roster: &Roster<'_>,
    me: Option<&Agent>,
    wanted: &Reservation,
    own: &[Pattern],
    from: Option<&Agent>,
    now: Timestamp,
) -> CommandError {
    let shown = quote_code(&wanted.pattern);
    if let Some(me) = me
        && me.reservations.iter().any(|held| held.binds(now) && is_inside(me, held, wanted, own))
    {
        return CommandError::new(CommandErrorKind::InvalidValue, format!("you hold {shown} yourself"));
    }
    let budget = SearchBudget::new(STEPS_UNDER_LOCK);
    let meets = |record: &Registration, held: &Reservation| {
        Conflict::of(own, &resolved_patterns(&record.agent, held), &budget) != Conflict::None
    };
    for record in roster.records().filter(|record| from.is_none_or(|from| from.is_same_agent(&record.agent)))
    {
        let mut binding = record.agent.reservations.iter().filter(|held| held.binds(now));
        if let Some(held) = binding.find(|held| meets(record, held)).filter(|_| record.is_live()) {
            let (theirs, name) = (quote_code(&held.pattern), &record.agent.name);
            let text = format!("{shown} is not inside one reservation: it only overlaps {theirs} of {name}");
            return CommandError::new(CommandErrorKind::NotReserved, text)
                .hint("name the reservation itself, or a path inside it; `msg reservations` lists them");
        }
    }
    if let Some(file) = roster.unknown().first() {
        return names::unknown_reservations(file);
    }
    let error = match from {
        Some(from) => format!("{} does not hold {shown}", from.name),
        None => format!("nobody else holds {shown}"),
    };
    CommandError::new(CommandErrorKind::NotReserved, error)
        .hint(format!("to take it: `msg reserve {}`", shell_word(&wanted.typed())))
}

/// The contests of live agents in this round, the first one first.
pub(super) fn contests_of<'r>(
    records: impl Iterator<Item = &'r Registration>,
    mark: &ContestMark,
) -> Vec<(&'r Agent, &'r Contest)> {
    let with_agent = |record: &'r Registration| {
        let is_it = |contest: &&Contest| contest.mark == *mark;
        record.agent.contests.iter().filter(is_it).map(move |contest| (record, contest))
    };
    let mut found: Vec<(&Registration, &Contest)> = records.flat_map(with_agent).collect();
    found.sort_by_key(|(_, contest)| contest.order);
    found.retain(|(record, _)| record.is_live());
    found.into_iter().map(|(record, contest)| (&record.agent, contest)).collect()
}

/// What became of a contest.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ContestState {
    /// The holder has this long to answer; then the first contester may take the path.
    Open { time_left: Duration },
    /// The holder changed something inside it, so it is at work there. Whoever contests now begins anew.
    AtWork,
    /// The machine was restarted, so nobody can tell how long the holder has been silent.
    NoClock,
}

/// The state of a contest about this reservation.
pub(super) fn state(
    mesh: &Mesh,
    contest: &Contest,
    held: &Reservation,
    now: Option<&MachineTime>,
    timeout: Duration,
) -> Result<ContestState, StoreError> {
    if held.contest.as_ref() != Some(&contest.mark) || !mesh.contests().is_silent(&contest.mark)? {
        return Ok(ContestState::AtWork);
    }
    let time_left = now.and_then(|now| contest.time_left(now, timeout));
    Ok(time_left.map_or(ContestState::NoClock, |time_left| ContestState::Open { time_left }))
}

/// The name of the first of them.
pub(super) fn first_of<'c>(contests: &[(&'c Agent, &'c Contest)]) -> Option<&'c AgentName> {
    contests.first().map(|(agent, _)| &agent.name)
}

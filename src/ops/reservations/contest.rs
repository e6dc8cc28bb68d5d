//! `msg contest`: asks the holder of a path to let go of it.
//!
//! The holder is told first, then the clock starts, both under the lock: a contester that is killed in between leaves at
//! most a notice without a contest, never a clock that the holder does not know of.
//!
//! The clock is the time since the machine started (`process::uptime`), so setting the wall clock takes no path early.
//! Whether a message is an answer is decided by the holder's stamps, which only ever grow.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::domain::{
    Agent, Contest, ContestId, ContestMark, EventKind, Importance, MachineTime, Notice, PathWait, PeerText,
    Reservation, SeenUse, notice_words,
};
use crate::store::{LockedMesh, Mesh, RepositoryPlaces, StagedChange};
use crate::sys::{clock, process, random};

use super::contest_target::{ContestState, check_contestable, contests_of, find_target, state};
use super::holdings::Holding;
use super::reserve::{BroadPatterns, PatternBase, reason};
use super::rules::is_same_place;
use super::waiting;
use crate::ops::agents::identity;
use crate::ops::agents::roster::Roster;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::notices::post_owed;

/// The most contests of one agent.
const MAX_CONTESTS: usize = 32;

#[derive(Clone, Debug)]
pub struct ContestOutcome {
    /// What is contested, and who holds it.
    pub holding: Holding,
    pub contest: Contest,
    /// 1: the caller is the first who contests it.
    pub place: usize,
    /// How long the holder has to answer, as seen now.
    pub time_left: Duration,
    /// When that time ends: the same at each call, until the holder answers.
    pub until: Option<Timestamp>,
    /// The caller contests it since an earlier call.
    pub is_repeated: bool,
}

/// Asks the holder of a path to let go of it, and starts the clock. Contesting again changes nothing while the contest
/// is open.
pub fn contest(op: &Op, text: &str, why: Option<&str>) -> Result<ContestOutcome, CommandError> {
    let why = reason(why)?;
    let (mesh, caller) = identity::own_caller(op)?;
    let wanted = PatternBase::here(op).draft(op, text, BroadPatterns::Accept)?;
    let mut locked = mesh.lock()?;
    let now = clock::now();
    let me = locked.own_record(&caller)?.agent;
    let roster = Roster::locked(&mesh, &locked)?;
    let holding = find_target(&RepositoryPlaces::quick(&mesh), &roster, Some(&me), &wanted, None, now)?;
    check_contestable(&holding.holder, Some(&me))?;
    let machine_time = process::uptime().ok_or_else(no_clock)?;
    let timeout = op.settings.contest_timeout();
    if let Some(outcome) = known(&mesh, &roster, &me, &holding, &machine_time, timeout)? {
        return Ok(outcome);
    }
    // A file that only a killed contester left is no reason to join its round.
    locked.sweep_contests(roster.census())?;
    let mark = next_mark(&mesh, &holding.reservation)?;
    let is_of_place =
        |contest: &Contest| is_same_place(&contest.wanted, &wanted) || contest.mark.id == mark.id;
    if me.contests.iter().filter(|contest| !is_of_place(contest)).count() >= MAX_CONTESTS {
        let text = format!("you contest {MAX_CONTESTS} paths already");
        return Err(CommandError::new(CommandErrorKind::TooMany, text)
            .hint("`msg release PATTERN` ends a contest of yours"));
    }
    let numbers = roster.records().flat_map(|record| &record.agent.contests).map(|contest| contest.order);
    let contest = Contest {
        mark: mark.clone(),
        order: numbers.max().unwrap_or(0) + 1,
        wanted: Reservation { reason: why, since: now, ..wanted },
        holder: holding.holder.name.to_string(),
        holder_stamp: mesh.outboxes().last_stamp_of(&holding.holder)?,
        started: machine_time,
        timeout,
        answered: None,
    };
    if holding.reservation.contest.as_ref() != Some(&mark) {
        locked.open_contest(&mark)?;
    }
    let mut change = locked.change();
    stage(&mut change, &me, &holding, &contest, now)?;
    tell_holder(change.locked(), &mesh, &me, &holding, &contest, timeout)?;
    change.commit()?;
    let place = contests_of(Roster::locked(&mesh, &locked)?.records(), &mark).len();
    drop(locked);
    op.wake(&holding.holder.name);
    let (pattern, holder) = (&holding.reservation.pattern, holding.holder.name.as_str());
    op.feed(EventKind::Contest, &me.name, Some(pattern), Some(holder));
    let until = contest.ends_at(timeout);
    Ok(ContestOutcome { holding, contest, place, time_left: timeout, until, is_repeated: false })
}

pub(super) fn no_clock() -> CommandError {
    CommandError::new(CommandErrorKind::Io, "this system does not tell how long it has been running")
        .hint("ask the holder with `msg send`, or let a person run `msg release PATTERN --from NAME`")
}

/// The caller's open contest about this reservation, if there is one.
fn known(
    mesh: &Mesh,
    roster: &Roster<'_>,
    me: &Agent,
    holding: &Holding,
    now: &MachineTime,
    timeout: Duration,
) -> Result<Option<ContestOutcome>, CommandError> {
    let Some(mark) = &holding.reservation.contest else { return Ok(None) };
    let Some(contest) = me.contests.iter().find(|contest| contest.mark.id == mark.id) else {
        return Ok(None);
    };
    let ContestState::Open { time_left } = state(mesh, contest, &holding.reservation, Some(now), timeout)?
    else {
        return Ok(None);
    };
    let before = |other: &&(&Agent, &Contest)| other.1.order < contest.order;
    let place = contests_of(roster.records(), mark).iter().filter(before).count() + 1;
    let (holding, contest) = (holding.clone(), contest.clone());
    let until = contest.ends_at(timeout);
    Ok(Some(ContestOutcome { holding, contest, place, time_left, until, is_repeated: true }))
}

/// The mark for a new contest: the present round, or the next one if the holder has given a sign in it.
fn next_mark(mesh: &Mesh, held: &Reservation) -> Result<ContestMark, CommandError> {
    match &held.contest {
        Some(mark) if mesh.contests().is_silent(mark)? => Ok(mark.clone()),
        Some(mark) => Ok(ContestMark { id: mark.id.clone(), round: mark.round.saturating_add(1) }),
        None => {
            let id = ContestId::new(&random::uuid().simple().to_string());
            let id = id.ok_or_else(|| CommandError::new(CommandErrorKind::Bug, "a UUID is not an id"))?;
            Ok(ContestMark { id, round: 1 })
        }
    }
}

/// Marks the reservation, then adds the contest. Killed in between, a mark without a contest is left, and the
/// next contest begins a new round.
fn stage(
    change: &mut StagedChange<'_>,
    me: &Agent,
    holding: &Holding,
    contest: &Contest,
    now: Timestamp,
) -> Result<(), CommandError> {
    let Holding { holder, reservation, .. } = holding;
    change.edit(holder, |holder| {
        let same = holder.reservations.iter_mut().filter(|held| is_same_place(held, reservation));
        same.for_each(|held| held.contest = Some(contest.mark.clone()));
    })?;
    change.edit(me, |me| {
        let is_old = |known: &Contest| {
            known.mark.id == contest.mark.id || is_same_place(&known.wanted, &contest.wanted)
        };
        me.contests.retain(|known| !is_old(known));
        me.contests.push(contest.clone());
        waiting::add_wait(me, wait_for(contest, now));
    })?;
    Ok(())
}

/// The contester is told when the path is free, however its contest ends.
fn wait_for(contest: &Contest, now: Timestamp) -> PathWait {
    let Reservation { pattern, root, is_literal, reach, .. } = contest.wanted.clone();
    PathWait { pattern, named: None, root, is_literal, holder: contest.holder.clone(), since: now, reach }
}

fn tell_holder(
    locked: &LockedMesh<'_>,
    mesh: &Mesh,
    me: &Agent,
    holding: &Holding,
    contest: &Contest,
    timeout: Duration,
) -> Result<(), CommandError> {
    let name = &holding.holder.name;
    let notice = notice(me, &holding.reservation, contest, timeout);
    if post_owed(locked, mesh, name, &notice, Importance::Urgent)? {
        return Ok(());
    }
    let text = format!("{name} has no inbox, so it can't be told that its path is contested");
    Err(CommandError::new(CommandErrorKind::NotRunning, text).hint("run `msg doctor` for details"))
}

fn notice(me: &Agent, held: &Reservation, contest: &Contest, timeout: Duration) -> Notice {
    let typed = held.typed();
    let pattern = typed.as_str();
    let notice = Notice::new().name(&me.name).say(" contests ").code(&PeerText::new(pattern));
    let notice = notice.say(notice_words::PATH_IS_CONTESTED);
    let notice = match &contest.wanted.reason {
        Some(reason) => notice.say(": ").quote(&PeerText::new(reason.as_str())),
        None => notice,
    };
    let timeout = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
    let silence = match held.seen_use() {
        SeenUse::Edits => ". If you neither answer nor edit it, ",
        SeenUse::GitCommands => ". If you neither answer nor run a git command that needs it, ",
        SeenUse::Nothing => ". If you do not answer, ",
    };
    notice
        .say(". If you still need it, answer within ")
        .duration(timeout)
        .say(": msg send ")
        .name(&me.name)
        .say(" TEXT. To let go: msg release ")
        .own_arguments([pattern], "PATTERN")
        .say(silence)
        .name(&me.name)
        .say(" may take it.")
}

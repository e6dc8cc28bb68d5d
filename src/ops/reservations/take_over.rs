//! `msg release PATTERN --from NAME`: takes a contested path from a holder that stays silent.
//!
//! Only the first contester may do it, and only when the holder is certainly alive, has given no sign and no answer, and
//! the time is over. All of it is checked under the lock. The write that decides takes the reservation from the holder:
//! from that moment the contest itself counts as the contester's reservation (`store::agents::registry`), so the path
//! has one holder at every moment, whoever is killed.

use std::rc::Rc;
use std::time::Duration;

use crate::domain::pattern::Pattern;
use crate::domain::{
    Agent, AgentName, Contest, EventKind, Liveness, MachineTime, Notice, PeerText, Reservation, SeenUse,
    format_duration, notice_words, quote_code, shell_word,
};
use crate::store::{ContestEnd, LockedMesh, Mesh, RepositoryPlaces, resolved_patterns};
use crate::sys::{clock, process};

use super::conflicts::WantedReservations;
use super::contest::no_clock;
use super::contest_answers;
use super::contest_target::{
    ContestState, check_agent, check_holder, contests_of, find_target, first_of, state,
};
use super::covering::contains;
use super::holdings::Holding;
use super::refusal::refusal;
use super::reserve::{BroadPatterns, MAX_RESERVATIONS, PatternBase};
use super::rules::{drop_waits_for, is_same_place};
use super::waiting;
use crate::ops::agents::identity;
use crate::ops::agents::names::{self, with_nearest};
use crate::ops::agents::roster::Roster;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::poke;
use crate::ops::person_required;

#[derive(Clone, Debug)]
pub struct TakeOverOutcome {
    /// What was taken, and from whom.
    pub lost: Holding,
    /// Who has which part of it now. `None`: a person released it, and nobody contested it.
    pub gained: Option<(AgentName, Reservation)>,
    pub is_by_person: bool,
}

/// Who takes a path from its holder.
enum Taker {
    Contester(Box<Agent>),
    /// A person may do so at any time. The path goes to the first contester, if there is one.
    Person(AgentName),
}

pub fn release_from(op: &Op, text: &str, from: &AgentName) -> Result<TakeOverOutcome, CommandError> {
    let (mesh, taker) = taker(op)?;
    let wanted = PatternBase::here(op).draft(op, text, BroadPatterns::Accept)?;
    let mut locked = mesh.lock()?;
    // What an earlier call of the contester began is finished first.
    waiting::notify_waiting_or_warn(op, &mesh, &mut locked);
    let roster = Roster::locked(&mesh, &locked)?;
    let holder = holder(&roster, from)?;
    check_holder(holder)?;
    let places = RepositoryPlaces::quick(&mesh);
    match taker {
        Taker::Person(name) => {
            let lost = find_target(&places, &roster, None, &wanted, Some(holder), clock::now())?;
            let outcome = release_by_person(op, &mesh, &mut locked, &name, lost);
            drop(locked);
            poke(op, &mesh);
            outcome
        }
        Taker::Contester(me) => {
            let me = locked.own_record(&me)?.agent;
            check_agent(holder)?;
            check_alive(holder)?;
            let lost = find_target(&places, &roster, Some(&me), &wanted, Some(holder), clock::now())?;
            let attempt = Attempt { op, mesh: &mesh, roster: &roster, me: &me, lost: &lost };
            let contest = attempt.check(&mut locked)?;
            let gained = attempt.gained(&contest, wanted)?;
            attempt.take(&mut locked, &contest, &gained)?;
            waiting::notify_waiting_or_warn(op, &mesh, &mut locked);
            drop(locked);
            // Other machines may have what the holder lost in its other work trees.
            poke(op, &mesh);
            attempt.tell(&gained);
            let gained = Some((me.name.clone(), gained));
            Ok(TakeOverOutcome { lost, gained, is_by_person: false })
        }
    }
}

/// The caller. Outside of a harness, whoever has not joined, or has joined at a terminal, is a person.
fn taker(op: &Op) -> Result<(Rc<Mesh>, Taker), CommandError> {
    let is_person = person_required::harness().is_none();
    match identity::caller(op) {
        Ok((mesh, caller)) if caller.agent.is_human && is_person => {
            Ok((mesh, Taker::Person(caller.agent.name)))
        }
        Ok((mesh, caller)) => Ok((mesh, Taker::Contester(Box::new(caller.agent)))),
        Err(error) if error.kind == CommandErrorKind::NotJoined && op.acting_as.is_none() && is_person => {
            Ok((op.mesh()?.ok_or(error)?, Taker::Person(AgentName::of_program())))
        }
        Err(error) => Err(error),
    }
}

fn holder<'r>(roster: &'r Roster<'_>, name: &AgentName) -> Result<&'r Agent, CommandError> {
    let census = roster.census();
    let Some(record) = census.find(name, clock::now()) else {
        if let Some(file) = census.unreadable(name) {
            return Err(names::unreadable(name, file));
        }
        let error = CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"));
        return Err(with_nearest(error, name, census));
    };
    if record.is_live() {
        return Ok(&record.agent);
    }
    let text = format!("{} is gone, and holds nothing any more", record.agent.name);
    Err(CommandError::new(CommandErrorKind::NotRunning, text)
        .hint("to take what it held: `msg reserve PATTERN`"))
}

/// A holder whose process can't be checked may be at work where nobody sees it.
fn check_alive(holder: &Agent) -> Result<(), CommandError> {
    if process::liveness(&holder.process) == Liveness::Alive {
        return Ok(());
    }
    let text = format!("it can't be checked whether {} is alive, so nothing is taken from it", holder.name);
    Err(CommandError::new(CommandErrorKind::UnknownLiveness, text)
        .hint("ask a person: at a terminal, `msg release PATTERN --from NAME` works at any time"))
}

/// A contester's attempt to take a path, under the lock.
struct Attempt<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    roster: &'a Roster<'a>,
    me: &'a Agent,
    lost: &'a Holding,
}

impl Attempt<'_> {
    /// The caller's contest, if it is the first one, its time is over and the holder was silent.
    fn check(&self, locked: &mut LockedMesh<'_>) -> Result<Contest, CommandError> {
        let held = &self.lost.reservation;
        let (name, shown) = (&self.lost.holder.name, quote_code(&held.typed()));
        let again = format!("`msg contest {}` asks the holder to let go", shell_word(&held.typed()));
        let is_it = |contest: &&Contest| held.contest.as_ref().is_some_and(|mark| mark.id == contest.mark.id);
        let Some(contest) = self.me.contests.iter().find(is_it) else {
            let text = format!("you have not contested {shown}, which {name} holds");
            return Err(CommandError::new(CommandErrorKind::NotContested, text).hint(again));
        };
        let now = process::uptime().ok_or_else(no_clock)?;
        let timeout = self.op.settings.contest_timeout();
        match state(self.mesh, contest, held, Some(&now), timeout)? {
            ContestState::AtWork => Err(self.at_work()),
            ContestState::NoClock => {
                let text = format!("the machine was restarted since you contested {shown}");
                Err(CommandError::new(CommandErrorKind::NotContested, text).hint(again))
            }
            ContestState::Open { time_left } => {
                self.check_first(contest)?;
                let time_left = self.with_answer(locked, contest, &now, timeout)?.unwrap_or(time_left);
                if time_left.is_zero() { Ok(contest.clone()) } else { Err(self.too_early(time_left)) }
            }
        }
    }

    fn at_work(&self) -> CommandError {
        let name = &self.lost.holder.name;
        let held = &self.lost.reservation;
        let did = match held.seen_use() {
            SeenUse::Edits | SeenUse::Nothing => "changed files in",
            SeenUse::GitCommands => "run a git command that needs",
        };
        let shown = quote_code(&held.typed());
        let text = format!("{name} has {did} {shown} since you contested it, so it stays {name}'s");
        CommandError::new(CommandErrorKind::AtWork, text)
            .hint(format!("ask: `msg send {name} \"…\"`, or contest it again later"))
            .fact("holder", name.as_str())
    }

    fn check_first(&self, contest: &Contest) -> Result<(), CommandError> {
        let all = contests_of(self.roster.records(), &contest.mark);
        match first_of(&all).filter(|first| **first != self.me.name) {
            None => Ok(()),
            Some(first) => {
                let text =
                    format!("{first} contested {} before you", quote_code(&self.lost.reservation.pattern));
                Err(CommandError::new(CommandErrorKind::NotFirst, text)
                    .hint("you get it when it is your turn, and a message when it is free")
                    .fact("first", first.as_str()))
            }
        }
    }

    /// The time that is left if the holder has answered by a message and nobody has recorded that: the process that sent
    /// it was killed. The clock restarts now, which is later than it could.
    fn with_answer(
        &self,
        locked: &mut LockedMesh<'_>,
        contest: &Contest,
        now: &MachineTime,
        timeout: Duration,
    ) -> Result<Option<Duration>, CommandError> {
        let holder = &self.lost.holder;
        let stamp = contest.holder_stamp;
        if contest.answered.is_some() || !self.mesh.archive().has_sent_since(holder, self.me, stamp)? {
            return Ok(None);
        }
        let mut change = locked.change();
        contest_answers::stage_answer(self.op, &mut change, holder, self.me, |_| true, now)?;
        change.commit()?;
        Ok(Some(contest.longest(timeout)))
    }

    fn too_early(&self, time_left: Duration) -> CommandError {
        let seconds = time_left.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX);
        let name = &self.lost.holder.name;
        let shown = format_duration(jiff::SignedDuration::from_secs(seconds.try_into().unwrap_or(i64::MAX)));
        let text =
            format!("{name} has {shown} left to answer about {}", quote_code(&self.lost.reservation.pattern));
        CommandError::new(CommandErrorKind::TooEarly, text)
            .hint(match self.lost.reservation.seen_use() {
                SeenUse::Edits => "try again then; an edit inside it or an answer keeps it for the holder",
                SeenUse::GitCommands => {
                    "try again then; a git command that needs it or an answer keeps it for the holder"
                }
                SeenUse::Nothing => "try again then; an answer keeps it for the holder",
            })
            .number("secondsLeft", seconds)
    }

    /// What the contester gets, if nobody else holds a part of it.
    fn gained(&self, contest: &Contest, wanted: Reservation) -> Result<Reservation, CommandError> {
        let now = clock::now();
        let wanted = Reservation { reason: contest.wanted.reason.clone(), since: now, ..wanted };
        let wanted = WantedReservations::new(self.mesh, vec![wanted], &self.me.cwd);
        let is_lost = |holding: &Holding| {
            holding.holder.is_same_agent(&self.lost.holder) && self.is_lost(&holding.reservation)
        };
        let mut conflicts = wanted.conflicts(self.roster, self.me, now);
        conflicts.retain(|(_, holding)| !is_lost(holding));
        if !conflicts.is_empty() {
            return Err(refusal(&conflicts, now));
        }
        if let Some(file) = self.roster.unknown().first() {
            return Err(names::unknown_reservations(file));
        }
        if self.me.reservations.len() >= MAX_RESERVATIONS {
            let text = format!("you hold {MAX_RESERVATIONS} reservations already; that is the most");
            return Err(CommandError::new(CommandErrorKind::TooMany, text)
                .hint("`msg release` lets go of what you don't need"));
        }
        Ok(wanted.reservations[0].clone())
    }

    /// Whether the holder loses this one: it is the contested reservation, or lies inside it, so that an edit in it
    /// would have been a sign.
    fn is_lost(&self, held: &Reservation) -> bool {
        let (holder, lost) = (&self.lost.holder, &self.lost.reservation);
        let (theirs, own) = (resolved_patterns(holder, lost), resolved_patterns(holder, held));
        let is_inside = |own: &Pattern| theirs.iter().any(|theirs| contains(theirs, own));
        is_same_place(held, lost) || !own.is_empty() && own.iter().all(is_inside)
    }

    fn take(
        &self,
        locked: &mut LockedMesh<'_>,
        contest: &Contest,
        gained: &Reservation,
    ) -> Result<(), CommandError> {
        if locked.take_contest(&contest.mark)? == ContestEnd::AtWork {
            return Err(self.at_work());
        }
        let mut change = locked.change();
        if !is_same_place(&contest.wanted, gained) {
            // Between the next two writes the contest counts as the reservation.
            change.edit(self.me, |me| {
                let own = me.contests.iter_mut().filter(|known| known.mark.id == contest.mark.id);
                own.for_each(|known| known.wanted = gained.clone());
            })?;
        }
        change.edit(&self.lost.holder, |holder| {
            holder.reservations.retain(|held| !self.is_lost(held));
        })?;
        change.decided();
        change.edit(self.me, |me| {
            me.contests.retain(|known| known.mark.id != contest.mark.id);
            me.reservations.push(gained.clone());
            drop_waits_for(me, std::slice::from_ref(gained));
        })?;
        Ok(change.commit()?)
    }

    fn tell(&self, gained: &Reservation) {
        let lost = &self.lost.reservation.pattern;
        let notice = Notice::new().name(&self.me.name).say(" has taken ").code(&PeerText::new(lost.as_str()));
        let notice = notice.say(notice_words::PATH_WAS_TAKEN);
        let notice = match gained.pattern == *lost {
            true => notice,
            false => {
                let notice = notice.say(" It holds ").code(&PeerText::new(gained.pattern.as_str()));
                notice.say(" now; the rest is free.")
            }
        };
        let notice = notice.say(" Don't edit it any more; to ask for it: msg send ").name(&self.me.name);
        let holder = &self.lost.holder;
        self.op.notify(holder.clone(), notice.say(" TEXT"), format!("could not tell {}", holder.name));
        self.op.feed(EventKind::Take, &self.me.name, Some(lost), Some(holder.name.as_str()));
    }
}

/// Takes the path from its holder. The first contester gets it as soon as it is free.
fn release_by_person(
    op: &Op,
    mesh: &Mesh,
    locked: &mut LockedMesh<'_>,
    person: &AgentName,
    lost: Holding,
) -> Result<TakeOverOutcome, CommandError> {
    let Holding { holder, reservation, .. } = &lost;
    let mut change = locked.change();
    change.edit(holder, |agent| agent.reservations.retain(|held| !is_same_place(held, reservation)))?;
    change.commit()?;
    let roster = Roster::locked(mesh, locked)?;
    let contests = reservation.contest.as_ref().map(|mark| contests_of(roster.records(), mark));
    let heir = contests.and_then(|contests| {
        contests
            .first()
            .map(|(agent, contest)| (agent.name.clone(), contest.wanted.clone(), agent.reservations.clone()))
    });
    let gained = heir.and_then(|(name, wanted, held)| {
        held.iter().any(|held| is_same_place(held, &wanted)).then_some((name, wanted))
    });
    waiting::notify_waiting_or_warn(op, mesh, locked);
    let notice =
        Notice::new().say("A person has released ").code(&PeerText::new(reservation.pattern.as_str()));
    let notice = notice.say(", which you held. Don't edit it any more unless you reserve it again.");
    op.notify(holder.clone(), notice, format!("could not tell {}", holder.name));
    op.feed(EventKind::Take, person, Some(&reservation.pattern), Some(holder.name.as_str()));
    Ok(TakeOverOutcome { lost, gained, is_by_person: true })
}

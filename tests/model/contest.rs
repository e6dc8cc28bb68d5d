//! Model: agents contest a reservation, its holder gives a sign, answers, lets go or is killed, and contesters take it.
//!
//! Time is one bit per clock: it may run out at any moment after it was started. A taking holds `mesh.lock` from its
//! first look to its last write; signs and answers by message take no lock.

use crate::search::{Action, DIES, Protocol, Step, explore};

const CONTESTS: Action = Action::ours("contests, under the lock", "ops/reservations/contest.rs", "contest");
const TIME: Action = Action::other("has let the time pass");
const LOCKS: Action = Action::ours("gets mesh.lock", "sys/flock.rs", "acquire");
const CHECKS: Action =
    Action::ours("finds itself first, and the time over", "ops/reservations/take_over.rs", "check");
const REFUSED: Action = Action::ours("is refused", "ops/reservations/take_over.rs", "check");
const TAKES_TOKEN: Action =
    Action::ours("renames the token", "store/agents/contest_tokens.rs", "take_contest");
const TOO_LATE: Action =
    Action::ours("finds that a sign was given", "store/agents/contest_tokens.rs", "take_contest");
const HOLDER_LOSES: Action =
    Action::ours("takes it from the holder", "ops/reservations/take_over.rs", "take");
const GAINS: Action = Action::ours("writes its own reservation", "ops/reservations/take_over.rs", "take");
const GAINS_FIRST: Action = Action::other("writes its own reservation before the holder loses its");
const RESERVES: Action = Action::ours("reserves what is free", "ops/reservations/reserve.rs", "take");
const SETTLES: Action =
    Action::ours("writes down what it was passed", "ops/reservations/settle_contests.rs", "settle");
const SIGNS: Action = Action::ours("gives a sign", "store/agents/contest_tokens.rs", "give_sign");
const ANSWERS: Action = Action::ours("answers by a message", "store/messages/outbox.rs", "post_into");
const RELEASES: Action = Action::ours("releases it", "ops/reservations/release.rs", "release");

const NAMES: [&str; 2] = ["Ann", "Ben"];

/// The next step of a contester.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Next {
    Contest,
    Lock,
    Check,
    Token,
    Lose,
    Gain,
    Settle,
    Done,
    Dead,
}

/// What the contest of one agent looks like on disk.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Entry {
    /// 0: it was made first.
    order: u8,
    is_over: bool,
    /// The holder has sent a message since; the clock was restarted when somebody saw that.
    is_answered: bool,
    has_restarted: bool,
}

/// Whether the file that stands for the holder's silence exists.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Token {
    There,
    Taken,
    Gone,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    lock: Option<usize>,
    holder_has: bool,
    holder_is_alive: bool,
    token: Token,
    entries: [Option<Entry>; 2],
    /// Reservations on disk.
    has: [bool; 2],
    /// Who merely waits has reserved it.
    other_has: bool,
    next: [Next; 2],
    /// The holder gave a sign before the token was taken.
    has_signed: bool,
    /// It was taken in spite of that.
    is_robbed: bool,
    /// It was taken from one whose answer was there when the taker looked, and the clock had not run out again.
    was_early: bool,
    /// Somebody got it although another one was first.
    was_overtaken: bool,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Way {
    Real,
    /// The contester writes its reservation first.
    GainsFirst,
    /// A contest does not count as a reservation once the path is free.
    NotPassedOn,
    /// The taker looks whether the token exists, and does not take it.
    LooksAtToken,
    /// The taker looks at the time alone.
    IgnoresAnswers,
}

struct Contesting(Way);

impl Contesting {
    /// The live contester whose contest counts as a reservation, because nobody holds the path.
    fn passed_on(&self, state: &State) -> Option<usize> {
        let is_held =
            state.holder_has && state.holder_is_alive || state.other_has || state.has.contains(&true);
        if is_held || state.token == Token::Gone || self.0 == Way::NotPassedOn {
            return None;
        }
        Self::first(state)
    }

    fn first(state: &State) -> Option<usize> {
        let open = (0..2).filter(|who| state.entries[*who].is_some() && state.next[*who] != Next::Dead);
        open.min_by_key(|who| state.entries[*who].map(|entry| entry.order))
    }

    fn step_of_contester(&self, state: &State, who: usize) -> Option<(Action, State)> {
        let mut to = state.clone();
        let is_free = state.lock.is_none();
        let (deed, next) = match state.next[who] {
            Next::Contest if is_free && state.holder_has && state.holder_is_alive => {
                let order = u8::from(state.entries[1 - who].is_some());
                let started = Entry { order, is_over: false, is_answered: false, has_restarted: false };
                to.entries[who] = Some(started);
                // A token that a dead taker left is as good as a new one; after a sign there is a new round.
                if state.token == Token::Gone {
                    to.token = Token::There;
                    to.has_signed = false;
                    to.entries[1 - who] = None;
                }
                (CONTESTS, Next::Lock)
            }
            Next::Contest if is_free => (REFUSED, Next::Done),
            Next::Lock if is_free => {
                to.lock = Some(who);
                (LOCKS, Next::Check)
            }
            Next::Contest | Next::Lock => return None,
            Next::Check => self.check(state, &mut to, who),
            Next::Token => match (self.0, state.token) {
                (_, Token::Gone) => (TOO_LATE, Next::Done),
                (Way::LooksAtToken, _) => (TAKES_TOKEN, Next::Lose),
                (_, Token::There | Token::Taken) => {
                    to.token = Token::Taken;
                    (TAKES_TOKEN, if self.0 == Way::GainsFirst { Next::Gain } else { Next::Lose })
                }
            },
            Next::Lose => {
                to.holder_has = false;
                to.is_robbed |= state.has_signed;
                (HOLDER_LOSES, if self.0 == Way::GainsFirst { Next::Done } else { Next::Gain })
            }
            Next::Gain => {
                to.has[who] = true;
                to.was_overtaken |= Self::first(state) != Some(who);
                to.entries[who] = None;
                match self.0 {
                    Way::GainsFirst => (GAINS_FIRST, Next::Lose),
                    _ => (GAINS, Next::Done),
                }
            }
            Next::Settle => {
                to.has[who] = true;
                to.entries[who] = None;
                (SETTLES, Next::Done)
            }
            Next::Done | Next::Dead => return None,
        };
        to.next[who] = next;
        if matches!(next, Next::Lock | Next::Done) && state.next[who] != Next::Lock && state.lock == Some(who)
        {
            to.lock = None;
        }
        Some((deed, to))
    }

    /// Under the lock: what was passed on is written down; else it takes the path, if it may.
    fn check(&self, state: &State, to: &mut State, who: usize) -> (Action, Next) {
        if self.passed_on(state) == Some(who) {
            return (CHECKS, Next::Settle);
        }
        let Some(entry) = state.entries[who].filter(|_| state.holder_has && state.holder_is_alive) else {
            return (REFUSED, Next::Done);
        };
        if Self::first(state) != Some(who) || !entry.is_over {
            return (REFUSED, Next::Done);
        }
        let must_wait = entry.is_answered && !entry.has_restarted;
        to.was_early |= must_wait && self.0 == Way::IgnoresAnswers;
        if must_wait && self.0 != Way::IgnoresAnswers {
            to.entries[who] = Some(Entry { is_over: false, has_restarted: true, ..entry });
            return (REFUSED, Next::Lock);
        }
        (CHECKS, Next::Token)
    }

    fn steps_of_world(&self, state: &State) -> Vec<(&'static str, Action, State)> {
        let mut steps = Vec::new();
        let mut step = |who, deed, change: &dyn Fn(&mut State)| {
            let mut to = state.clone();
            change(&mut to);
            steps.push((who, deed, to));
        };
        for who in 0..2 {
            if state.entries[who].is_some_and(|entry| !entry.is_over) {
                step("the clock", TIME, &|to| {
                    to.entries[who] = to.entries[who].map(|entry| Entry { is_over: true, ..entry });
                });
            }
        }
        if state.holder_is_alive && state.holder_has {
            if state.token != Token::Gone {
                // While somebody takes it, a sign comes too late.
                let is_taken = |who: usize| matches!(state.next[who], Next::Lose | Next::Gain);
                let counts = state.token == Token::There || !state.lock.is_some_and(is_taken);
                step("the holder", SIGNS, &|to| {
                    to.token = Token::Gone;
                    to.has_signed |= counts;
                });
            }
            for who in 0..2 {
                if state.entries[who].is_some_and(|entry| !entry.is_answered) {
                    step("the holder", ANSWERS, &|to| {
                        to.entries[who] = to.entries[who].map(|entry| Entry { is_answered: true, ..entry });
                    });
                }
            }
            step("the holder", DIES, &|to| to.holder_is_alive = false);
            if state.lock.is_none() {
                step("the holder", RELEASES, &|to| to.holder_has = false);
            }
        }
        let is_held = state.holder_has && state.holder_is_alive || state.has.contains(&true);
        if state.lock.is_none() && !is_held && !state.other_has && self.passed_on(state).is_none() {
            step("another", RESERVES, &|to| {
                to.other_has = true;
                to.was_overtaken |= state.token != Token::Gone && Self::first(state).is_some();
            });
        }
        steps
    }
}

impl Protocol for Contesting {
    type State = State;

    fn start(&self) -> State {
        State {
            lock: None,
            holder_has: true,
            holder_is_alive: true,
            token: Token::Gone,
            entries: [None; 2],
            has: [false; 2],
            other_has: false,
            next: [Next::Contest; 2],
            has_signed: false,
            is_robbed: false,
            was_early: false,
            was_overtaken: false,
        }
    }

    fn steps(&self, state: &State) -> Vec<Step<State>> {
        let mut steps = Vec::new();
        for (who, name) in NAMES.into_iter().enumerate() {
            let own = self.step_of_contester(state, who);
            steps.extend(own.map(|(deed, to)| Step { who: name, deed, to }));
            // A command is killed. Its agent lives, and may try again; or the agent dies with it.
            if !matches!(state.next[who], Next::Contest | Next::Done | Next::Dead) {
                for after in [Next::Lock, Next::Dead] {
                    let mut to = state.clone();
                    to.next[who] = after;
                    to.lock = state.lock.filter(|holder| *holder != who);
                    if after == Next::Dead {
                        to.has[who] = false;
                    }
                    if to != *state {
                        steps.push(Step { who: name, deed: DIES, to });
                    }
                }
            }
        }
        steps.extend(self.steps_of_world(state).into_iter().map(|(who, deed, to)| Step { who, deed, to }));
        steps
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        let holders = usize::from(state.holder_has && state.holder_is_alive)
            + usize::from(state.other_has)
            + state.has.iter().filter(|has| **has).count();
        match () {
            () if holders > 1 => Some("the path has two holders"),
            () if state.is_robbed => Some("it was taken from one who gave a sign"),
            () if state.was_early => Some("it was taken from one who answered"),
            () if state.was_overtaken => Some("the first contester was not first"),
            () => None,
        }
    }

    fn is_over(&self, state: &State) -> bool {
        state.next.iter().all(|next| matches!(next, Next::Done | Next::Dead))
    }
}

#[test]
fn a_contested_path_has_one_holder_and_the_first_contester_is_first() {
    explore("contesting", &Contesting(Way::Real)).unwrap();
}

fn fault_of(way: Way) -> &'static str {
    let fault = explore("", &Contesting(way)).unwrap_err();
    println!("{fault:?}");
    fault.what
}

#[test]
fn who_gains_it_before_the_holder_loses_it_makes_two_holders() {
    assert_eq!(fault_of(Way::GainsFirst), "the path has two holders");
}

#[test]
fn a_path_that_is_not_passed_on_goes_to_somebody_else() {
    assert_eq!(fault_of(Way::NotPassedOn), "the first contester was not first");
}

#[test]
fn who_only_looks_whether_a_sign_was_given_takes_it_from_one_who_gave_it() {
    assert_eq!(fault_of(Way::LooksAtToken), "it was taken from one who gave a sign");
}

#[test]
fn who_looks_at_the_time_alone_takes_it_from_one_who_answered() {
    assert_eq!(fault_of(Way::IgnoresAnswers), "it was taken from one who answered");
}

//! Model: agents contest a reservation, its holder gives a sign, answers, lets go or is killed, and contesters take it.
//!
//! Time is one bit per clock: it may run out at any moment after it was started, but not while a hook runs that began
//! before the contest. Whoever contests or takes holds `mesh.lock` from its first look to its last write; signs and
//! answers by message take no lock, except for a sign that finds that somebody has begun to take the path.

use crate::search::{Action, DIES, Protocol, Step, explore};

const LOOKS: Action =
    Action::ours("sweeps, and looks whether a round is open", "ops/reservations/contest.rs", "next_mark");
const OPENS: Action = Action::ours("makes the token", "store/agents/contest_tokens.rs", "open_contest");
const MARKS: Action = Action::ours("marks the reservation", "ops/reservations/contest.rs", "stage");
const CONTESTS: Action = Action::ours("adds its contest", "ops/reservations/contest.rs", "stage");
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
const JUDGES: Action = Action::ours("finds that it holds the path", "ops/hook/tool_decision.rs", "judge");
const SIGNS: Action = Action::ours("removes the token", "store/agents/contest_tokens.rs", "give_sign");
const LOOKS_FOR_TAKER: Action =
    Action::ours("looks whether it is being taken", "store/agents/contest_tokens.rs", "give_sign");
const READS: Action = Action::ours("reads its registration again", "ops/hook/contest_signs.rs", "give_sign");
const EDITS: Action = Action::ours("lets the edit through", "ops/hook/tool_decision.rs", "let_through");
const ANSWERS: Action = Action::ours("answers by a message", "store/messages/outbox.rs", "post_into");
const RELEASES: Action = Action::ours("releases it", "ops/reservations/release.rs", "release");

const NAMES: [&str; 2] = ["Ann", "Ben"];
/// The holder's hook, among those that may have the lock.
const HOOK: usize = 2;
/// Rounds are counted from 1, and each contester begins at most one.
const ROUNDS: usize = 3;

/// The next step of a contester.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Next {
    Contest,
    Look,
    Open(usize),
    Mark(usize),
    Enter(usize),
    Lock,
    Check,
    Token,
    Lose,
    Gain,
    Settle,
    Done,
    Dead,
}

/// The next step of the holder's hook.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Hook {
    Remove,
    Look,
    Wait,
    Locked,
    Read,
    Answer,
}

/// What the contest of one agent looks like on disk.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Entry {
    round: usize,
    /// 0: it was made first.
    order: u8,
    is_over: bool,
    /// The holder has sent a message since; the clock was restarted when somebody saw that.
    is_answered: bool,
    has_restarted: bool,
}

/// Which of the two files of a round exist. Either stands for the holder's silence.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
struct Token {
    is_there: bool,
    is_taken: bool,
}

impl Token {
    fn is_silent(self) -> bool {
        self.is_there || self.is_taken
    }
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    lock: Option<usize>,
    holder_has: bool,
    holder_is_alive: bool,
    /// The round that the holder's reservation is marked with; 0: none.
    mark: usize,
    tokens: [Token; ROUNDS],
    /// With the round that it knows of; `None`: no hook runs.
    hook: Option<(Hook, usize)>,
    entries: [Option<Entry>; 2],
    /// Reservations on disk.
    has: [bool; 2],
    /// Who merely waits has reserved it.
    other_has: bool,
    next: [Next; 2],
    /// The round in which the hook last let an edit through; 0: none.
    signed: usize,
    /// It was taken in that round.
    is_robbed: bool,
    /// The hook let an edit through after the path was taken.
    is_trampled: bool,
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
    /// Who joins a round makes its token anew.
    Reopens,
    /// The hook lets the edit through whether its sign came too late or not.
    EditsAnyway,
    /// The hook removes the token of one who has begun to take the path, without the lock.
    RemovesTaken,
}

struct Contesting(Way);

impl Contesting {
    /// The live contester whose contest counts as a reservation, because nobody holds the path.
    fn passed_on(&self, state: &State) -> Option<usize> {
        let is_held =
            state.holder_has && state.holder_is_alive || state.other_has || state.has.contains(&true);
        if is_held || self.0 == Way::NotPassedOn { None } else { Self::heir(state) }
    }

    fn heir(state: &State) -> Option<usize> {
        Self::first_of(state, |entry| state.tokens[entry.round].is_silent())
    }

    fn first(state: &State, round: usize) -> Option<usize> {
        Self::first_of(state, |entry| entry.round == round)
    }

    fn first_of(state: &State, is_meant: impl Fn(Entry) -> bool) -> Option<usize> {
        let is_open =
            |who: &usize| state.entries[*who].is_some_and(&is_meant) && state.next[*who] != Next::Dead;
        (0..2).filter(is_open).min_by_key(|who| state.entries[*who].map(|entry| entry.order))
    }

    fn step_of_contester(&self, state: &State, who: usize) -> Option<(Action, State)> {
        let mut to = state.clone();
        let is_free = state.lock.is_none();
        let (deed, next) = match state.next[who] {
            Next::Contest if is_free && state.holder_has && state.holder_is_alive => {
                to.lock = Some(who);
                (LOCKS, Next::Look)
            }
            Next::Contest if is_free => (REFUSED, Next::Done),
            Next::Lock if is_free => {
                to.lock = Some(who);
                (LOCKS, Next::Check)
            }
            Next::Contest | Next::Lock => return None,
            Next::Look => self.look(state, &mut to),
            Next::Open(round) => {
                to.tokens[round].is_there = true;
                (OPENS, Next::Mark(round))
            }
            Next::Mark(round) => {
                to.mark = round;
                (MARKS, Next::Enter(round))
            }
            Next::Enter(round) => {
                let order = u8::from(state.entries[1 - who].is_some());
                let started =
                    Entry { round, order, is_over: false, is_answered: false, has_restarted: false };
                to.entries[who] = Some(started);
                (CONTESTS, Next::Lock)
            }
            Next::Check => self.check(state, &mut to, who),
            Next::Token => {
                let token = &mut to.tokens[state.mark];
                match (self.0, token.is_silent()) {
                    (_, false) => (TOO_LATE, Next::Done),
                    (Way::LooksAtToken, true) => (TAKES_TOKEN, Next::Lose),
                    (_, true) => {
                        *token = Token { is_there: false, is_taken: true };
                        (TAKES_TOKEN, if self.0 == Way::GainsFirst { Next::Gain } else { Next::Lose })
                    }
                }
            }
            Next::Lose => {
                to.holder_has = false;
                to.is_robbed |= state.signed == state.mark;
                (HOLDER_LOSES, if self.0 == Way::GainsFirst { Next::Done } else { Next::Gain })
            }
            Next::Gain => {
                to.has[who] = true;
                to.was_overtaken |= Self::first(state, state.mark) != Some(who);
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

    /// Under the lock: the round that the contest will be in.
    fn look(&self, state: &State, to: &mut State) -> (Action, Next) {
        if !(state.holder_has && state.holder_is_alive) {
            return (REFUSED, Next::Done);
        }
        for (round, token) in to.tokens.iter_mut().enumerate() {
            if !state.entries.iter().flatten().any(|entry| entry.round == round) {
                *token = Token::default();
            }
        }
        match state.mark {
            0 => (LOOKS, Next::Open(1)),
            round if !to.tokens[round].is_silent() => (LOOKS, Next::Open(round + 1)),
            round if self.0 == Way::Reopens => (LOOKS, Next::Open(round)),
            round => (LOOKS, Next::Mark(round)),
        }
    }

    /// Under the lock: what was passed on is written down; else it takes the path, if it may.
    fn check(&self, state: &State, to: &mut State, who: usize) -> (Action, Next) {
        if self.passed_on(state) == Some(who) {
            return (CHECKS, Next::Settle);
        }
        let Some(entry) = state.entries[who].filter(|_| state.holder_has && state.holder_is_alive) else {
            return (REFUSED, Next::Done);
        };
        let is_current = entry.round == state.mark && state.tokens[entry.round].is_silent();
        if !is_current || Self::first(state, entry.round) != Some(who) || !entry.is_over {
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

    fn step_of_hook(&self, state: &State) -> Option<(Action, State)> {
        let mut to = state.clone();
        let Some((hook, round)) = state.hook else {
            to.hook = Some((Hook::Remove, state.mark));
            return (state.holder_has && state.mark > 0).then_some((JUDGES, to));
        };
        // What follows from a registration that was read again.
        let again = match state.mark {
            _ if !state.holder_has => (self.0 == Way::EditsAnyway).then_some((Hook::Answer, round)),
            mark if mark == round => Some((Hook::Answer, round)),
            mark => Some((Hook::Remove, mark)),
        };
        let token = &mut to.tokens[round];
        let (deed, next) = match hook {
            Hook::Remove => {
                token.is_there = false;
                (SIGNS, Some((Hook::Look, round)))
            }
            Hook::Look => {
                let next = match self.0 {
                    Way::RemovesTaken => Hook::Read,
                    _ if token.is_taken => Hook::Wait,
                    _ => Hook::Read,
                };
                token.is_taken &= self.0 != Way::RemovesTaken;
                (LOOKS_FOR_TAKER, Some((next, round)))
            }
            Hook::Wait if state.lock.is_none() => {
                to.lock = Some(HOOK);
                (LOCKS, Some((Hook::Locked, round)))
            }
            Hook::Wait => return None,
            Hook::Locked => {
                if again == Some((Hook::Answer, round)) {
                    *token = Token::default();
                }
                to.lock = None;
                (READS, again)
            }
            Hook::Read => (READS, again),
            Hook::Answer => {
                to.signed = round;
                to.is_trampled |= !state.holder_has;
                (EDITS, None)
            }
        };
        to.hook = next;
        Some((deed, to))
    }

    fn steps_of_world(&self, state: &State) -> Vec<(&'static str, Action, State)> {
        let mut steps = Vec::new();
        let mut step = |who, deed, change: &dyn Fn(&mut State)| {
            let mut to = state.clone();
            change(&mut to);
            steps.push((who, deed, to));
        };
        for who in 0..2 {
            let may_end =
                |entry: Entry| !entry.is_over && state.hook.is_none_or(|(_, round)| entry.round <= round);
            if state.entries[who].is_some_and(may_end) {
                step("the clock", TIME, &|to| {
                    to.entries[who] = to.entries[who].map(|entry| Entry { is_over: true, ..entry });
                });
            }
        }
        if state.holder_is_alive {
            if let Some((deed, next)) = self.step_of_hook(state) {
                step("the hook", deed, &|to| *to = next.clone());
            }
            if state.hook.is_some() {
                step("the hook", DIES, &|to| end_hook(to));
            }
        }
        if state.holder_is_alive && state.holder_has {
            for who in 0..2 {
                if state.entries[who].is_some_and(|entry| !entry.is_answered) {
                    step("the holder", ANSWERS, &|to| {
                        to.entries[who] = to.entries[who].map(|entry| Entry { is_answered: true, ..entry });
                    });
                }
            }
            step("the holder", DIES, &|to| {
                to.holder_is_alive = false;
                end_hook(to);
            });
            // It does one thing at a time.
            if state.lock.is_none() && state.hook.is_none() {
                step("the holder", RELEASES, &|to| to.holder_has = false);
            }
        }
        let is_held = state.holder_has && state.holder_is_alive || state.has.contains(&true);
        if state.lock.is_none() && !is_held && !state.other_has && self.passed_on(state).is_none() {
            step("another", RESERVES, &|to| {
                to.other_has = true;
                to.was_overtaken |= Self::heir(state).is_some();
            });
        }
        steps
    }
}

fn end_hook(to: &mut State) {
    to.hook = None;
    to.lock = to.lock.filter(|who| *who != HOOK);
}

impl Protocol for Contesting {
    type State = State;

    fn start(&self) -> State {
        State {
            lock: None,
            holder_has: true,
            holder_is_alive: true,
            mark: 0,
            tokens: [Token::default(); ROUNDS],
            hook: None,
            entries: [None; 2],
            has: [false; 2],
            other_has: false,
            next: [Next::Contest; 2],
            signed: 0,
            is_robbed: false,
            is_trampled: false,
            was_early: false,
            was_overtaken: false,
        }
    }

    fn steps(&self, state: &State) -> Vec<Step<State>> {
        let of_world = self.steps_of_world(state).into_iter();
        let mut steps: Vec<_> = of_world.map(|(who, deed, to)| Step { who, deed, to }).collect();
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
        steps
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        let holders = usize::from(state.holder_has && state.holder_is_alive)
            + usize::from(state.other_has)
            + state.has.iter().filter(|has| **has).count();
        match () {
            () if holders > 1 => Some("the path has two holders"),
            () if state.is_robbed => Some("it was taken from one who gave a sign"),
            () if state.is_trampled => Some("the holder edits what was taken from it"),
            () if state.was_early => Some("it was taken from one who answered"),
            () if state.was_overtaken => Some("the first contester was not first"),
            () => None,
        }
    }

    fn is_over(&self, state: &State) -> bool {
        state.hook.is_none() && state.next.iter().all(|next| matches!(next, Next::Done | Next::Dead))
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

#[test]
fn who_makes_the_token_of_a_round_anew_undoes_a_sign() {
    assert_eq!(fault_of(Way::Reopens), "it was taken from one who gave a sign");
}

#[test]
fn a_hook_that_ignores_that_its_sign_came_too_late_edits_what_was_taken() {
    assert_eq!(fault_of(Way::EditsAnyway), "the holder edits what was taken from it");
}

#[test]
fn a_hook_that_removes_the_token_of_a_taker_without_the_lock_gives_no_sign() {
    assert_eq!(fault_of(Way::RemovesTaken), "it was taken from one who gave a sign");
}

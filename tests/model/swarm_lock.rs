//! Model: `swarm.lock`, a file that exists while somebody holds it and that is broken when its holder is dead.
//!
//! Time is a step of its own: a lock can become ten seconds old at any moment, however slow its holder is.

use crate::search::{Action, DIES, Fault, Protocol, Step, explore};

const WAITS: Action = Action::ours("gets mesh.lock", "sys/flock.rs", "acquire");
const SHOWS: Action = Action::ours("links its own lock into place", "sys/files.rs", "show");
const FINDS_ONE: Action = Action::ours("finds a lock in the way", "sys/files.rs", "show");
const MARKS: Action = Action::ours("notes which file that is", "store/tasks/swarm_lock.rs", "file_mark");
const READS: Action = Action::ours("reads whose it is", "store/tasks/swarm_lock.rs", "examine");
const JUDGES: Action = Action::ours("asks whether its holder lives", "store/tasks/swarm_lock.rs", "examine");
const COMPARES: Action =
    Action::ours("looks whether it is still that file", "store/tasks/swarm_lock.rs", "acquire");
const BREAKS: Action = Action::ours("removes what lies there", "store/tasks/swarm_lock.rs", "acquire");
const WORKS: Action = Action::ours("has changed the claims", "store/staged_change.rs", "put");
const COMPARES_OWN: Action =
    Action::ours("looks whether the lock is its own", "store/tasks/swarm_lock.rs", "release");
const RELEASES: Action = Action::ours("removes the lock", "store/tasks/swarm_lock.rs", "release");
/// When the lock is dropped, or by the kernel.
const FREES: Action = Action::other("lets go of mesh.lock");

const CREATES: Action = Action::other("creates an empty lock");
const WRITES: Action = Action::other("writes its pid into it");
const FINDS_OLD: Action = Action::other("finds a lock that is ten seconds old");
const FINDS_YOUNG: Action = Action::other("finds none, or a young one");
const TIME_PASSES: Action = Action::other("shows ten seconds more");

const OURS: usize = 3;
const NAMES: [&str; OURS] = ["Ann", "Ben", "Cat"];
const PI: &str = "pi-messenger";
/// How many times each of ours takes the lock.
const ROUNDS: u8 = 2;

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Holder {
    Ours(usize),
    Pi,
}

/// The identity of a lock file: its creator and a counter. In the program, `file_mark` uses inode and time.
type Mark = (Holder, u8);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Lock {
    mark: Mark,
    is_empty: bool,
    is_old: bool,
}

/// The next step of a process of ours.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Next {
    Wait,
    Show,
    /// Only if the content is not in place from the start.
    Write,
    Mark,
    Read {
        before: Option<Mark>,
    },
    Judge {
        before: Option<Mark>,
        found: Lock,
    },
    Compare {
        before: Option<Mark>,
    },
    Break,
    Work,
    CompareOwn,
    Release,
    Free,
    Nothing,
    Dead,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum NextOfPi {
    Look,
    Break,
    Create,
    Write,
    Work,
    Unlink,
    Nothing,
    Dead,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    mesh_lock: Option<usize>,
    swarm_lock: Option<Lock>,
    ours: [(Next, u8); OURS],
    pi: NextOfPi,
}

impl State {
    fn lives(&self, holder: Holder) -> bool {
        match holder {
            Holder::Ours(at) => self.ours[at].0 != Next::Dead,
            Holder::Pi => self.pi != NextOfPi::Dead,
        }
    }

    fn of_ours_at_work(&self) -> usize {
        self.ours.iter().filter(|(next, _)| *next == Next::Work).count()
    }
}

/// The parts of the protocol, each of which can be left out.
#[derive(Clone, Copy)]
struct SwarmLock {
    under_mesh_lock: bool,
    content_in_place: bool,
    breaks_what_it_saw: bool,
    removes_only_its_own: bool,
    asks_for_death: bool,
    with_pi: bool,
    /// Whether it is a fault if one of ours and pi-messenger are at work at the same time.
    minds_pi: bool,
    anyone_dies: bool,
    time_passes: bool,
}

const REAL: SwarmLock = SwarmLock {
    under_mesh_lock: true,
    content_in_place: true,
    breaks_what_it_saw: true,
    removes_only_its_own: true,
    asks_for_death: true,
    with_pi: false,
    minds_pi: false,
    anyone_dies: true,
    time_passes: true,
};

const NAIVE: SwarmLock = SwarmLock {
    under_mesh_lock: false,
    content_in_place: false,
    breaks_what_it_saw: false,
    removes_only_its_own: false,
    ..REAL
};

impl SwarmLock {
    /// The next step of one of ours; `None` while it has to wait.
    fn step_of(&self, state: &State, who: usize) -> Option<(Action, State)> {
        let mut to = state.clone();
        let (next, round) = state.ours[who];
        let mark = (Holder::Ours(who), round);
        let lying = state.swarm_lock.map(|lock| lock.mark);
        let (deed, next) = match next {
            Next::Wait if state.mesh_lock.is_some() => return None,
            Next::Wait => {
                to.mesh_lock = Some(who);
                (WAITS, Next::Show)
            }
            Next::Show if state.swarm_lock.is_some() => (FINDS_ONE, Next::Mark),
            Next::Show => {
                to.swarm_lock = Some(Lock { mark, is_empty: !self.content_in_place, is_old: false });
                if self.content_in_place { (SHOWS, Next::Work) } else { (CREATES, Next::Write) }
            }
            Next::Write => {
                to.swarm_lock = state.swarm_lock.map(|lock| Lock { is_empty: false, ..lock });
                (WRITES, Next::Work)
            }
            Next::Mark => (MARKS, Next::Read { before: lying }),
            Next::Read { before } => match state.swarm_lock {
                Some(found) => (READS, Next::Judge { before, found }),
                None => (READS, Next::Show),
            },
            Next::Judge { before, found } => match self.is_held(state, found) {
                true => (JUDGES, Next::Mark),
                false if self.breaks_what_it_saw => (JUDGES, Next::Compare { before }),
                false => (JUDGES, Next::Break),
            },
            Next::Compare { before } if lying == before => (COMPARES, Next::Break),
            Next::Compare { .. } => (COMPARES, Next::Show),
            Next::Break => {
                to.swarm_lock = None;
                (BREAKS, Next::Show)
            }
            Next::Work if self.removes_only_its_own => (WORKS, Next::CompareOwn),
            Next::Work => (WORKS, Next::Release),
            Next::CompareOwn if lying == Some(mark) => (COMPARES_OWN, Next::Release),
            Next::CompareOwn => (COMPARES_OWN, Next::Free),
            Next::Release => {
                to.swarm_lock = None;
                (RELEASES, Next::Free)
            }
            Next::Free => {
                to.mesh_lock = None;
                to.ours[who].1 += 1;
                (FREES, if round + 1 == ROUNDS { Next::Nothing } else { self.first() })
            }
            Next::Nothing | Next::Dead => return None,
        };
        to.ours[who].0 = next;
        Some((deed, to))
    }

    fn is_held(&self, state: &State, lock: Lock) -> bool {
        match lock.is_empty {
            // A lock without a name may be about to get one. The naive protocol, which creates the file before it
            // writes the content, does not wait for that.
            true => self.content_in_place && !lock.is_old,
            false => self.asks_for_death && state.lives(lock.mark.0),
        }
    }

    fn first(&self) -> Next {
        if self.under_mesh_lock { Next::Wait } else { Next::Show }
    }

    /// pi-messenger's protocol: it removes an old lock without checking whose it is, and also the lock that it
    /// believes to be its own.
    fn step_of_pi(state: &State) -> Option<(Action, State)> {
        let mut to = state.clone();
        let (deed, next) = match state.pi {
            NextOfPi::Look if state.swarm_lock.is_some_and(|lock| lock.is_old) => {
                (FINDS_OLD, NextOfPi::Break)
            }
            NextOfPi::Look => (FINDS_YOUNG, NextOfPi::Create),
            NextOfPi::Break => {
                to.swarm_lock = None;
                (BREAKS, NextOfPi::Create)
            }
            NextOfPi::Create if state.swarm_lock.is_some() => (FINDS_ONE, NextOfPi::Look),
            NextOfPi::Create => {
                to.swarm_lock = Some(Lock { mark: (Holder::Pi, 0), is_empty: true, is_old: false });
                (CREATES, NextOfPi::Write)
            }
            NextOfPi::Write => {
                // It writes to the file it has open, whether or not that file still has its name.
                if let Some(lock) = to.swarm_lock.as_mut().filter(|lock| lock.mark.0 == Holder::Pi) {
                    lock.is_empty = false;
                }
                (WRITES, NextOfPi::Work)
            }
            NextOfPi::Work => (WORKS, NextOfPi::Unlink),
            NextOfPi::Unlink => {
                to.swarm_lock = None;
                (BREAKS, NextOfPi::Nothing)
            }
            NextOfPi::Nothing | NextOfPi::Dead => return None,
        };
        to.pi = next;
        Some((deed, to))
    }
}

impl Protocol for SwarmLock {
    type State = State;

    fn start(&self) -> State {
        let pi = if self.with_pi { NextOfPi::Look } else { NextOfPi::Nothing };
        State { mesh_lock: None, swarm_lock: None, ours: [(self.first(), 0); OURS], pi }
    }

    fn steps(&self, state: &State) -> Vec<Step<State>> {
        let mut steps = Vec::new();
        for (who, name) in NAMES.into_iter().enumerate() {
            steps.extend(self.step_of(state, who).map(|(deed, to)| Step { who: name, deed, to }));
            if self.anyone_dies && !matches!(state.ours[who].0, Next::Nothing | Next::Dead) {
                let mut to = state.clone();
                to.ours[who].0 = Next::Dead;
                // The kernel releases a flock; a lock file stays.
                to.mesh_lock = state.mesh_lock.filter(|holder| *holder != who);
                steps.push(Step { who: name, deed: DIES, to });
            }
        }
        steps.extend(Self::step_of_pi(state).map(|(deed, to)| Step { who: PI, deed, to }));
        if self.anyone_dies && !matches!(state.pi, NextOfPi::Nothing | NextOfPi::Dead) {
            steps.push(Step { who: PI, deed: DIES, to: State { pi: NextOfPi::Dead, ..state.clone() } });
        }
        if let Some(lock) = state.swarm_lock.filter(|lock| self.time_passes && !lock.is_old) {
            let swarm_lock = Some(Lock { is_old: true, ..lock });
            steps.push(Step {
                who: "the clock",
                deed: TIME_PASSES,
                to: State { swarm_lock, ..state.clone() },
            });
        }
        steps
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        if state.of_ours_at_work() > 1 {
            return Some("two of ours are at work");
        }
        let both = state.of_ours_at_work() == 1 && state.pi == NextOfPi::Work;
        (self.minds_pi && both).then_some("one of ours and pi-messenger are at work")
    }

    fn is_over(&self, state: &State) -> bool {
        state.ours.iter().all(|(next, _)| matches!(next, Next::Nothing | Next::Dead))
            && matches!(state.pi, NextOfPi::Nothing | NextOfPi::Dead)
    }
}

#[test]
fn one_of_ours_has_the_swarm_lock_whoever_dies() {
    explore("swarm.lock, three of ours", &REAL).unwrap();
}

#[test]
fn and_pi_messenger_breaking_it_blindly_makes_no_two_of_ours() {
    explore("swarm.lock, with pi-messenger", &SwarmLock { with_pi: true, ..REAL }).unwrap();
}

#[test]
fn ours_and_pi_messengers_keep_apart_while_nobody_dies_or_is_slow() {
    let calm = SwarmLock { with_pi: true, minds_pi: true, anyone_dies: false, time_passes: false, ..REAL };
    explore("swarm.lock, with pi-messenger, in calm", &calm).unwrap();
}

#[track_caller]
fn fault_of(protocol: &SwarmLock) -> Fault {
    let fault = explore("", protocol).unwrap_err();
    println!("{fault:?}");
    fault
}

#[test]
fn who_breaks_the_lock_of_one_that_lives_works_beside_it() {
    let calm = SwarmLock { with_pi: true, minds_pi: true, anyone_dies: false, time_passes: false, ..REAL };
    let fault = fault_of(&SwarmLock { asks_for_death: false, ..calm });
    assert_eq!(fault.what, "one of ours and pi-messenger are at work");
}

/// The limitation described in docs/harnesses.md.
#[test]
fn pi_messenger_takes_the_lock_from_one_that_is_slow() {
    let fault = fault_of(&SwarmLock { with_pi: true, minds_pi: true, anyone_dies: false, ..REAL });
    assert_eq!(
        fault.steps,
        [
            "Ann gets mesh.lock",
            "Ann links its own lock into place",
            "the clock shows ten seconds more",
            "pi-messenger finds a lock that is ten seconds old",
            "pi-messenger removes what lies there",
            "pi-messenger creates an empty lock",
            "pi-messenger writes its pid into it",
        ]
    );
}

/// The naive protocol: check that the holder is dead, remove the lock, create one.
#[test]
fn the_protocol_that_one_would_write_first_has_two_at_work() {
    let fault = fault_of(&NAIVE);
    assert_eq!(fault.what, "two of ours are at work");
    assert_eq!(
        fault.steps,
        [
            "Ann creates an empty lock",
            "Ben finds a lock in the way",
            "Ben notes which file that is",
            "Ben reads whose it is",
            "Ann writes its pid into it",
            "Ben asks whether its holder lives",
            "Ben removes what lies there",
            "Ben creates an empty lock",
            "Ben writes its pid into it",
        ]
    );
}

/// The other measures do not help while somebody can act between the check and the removal.
#[test]
fn without_mesh_lock_nothing_else_helps() {
    let fault = fault_of(&SwarmLock { under_mesh_lock: false, ..REAL });
    assert_eq!(fault.what, "two of ours are at work");
    let since_look = fault.steps.iter().rposition(|step| step.ends_with(COMPARES.words)).unwrap();
    assert_eq!(
        fault.steps[since_look..],
        [
            "Cat looks whether it is still that file",
            "Ben removes what lies there",
            "Ben links its own lock into place",
            "Cat removes what lies there",
            "Cat links its own lock into place",
        ]
    );
}

//! Model: a dead agent is buried while an agent of pi-messenger, which takes no lock, takes its name.

use crate::search::{Action, DIES, Protocol, Step, explore};

const LOCKS: Action = Action::ours("gets mesh.lock", "sys/flock.rs", "acquire");
const SETTLES: Action =
    Action::ours("goes on with what a crash left", "store/agents/burial.rs", "settle_taken");
const FINDS: Action = Action::ours("looks whose registration it is", "store/agents/burial.rs", "find");
const TAKES: Action =
    Action::ours("moves it to where nobody reads it", "store/agents/burial.rs", "take_registration");
const BURIES: Action = Action::ours("moves it into the grave", "store/agents/burial.rs", "take_registration");
const PUTS_BACK: Action = Action::ours("puts it back", "store/agents/burial.rs", "put_back_registration");
const TAKES_WHATEVER: Action = Action::other("moves whatever lies there into the grave");
const REMOVES: Action = Action::other("removes the registration of the dead agent");
const WRITES: Action = Action::other("writes its own");

const PI: &str = "pi";

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Whose {
    DeadOnes,
    Pis,
}

/// The next step of a command of ours. All steps but `Lock` run with mesh.lock held.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Next {
    Lock,
    Settle,
    Find,
    Take,
    FindTaken,
    Bury,
    PutBack,
    Nothing,
    Dead,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum PiNext {
    Remove,
    Write,
    Done,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    is_locked: Option<usize>,
    registry: Option<Whose>,
    taken: Option<Whose>,
    grave: Option<Whose>,
    /// Two commands that bury; the second is not killed.
    commands: [Next; 2],
    pi: PiNext,
    /// Whether the second got the lock after the first was killed.
    came_after_crash: bool,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Way {
    Real,
    /// One rename, whichever file is there.
    Whatever,
    /// The moved file is checked, but nobody continues after a crash.
    WithoutSettling,
}

struct Burying(Way);

impl Burying {
    fn step_of_command(&self, state: &State, who: usize) -> Option<(Action, State)> {
        let mut to = state.clone();
        let (deed, next) = match state.commands[who] {
            Next::Lock if state.is_locked.is_some() => return None,
            Next::Lock => {
                to.is_locked = Some(who);
                to.came_after_crash |= state.commands[0] == Next::Dead;
                (LOCKS, if self.0 == Way::Real { Next::Settle } else { Next::Find })
            }
            Next::Settle => {
                match state.taken {
                    Some(Whose::DeadOnes) => to.grave = to.taken.take(),
                    Some(Whose::Pis) if state.registry.is_none() => to.registry = to.taken.take(),
                    Some(Whose::Pis) => to.taken = None,
                    None => {}
                }
                (SETTLES, Next::Find)
            }
            Next::Find if state.registry == Some(Whose::DeadOnes) => (FINDS, Next::Take),
            Next::Find => (FINDS, Next::Nothing),
            Next::Take if self.0 == Way::Whatever => {
                to.grave = to.registry.take().or(to.grave);
                (TAKES_WHATEVER, Next::Nothing)
            }
            Next::Take => {
                to.taken = to.registry.take();
                (TAKES, Next::FindTaken)
            }
            Next::FindTaken => match state.taken {
                Some(Whose::DeadOnes) => (FINDS, Next::Bury),
                Some(Whose::Pis) => (FINDS, Next::PutBack),
                None => (FINDS, Next::Nothing),
            },
            Next::Bury => {
                to.grave = to.taken.take();
                (BURIES, Next::Nothing)
            }
            Next::PutBack => {
                let taken = to.taken.take();
                to.registry = to.registry.or(taken);
                (PUTS_BACK, Next::Nothing)
            }
            Next::Nothing | Next::Dead => return None,
        };
        to.commands[who] = next;
        if next == Next::Nothing {
            to.is_locked = None;
        }
        Some((deed, to))
    }

    fn step_of_pi(state: &State) -> Option<(Action, State)> {
        let mut to = state.clone();
        let (deed, next) = match state.pi {
            PiNext::Remove => {
                to.registry = None;
                (REMOVES, PiNext::Write)
            }
            PiNext::Write => {
                to.registry = Some(Whose::Pis);
                (WRITES, PiNext::Done)
            }
            PiNext::Done => return None,
        };
        to.pi = next;
        Some((deed, to))
    }
}

impl Protocol for Burying {
    type State = State;

    fn start(&self) -> State {
        State {
            is_locked: None,
            registry: Some(Whose::DeadOnes),
            taken: None,
            grave: None,
            commands: [Next::Lock; 2],
            pi: PiNext::Remove,
            came_after_crash: false,
        }
    }

    fn steps(&self, state: &State) -> Vec<Step<State>> {
        let mut steps = Vec::new();
        for (who, name) in ["Ann", "Ben"].into_iter().enumerate() {
            let own = self.step_of_command(state, who);
            steps.extend(own.map(|(deed, to)| Step { who: name, deed, to }));
            if who == 0 && !matches!(state.commands[who], Next::Nothing | Next::Dead) {
                let mut to = state.clone();
                to.commands[who] = Next::Dead;
                to.is_locked = state.is_locked.filter(|holder| *holder != who);
                steps.push(Step { who: name, deed: DIES, to });
            }
        }
        steps.extend(Self::step_of_pi(state).map(|(deed, to)| Step { who: PI, deed, to }));
        steps
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        if state.grave == Some(Whose::Pis) {
            return Some("a live agent is buried");
        }
        let is_registered = state.registry == Some(Whose::Pis);
        if state.pi == PiNext::Done && !is_registered && state.taken != Some(Whose::Pis) {
            return Some("the registration of a live agent is lost");
        }
        let is_done = state.came_after_crash && state.commands[1] == Next::Nothing;
        (is_done && state.pi == PiNext::Done && !is_registered)
            .then_some("a live agent is not registered after all is done")
    }

    fn is_over(&self, state: &State) -> bool {
        let commands_end = state.commands.iter().all(|next| matches!(next, Next::Nothing | Next::Dead));
        commands_end && state.pi == PiNext::Done
    }
}

#[test]
fn a_live_agent_of_pi_is_never_buried_with_a_dead_ones_name() {
    explore("burying", &Burying(Way::Real)).unwrap();
}

#[test]
fn who_moves_whatever_lies_there_buries_the_living() {
    let fault = explore("", &Burying(Way::Whatever)).unwrap_err();
    println!("{fault:?}");
    assert_eq!(fault.what, "a live agent is buried");
}

#[test]
fn who_never_goes_on_after_a_crash_leaves_the_living_unregistered() {
    let fault = explore("", &Burying(Way::WithoutSettling)).unwrap_err();
    println!("{fault:?}");
    assert_eq!(fault.what, "a live agent is not registered after all is done");
}

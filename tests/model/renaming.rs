//! Model: an agent is renamed while others read the registry without a lock and one of them wants the old name.
//!
//! Listing the registry is one step here. The kernel guarantees that for as many entries as fit into one call, which
//! is some hundred.

use crate::search::{Action, DIES, Protocol, Step, explore};

const LOCKS: Action = Action::ours("gets mesh.lock", "sys/flock.rs", "acquire");
const ASKS: Action = Action::ours("asks whether the name is free", "ops/agents/names.rs", "holder");
const IS_REFUSED: Action =
    Action::ours("is told that the name is taken", "ops/agents/names.rs", "name_taken");
const PUBLISHES: Action = Action::ours("publishes the new registration", "store/locked_mesh.rs", "register");
const CARRIES: Action = Action::ours("writes the new name into the claims", "store/staged_change.rs", "put");
const REMOVES: Action = Action::ours("removes the old registration", "store/locked_mesh.rs", "unregister");
const JOINS: Action = Action::ours("takes the name", "store/locked_mesh.rs", "register");
const LISTS: Action = Action::ours("lists the registry", "store/agents/registry.rs", "take_census");
const READS: Action = Action::ours("reads a registration", "store/agents/registry.rs", "read");
const LISTS_AGAIN: Action =
    Action::ours("finds one gone and lists again", "store/agents/registry.rs", "census");
const COUNTS: Action =
    Action::ours("leaves out what another stands for", "store/agents/registry.rs", "set_superseded_aside");

const MOVER: &str = "Ann, who will be Eve";
const JOINER: &str = "Ben, who would be Ann";

/// The next step of a command. From `Ask` on, mesh.lock is held.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Next {
    Lock,
    Ask,
    Publish,
    Carry,
    Remove,
    Nothing,
    Dead,
}

/// A reader without a lock: what it listed and has not read yet, and what it found, as `[old, new]`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Look {
    List,
    Read { listed: [bool; 2], found: [Option<Registration>; 2], all_there: bool },
    Done { saw: usize },
}

/// Whether the registration is the mover's, and whether it lists the old name as a former one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Registration {
    is_movers: bool,
    formerly: bool,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    is_locked: Option<usize>,
    /// The registrations under the old and the new name.
    registry: [Option<Registration>; 2],
    claim_bears_new: bool,
    /// The command that renames its agent, the next command of that agent, which finishes the renaming, and one of
    /// another agent that wants the old name.
    commands: [Next; 3],
    looks: [Look; 2],
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Way {
    Real,
    RemoveFirst,
    WithoutFormerly,
}

struct Renaming(Way);

/// The number of the mover's registrations that count: one that lists the other's name as a former one replaces it.
fn agents_in(found: [Option<Registration>; 2]) -> usize {
    let is_movers = |file: &Option<Registration>| file.is_some_and(|file| file.is_movers);
    let [old, new] = [is_movers(&found[0]), is_movers(&found[1])];
    let is_superseded = old && new && found[1].is_some_and(|file| file.formerly);
    usize::from(old) + usize::from(new) - usize::from(is_superseded)
}

impl Renaming {
    fn step_of_command(&self, state: &State, who: usize) -> Option<(Action, State)> {
        let mut to = state.clone();
        let is_movers = who < 2;
        let [old, new] = state.registry;
        let (deed, next) = match state.commands[who] {
            Next::Lock if state.is_locked.is_some() => return None,
            Next::Lock => {
                to.is_locked = Some(who);
                (LOCKS, Next::Ask)
            }
            // The old name is taken while its file exists, and while the new registration lists it as a former name.
            Next::Ask if !is_movers && (old.is_some() || new.is_some_and(|file| file.formerly)) => {
                (IS_REFUSED, Next::Nothing)
            }
            // The mover is found by its session, whatever its name is: only the remaining steps are left.
            Next::Ask if is_movers && new.is_some() => (ASKS, Next::Carry),
            Next::Ask if is_movers && self.0 == Way::RemoveFirst => (ASKS, Next::Remove),
            Next::Ask => (ASKS, Next::Publish),
            Next::Publish if is_movers => {
                to.registry[1] = Some(Registration { is_movers, formerly: self.0 != Way::WithoutFormerly });
                (PUBLISHES, Next::Carry)
            }
            Next::Publish => {
                to.registry[0] = Some(Registration { is_movers, formerly: false });
                (JOINS, Next::Nothing)
            }
            Next::Carry => {
                to.claim_bears_new = true;
                (CARRIES, if self.0 == Way::RemoveFirst { Next::Nothing } else { Next::Remove })
            }
            Next::Remove => {
                to.registry[0] = None;
                (REMOVES, if self.0 == Way::RemoveFirst { Next::Publish } else { Next::Nothing })
            }
            Next::Nothing | Next::Dead => return None,
        };
        to.commands[who] = next;
        if next == Next::Nothing {
            to.is_locked = None;
        }
        Some((deed, to))
    }

    fn step_of_look(state: &State, who: usize) -> Option<(Action, State)> {
        let mut to = state.clone();
        let (deed, look) = match state.looks[who] {
            Look::List => {
                let listed = state.registry.map(|file| file.is_some());
                (LISTS, Look::Read { listed, found: [None; 2], all_there: true })
            }
            Look::Read { mut listed, mut found, mut all_there } => match listed.iter().position(|left| *left)
            {
                Some(at) => {
                    listed[at] = false;
                    found[at] = state.registry[at];
                    all_there &= found[at].is_some();
                    (READS, Look::Read { listed, found, all_there })
                }
                None if !all_there => (LISTS_AGAIN, Look::List),
                None => (COUNTS, Look::Done { saw: agents_in(found) }),
            },
            Look::Done { .. } => return None,
        };
        to.looks[who] = look;
        Some((deed, to))
    }
}

impl Protocol for Renaming {
    type State = State;

    fn start(&self) -> State {
        let first = Registration { is_movers: true, formerly: false };
        State {
            is_locked: None,
            registry: [Some(first), None],
            claim_bears_new: false,
            commands: [Next::Lock; 3],
            looks: [Look::List; 2],
        }
    }

    fn steps(&self, state: &State) -> Vec<Step<State>> {
        let mut steps = Vec::new();
        for (who, name) in [MOVER, MOVER, JOINER].into_iter().enumerate() {
            let own = self.step_of_command(state, who);
            steps.extend(own.map(|(deed, to)| Step { who: name, deed, to }));
            if !matches!(state.commands[who], Next::Nothing | Next::Dead) {
                let mut to = state.clone();
                to.commands[who] = Next::Dead;
                to.is_locked = state.is_locked.filter(|holder| *holder != who);
                steps.push(Step { who: name, deed: DIES, to });
            }
        }
        for who in 0..state.looks.len() {
            steps.extend(Self::step_of_look(state, who).map(|(deed, to)| Step { who: "Cat", deed, to }));
        }
        steps
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        let saw = |count: &dyn Fn(usize) -> bool| {
            state.looks.iter().any(|look| matches!(look, Look::Done { saw } if count(*saw)))
        };
        if saw(&|count| count == 0) {
            return Some("somebody saw nobody");
        }
        if saw(&|count| count > 1) {
            return Some("somebody saw two agents");
        }
        let [old, new] = state.registry;
        let is_movers = |file: Option<Registration>| file.is_some_and(|file| file.is_movers);
        if !is_movers(old) && !is_movers(new) {
            return Some("the agent is gone");
        }
        // A claim belongs to an agent if it has its name or a former one.
        let owned = match state.claim_bears_new {
            true => is_movers(new),
            false => is_movers(old) || new.is_some_and(|file| file.is_movers && file.formerly),
        };
        (!owned).then_some("the claim is nobody's")
    }

    fn is_over(&self, state: &State) -> bool {
        state.commands.iter().all(|next| matches!(next, Next::Nothing | Next::Dead))
            && state.looks.iter().all(|look| matches!(look, Look::Done { .. }))
    }
}

#[test]
fn there_is_one_agent_under_one_name_all_the_while() {
    explore("renaming", &Renaming(Way::Real)).unwrap();
}

#[test]
fn who_removes_the_old_name_first_is_not_there_for_a_while() {
    let fault = explore("", &Renaming(Way::RemoveFirst)).unwrap_err();
    println!("{fault:?}");
    assert_eq!(fault.what, "the agent is gone");
}

#[test]
fn who_does_not_say_what_it_was_called_is_two() {
    let fault = explore("", &Renaming(Way::WithoutFormerly)).unwrap_err();
    println!("{fault:?}");
    assert_eq!(fault.what, "somebody saw two agents");
}

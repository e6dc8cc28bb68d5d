//! Model: following an inbox. Watch, then scan, then wait for a hint.
//!
//! The slow tick, which recovers from everything else, is left out: this shows that no message has to wait for it. One
//! thing is not in the model because no directory event reports it: a reader that died with a message in hand is found
//! at a tick.

use crate::search::{Action, NO_WAY_ON, Protocol, Step, explore};

const FINDS_IT_SOUND: Action = Action::ours("finds its watch sound", "sys/watch.rs", "is_sound");
const WATCHES: Action = Action::ours("watches the directory", "sys/watch.rs", "arm");
const FINDS_NO_DIRECTORY: Action = Action::ours("finds no directory to watch", "sys/watch.rs", "arm");
const NOTES_INODE: Action = Action::ours("notes which directory that was", "sys/watch.rs", "inode");
const LOOKS: Action = Action::ours("looks, and reads what is there", "store/messages/inbox.rs", "scan");
const IS_WOKEN: Action = Action::ours("is woken by a hint", "ops/watcher/mesh_watcher.rs", "wait");
const TICKS: Action =
    Action::ours("has no watch and looks again soon", "ops/watcher/mesh_watcher.rs", "wait");
const FORGETS: Action = Action::other("takes the hint for done");
const POSTS: Action = Action::ours("posts a message", "sys/files.rs", "publish_twice");
const REMOVES: Action = Action::ours("removes the empty directory", "sys/files.rs", "remove_dir");
const MAKES_ANEW: Action = Action::ours("makes the directory anew", "sys/files.rs", "create_dir");

/// Messages that are posted, and removals of the directory.
const MESSAGES: u8 = 3;
const REMOVALS: u8 = 2;

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Next {
    Arm,
    NoteInode,
    Look,
    Wait,
    Forget,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Watch {
    /// The directory that the kernel watches, and the one that we believe it watches.
    watched: u8,
    noted: u8,
    trouble: bool,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    /// The directory that exists; each new one gets another number.
    directory: Option<u8>,
    made: u8,
    unread: u8,
    posted: u8,
    watch: Option<Watch>,
    hint: bool,
    follower: Next,
}

struct Following {
    watches_first: bool,
    /// Whether the hint is reset before the scan that it causes.
    forgets_first: bool,
    asks_whether_sound: bool,
}

const REAL: Following = Following { watches_first: true, forgets_first: true, asks_whether_sound: true };

impl Following {
    fn step_of_follower(&self, state: &State) -> Option<(Action, State)> {
        let mut to = state.clone();
        let after_arming = if self.watches_first { Next::Look } else { Next::Wait };
        let (deed, next) = match state.follower {
            Next::Arm => match (state.watch, state.directory) {
                (Some(watch), there) if self.is_sound(watch, there) => (FINDS_IT_SOUND, after_arming),
                (_, None) => {
                    (to.watch, to.hint) = (None, false);
                    (FINDS_NO_DIRECTORY, after_arming)
                }
                (_, Some(directory)) => {
                    to.watch = Some(Watch { watched: directory, noted: directory, trouble: false });
                    to.hint = false;
                    (WATCHES, Next::NoteInode)
                }
            },
            Next::NoteInode => {
                to.watch = match (state.watch, state.directory) {
                    (Some(watch), Some(noted)) => Some(Watch { noted, ..watch }),
                    _ => None,
                };
                (NOTES_INODE, after_arming)
            }
            Next::Look => {
                to.unread = 0;
                let next = if self.watches_first { Next::Wait } else { Next::Arm };
                (LOOKS, if self.forgets_first { next } else { Next::Forget })
            }
            Next::Forget => {
                to.hint = false;
                (FORGETS, Next::Wait)
            }
            Next::Wait => {
                let deed = match state.watch {
                    Some(_) if state.hint => IS_WOKEN,
                    Some(_) => return None,
                    None => TICKS,
                };
                to.hint &= !self.forgets_first;
                (deed, if self.watches_first { Next::Arm } else { Next::Look })
            }
        };
        to.follower = next;
        Some((deed, to))
    }

    fn is_sound(&self, watch: Watch, there: Option<u8>) -> bool {
        !self.asks_whether_sound || (!watch.trouble && there == Some(watch.noted))
    }
}

impl Protocol for Following {
    type State = State;

    fn start(&self) -> State {
        let follower = if self.watches_first { Next::Arm } else { Next::Look };
        State { directory: Some(0), made: 1, unread: 0, posted: 0, watch: None, hint: false, follower }
    }

    fn steps(&self, state: &State) -> Vec<Step<State>> {
        let mut steps = Vec::new();
        let followed = self.step_of_follower(state);
        steps.extend(followed.map(|(deed, to)| Step { who: "Reader", deed, to }));
        let hears = state.watch.is_some_and(|watch| Some(watch.watched) == state.directory);
        let mut to = state.clone();
        match state.directory {
            Some(_) if state.posted < MESSAGES => {
                to.unread += 1;
                to.posted += 1;
                to.hint |= hears;
                steps.push(Step { who: "Writer", deed: POSTS, to });
            }
            None => {
                (to.directory, to.made) = (Some(state.made), state.made + 1);
                steps.push(Step { who: "Other", deed: MAKES_ANEW, to });
            }
            Some(_) => {}
        }
        if state.directory.is_some() && state.unread == 0 && state.made <= REMOVALS {
            let mut to = State { directory: None, ..state.clone() };
            to.hint |= hears;
            to.watch = state.watch.map(|watch| Watch { trouble: watch.trouble || hears, ..watch });
            steps.push(Step { who: "Other", deed: REMOVES, to });
        }
        steps
    }

    fn fault(&self, _: &State) -> Option<&'static str> {
        None
    }

    fn is_over(&self, state: &State) -> bool {
        state.posted == MESSAGES && state.unread == 0
    }
}

#[test]
fn no_hint_is_missed() {
    explore("following", &REAL).unwrap();
}

#[test]
fn who_scans_before_it_watches_misses_what_comes_in_between() {
    let fault = explore("", &Following { watches_first: false, ..REAL }).unwrap_err();
    println!("{fault:?}");
    assert_eq!(fault.what, NO_WAY_ON);
    assert_eq!(
        fault.steps,
        [
            "Reader looks, and reads what is there",
            "Writer posts a message",
            "Writer posts a message",
            "Writer posts a message",
        ],
        "whatever it watches from now on, nothing more comes"
    );
}

#[test]
fn who_takes_the_hint_for_done_after_the_look_misses_what_came_meanwhile() {
    let fault = explore("", &Following { forgets_first: false, ..REAL }).unwrap_err();
    println!("{fault:?}");
    assert_eq!(fault.what, NO_WAY_ON);
}

#[test]
fn who_trusts_a_watch_on_a_directory_that_is_gone_hears_nothing() {
    let fault = explore("", &Following { asks_whether_sound: false, ..REAL }).unwrap_err();
    println!("{fault:?}");
    assert_eq!(fault.what, NO_WAY_ON);
}

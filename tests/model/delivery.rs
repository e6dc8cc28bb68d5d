//! Model: the delivery of a message. The sender posts it; a reader parses, takes, hands over and records it; the next
//! reader handles what a dead reader had taken. At some time the message expires: whoever finds it unread after that
//! records it as such.

use crate::search::{Action, DIES, Fault, Protocol, Step, explore};

const WRITES: Action =
    Action::ours("writes the message under a private name", "sys/files.rs", "write_private");
const POSTS: Action = Action::ours("links it into the inbox", "sys/files.rs", "publish_twice");
const KEEPS: Action =
    Action::ours("keeps it as sent, and is told so", "store/messages/outbox.rs", "post_into");
const LOOKS: Action = Action::ours("looks at the inbox", "store/messages/inbox.rs", "scan");
const LISTS: Action =
    Action::ours("lists what others have in hand", "store/messages/inbox.rs", "put_back_of_dead");
const LEAVES: Action = Action::ours(
    "leaves it: its reader lives, or it is gone",
    "store/messages/dropped.rs",
    "dropped_by_dead",
);
const PUTS_BACK: Action = Action::ours("puts it back", "store/messages/inbox.rs", "put_at");
const TAKES: Action = Action::ours("takes it", "sys/files.rs", "take");
const COMES_LATE: Action = Action::ours("comes too late to take it", "sys/files.rs", "take");
const HANDS_OVER: Action = Action::ours("hands it over", "ops/messages/receive.rs", "finish");
const FAILS: Action = Action::ours("finds that nobody reads", "ops/messages/receive.rs", "finish");
const RECORDS: Action = Action::ours("records it as seen", "store/messages/inbox.rs", "record_one");
const GIVES_BACK: Action = Action::ours("gives it back", "store/messages/inbox.rs", "give_back");

const TIME_IS_OVER: Action = Action::other("runs on until the message has expired");
const EXPIRES: Action = Action::ours("records it as expired", "store/messages/expiry.rs", "move_expired");
const DECIDES: Action = Action::other("looks whether it is unread");

const LINKS_BACK: Action = Action::other("links it back into the inbox");
const UNLINKS: Action = Action::other("removes the name that its reader gave it");
const DELETES: Action = Action::other("deletes it");

const READERS: usize = 3;
const NAMES: [&str; READERS + 1] = ["Ann", "Ben", "Cat", "Sweeper"];
const SENDER: &str = "Sender";

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Next {
    Look,
    List,
    /// The readers' hands that are still to be checked.
    PutBack {
        hands: [bool; READERS],
    },
    /// The message has its name in the inbox again; the name in that hand is still to be removed.
    Unlink {
        hand: usize,
        hands: [bool; READERS],
    },
    LookAgain,
    Take,
    HandOver,
    Record,
    GiveBack,
    UnlinkOwn,
    Nothing,
    Dead,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum NextOfSender {
    Write,
    Post,
    Keep,
    Nothing,
    Dead,
}

/// The names under which the message can be found, and what happened to it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    sender: NextOfSender,
    posted: bool,
    inbox: bool,
    hands: [bool; READERS],
    seen: bool,
    handed_over: u8,
    /// Readers that died between handing over and recording.
    died_in_between: u8,
    /// The last one only puts messages back, as `doctor` or a burial does.
    others: [Next; READERS + 1],
    /// Whether the time of the message is over.
    late: bool,
    expired: bool,
    /// Somebody that is about to record it as expired, and only looks before if that is how it is done.
    about_to_expire: bool,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Way {
    TakeHandOverRecord,
    DeleteBeforeDelivering,
    DeliverBeforeDeleting,
}

#[derive(Clone, Copy)]
struct Delivery {
    way: Way,
    /// Whether a message in a reader's hand is put back by one rename, or by a link and a removal.
    at_once: bool,
    /// Whether only messages in a dead reader's hand are put back, or all.
    asks_for_death: bool,
    /// Whether it expires at all, and whether by one rename that fails if somebody has taken it.
    expiry: Expiry,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Expiry {
    Never,
    ByRename,
    /// The record is written after a look, whatever happened in between.
    AfterALook,
}

const REAL: Delivery =
    Delivery { way: Way::TakeHandOverRecord, at_once: true, asks_for_death: true, expiry: Expiry::Never };
const EXPIRING: Delivery = Delivery { expiry: Expiry::ByRename, ..REAL };

impl Delivery {
    fn step_of_sender(state: &State) -> Option<(Action, State)> {
        let mut to = state.clone();
        let (deed, next) = match state.sender {
            NextOfSender::Write => (WRITES, NextOfSender::Post),
            NextOfSender::Post => {
                (to.posted, to.inbox) = (true, true);
                (POSTS, NextOfSender::Keep)
            }
            NextOfSender::Keep => (KEEPS, NextOfSender::Nothing),
            NextOfSender::Nothing | NextOfSender::Dead => return None,
        };
        to.sender = next;
        Some((deed, to))
    }

    fn steps_of_reader(&self, state: &State, who: usize) -> Vec<(Action, State)> {
        let mut to = state.clone();
        if let Some(expired) = self.expire(state, who) {
            return vec![expired];
        }
        let after_tidying = if who < READERS { Next::LookAgain } else { Next::List };
        let seen = if state.inbox { Next::Take } else { self.after(state) };
        let (deed, next) = match state.others[who] {
            Next::Look if state.hands != [false; READERS] => (LOOKS, Next::List),
            Next::Look | Next::LookAgain => (LOOKS, seen),
            Next::List => (LISTS, Next::PutBack { hands: state.hands }),
            Next::PutBack { mut hands } => match hands.iter().position(|listed| *listed) {
                None => (LISTS, after_tidying),
                Some(hand) => {
                    hands[hand] = false;
                    let is_dropped = !self.asks_for_death || state.others[hand] == Next::Dead;
                    if !is_dropped || !state.hands[hand] || state.inbox {
                        (LEAVES, Next::PutBack { hands })
                    } else if self.at_once {
                        (to.hands[hand], to.inbox) = (false, true);
                        (PUTS_BACK, Next::PutBack { hands })
                    } else {
                        to.inbox = true;
                        (LINKS_BACK, Next::Unlink { hand, hands })
                    }
                }
            },
            Next::Unlink { hand, hands } => {
                to.hands[hand] = false;
                (UNLINKS, Next::PutBack { hands })
            }
            Next::Take => match (self.way, state.inbox) {
                (Way::DeliverBeforeDeleting, _) => return vec![self.hand_over(to, who)],
                (_, false) => (COMES_LATE, self.after(state)),
                (Way::TakeHandOverRecord, true) => {
                    (to.inbox, to.hands[who]) = (false, true);
                    (TAKES, Next::HandOver)
                }
                (Way::DeleteBeforeDelivering, true) => {
                    to.inbox = false;
                    (DELETES, Next::HandOver)
                }
            },
            Next::HandOver => {
                let mut steps = vec![self.hand_over(state.clone(), who)];
                if self.way == Way::TakeHandOverRecord {
                    to.others[who] = Next::GiveBack;
                    steps.push((FAILS, to));
                }
                return steps;
            }
            Next::Record if self.way == Way::DeliverBeforeDeleting => {
                (to.inbox, to.seen) = (false, true);
                (DELETES, Next::Nothing)
            }
            Next::Record => {
                (to.hands[who], to.seen) = (false, true);
                (RECORDS, Next::Nothing)
            }
            Next::GiveBack if self.at_once || state.inbox => {
                (to.hands[who], to.inbox) = (state.hands[who] && state.inbox, true);
                (GIVES_BACK, Next::Look)
            }
            Next::GiveBack => {
                to.inbox = true;
                (LINKS_BACK, Next::UnlinkOwn)
            }
            Next::UnlinkOwn => {
                to.hands[who] = false;
                (UNLINKS, Next::Look)
            }
            Next::Nothing | Next::Dead => return Vec::new(),
        };
        to.others[who] = next;
        vec![(deed, to)]
    }

    fn hand_over(&self, mut to: State, who: usize) -> (Action, State) {
        to.handed_over += 1;
        to.others[who] = if self.way == Way::DeleteBeforeDelivering { Next::Nothing } else { Next::Record };
        to.seen |= self.way == Way::DeleteBeforeDelivering;
        (HANDS_OVER, to)
    }

    /// A reader that finds the message unread and late does not take it, but records it as expired.
    fn expire(&self, state: &State, who: usize) -> Option<(Action, State)> {
        let finds = state.late && state.inbox && matches!(state.others[who], Next::Take | Next::LookAgain);
        let mut to = state.clone();
        match self.expiry {
            Expiry::ByRename if finds => {
                (to.inbox, to.expired) = (false, true);
                to.others[who] = Next::Nothing;
                Some((EXPIRES, to))
            }
            Expiry::Never | Expiry::ByRename | Expiry::AfterALook => None,
        }
    }

    /// Steps of the clock, and of a sender that asks what became of its message.
    fn steps_of_time(&self, state: &State) -> Vec<Step<State>> {
        let mut steps = Vec::new();
        if self.expiry == Expiry::Never || state.expired {
            return steps;
        }
        let step = |deed, to| Step { who: "Clock", deed, to };
        if !state.late {
            steps.push(step(TIME_IS_OVER, State { late: true, ..state.clone() }));
        } else if self.expiry == Expiry::ByRename && state.inbox {
            steps.push(Step {
                who: SENDER,
                deed: EXPIRES,
                to: State { inbox: false, expired: true, ..state.clone() },
            });
        } else if self.expiry == Expiry::AfterALook && state.inbox && !state.about_to_expire {
            steps.push(Step {
                who: SENDER,
                deed: DECIDES,
                to: State { about_to_expire: true, ..state.clone() },
            });
        }
        if state.about_to_expire {
            steps.push(Step { who: SENDER, deed: EXPIRES, to: State { expired: true, ..state.clone() } });
        }
        steps
    }

    /// A reader that finds nothing looks again, until nothing more can come.
    fn after(&self, state: &State) -> Next {
        if state.seen || state.expired { Next::Nothing } else { Next::Look }
    }
}

impl Protocol for Delivery {
    type State = State;

    fn start(&self) -> State {
        let mut others = [Next::Look; READERS + 1];
        others[READERS] = Next::List;
        State {
            sender: NextOfSender::Write,
            posted: false,
            inbox: false,
            hands: [false; READERS],
            seen: false,
            handed_over: 0,
            died_in_between: 0,
            others,
            late: false,
            expired: false,
            about_to_expire: false,
        }
    }

    fn steps(&self, state: &State) -> Vec<Step<State>> {
        let mut steps = Vec::new();
        steps.extend(Self::step_of_sender(state).map(|(deed, to)| Step { who: SENDER, deed, to }));
        if !matches!(state.sender, NextOfSender::Nothing | NextOfSender::Dead) {
            let to = State { sender: NextOfSender::Dead, ..state.clone() };
            steps.push(Step { who: SENDER, deed: DIES, to });
        }
        steps.extend(self.steps_of_time(state));
        for (who, name) in NAMES.into_iter().enumerate() {
            let own = self.steps_of_reader(state, who);
            steps.extend(own.into_iter().map(|(deed, to)| Step { who: name, deed, to }));
            if !matches!(state.others[who], Next::Nothing | Next::Dead) {
                let mut to = state.clone();
                to.died_in_between += u8::from(state.others[who] == Next::Record);
                to.others[who] = Next::Dead;
                steps.push(Step { who: name, deed: DIES, to });
            }
        }
        steps
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        let in_memory = state.others.contains(&Next::HandOver);
        let lies_somewhere = state.inbox || state.hands != [false; READERS] || state.seen || state.expired;
        if state.expired && (state.seen || state.handed_over > state.died_in_between) {
            return Some("it was handed over, and expired");
        }
        if state.posted && state.handed_over == 0 && !lies_somewhere && !in_memory {
            return Some("it is lost");
        }
        if state.handed_over > 1 + state.died_in_between {
            return Some("it was handed over twice, and nobody died in between");
        }
        let taken_away = |(next, hand): (&Next, &bool)| {
            self.way == Way::TakeHandOverRecord && matches!(next, Next::HandOver | Next::Record) && !hand
        };
        let robbed = state.others.iter().zip(&state.hands).any(taken_away);
        robbed.then_some("one that lives lost what it had in hand")
    }

    fn is_over(&self, state: &State) -> bool {
        let nobody_reads = state.others[..READERS].iter().all(|next| *next == Next::Dead);
        let nothing_came = state.sender == NextOfSender::Dead && !state.posted;
        state.seen || state.expired || nobody_reads || nothing_came
    }
}

#[test]
fn a_message_is_handed_over_at_least_once_and_twice_only_after_a_death_in_between() {
    explore("take, hand over, record", &REAL).unwrap();
}

#[test]
fn a_message_is_handed_over_or_expires() {
    explore("take, hand over, record, or expire", &EXPIRING).unwrap();
}

#[test]
fn who_only_looks_before_it_records_the_expiry_does_both() {
    let fault = fault_of(&Delivery { expiry: Expiry::AfterALook, ..REAL });
    assert_eq!(fault.what, "it was handed over, and expired");
}

#[track_caller]
fn fault_of(protocol: &Delivery) -> Fault {
    let fault = explore("", protocol).unwrap_err();
    println!("{fault:?}");
    fault
}

#[test]
fn who_deletes_before_delivering_loses_it() {
    let fault = fault_of(&Delivery { way: Way::DeleteBeforeDelivering, ..REAL });
    assert_eq!(fault.what, "it is lost");
    assert_eq!(
        fault.steps,
        [
            "Sender writes the message under a private name",
            "Sender links it into the inbox",
            "Ann looks at the inbox",
            "Ann deletes it",
            "Ann dies",
        ]
    );
}

#[test]
fn who_delivers_before_deleting_hands_it_over_twice() {
    let fault = fault_of(&Delivery { way: Way::DeliverBeforeDeleting, ..REAL });
    assert_eq!(fault.what, "it was handed over twice, and nobody died in between");
}

#[test]
fn who_puts_back_what_a_living_one_has_in_hand_robs_it() {
    let fault = fault_of(&Delivery { asks_for_death: false, ..REAL });
    assert_eq!(fault.what, "one that lives lost what it had in hand");
}

/// This is how `renameat2` would be replaced on a file system without it: in between, the message has two names. So
/// the program puts a taken message back by a plain rename.
#[test]
fn putting_back_by_link_and_removal_hands_it_over_twice() {
    let fault = fault_of(&Delivery { at_once: false, ..REAL });
    assert_eq!(fault.what, "it was handed over twice, and nobody died in between");
}

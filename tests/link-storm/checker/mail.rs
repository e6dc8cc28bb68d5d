//! Checks that every accepted message is handed over once, in order, or is still somewhere, or was refused with word to
//! its sender.

use std::collections::{BTreeMap, HashMap};

use super::holdings::{Holdings, Thing};
use super::story::{Op, Outcome, Story};
use super::{Promise, Violation};
use crate::history::{Handed, Intent, Time};

/// A message that was accepted.
struct Letter<'s, 'h> {
    key: Handed,
    to: &'s str,
    stem: &'s str,
    sender: &'s Op<'h>,
    tried: Time,
    accepted: Time,
}

/// A position in the output of a command.
#[derive(Clone, Copy)]
struct Delivery<'s, 'h> {
    op: &'s Op<'h>,
    place: usize,
}

impl Delivery<'_, '_> {
    /// Whether its reader may have died before it recorded the message.
    fn is_excused(&self) -> bool {
        self.op.is_cut_short() || self.op.outcome == Outcome::Orphaned
    }
}

/// A message, and its deliveries.
type Arrived<'s, 'h> = (&'s Letter<'s, 'h>, &'s [Delivery<'s, 'h>]);
type Deliveries<'s, 'h> = HashMap<&'s Handed, Vec<Delivery<'s, 'h>>>;

pub(super) struct Findings {
    pub(super) violations: Vec<Violation>,
    /// How many pairs of messages were compared.
    pub(super) pairs: usize,
    /// How many messages reached another session than the one that certainly had the name when they were sent.
    pub(super) astray: usize,
}

pub(super) fn check(story: &Story<'_>, holdings: &Holdings<'_>) -> Findings {
    let letters = letters(story);
    let mut deliveries: Deliveries<'_, '_> = HashMap::new();
    for op in &story.ops {
        for (place, handed) in op.answer.handed.iter().enumerate() {
            deliveries.entry(handed).or_default().push(Delivery { op, place });
        }
    }
    let mut violations = once(&deliveries);
    for letter in &letters {
        violations.extend(lost(story, letter, deliveries.contains_key(&letter.key)));
    }
    let (out_of_order, pairs) = order(story, &letters, &deliveries);
    violations.extend(out_of_order);
    let is_astray = |letter: &&Letter<'_, '_>| {
        let thing = Thing::Name(letter.to.to_lowercase());
        let owner = holdings.holders(&thing, letter.tried, letter.accepted).next();
        let handed = deliveries.get(&letter.key).map_or(&[][..], Vec::as_slice);
        owner.is_some_and(|owner| handed.iter().any(|delivery| delivery.op.session != owner.session))
    };
    let astray = letters.iter().filter(is_astray).count();
    Findings { violations, pairs, astray }
}

fn letters<'s, 'h>(story: &'s Story<'h>) -> Vec<Letter<'s, 'h>> {
    let mut letters = Vec::new();
    for op in &story.ops {
        let (Intent::Send { token, .. } | Intent::Broadcast { token }) = op.intent else { continue };
        letters.extend(op.answer.accepted.iter().map(|accepted| Letter {
            key: Handed::of(token, &accepted.stem),
            to: &accepted.to,
            stem: &accepted.stem,
            sender: op,
            tried: op.invoked,
            accepted: op.ended,
        }));
    }
    letters
}

/// No message is handed over twice unless a reader died, and never twice by one command.
fn once(deliveries: &Deliveries<'_, '_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (key, all) in deliveries {
        let sound = all.iter().filter(|delivery| !delivery.is_excused()).count();
        let in_one = all
            .iter()
            .enumerate()
            .any(|(at, delivery)| all[at + 1..].iter().any(|other| std::ptr::eq(other.op, delivery.op)));
        if sound > 1 || in_one {
            let text = format!("{key:?} was handed over {} times, {sound} of them soundly", all.len());
            let proof = all.iter().flat_map(|delivery| delivery.op.proof()).collect();
            violations.push(Violation { promise: Promise::HandedOverOnce, text, proof });
        }
    }
    violations
}

/// What is in these places can still be had, or its sender can know that it can't.
fn is_kept(place: &str) -> bool {
    let inside = place.split_once('/').map_or("", |(_, inside)| inside);
    // What is put aside on the server, or recorded as handed over, nobody has.
    let is_aside = place.starts_with("server/dead");
    !is_aside
        && ["inbox", "graves", "quarantine", "remote"].contains(&inside.split('/').next().unwrap_or_default())
}

fn lost(story: &Story<'_>, letter: &Letter<'_, '_>, is_handed: bool) -> Option<Violation> {
    let lies = story.lies.get(letter.stem).map_or(&[][..], Vec::as_slice);
    if is_handed || lies.iter().any(|(place, _)| is_kept(place)) {
        return None;
    }
    let mut proof = letter.sender.proof();
    proof.extend(lies.iter().map(|(_, line)| (*line).clone()));
    let places: Vec<&str> = lies.iter().map(|(place, _)| *place).collect();
    let text = match places.is_empty() {
        true => format!("{} was accepted for {}, and is nowhere", letter.stem, letter.to),
        false => {
            format!("{} was accepted for {}, nobody got it, and it is in {places:?}", letter.stem, letter.to)
        }
    };
    Some(Violation { promise: Promise::NothingIsLost, text, proof })
}

/// Checks the order. Also returns how many pairs were compared.
fn order(
    story: &Story<'_>,
    letters: &[Letter<'_, '_>],
    deliveries: &Deliveries<'_, '_>,
) -> (Vec<Violation>, usize) {
    // By sender and recipient; the recipient is the session that got the message, under the name it was sent to.
    let mut pairs: BTreeMap<(&str, &str, &str), Vec<Arrived<'_, '_>>> = BTreeMap::new();
    for letter in letters {
        let Some(handed) = deliveries.get(&letter.key) else { continue };
        let pair = (letter.sender.session, handed[0].op.session, letter.to);
        pairs.entry(pair).or_default().push((letter, handed));
    }
    let mut readers: HashMap<&str, Vec<&Op<'_>>> = HashMap::new();
    for op in story.ops.iter().filter(|op| may_hold_back(op)) {
        readers.entry(op.session).or_default().push(op);
    }
    let (mut violations, mut compared) = (Vec::new(), 0);
    for ((_, recipient, _), all) in pairs {
        let others = readers.get(recipient).map_or(&[][..], Vec::as_slice);
        for (earlier, first) in &all {
            for (later, second) in all.iter().filter(|(later, _)| earlier.accepted < later.tried) {
                compared += 1;
                let Some(delivery) = second.iter().find(|delivery| comes_before(delivery, first)) else {
                    continue;
                };
                if is_held_back(others, delivery) {
                    continue;
                }
                let text = format!("{} was sent before {}, and came after it", earlier.stem, later.stem);
                let proof =
                    [earlier.sender.proof(), later.sender.proof(), delivery.op.proof(), first[0].op.proof()];
                violations.push(Violation { promise: Promise::OrderIsKept, text, proof: proof.concat() });
            }
        }
    }
    (violations, compared)
}

/// Whether it certainly came before all of the others.
fn comes_before(delivery: &Delivery<'_, '_>, others: &[Delivery<'_, '_>]) -> bool {
    others.iter().all(|other| match std::ptr::eq(other.op, delivery.op) {
        true => delivery.place < other.place,
        false => delivery.op.ended < other.op.invoked,
    })
}

/// A reader that was interrupted may have had a message in hand for a while and put it back.
fn may_hold_back(op: &Op<'_>) -> bool {
    *op.intent == Intent::Read && (op.is_cut_short() || op.outcome == Outcome::Orphaned)
}

fn is_held_back(readers: &[&Op<'_>], delivery: &Delivery<'_, '_>) -> bool {
    let is_other = |op: &&&Op<'_>| !std::ptr::eq(**op, delivery.op);
    readers.iter().filter(is_other).any(|op| op.overlaps(delivery.op.invoked, delivery.op.ended))
}

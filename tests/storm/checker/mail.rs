//! Checks that every accepted message is handed over once, in order, to its recipient, or is still somewhere, or has
//! expired, if it was to.

use std::collections::{BTreeMap, HashMap};

use super::holdings::{Holdings, Thing};
use super::story::{Op, Outcome, Story};
use super::{Promise, Violation};
use crate::history::{Disturbance, Event, Handed, Intent, Line, Time};

/// An idle watcher polls at least this often, in microseconds.
const HEARD_WITHIN: Time = 12_000_000;
/// Messages that a watcher has in hand at once at most, and so the number that its death can duplicate.
const BATCH: usize = 64;

/// A message that was accepted.
struct Letter<'s, 'h> {
    key: Handed,
    to: &'s str,
    stem: &'s str,
    /// `None`: from a foreign writer.
    sender: Option<&'s Op<'h>>,
    /// After so many microseconds it expires.
    ttl: Option<Time>,
    tried: Time,
    accepted: Time,
    proof: Vec<Line>,
}

/// A position in the output of a command.
#[derive(Clone, Copy)]
struct Delivery<'s, 'h> {
    op: &'s Op<'h>,
    place: usize,
}

impl Delivery<'_, '_> {
    /// Whether its reader may have died before it recorded the message.
    fn is_excused(&self, story: &Story<'_>) -> bool {
        let is_watch = *self.op.intent == Intent::Watch;
        let recorded = is_watch && self.place + BATCH < self.op.answer.handed.len();
        self.op.is_cut_short() && !recorded || self.is_offer(story)
    }

    /// Whether this is only an offer: mail from a hook counts once a later hook of the same agent shows that the model
    /// continued. Before that, a death or a move of the mail with its owner makes it come again.
    fn is_offer(&self, story: &Story<'_>) -> bool {
        let is_hook = |op: &Op<'_>| matches!(op.intent, Intent::Hook { .. });
        let shows = |op: &&Op<'_>| {
            is_hook(op) && op.who == self.op.who && op.outcome == Outcome::Ok && op.invoked > self.op.ended
        };
        let first = story.ops.iter().filter(shows).min_by_key(|op| op.ended);
        let moves = |until: Time| {
            let may_move = |op: &&Op<'_>| {
                matches!(
                    op.intent,
                    Intent::Leave | Intent::Join { .. } | Intent::Rename { .. } | Intent::Evict { .. }
                )
            };
            story.ops.iter().filter(may_move).any(|op| op.overlaps(self.op.invoked, until))
        };
        is_hook(self.op) && first.is_none_or(|shown| moves(shown.ended))
    }
}

/// A message, and its deliveries.
type Arrived<'s, 'h> = (&'s Letter<'s, 'h>, &'s [Delivery<'s, 'h>]);
type Deliveries<'s, 'h> = HashMap<&'s Handed, Vec<Delivery<'s, 'h>>>;

/// The violations, and what the verdict is based on.
pub(super) struct Findings {
    pub(super) violations: Vec<Violation>,
    pub(super) pairs: usize,
    pub(super) watchers: usize,
}

pub(super) fn check(story: &Story<'_>, holdings: &Holdings<'_>) -> Findings {
    let letters = letters(story);
    let mut deliveries: Deliveries<'_, '_> = HashMap::new();
    for op in &story.ops {
        for (place, handed) in op.answer.handed.iter().enumerate() {
            deliveries.entry(handed).or_default().push(Delivery { op, place });
        }
    }
    let mut violations = once(story, &deliveries);
    for letter in &letters {
        let handed = deliveries.get(&letter.key).map_or(&[][..], Vec::as_slice);
        violations.extend(lost(story, letter, handed));
        violations.extend(expired(story, letter, handed));
        violations.extend(astray(story, holdings, letter, handed));
    }
    let (out_of_order, pairs) = order(story, &letters, &deliveries);
    violations.extend(out_of_order);
    violations.extend(unheard(story, holdings, &letters, &deliveries));
    Findings { violations, pairs, watchers: story.ops.iter().filter(|op| listens(op)).count() }
}

fn letters<'s, 'h>(story: &'s Story<'h>) -> Vec<Letter<'s, 'h>> {
    let mut letters = Vec::new();
    for op in &story.ops {
        let (Intent::Send { token, .. } | Intent::Broadcast { token }) = op.intent else { continue };
        letters.extend(op.answer.accepted.iter().map(|accepted| Letter {
            key: Handed::of(token, &accepted.stem),
            to: &accepted.to,
            stem: &accepted.stem,
            sender: Some(op),
            ttl: match op.intent {
                Intent::Send { ttl, .. } => ttl.map(|seconds| seconds * 1_000_000),
                _ => None,
            },
            tried: op.invoked,
            accepted: op.ended,
            proof: op.proof(),
        }));
    }
    for blow in &story.blows {
        let Disturbance::HalfMessage { name, token, stem, completed: true } = blow.deed else { continue };
        if blow.until == Time::MAX {
            continue;
        }
        letters.push(Letter {
            key: Handed::of(token, stem),
            to: name,
            stem,
            sender: None,
            ttl: None,
            tried: blow.from,
            accepted: blow.until,
            proof: vec![blow.line.clone()],
        });
    }
    letters
}

/// No message is handed over twice unless a reader died, and never twice by one command.
fn once(story: &Story<'_>, deliveries: &Deliveries<'_, '_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (key, all) in deliveries {
        let sound: Vec<&Delivery<'_, '_>> =
            all.iter().filter(|delivery| !delivery.is_excused(story)).collect();
        let in_one = all
            .iter()
            .enumerate()
            .any(|(at, delivery)| all[at + 1..].iter().any(|other| std::ptr::eq(other.op, delivery.op)));
        if sound.len() > 1 || in_one {
            let text =
                format!("{key:?} was handed over {} times, {} of them soundly", all.len(), sound.len());
            let proof = all.iter().flat_map(|delivery| delivery.op.proof()).collect();
            violations.push(Violation { promise: Promise::HandedOverOnce, text, proof });
        }
    }
    violations
}

fn lost(story: &Story<'_>, letter: &Letter<'_, '_>, handed: &[Delivery<'_, '_>]) -> Option<Violation> {
    if !handed.is_empty() || story.lies.contains_key(letter.stem) {
        return None;
    }
    let mut proof = letter.proof.clone();
    let text = match story.seen.get(letter.stem) {
        Some(line) if letter.ttl.is_some() && is_expiry(line) => return None,
        Some(line) => {
            proof.push((*line).clone());
            format!("{} is recorded as handed over, but nobody got it", letter.stem)
        }
        None => format!("{} was accepted for {}, and is nowhere", letter.stem, letter.to),
    };
    Some(Violation { promise: Promise::NothingIsLost, text, proof })
}

/// A message that is recorded as expired was handed over to nobody, except by a reader that died before it recorded
/// that.
fn expired(story: &Story<'_>, letter: &Letter<'_, '_>, handed: &[Delivery<'_, '_>]) -> Option<Violation> {
    if let Some(late) = late(story, letter, handed) {
        return Some(late);
    }
    let line = story.seen.get(letter.stem).filter(|line| is_expiry(line))?;
    let delivery = handed.iter().find(|delivery| !delivery.is_excused(story))?;
    let text = format!("{} is recorded as expired, and was handed over", letter.stem);
    let proof = [letter.proof.clone(), delivery.op.proof(), vec![(*line).clone()]].concat();
    Some(Violation { promise: Promise::HandedOverOnce, text, proof })
}

/// A command that began after a message had expired did not hand it over. Nobody knows when that was if the time of day
/// was changed.
fn late(story: &Story<'_>, letter: &Letter<'_, '_>, handed: &[Delivery<'_, '_>]) -> Option<Violation> {
    let due = letter.accepted.saturating_add(letter.ttl?);
    if story.blows.iter().any(|blow| matches!(blow.deed, Disturbance::Clock { .. })) {
        return None;
    }
    let delivery = handed.iter().find(|delivery| delivery.op.invoked > due)?;
    let text = format!("{} had expired, and was handed over", letter.stem);
    let proof = [letter.proof.clone(), delivery.op.proof()].concat();
    Some(Violation { promise: Promise::HandedOverOnce, text, proof })
}

/// Whether the line says that a message lies where those are that expired.
pub(super) fn is_expiry(line: &Line) -> bool {
    matches!(&line.event, Event::Lies { place, .. } if place.contains(",expired"))
}

/// If an agent certainly had the name while the message was sent, only its session may get it.
fn astray(
    story: &Story<'_>,
    holdings: &Holdings<'_>,
    letter: &Letter<'_, '_>,
    handed: &[Delivery<'_, '_>],
) -> Option<Violation> {
    let thing = Thing::name(letter.to);
    let owner = holdings.holders(&thing, letter.tried, letter.accepted).next()?;
    let session = story.session_of(owner.who)?;
    let stranger = handed.iter().find(|delivery| delivery.op.session != session)?;
    let text = format!("{} was sent to {session}, and {} got it", letter.stem, stranger.op.session);
    let proof = [letter.proof.clone(), owner.proof(), stranger.op.proof()].concat();
    Some(Violation { promise: Promise::ForTheRecipientAlone, text, proof })
}

/// Checks the order. Also returns how many pairs were compared.
fn order(
    story: &Story<'_>,
    letters: &[Letter<'_, '_>],
    deliveries: &Deliveries<'_, '_>,
) -> (Vec<Violation>, usize) {
    // By sender and recipient; the recipient is the session that got the message.
    let mut pairs: BTreeMap<(&str, &str), Vec<Arrived<'_, '_>>> = BTreeMap::new();
    for letter in letters {
        let Some(sender) = letter.sender else { continue };
        let Some(handed) = deliveries.get(&letter.key) else { continue };
        let pair = (sender.session, handed[0].op.session);
        pairs.entry(pair).or_default().push((letter, handed));
    }
    let mut readers: HashMap<&str, Vec<&Op<'_>>> = HashMap::new();
    for op in story.ops.iter().filter(|op| may_hold_back(op)) {
        readers.entry(op.session).or_default().push(op);
    }
    let (mut violations, mut compared) = (Vec::new(), 0);
    for ((_, recipient), all) in pairs {
        let others = readers.get(recipient).map_or(&[][..], Vec::as_slice);
        for (earlier, first) in &all {
            for (later, second) in all.iter().filter(|(later, _)| earlier.accepted < later.tried) {
                compared += 1;
                let Some(delivery) = second.iter().find(|delivery| comes_before(delivery, first)) else {
                    continue;
                };
                if is_held_back(others, delivery) || is_moved(story, recipient, delivery) {
                    continue;
                }
                let text = format!("{} was sent before {}, and came after it", earlier.stem, later.stem);
                let proof =
                    [earlier.proof.clone(), later.proof.clone(), delivery.op.proof(), first[0].op.proof()];
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

/// A reader that was interrupted, or a watcher, may have had a message in hand for a while and put it back.
fn may_hold_back(op: &Op<'_>) -> bool {
    match op.intent {
        Intent::Watch => true,
        Intent::Read { .. } | Intent::Hook { .. } => op.is_cut_short() || op.outcome == Outcome::Orphaned,
        _ => false,
    }
}

fn is_held_back(readers: &[&Op<'_>], delivery: &Delivery<'_, '_>) -> bool {
    let is_other = |op: &&&Op<'_>| !std::ptr::eq(**op, delivery.op);
    readers.iter().filter(is_other).any(|op| op.overlaps(delivery.op.invoked, delivery.op.ended))
}

/// Mail that moves to a grave or back arrives at a watcher one by one.
fn is_moved(story: &Story<'_>, recipient: &str, delivery: &Delivery<'_, '_>) -> bool {
    if *delivery.op.intent != Intent::Watch {
        return false;
    }
    let moves = |op: &&Op<'_>| {
        let own = op.session == recipient
            && matches!(op.intent, Intent::Leave | Intent::Join { .. } | Intent::Rename { .. });
        own || matches!(op.intent, Intent::Evict { .. }) && !op.is_refused()
    };
    story.ops.iter().filter(moves).any(|op| op.overlaps(delivery.op.invoked, delivery.op.ended))
}

/// A watcher that listened long enough, with a name that its agent certainly had, must have handed over what arrived.
fn unheard(
    story: &Story<'_>,
    holdings: &Holdings<'_>,
    letters: &[Letter<'_, '_>],
    deliveries: &Deliveries<'_, '_>,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    for watch in story.ops.iter().filter(|op| listens(op)) {
        for letter in letters {
            let due = letter.accepted.max(watch.invoked).saturating_add(HEARD_WITHIN);
            if due > watch.ended || letter.ttl.is_some() || is_spoilt(story, letter) {
                continue;
            }
            let handed = deliveries.get(&letter.key).map_or(&[][..], Vec::as_slice);
            if handed.iter().any(|delivery| delivery.op.invoked <= watch.ended) {
                continue;
            }
            let thing = Thing::name(letter.to);
            let owns = holdings.holders(&thing, letter.tried, watch.ended).any(|held| held.who == watch.who);
            if owns {
                let text = format!("{} lay there while {} listened", letter.stem, watch.who);
                let proof = [letter.proof.clone(), watch.proof()].concat();
                violations.push(Violation { promise: Promise::WatchersHear, text, proof });
            }
        }
    }
    violations
}

fn listens(op: &Op<'_>) -> bool {
    *op.intent == Intent::Watch && op.outcome == Outcome::Ok && op.ended - op.invoked > HEARD_WITHIN
}

/// Whether the nemesis took the message away or truncated it.
fn is_spoilt(story: &Story<'_>, letter: &Letter<'_, '_>) -> bool {
    let elsewhere = |line: &&Line| !format!("{:?}", line.event).contains("inbox/");
    letter.sender.is_none() || story.lies.get(letter.stem).is_some_and(elsewhere)
}

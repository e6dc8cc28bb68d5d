//! Checks that contested paths were taken only from holders that were silent for long enough.
//!
//! Whose name the holder's was, and which contest was taken up, must be certain. What the nemesis did meanwhile may have
//! kept a hook from knowing its agent, so such takings are not judged.

use super::holdings::{Holdings, Thing, covers};
use super::story::{Op, Outcome, Story};
use super::{Promise, Violation};
use crate::history::{Fate, Intent, Time};
use crate::place::CONTEST_SECONDS;

const TIMEOUT: Time = CONTEST_SECONDS * 1_000_000;

pub(super) fn check<'h>(story: &Story<'h>, holdings: &Holdings<'h>) -> Vec<Violation> {
    let is_taking = |op: &&Op<'h>| matches!(op.intent, Intent::TakeOver { .. }) && op.outcome == Outcome::Ok;
    story.ops.iter().filter(is_taking).flat_map(|taking| check_one(story, holdings, taking)).collect()
}

fn check_one<'h>(story: &Story<'h>, holdings: &Holdings<'h>, taking: &Op<'h>) -> Vec<Violation> {
    let Some((holder, pattern)) = &taking.answer.contested else { return Vec::new() };
    let Some(contest) = contest_of(story, taking, pattern) else { return Vec::new() };
    let violation = |text: String, proof: &Op<'h>| {
        let proof = contest.proof().into_iter().chain(proof.proof()).chain(taking.proof()).collect();
        Violation { promise: Promise::OnlyFromTheSilent, text, proof }
    };
    let mut violations = Vec::new();
    if taking.ended.saturating_sub(contest.invoked) < TIMEOUT {
        violations.push(violation(format!("`{pattern}` was taken before the time was over"), contest));
    }
    let was_disturbed =
        story.blows.iter().any(|blow| blow.from <= taking.ended && blow.until >= contest.invoked);
    if was_disturbed {
        return violations;
    }
    for held in holdings.holders(&Thing::name(holder), contest.invoked, taking.ended) {
        let own = story.ops.iter().filter(|op| op.who == held.who);
        let between = own.filter(|op| op.invoked > contest.ended && op.ended < taking.invoked);
        for sign in between.filter(|op| is_sign(op, pattern)) {
            violations.push(violation(format!("`{pattern}` was taken although its holder edited it"), sign));
        }
    }
    violations
}

/// The contest that was taken up: the last that the taker certainly made, if it can't have made another one since.
fn contest_of<'s, 'h>(story: &'s Story<'h>, taking: &Op<'h>, pattern: &str) -> Option<&'s Op<'h>> {
    let is_contest = |op: &&Op<'h>| op.who == taking.who && matches!(op.intent, Intent::Contest { .. });
    let earlier = story.ops.iter().filter(is_contest).filter(|op| op.invoked < taking.invoked);
    let of_pattern = |op: &&Op<'h>| op.answer.contested.as_ref().is_some_and(|(_, held)| held == pattern);
    let made = |op: &&Op<'h>| op.outcome == Outcome::Ok && op.answer.fresh == Some(true);
    let contest = earlier.clone().filter(of_pattern).filter(made).max_by_key(|op| op.ended)?;
    let is_doubtful = |op: &Op<'h>| op.outcome != Outcome::Ok && !op.is_refused();
    let mut later = earlier.filter(|op| op.invoked > contest.invoked);
    (!later.any(is_doubtful)).then_some(contest)
}

/// Whether a hook of the holder let an edit inside the pattern through.
fn is_sign(op: &Op<'_>, pattern: &str) -> bool {
    let Intent::Hook { event, path: Some(path) } = op.intent else { return false };
    let is_done = op.outcome == Outcome::Ok && op.fate == Fate::Lives && op.answer.free == Some(true);
    event == "PreToolUse" && is_done && covers(pattern, path)
}

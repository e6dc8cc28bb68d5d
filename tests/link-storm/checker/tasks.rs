//! Checks that a task is completed by its owner alone, and once between two reopenings.

use std::collections::BTreeMap;

use super::holdings::{Holdings, Thing};
use super::story::{Op, Outcome, Story};
use super::{Promise, Violation};
use crate::history::Intent;

/// The violations, and how many completions were looked at.
pub(super) fn check(story: &Story<'_>, holdings: &Holdings<'_>) -> (Vec<Violation>, usize) {
    let mut completions: BTreeMap<&str, Vec<&Op<'_>>> = BTreeMap::new();
    let mut reopenings: BTreeMap<&str, Vec<&Op<'_>>> = BTreeMap::new();
    for op in &story.ops {
        match op.intent {
            Intent::Complete { task } if op.outcome == Outcome::Ok && !op.answer.already => {
                completions.entry(task).or_default().push(op);
            }
            // One that fails here may have opened it on the server before.
            Intent::Reopen { task } => reopenings.entry(task).or_default().push(op),
            _ => {}
        }
    }
    let mut violations = Vec::new();
    let mut count = 0;
    for (task, completions) in &mut completions {
        completions.sort_by_key(|op| op.ended);
        count += completions.len();
        for op in completions.iter() {
            violations.extend(by_loser(holdings, task, op));
        }
        let reopenings = reopenings.get(task).map_or(&[][..], Vec::as_slice);
        for pair in completions.windows(2) {
            // It was opened after the first one was begun, and before the second one was answered.
            if !reopenings.iter().any(|op| op.overlaps(pair[0].invoked, pair[1].ended)) {
                let text = format!("{task} was completed twice, and nobody opened it in between");
                let proof = [pair[0].proof(), pair[1].proof()].concat();
                violations.push(Violation { promise: Promise::CompletedOnce, text, proof });
            }
        }
    }
    (violations, count)
}

/// Somebody else certainly had the task all the time that this completion took.
fn by_loser(holdings: &Holdings<'_>, task: &str, op: &Op<'_>) -> Option<Violation> {
    let thing = Thing::Task(task.to_string());
    let mut holders = holdings.holders(&thing, op.invoked, op.ended);
    let owner = holders.find(|held| held.session != op.session)?;
    let text = format!("{} completed {task}, which {} had", op.who, owner.who);
    let proof = [owner.proof(), op.proof()].concat();
    Some(Violation { promise: Promise::LosersCompleteNothing, text, proof })
}

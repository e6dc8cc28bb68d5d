//! The tasks of a crew, and what is reviewed, in JSON.

use serde_json::{Value, json};

use crate::domain::runs::{CrewEnd, CrewTest, ReviewOutcome, ReviewedBill, Run};
use crate::ops::crew::{CrewTask, CrewTaskState};
use crate::store::ReviewedWork;

use super::bill::sum;

/// A task with all attempts at it.
pub(in crate::faces) fn crew_task(task: &CrewTask) -> Value {
    let reason = match &task.state {
        CrewTaskState::Held(why) | CrewTaskState::Blocked(why) => Some(why.clone()),
        CrewTaskState::Waiting(needs) => Some(format!("needs {}", needs.join(", "))),
        CrewTaskState::Ready | CrewTaskState::Live | CrewTaskState::Done => None,
    };
    let bill = task.bill();
    json!({
        "id": task.spec.id,
        "title": task.spec.title,
        "state": task.state.name(),
        "reason": reason,
        "needs": task.spec.needs,
        "by": task.runs.last().and_then(|run| run.agent.as_ref()).map(ToString::to_string),
        "attempts": task.runs.len(),
        "verdicts": task.runs.iter().filter_map(verdict).collect::<Vec<_>>(),
        "commit": task.commit(),
        "evidence": proof(task).map(test),
        "outside": task.outside_plan(),
        "runs": task.runs.iter().map(attempt).collect::<Vec<_>>(),
        "tokens": bill.all().known_tokens(),
        "costUsd": bill.all().known().map(|known| known.dollars()),
        "bill": reviewed_bill(&bill),
    })
}

/// What builders and reviewers cost.
pub(in crate::faces) fn reviewed_bill(bill: &ReviewedBill) -> Value {
    json!({"builders": sum(&bill.builders), "reviewers": sum(&bill.reviewers)})
}

/// What a reviewer was asked to look at.
pub(in crate::faces) fn reviewed(work: &ReviewedWork) -> Value {
    let (kind, commits) = match &work.run {
        None => ("commits", Some(work.commits)),
        Some(run) if *run == work.named => ("run", None),
        Some(_) => ("task", None),
    };
    json!({
        "kind": kind,
        "named": work.named,
        "run": work.run,
        "task": work.task,
        "base": work.base,
        "tip": work.tip,
        "commits": commits,
        "files": work.files,
    })
}

/// The verdict of the reviewer of a run.
fn verdict(run: &Run) -> Option<&'static str> {
    match run.review.as_ref()?.outcome {
        ReviewOutcome::Given(ref review) => Some(review.verdict.name()),
        _ => None,
    }
}

fn attempt(run: &Run) -> Value {
    let end = run.crew.as_ref().and_then(|part| part.end.as_ref());
    json!({
        "id": run.id.as_str(),
        "profile": run.profile,
        "harness": run.harness,
        "agent": run.agent.as_ref().map(ToString::to_string),
        "state": run.state.name(),
        "end": end.map(|end| end.name().replace(' ', "_")),
        "reason": end.and_then(end_reason).or_else(|| run.reason.clone()),
        "verdict": verdict(run),
        "reviewRun": run.review.as_ref().and_then(|review| review.run.as_ref()).map(ToString::to_string),
    })
}

/// What kept it from the branch, in a sentence.
pub(in crate::faces) fn end_reason(end: &CrewEnd) -> Option<String> {
    match end {
        CrewEnd::Merged { .. } | CrewEnd::Nothing | CrewEnd::NotShipped => None,
        CrewEnd::Unproven(test) => Some(format!("`{}` ended with {}", test.command, test.how)),
        CrewEnd::Conflict(files) => Some(format!("in conflict: {}", files.join(", "))),
        CrewEnd::RedTogether(test) => {
            Some(format!("together with the others, `{}` ended with {}", test.command, test.how))
        }
        CrewEnd::GivenAway(why) | CrewEnd::Stuck(why) => Some(why.clone()),
    }
}

/// What proves that a task is done.
pub(in crate::faces) fn proof(task: &CrewTask) -> Option<&CrewTest> {
    let is_done = task.state == CrewTaskState::Done;
    task.runs.iter().rev().filter_map(|run| run.crew.as_ref()).find_map(|part| match &part.end {
        Some(CrewEnd::Merged { proof, .. }) => proof.as_ref(),
        // Its supervisor died between completing the task and its own end.
        None if is_done => part.proven.as_ref().map(|proven| &proven.test),
        _ => None,
    })
}

fn test(test: &CrewTest) -> Value {
    json!({"command": test.command, "exitCode": test.exit_code, "tail": test.tail})
}

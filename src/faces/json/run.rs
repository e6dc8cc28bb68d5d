//! Runs in JSON.

use serde_json::{Value, json};

use crate::domain::link::{BranchPush, RemoteAsker};
use crate::domain::runs::{
    EarlierRun, GrantKind, Granter, MicroUsd, ReviewFinding, ReviewOutcome, Run, RunId, RunPane, RunQuestion,
    RunReview, Usage,
};
use crate::ops::runs::tell::{AnswerChoice, answer_command};
use crate::store::iso;

/// A run, as the ledger has it.
pub(in crate::faces) fn run(run: &Run) -> Value {
    let Usage { input, output, cache_read, cache_write, turns } = run.usage;
    let is_nothing_known = run.usage == Usage::default();
    let usage = json!({
        "input": input,
        "output": output,
        "cacheRead": cache_read,
        "cacheWrite": cache_write,
        "turns": turns,
    });
    let (retries, resumes) = match &run.earlier {
        Some(EarlierRun::Retried(id)) => (Some(id.as_str()), None),
        Some(EarlierRun::Resumed(id)) => (None, Some(id.as_str())),
        None => (None, None),
    };
    let mut keys = json!({
        "id": run.id.as_str(),
        "state": run.state.name(),
        "supervisorPid": run.elsewhere.is_none().then(|| run.owner.pid().get()),
        "task": run.task,
        "profile": run.profile,
        "harness": run.harness,
        "version": run.version,
        "model": run.model,
        "agent": run.agent.as_ref().map(ToString::to_string),
        "parent": run.parent.agent.as_ref().map(ToString::to_string),
        "parentRun": run.parent.run.as_ref().map(ToString::to_string),
        "root": run.root,
        "project": run.project,
        "retries": retries,
        "resumes": resumes,
        "session": run.session.as_ref().map(ToString::to_string),
        "queuedAt": iso(run.queued_at),
        "startedAt": run.started_at.map(iso),
        "endedAt": run.ended_at.map(iso),
        "doing": run.doing,
        "result": run.result,
        "reason": run.reason,
        "usage": if is_nothing_known { Value::Null } else { usage },
        "costUsd": run.cost.amount().map(|amount| amount.dollars()),
        "costIs": run.cost.name(),
        "granted": granted(run),
        "branch": run.branch,
        "changed": run.changed,
        "saved": run.saved,
        "outside": run.outside,
        "tmux": run.pane.as_ref().map(pane),
        "question": run.question.as_ref().map(RunQuestion::line).or_else(|| Some(run.dialog.as_ref()?.line())),
        "answerWith": answer_with(run),
        "choices": run.dialog.as_ref().map(|dialog| dialog.choices.clone()),
        "until": run.until.map(iso),
        "reserve": run.reserve,
        "claim": run.claim.as_ref().map(|claim| json!({"task": claim.task, "spec": claim.spec, "number": claim.number})),
    });
    // The macro takes only so many keys.
    keys["review"] = run.review.as_ref().map(review).into();
    keys["machine"] = run.elsewhere.as_ref().map(|place| place.machine.as_str()).into();
    keys["idThere"] = run.elsewhere.as_ref().and_then(|place| place.there.as_ref()).map(RunId::as_str).into();
    keys["push"] = run.elsewhere.as_ref().and_then(|place| place.push.as_ref()).map(push).into();
    keys["askedBy"] = run.asked_by.as_ref().map(asked_by).into();
    keys["reviews"] = run.reviews.as_ref().map(ToString::to_string).into();
    keys
}

/// What became of the branch of a run on another machine.
fn push(push: &BranchPush) -> Value {
    json!({"remote": push.remote, "problem": push.problem})
}

/// Who asked for it on another machine.
fn asked_by(asker: &RemoteAsker) -> Value {
    let agent = asker.agent.as_ref().map(ToString::to_string);
    json!({"machine": asker.machine.as_str(), "agent": agent, "id": asker.id.as_str()})
}

/// What a reviewer thinks of it, or why nobody does.
pub(in crate::faces) fn review(review: &RunReview) -> Value {
    let (verdict, reason) = match &review.outcome {
        ReviewOutcome::Pending { .. } => (None, None),
        ReviewOutcome::Given(given) => (Some(given.verdict.name()), None),
        ReviewOutcome::Missing(why) => (None, Some(why)),
    };
    let finding =
        |finding: &ReviewFinding| json!({"file": finding.file, "line": finding.line, "text": finding.text});
    json!({
        "profile": review.profile,
        "run": review.run.as_ref().map(ToString::to_string),
        "verdict": verdict,
        "findings": review.findings().iter().map(finding).collect::<Vec<Value>>(),
        "reason": reason,
        "pending": matches!(review.outcome, ReviewOutcome::Pending { .. }),
    })
}

/// The tmux pane of its worker.
fn pane(pane: &RunPane) -> Value {
    json!({
        "socket": pane.socket,
        "pane": pane.id,
        "place": pane.place,
        "keeperPid": pane.keeper.pid().get(),
        "ready": pane.is_ready,
        "prompts": pane.prompts,
        "turns": pane.turns,
    })
}

/// The command that answers what it asks.
fn answer_with(run: &Run) -> Option<String> {
    let by_hook = run.question.as_ref().map(|question| answer_command(run, question, AnswerChoice::Allow));
    by_hook.or_else(|| Some(run.dialog.as_ref()?.answer_command(&run.id)))
}

/// What it may use up with the runs that its worker starts, and who granted that: a run, or the budget of the repository.
fn granted(run: &Run) -> Value {
    if run.grant.is_unlimited() {
        return Value::Null;
    }
    let by = |kind| match run.grant.by(kind) {
        Some(Granter::Run(id)) => Some(id.as_str()),
        Some(Granter::Budget(_)) => Some("budget"),
        None => None,
    };
    json!({
        "usd": run.grant.amount(GrantKind::Usd).map(|micros| MicroUsd::from_micros(micros).dollars()),
        "usdBy": by(GrantKind::Usd),
        "tokens": run.grant.amount(GrantKind::Tokens),
        "tokensBy": by(GrantKind::Tokens),
    })
}

//! What a worker does when all goes well.

use std::time::Duration;

use ravenry::harness::worker::PermissionQuestions;
use serde_json::Value;

use super::stage::{SAID, Stage};
use crate::model::Step;
use crate::processes;
use crate::report::Report;
use crate::scene::{Ended, FREE, NEW, OLD};
use crate::trial::run::{Checked, ensure};
use crate::wait;

const EDITS: &str = "`msg run` lets it edit a file, and has its result and what it used";
const CONTINUED: &str = "its session is continued, and only what is new is counted";
const ASKS: &str = "what it may not do, it asks its parent";
const READS: &str = "a worker that only reads changes nothing";

/// How long a client may take to get to its question.
const PATIENCE: Duration = Duration::from_secs(120);
/// What every answer of the model reports.
const TOKENS_IN: u64 = 100;
const TOKENS_OUT: u64 = 10;

/// The run is in this state.
pub fn is_in(run: &Value, state: &str) -> Checked {
    ensure(run["state"] == state, || format!("it is {} and not {state}: {}", run["state"], run["reason"]))
}

/// No process of a worker is left.
pub fn nothing_left(stage: &Stage<'_>, run: &Value) -> Checked {
    let id = run["id"].as_str().unwrap_or_default();
    let left = processes::started_with("MSG_RUN", id);
    ensure(!id.is_empty() && left.is_empty(), || {
        format!("{id} has left {left:?} in {}", stage.trial.client.name())
    })
}

pub fn edits(stage: &Stage<'_>, report: &mut Report) {
    let (trial, steps) = (stage.trial, stage.editing());
    let answers = steps.len() as u64;
    trial.scene.restore();
    let (answer, ended) = stage.play(steps, &["run", "edits", "Please rename it."]);
    let run = &answer["run"];
    let checked = is_in(run, "done")
        .and_then(|()| ensure(run["result"] == SAID, || format!("its result is {}", run["result"])))
        .and_then(|()| {
            let text = trial.scene.text(FREE);
            ensure(text == format!("{NEW}\n"), || format!("{FREE} is {text:?}"))
        })
        .and_then(|()| used(run, answers))
        .and_then(|()| cost(stage, run))
        .and_then(|()| ensure(run["agent"].is_string(), || "it has not joined".to_string()))
        .and_then(|()| ensure(run["session"].is_string(), || "its session is not known".to_string()))
        .and_then(|()| nothing_left(stage, run));
    report.check(trial.client.name(), EDITS, checked, &|| stage.evidence(&ended));
}

/// What so many answers of the model used.
fn used(run: &Value, answers: u64) -> Checked {
    let usage = &run["usage"];
    let [input, output] = ["input", "output"].map(|name| usage[name].as_u64());
    let expected = (Some(answers * TOKENS_IN), Some(answers * TOKENS_OUT));
    ensure((input, output) == expected, || format!("{answers} answers used {usage}"))
}

/// The cost is reported, or it is not known; it is never 0 because nobody said anything.
fn cost(stage: &Stage<'_>, run: &Value) -> Checked {
    let (is, amount) = (run["costIs"].as_str().unwrap_or_default(), &run["costUsd"]);
    let is_right = match stage.trial.client.tells_cost() {
        true => is == "reported" && amount.is_number(),
        false => is == "unknown" && amount.is_null(),
    };
    ensure(is_right, || format!("its cost is {amount}, {is}"))
}

pub fn is_continued(stage: &Stage<'_>, report: &mut Report) {
    stage.trial.scene.restore();
    let (first, ended) = stage.play(stage.editing(), &["run", "edits", "Please rename it once."]);
    let id = first["run"]["id"].as_str().unwrap_or("none").to_string();
    let before = first["run"]["costUsd"].as_f64();
    let (second, again) = stage.play(vec![Step::say("That is all.")], &["runs", "resume", &id, "And now?"]);
    let run = &second["run"];
    let checked = is_in(&first["run"], "done")
        .map_err(|wrong| format!("{wrong} {ended:?}"))
        .and_then(|()| is_in(run, "done"))
        .and_then(|()| {
            ensure(run["session"] == first["run"]["session"], || {
                format!("its session is {} and not {}", run["session"], first["run"]["session"])
            })
        })
        .and_then(|()| ensure(run["result"] == "That is all.", || format!("its result is {}", run["result"])))
        .and_then(|()| used(run, 1))
        .and_then(|()| {
            let is_less = match (run["costUsd"].as_f64(), before) {
                (Some(now), Some(before)) => now < before || before == 0.0,
                (now, before) => now == before,
            };
            ensure(is_less, || format!("it cost {} after {before:?}", run["costUsd"]))
        });
    report.check(stage.trial.client.name(), CONTINUED, checked, &|| stage.evidence(&again));
}

/// A worker asks its parent about what it may not do, and the answer counts.
pub fn asks(stage: &Stage<'_>, report: &mut Report) {
    let name = stage.trial.client.name();
    let adapter =
        ravenry::harness::parse(name).and_then(ravenry::harness::support).and_then(|it| it.worker());
    if adapter.is_none_or(|adapter| adapter.questions() == PermissionQuestions::Fixed) {
        return report.skip(ASKS, "its policy is fixed at the start");
    }
    let checked = answered(stage, "allow", |made, run| {
        is_in(run, "done").and_then(|()| ensure(made, || "what was allowed was not done".to_string()))
    });
    let checked = checked.and_then(|()| {
        answered(stage, "deny", |made, run| {
            ensure(run["endedAt"].is_string() && !made, || format!("{} after a no: {run}", run["state"]))
        })
    });
    let none = Ended { code: None, stdout: String::new(), stderr: String::new() };
    report.check(name, ASKS, checked, &|| stage.evidence(&none));
}

/// Answers the question of a worker, and checks whether what it asked about was done.
fn answered(stage: &Stage<'_>, choice: &str, check: impl Fn(bool, &Value) -> Checked) -> Checked {
    let made = stage.trial.scene.repo().join("made");
    drop(std::fs::remove_file(&made));
    let writes = stage.trial.client.shell("python3 -c 'open(\"made\", \"w\")'");
    let steps = vec![Step::call(writes), Step::say("I tried.")];
    let running = stage.start(steps, &["run", "asks", choice, "--timeout", "300"]);
    let show = |args: &[&str]| -> Value {
        serde_json::from_str(&stage.trial.scene.run(&mut stage.msg(args)).stdout).unwrap_or_default()
    };
    let waits = || {
        let newest = show(&["runs"])["runs"][0].clone();
        (newest["state"] == "waiting" && newest["task"] == choice).then_some(newest)
    };
    let asked = wait::until("it asks its parent", PATIENCE, waits);
    let told = asked.and_then(|run| {
        let text = run["question"].to_string();
        ensure(text.contains("made"), || format!("it asks {text}"))?;
        let id = run["id"].as_str().unwrap_or_default().to_string();
        let answer = show(&["tell", &id, "--answer", choice]);
        ensure(answer["ok"] == true, || answer.to_string())
    });
    let ended = match told {
        Ok(()) => stage.trial.scene.wait_for(running),
        Err(wrong) => {
            let so_far = running.end(None);
            return Err(format!("{wrong}: {so_far:?}"));
        }
    };
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    check(made.exists(), &answer["run"]).and_then(|()| nothing_left(stage, &answer["run"]))
}

pub fn only_reads(stage: &Stage<'_>, report: &mut Report) {
    stage.trial.scene.restore();
    let (answer, ended) = stage.play(stage.editing(), &["run", "reads", "Please rename it, if you can."]);
    let text = stage.trial.scene.text(FREE);
    let has_ended = answer["run"]["endedAt"].is_string();
    let checked = ensure(has_ended, || "it has not ended".to_string())
        .and_then(|()| ensure(text == format!("{OLD}\n"), || format!("{FREE} is {text:?}")));
    report.check(stage.trial.client.name(), READS, checked, &|| stage.evidence(&ended));
}

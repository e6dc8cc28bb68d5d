//! What a worker does when all goes well.

use serde_json::Value;

use super::stage::{SAID, Stage};
use crate::model::Step;
use crate::processes;
use crate::report::Report;
use crate::scene::{FREE, NEW, OLD};
use crate::trial::run::{Checked, ensure};

const EDITS: &str = "`msg run` lets it edit a file, and has its result and what it used";
const CONTINUED: &str = "its session is continued, and only what is new is counted";
const READS: &str = "a worker that only reads changes nothing";

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

pub fn only_reads(stage: &Stage<'_>, report: &mut Report) {
    stage.trial.scene.restore();
    let (answer, ended) = stage.play(stage.editing(), &["run", "reads", "Please rename it, if you can."]);
    let text = stage.trial.scene.text(FREE);
    let has_ended = answer["run"]["endedAt"].is_string();
    let checked = ensure(has_ended, || "it has not ended".to_string())
        .and_then(|()| ensure(text == format!("{OLD}\n"), || format!("{FREE} is {text:?}")));
    report.check(stage.trial.client.name(), READS, checked, &|| stage.evidence(&ended));
}

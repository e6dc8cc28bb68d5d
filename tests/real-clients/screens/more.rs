//! What is not tried with every change: a long prompt, a killed worker, an account at its limit.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::stage::{PATIENCE, Stage};
use crate::model::Step;
use crate::processes;
use crate::report::Report;
use crate::trial::run::{Checked, ensure};
use crate::wait;

const LONG: &str = "a task of 60 KB is taken once, as it is";
const KILLED: &str = "killed, its run has failed and it has ended";
const LIMITED: &str = "at its limit, it is limited";

pub fn go(stage: &Stage<'_>, report: &mut Report) {
    let mut check = |what: &str, result: Checked| {
        report.check(stage.client(), what, result, &|| stage.evidence());
    };
    let long = long(stage);
    let id = long.as_ref().ok().and_then(|run| run["id"].as_str()).map(str::to_string);
    check(LONG, long.map(drop));
    if let Some(id) = id {
        check(KILLED, killed(stage, &id));
    }
    if stage.worker.trial.client.waits_at_limits() || stage.client() == "gemini" {
        report.skip(LIMITED, "it asks again and again, and says nothing");
    } else {
        check(LIMITED, limited(stage));
    }
}

/// Returns the run, whose turn is over.
fn long(stage: &Stage<'_>) -> Checked<Value> {
    stage.play(Vec::new());
    let lines: Vec<String> =
        (0..1200).map(|line| format!("line {line} of a task that is really very long;")).collect();
    let task = lines.join("\n");
    let file = stage.worker.trial.scene.home().join("task.md");
    fs::write(&file, &task).map_err(|error| error.to_string())?;
    let path = file.display().to_string();
    let args = ["run", "edits", "--file", &path, "--tmux", "--detach", "--name", "Long"];
    let run = stage.must(&[&args, stage.trusting()].concat())?["run"].clone();
    stage.is_taken_once(&task)?;
    stage.until("Long", &["idle"])?;
    Ok(run)
}

fn killed(stage: &Stage<'_>, id: &str) -> Checked {
    let program = &stage.worker.trial.program;
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let all = processes::started_with("MSG_RUN", id);
    let ours =
        |line: &str| line.contains("msg keeper") || line.contains(" hook ") || line.contains(" waiter ");
    let its: Vec<_> = all.iter().filter(|process| !ours(&process.line)).collect();
    ensure(!its.is_empty(), || format!("no process of {name} in {all:?}"))?;
    its.iter().for_each(|process| process.end(Signal::SIGKILL));
    stage.until_run(id, "failed")?;
    let look = stage.look(id);
    ensure(look["state"] == "ended", || format!("it is {} by {}", look["state"], look["restsOn"]))
}

fn limited(stage: &Stage<'_>) -> Checked {
    let message = json!({ "type": "error", "error": { "type": "rate_limit_error", "code": 429,
        "status": "RESOURCE_EXHAUSTED", "message": "You have hit your usage limit. Try again later." } });
    let refusals: Vec<Step> = (0..40).map(|_| Step::refuse(429, message.clone())).collect();
    stage.worker.trial.server.play(stage.client(), refusals);
    let run = stage.start("edits", "Limited", "Ask your model.")?;
    let id = run["id"].as_str().unwrap_or_default().to_string();
    let found = wait::until("it is limited", 2 * PATIENCE, || {
        let look = stage.look(&id);
        (look["state"] == "limited" || !look["trouble"].is_null()).then_some(look)
    });
    stage.msg(&["runs", "stop", &id, "--now"]);
    drop(fs::remove_dir_all(stage.worker.trial.scene.home().join(".local/state/ravenry/limits")));
    let look = found?;
    ensure(look["state"] == "limited", || format!("it is {}, trouble {}", look["state"], look["trouble"]))
}

//! What is not tried with every change: a worker that starts, a long prompt, a killed worker, an account at its limit,
//! one that is not logged in, and a dialog of an agent that is nobody's worker.

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
const STARTING: &str = "until it is ready, it is starting";
const LIMITED: &str = "at its limit, it is limited";
const LOGIN: &str = "that its user has to log in is told";
const BY_HAND: &str = "what an agent asks that its user started is answered by `tell --answer`";

pub fn go(stage: &Stage<'_>, report: &mut Report) {
    let mut check = |what: &str, result: Checked| {
        report.check(stage.client(), what, result, &|| stage.evidence());
    };
    check(STARTING, starting(stage));
    let long = long(stage);
    let id = long.as_ref().ok().and_then(|run| run["id"].as_str()).map(str::to_string);
    check(LONG, long.map(drop));
    if let Some(id) = id {
        check(KILLED, killed(stage, &id));
    }
    check(LIMITED, limited(stage));
    check(LOGIN, login(stage));
    // As a worker it asks nothing, and the others were asked before.
    if stage.client() == "opencode" {
        check(BY_HAND, by_hand(stage));
    }
}

/// What `look` says from the first moment on at which there is a run.
fn starting(stage: &Stage<'_>) -> Checked {
    stage.play(Vec::new());
    let scene = &stage.worker.trial.scene;
    let args = ["run", "edits", "Say a word.", "--tmux", "--detach", "--name", "Early"];
    let running = scene.start(&mut stage.worker.msg(&[&args, stage.trusting()].concat()));
    let id = wait::until("its run is there", PATIENCE, || {
        let runs = stage.msg(&["runs"]).0;
        let run = runs["runs"].as_array()?.iter().find(|run| run["task"] == "Say a word.")?;
        run["id"].as_str().map(str::to_string)
    });
    let mut states: Vec<String> = Vec::new();
    let ready = id.clone().and_then(|id| {
        wait::until("it is ready", PATIENCE, || {
            let look = stage.look(&id);
            let state = look["state"].as_str().map_or_else(|| look.to_string(), str::to_string);
            if states.last() != Some(&state) {
                states.push(state.clone());
            }
            ["working", "idle"].contains(&state.as_str()).then_some(())
        })
    });
    let ended = scene.wait_for(running);
    if let Ok(id) = &id {
        stage.msg(&["runs", "stop", id, "--now"]);
    }
    ready?;
    ensure(ended.code == Some(0), || format!("{ended:?}"))?;
    ensure(states.first().is_some_and(|first| first == "starting"), || format!("it was {states:?}"))
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
    let message = match stage.client() {
        // It goes on asking unless a day's quota is used up.
        "gemini" => json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED",
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "details": [{ "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] }] } }),
        _ => json!({ "type": "error", "error": { "type": "rate_limit_error", "code": 429,
            "status": "RESOURCE_EXHAUSTED", "message": "You have hit your usage limit. Try again later." } }),
    };
    let look = refused(stage, 429, &message, |look| look["state"] == "limited")?;
    ensure(look["state"] == "limited", || format!("it is {}, trouble {}", look["state"], look["trouble"]))
}

fn login(stage: &Stage<'_>) -> Checked {
    let (status, message) = match stage.client() {
        "gemini" => (
            400,
            json!({ "error": { "code": 400, "message": "API key not valid. Please pass a valid API key.",
                "status": "INVALID_ARGUMENT", "details": [{
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" }] } }),
        ),
        _ => (
            401,
            json!({ "type": "error", "error": { "type": "authentication_error", "code": 401,
                "message": "Incorrect API key provided: dummy." } }),
        ),
    };
    let look = refused(stage, status, &message, |look| look["needsLogin"] == true)?;
    ensure(look["needsLogin"] == true, || format!("it is {}, trouble {}", look["state"], look["trouble"]))
}

/// Starts a worker whose model refuses everything with this. Returns the look that shows what is wanted, or trouble.
fn refused(
    stage: &Stage<'_>,
    status: u16,
    message: &Value,
    is_so: impl Fn(&Value) -> bool,
) -> Checked<Value> {
    let refusals: Vec<Step> = (0..40).map(|_| Step::refuse(status, message.clone())).collect();
    stage.worker.trial.server.play(stage.client(), refusals);
    let run = stage.start("edits", "Refused", "Ask your model.")?;
    let id = run["id"].as_str().unwrap_or_default().to_string();
    let found = wait::until("it says why it was refused", 2 * PATIENCE, || {
        let look = stage.look(&id);
        (is_so(&look) || !look["trouble"].is_null()).then_some(look)
    });
    let found = found.map_err(|wrong| format!("{wrong}\n{}", stage.evidence()));
    stage.msg(&["runs", "stop", &id, "--now"]);
    drop(fs::remove_dir_all(stage.worker.trial.scene.home().join(".local/state/ravenry/limits")));
    found
}

/// An agent that a person started in tmux, and which asks before it runs a command.
fn by_hand(stage: &Stage<'_>) -> Checked {
    let trial = stage.worker.trial;
    trial.client.ask_before_commands(&trial.scene);
    trial.scene.msg(&["config", "set", "autoRegister", "true"]);
    stage.play(vec![Step::call(stage.shell("touch asked")), Step::say("It is done.")]);
    let url = trial.server.url(stage.client());
    let words = "Ask me first.";
    // Some of the workers may be listed until somebody notices that they are gone.
    let before = trial.scene.names();
    stage.open(&stage.seat.start(trial.client, &trial.program, &url, (words, None)));
    let name = wait::until("it joins", PATIENCE, || {
        trial.scene.names().into_iter().find(|name| !before.contains(name))
    })?;
    let look = stage.until(&name, &["waiting"])?;
    super::checks::answer(stage, &name, &look)?;
    let asked = trial.scene.repo().join("asked");
    wait::until("its command runs", PATIENCE, || asked.exists().then_some(()))?;
    stage.until(&name, &["idle"]).map(drop)
}

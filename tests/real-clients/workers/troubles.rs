//! What can go wrong with a worker.

use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::checks::{is_in, nothing_left};
use super::stage::{SAID, Stage};
use crate::model::Step;
use crate::processes::{self, Process};
use crate::report::Report;
use crate::trial::run::{Checked, ensure};
use crate::wait;

const LIMITED: &str = "at its limit, it says so";
const REFUSED: &str = "an option that it does not know is a version that the adapter does not know";
const ABSENT: &str = "not installed, it is not started";
const LOGGED_OUT: &str = "not logged in, it says so";
const HANGS: &str = "hanging, it is ended after its time";
const KILLED: &str = "killed, it has failed";
const LONG_LINE: &str = "a line of 100 MB does no harm";

/// How long a client may take to get to its model.
const PATIENCE: Duration = Duration::from_secs(120);
/// The most that a supervisor may need in memory, in KiB.
const MOST_MEMORY: u64 = 40 * 1024;

pub fn all(stage: &Stage<'_>, report: &mut Report) {
    let name = stage.trial.client.name();
    let mut check = |what: &str, try_it: &dyn Fn(&Stage<'_>) -> Checked| {
        let checked = try_it(stage);
        let evidence = || {
            let none = crate::scene::Ended { code: None, stdout: String::new(), stderr: String::new() };
            stage.evidence(&none)
        };
        report.check(name, what, checked, &evidence);
        stage.put_client();
    };
    check(LIMITED, &limited);
    check(REFUSED, &refused);
    check(LOGGED_OUT, &logged_out);
    check(HANGS, &hangs);
    check(KILLED, &killed);
    check(LONG_LINE, &long_line);
    check(ABSENT, &absent);
}

/// The model's server refuses every request.
fn refusals(status: u16, body: &Value) -> Vec<Step> {
    (0..20).map(|_| Step::refuse(status, body.clone())).collect()
}

/// The error of the model's server, as all four APIs write it.
fn error(status: u16, kind: &str, google: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "code": status, "status": google, "message": message } })
}

fn reason(run: &Value, words: &str) -> Checked {
    let reason = run["reason"].as_str().unwrap_or_default();
    ensure(reason.contains(words), || format!("its reason is {reason:?}"))
}

fn limited(stage: &Stage<'_>) -> Checked {
    // Some ask again for a minute, and nobody can tell them not to.
    let limit = if stage.trial.client.waits_at_limits() { "30" } else { "130" };
    let body = error(429, "rate_limit_error", "RESOURCE_EXHAUSTED", "Rate limit reached");
    let args = ["run", "edits", "a", "--timeout", limit, "--detach"];
    let (answer, _) = stage.play(refusals(429, &body), &args);
    let id = answer["run"]["id"].as_str().unwrap_or("none").to_string();
    let shown = || {
        let ended = stage.trial.scene.run(&mut stage.msg(&["runs", "show", &id]));
        let answer: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
        answer["run"].clone()
    };
    let wait_for = |state: &str, words: &str| {
        wait::until(&format!("it is {state}"), 2 * PATIENCE, || {
            let run = shown();
            let is_so = run["state"] == state && reason(&run, words).is_ok();
            is_so.then_some(run)
        })
    };
    let checked = if stage.trial.client.waits_at_limits() {
        wait_for("timeout", "").and_then(|run| nothing_left(stage, &run))
    } else {
        // It waits for the reset, and needs nobody for that.
        wait_for("limited", "the account is at its limit").and_then(|run| nothing_left(stage, &run)).and_then(
            |()| {
                stage.trial.scene.run(&mut stage.msg(&["runs", "stop", &id, "--now"]));
                wait_for("stopped", "").map(drop)
            },
        )
    };
    // The next ones are not to wait for the reset.
    drop(fs::remove_dir_all(stage.trial.scene.home().join(".local/state/ravenry/limits")));
    checked
}

fn refused(stage: &Stage<'_>) -> Checked {
    let (answer, _) = stage.play(Vec::new(), &["run", "strange", "b"]);
    let run = &answer["run"];
    is_in(run, "failed")
        .and_then(|()| reason(run, "the adapter does not know this version"))
        .and_then(|()| nothing_left(stage, run))
}

fn absent(stage: &Stage<'_>) -> Checked {
    stage.remove_client();
    let (answer, ended) = stage.play(Vec::new(), &["run", "edits", "c"]);
    let error = &answer["error"];
    ensure(ended.code == Some(1) && error["kind"] == "gate" && error["gate"] == "harness", || {
        format!("{ended:?}")
    })?;
    let message = error["message"].as_str().unwrap_or_default();
    ensure(message.contains("is not installed"), || message.to_string())
}

fn logged_out(stage: &Stage<'_>) -> Checked {
    let body = error(401, "authentication_error", "UNAUTHENTICATED", "Incorrect API key provided");
    let (answer, _) = stage.play(refusals(401, &body), &["run", "edits", "d", "--timeout", "60"]);
    let run = &answer["run"];
    is_in(run, "failed")
        .and_then(|()| reason(run, "it is not logged in"))
        .and_then(|()| nothing_left(stage, run))
}

/// The model that never answers.
fn silence(stage: &Stage<'_>) -> Vec<Step> {
    vec![Step::say("too late").when_there_is(stage.trial.scene.repo().join("never-there"))]
}

fn hangs(stage: &Stage<'_>) -> Checked {
    let (answer, _) = stage.play(silence(stage), &["run", "edits", "e", "--timeout", "15"]);
    let run = &answer["run"];
    is_in(run, "timeout")
        .and_then(|()| reason(run, "it took more than 15 s"))
        .and_then(|()| nothing_left(stage, run))
}

fn killed(stage: &Stage<'_>) -> Checked {
    let trial = stage.trial;
    let earlier = trial.server.requests(trial.client.name()).len();
    let running = stage.start(silence(stage), &["run", "edits", "f", "--timeout", "300"]);
    let asks = || {
        let asked = trial.server.requests(trial.client.name());
        asked.iter().skip(earlier).any(|request| request.step.is_some()).then_some(())
    };
    let found = wait::until("it asks its model", PATIENCE, asks).and_then(|()| {
        let all = processes::of(&trial.scene.home());
        let keeper = all.iter().find(|process| process.line.contains(" keeper "));
        let keeper = keeper.ok_or_else(|| format!("no keeper: {all:?}"))?;
        all.iter()
            .find(|process| process.parent() == Some(keeper.pid))
            .cloned()
            .ok_or_else(|| format!("{all:?}"))
    });
    let worker: Process = match found {
        Ok(worker) => worker,
        Err(wrong) => {
            running.end(None);
            return Err(wrong);
        }
    };
    worker.end(Signal::SIGKILL);
    let ended = trial.scene.wait_for(running);
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    let run = &answer["run"];
    is_in(run, "failed").and_then(|()| reason(run, "SIGKILL")).and_then(|()| nothing_left(stage, run))
}

/// A stand-in prints the line, and then becomes the real one.
fn long_line(stage: &Stage<'_>) -> Checked {
    let trial = stage.trial;
    stage.put_script("head -c 100000000 /dev/zero | tr '\\0' x; echo; exec CLIENT \"$@\"");
    trial.scene.restore();
    let go = trial.scene.repo().join("go-on");
    let mut steps = stage.editing();
    let last = steps.pop().expect("the last one").when_there_is(go.clone());
    steps.push(last);
    let running = stage.start(steps, &["run", "edits", "g", "--timeout", "300"]);
    let memory = wait::until("the file is edited", PATIENCE, || {
        (trial.scene.text(crate::scene::FREE) == format!("{}\n", crate::scene::NEW)).then_some(())
    })
    .and_then(|()| {
        let all = processes::of(&trial.scene.home());
        let supervisor = all.iter().find(|process| process.line.contains(" supervise "));
        supervisor.map(Process::most_resident).ok_or_else(|| format!("no supervisor: {all:?}"))
    });
    std::fs::write(&go, "").unwrap();
    let ended = trial.scene.wait_for(running);
    drop(std::fs::remove_file(go));
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    let run = &answer["run"];
    let memory = memory?;
    is_in(run, "done")
        .and_then(|()| ensure(run["result"] == SAID, || format!("its result is {}", run["result"])))
        .and_then(|()| ensure(memory < MOST_MEMORY, || format!("the supervisor needed {memory} KiB")))
        .and_then(|()| nothing_left(stage, run))
}

//! One worker in tmux from its launch to its end.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;

use serde_json::Value;

use super::stage::{PATIENCE, Stage};
use crate::model::Step;
use crate::report::Report;
use crate::trial::run::{Checked, ensure};
use crate::wait;

const LAUNCHED: &str = "`msg run --tmux` launches it, and it takes its task once, as it is";
const ASKS: &str = "what it asks on its screen is answered by `tell --answer`";
const WORKS: &str = "in a slow tool it is working, and `wait --for` returns when its turn is done";
const TOLD: &str =
    "`tell` types the next prompt, which it takes once, as it is; nothing is typed while it works";
const DRAFT: &str = "a person's draft is not touched";
const INTERRUPTED: &str = "`tell --interrupt` ends its turn in a slow tool, and it is interrupted";
const UNSAID: &str = "`tell --interrupt` ends a turn before its first word";
const LEFT: &str = "when it leaves by itself, its run is done and it has ended";

/// A worker's name.
const NAME: &str = "Mason";
/// A pipe that a command of the client reads from until we close it.
const PIPE: &str = "slow-pipe";
/// Text in which every line is meant to be misread.
const AWKWARD: &str = "größer → 日本語 🙂;\nEnter\nC-c\n  $(date) `id` \\n;\nlast line;";

pub fn go(stage: &Stage<'_>, report: &mut Report) {
    nix::unistd::mkfifo(&stage.worker.trial.scene.repo().join(PIPE), nix::sys::stat::Mode::S_IRWXU)
        .expect("a pipe");
    let mut tell = |check: &str, result: Checked| {
        let is_sound = result.is_ok();
        report.check(stage.client(), check, result, &|| stage.evidence());
        is_sound
    };
    stage.play(vec![Step::call(stage.shell(&asking(stage))), Step::say("It was slow.")]);
    let task = format!("Please be slow.\n{AWKWARD}");
    let mut run = Value::Null;
    let launched =
        stage.start(if has_dialogs(stage) { "asks" } else { "edits" }, NAME, &task).and_then(|started| {
            run = started;
            stage.is_taken_once(&task)
        });
    // Without it there is nothing to try.
    if !tell(LAUNCHED, launched) {
        return;
    }
    match reaches_tool(stage) {
        Err(wrong) => _ = tell(WORKS, Err(wrong)),
        Ok((pipe, answered)) => {
            match answered {
                Some(answered) => _ = tell(ASKS, answered),
                None if has_dialogs(stage) => {
                    _ = tell(ASKS, Err("it has asked nothing".to_string()));
                }
                None => report.skip(ASKS, "as a worker it never asks"),
            }
            let mut tell = |check: &str, result: Checked| {
                report.check(stage.client(), check, result, &|| stage.evidence());
            };
            tell(WORKS, works(stage, pipe));
            tell(TOLD, told(stage));
            tell(DRAFT, draft(stage, &run));
            tell(INTERRUPTED, interrupted(stage));
            tell(UNSAID, interrupted_unsaid(stage));
            tell(LEFT, left(stage, &run));
        }
    }
}

/// Whether it ever asks its user. A worker of OpenCode is either allowed a tool or denied it.
fn has_dialogs(stage: &Stage<'_>) -> bool {
    !["pi", "opencode"].contains(&stage.client())
}

/// A command that reads from the pipe, and that a client which ever asks asks about.
fn asking(stage: &Stage<'_>) -> String {
    match stage.client() {
        "codex" => format!("touch asked && cat {PIPE}"),
        _ => format!("dd if={PIPE} of=copied"),
    }
}

/// Waits until its command runs, and answers the question about it if there is one.
fn reaches_tool(stage: &Stage<'_>) -> Checked<(File, Option<Checked>)> {
    let pipe = stage.worker.trial.scene.repo().join(PIPE);
    let open = || fs::OpenOptions::new().write(true).custom_flags(nix::libc::O_NONBLOCK).open(&pipe).ok();
    let mut asked = None;
    let opened = wait::until("its command runs", PATIENCE, || {
        if let Some(file) = open() {
            return Some(file);
        }
        let look = stage.look(NAME);
        if look["state"] == "waiting" && asked.is_none() {
            asked = Some(answer(stage, NAME, &look));
        }
        None
    });
    Ok((opened?, asked))
}

/// Allows what it asks for.
pub fn answer(stage: &Stage<'_>, name: &str, look: &Value) -> Checked {
    let question = &look["question"];
    ensure(question["kind"] == "permission", || format!("it asks {question}"))?;
    let id = question["id"].as_str().unwrap_or_default();
    let told = stage.must(&["tell", name, "--answer", "allow", "--question", id])?;
    ensure(!told["told"].is_null(), || told.to_string())
}

fn works(stage: &Stage<'_>, pipe: File) -> Checked {
    let look = stage.until(NAME, &["working"])?;
    ensure(look["question"].is_null(), || format!("it asks {}", look["question"]))?;
    let refused = stage.msg(&["tell", NAME, "too early"]).0;
    ensure(refused["error"]["reason"] == "turn", || format!("while it works: {refused}"))?;
    drop(pipe);
    let done = stage.must(&["wait", "--for", NAME, "--until", "done", "--timeout", "60"])?;
    ensure(done["agentState"] == "idle", || done.to_string())?;
    stage.until(NAME, &["idle"]).map(drop)
}

fn told(stage: &Stage<'_>) -> Checked {
    stage.play(Vec::new());
    let text = format!("And now this.\n{AWKWARD}");
    stage.must(&["tell", NAME, &text])?;
    stage.is_taken_once(&text)?;
    stage.must(&["wait", "--for", NAME, "--until", "done", "--timeout", "60"]).map(drop)
}

fn draft(stage: &Stage<'_>, run: &Value) -> Checked {
    let pane = run["tmux"]["pane"].as_str().unwrap_or_default();
    let words = "half-typed words";
    stage.tmux(&["send-keys", "-t", pane, "-l", words]);
    wait::until("the draft is seen", PATIENCE, || (stage.look(NAME)["draft"] == words).then_some(()))?;
    let refused = stage.msg(&["tell", NAME, "over it"]).0;
    ensure(refused["error"]["reason"] == "draft", || format!("over a draft: {refused}"))?;
    ensure(stage.look(NAME)["draft"] == words, || "the draft has changed".to_string())?;
    for _ in words.chars() {
        stage.tmux(&["send-keys", "-t", pane, "BSpace"]);
    }
    wait::until("the draft is gone", PATIENCE, || stage.look(NAME)["draft"].is_null().then_some(()))
}

fn interrupted(stage: &Stage<'_>) -> Checked {
    stage.play(vec![Step::call(stage.shell(&asking(stage))), Step::say("In vain.")]);
    stage.must(&["tell", NAME, "Be slow once more."])?;
    let (pipe, answered) = reaches_tool(stage)?;
    answered.transpose()?;
    stage.until(NAME, &["working"])?;
    stage.must(&["tell", NAME, "--interrupt"])?;
    drop(pipe);
    stage.until(NAME, &["interrupted"]).map(drop)
}

/// Some clients take back a prompt that had no answer yet, and show nothing of it.
fn interrupted_unsaid(stage: &Stage<'_>) -> Checked {
    let never = stage.worker.trial.scene.home().join("never");
    stage.play(vec![Step::say("In vain.").when_there_is(never)]);
    let count = stage.turns().len();
    stage.must(&["tell", NAME, "Think for long."])?;
    wait::until("its model is asked", PATIENCE, || (stage.turns().len() > count).then_some(()))?;
    stage.until(NAME, &["working"])?;
    stage.must(&["tell", NAME, "--interrupt"])?;
    stage.until(NAME, &["interrupted", "idle"]).map(drop)
}

fn left(stage: &Stage<'_>, run: &Value) -> Checked {
    let (id, pane) =
        (run["id"].as_str().unwrap_or_default(), run["tmux"]["pane"].as_str().unwrap_or_default());
    let command = stage.seat.exit_command();
    // Some put the interrupted prompt back into the line.
    stage.tmux(&["send-keys", "-t", pane, "C-u"]);
    stage.tmux(&["send-keys", "-t", pane, "-l", command]);
    let line = || stage.tmux(&["capture-pane", "-p", "-t", pane]);
    wait::until("its command is on the screen", PATIENCE, || line().contains(command).then_some(()))?;
    let mut looks = 0;
    wait::until("it leaves", PATIENCE, || {
        // Some take Enter as part of the text, or for a choice in a list, if it comes this fast.
        if looks % 20 == 0 {
            stage.tmux(&["send-keys", "-t", pane, "Enter"]);
        }
        looks += 1;
        let state = stage.msg(&["runs", "show", id]).0["run"]["state"].clone();
        (state != "running").then_some(())
    })?;
    stage.until_run(id, "done")?;
    let look = stage.look(id);
    ensure(look["state"] == "ended", || format!("it is {} by {}", look["state"], look["restsOn"]))?;
    crate::workers::nothing_left(&stage.worker, run)
}

//! Interruptions in the middle of a turn, by the user or by a kill: mail that counts as surfaced is in the
//! conversation.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::clients::Leave;
use crate::model::Step;
use crate::processes;
use crate::report::Report;
use crate::trial::Trial;

use super::checks::{Check, STARTS, has, tell};
use super::stage::{Checked, Failure, Sent, Stage, ensure, until};

const IN_TOOL: &str = "mail that comes while a tool runs that its user interrupts is in the next request";
const DECLINED: &str =
    "mail that comes while it asks for leave that its user declines is in the next request";
const TAKEN_BACK: &str =
    "mail of a prompt that its user interrupts before the first word is in the next request";
const KILLED: &str = "mail of a turn in which it is killed is in the first request after it was resumed";
const ANSWERED: &str =
    "`msg read`, `msg wait` and the MCP tool `inbox` answer with mail that was there before them";

const PATIENCE: Duration = Duration::from_secs(30);
/// A pipe that the client's shell reads from until it is interrupted.
const PIPE: &str = "endless-pipe";

pub fn go(stage: Stage<'_>, report: &mut Report) {
    let trial = stage.trial;
    let client = trial.client.name();
    report.check(client, STARTS, Ok(()), &String::new);
    let pipe = stage.scene().repo().join(PIPE);
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let steps: [(&str, Option<&str>, Check); 4] = [
        (ANSWERED, None, answered),
        (IN_TOOL, None, in_tool),
        (
            DECLINED,
            stage
                .seat
                .dialog
                .is_none()
                .then_some("it is run here without dialogs, and carries no mail before a tool"),
            declined,
        ),
        (TAKEN_BACK, None, taken_back),
    ];
    let mut is_sound = true;
    for (check, obstacle, run) in steps {
        match (obstacle, is_sound) {
            (Some(why), _) => report.skip(check, why),
            (None, false) => report.skip(check, "what was before it failed"),
            (None, true) => is_sound = tell(report, client, check, &stage, run(&stage)),
        }
    }
    match client {
        "gemini" => report.skip(KILLED, "it can't resume a session that was killed in a turn"),
        "qwen" => report.skip(KILLED, "it resumes a session without the turn in which it was killed"),
        _ => killed(stage, report),
    }
}

/// The user prompts, and the model runs a command that only an interruption ends. Returns the pipe's other end.
fn runs_for_ever(stage: &Stage<'_>) -> Checked<File> {
    stage.play(vec![Step::call(stage.seat.shell(stage.trial.client, &format!("cat {PIPE}")))]);
    stage.prompt()?;
    let pipe = stage.scene().repo().join(PIPE);
    until("that its command runs", PATIENCE, || {
        fs::OpenOptions::new().write(true).custom_flags(nix::libc::O_NONBLOCK).open(&pipe).ok()
    })
}

/// Interrupts the client; some need the key twice.
fn interrupt(stage: &Stage<'_>) {
    stage.press("Escape");
    if ["copilot", "opencode"].contains(&stage.trial.client.name()) {
        std::thread::sleep(Duration::from_millis(300));
        stage.press("Escape");
    }
}

fn in_tool(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let _command = runs_for_ever(stage)?;
    let letter = stage.send("while-a-command-runs-in-vain", &[])?;
    interrupt(stage);
    stage.stands_still()?;
    comes_next(stage, &letter)
}

fn declined(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let (question, _) = stage.seat.dialog.expect("one that asks");
    stage.play(vec![Step::call(stage.seat.shell(stage.trial.client, "touch declined.txt"))]);
    stage.prompt()?;
    let asks = || stage.screen().contains(question);
    until("that it asks for leave", PATIENCE, || asks().then_some(()))?;
    let letter = stage.send("while-it-asks-in-vain", &[])?;
    let mut looks = 0;
    until("that it asks no more", PATIENCE, || {
        // A key that arrives together with the dialog is ignored.
        if looks % 40 == 20 {
            stage.press("Escape");
        }
        looks += 1;
        (!asks()).then_some(())
    })?;
    stage.stands_still()?;
    ensure(!stage.scene().repo().join("declined.txt").exists(), || "it was not declined".to_string())?;
    comes_next(stage, &letter)
}

fn taken_back(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    // Of low importance, so it waits for the prompt.
    let letter = stage.send("with-a-prompt-in-vain", &["--importance", "low"])?;
    let never = stage.home().join("never");
    stage.play(vec![Step::say("In vain.").when_there_is(&never)]);
    has(stage, &stage.prompt()?, &letter)?;
    let state = stage.receipt(&letter.id);
    ensure(state == "stored", || format!("it is {state} before its model said a word"))?;
    interrupt(stage);
    stage.stands_still()?;
    comes_next(stage, &letter)
}

/// The next prompt brings the message, once, and then it is surfaced.
fn comes_next(stage: &Stage<'_>, letter: &Sent) -> Checked<Option<Duration>> {
    stage.play(Vec::new());
    has(stage, &stage.prompt()?, letter)?;
    stage.rest()?;
    let state = stage.receipt(&letter.id);
    ensure(state == "surfaced", || format!("it is {state} after its model answered"))?;
    Ok(None)
}

fn answered(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let client = stage.trial.client;
    let mut calls = vec![
        ("read", stage.seat.shell(client, "msg read")),
        ("inbox", stage.seat.shell(client, "msg inbox")),
        ("wait", stage.seat.shell(client, "msg wait --timeout 20")),
    ];
    calls.extend(stage.seat.tool(client, "inbox").map(|call| ("tool", call)));
    for (word, call) in calls {
        let text = format!("before-it-asks-by-{word}");
        let (scene, to, words) = (stage.scene().clone(), stage.name()?, text.clone());
        // While the model thinks, so that the hook before the tool is the first one.
        let step = Step::call(call).meanwhile(move |_| drop(super::stage::send(&scene, &to, &words, &[])));
        stage.play(vec![step]);
        let asked = stage.prompt()?;
        let next = stage.turn_after(&asked)?;
        let said = next.request.conversation();
        let answers: Vec<&String> = said.iter().filter(|said| said.contains(&text)).collect();
        // Text from a hook has a header; the answer of a command is JSON or has its own form.
        ensure(!answers.is_empty(), || format!("{word}: the mail is not in the next request"))?;
        let denied = said.iter().rev().take(4).any(|said| said.contains("o mail"));
        ensure(!denied, || format!("{word}: it was told that there is no mail"))?;
        if word == "inbox" {
            // A list surfaces nothing: the mail still comes, in a turn of its own.
            let quoted = [format!("> {text}"), format!("&gt; {text}")];
            until("that the mail is delivered", PATIENCE, || stage.last_that_says(&quoted))?;
        }
        stage.rest()?;
    }
    Ok(None)
}

fn killed(stage: Stage<'_>, report: &mut Report) {
    let (trial, seat, home) = (stage.trial, stage.seat, stage.home());
    let client = trial.client.name();
    let begun =
        stage.send("with-the-prompt-of-a-turn-that-is-killed", &["--importance", "low"]).and_then(|first| {
            let command = runs_for_ever(&stage)?;
            let second = stage.send("in-the-tool-of-a-turn-that-is-killed", &[])?;
            if client == "copilot" {
                is_written(&home, &first)?;
            }
            Ok((stage.session()?, [first, second], command))
        });
    let (session, letters, _command) = match begun {
        Ok(begun) => begun,
        Err(wrong) => {
            tell(report, client, KILLED, &stage, Err(wrong));
            return;
        }
    };
    kill_all(&home);
    stage.close();
    if client == "opencode" {
        // In a terminal it takes the killed tool call for one that still runs.
        let result = resumed_without_terminal(trial, &session, &letters);
        report.check(client, KILLED, result, &String::new);
        return;
    }
    match Stage::open(trial, seat, Some(&session)) {
        Err(Failure { wrong, evidence }) => report.check(client, KILLED, Err(wrong), &|| evidence.clone()),
        Ok(stage) => {
            let result = letters.iter().try_for_each(|letter| stage.knows(letter)).map(|()| None);
            tell(report, client, KILLED, &stage, result);
        }
    }
}

/// Copilot CLI writes its conversation to disk up to a second late. A session that is killed before that is resumed
/// without the turn, as its page in `docs/harnesses.md` says.
fn is_written(home: &Path, letter: &Sent) -> Checked<()> {
    let sessions = home.join(".copilot/session-state");
    until("that the turn is in its transcript", PATIENCE, || {
        let transcripts =
            fs::read_dir(&sessions).ok()?.flatten().map(|entry| entry.path().join("events.jsonl"));
        let mut texts = transcripts.filter_map(|path| fs::read_to_string(path).ok());
        texts.any(|text| text.contains(&letter.text)).then_some(())
    })
}

fn resumed_without_terminal(trial: &Trial<'_>, session: &str, letters: &[Sent]) -> Checked {
    let lane = super::lane(trial.client);
    trial.server.play(&lane, vec![Step::say("Very well.")]);
    let earlier = trial.server.requests(&lane).len();
    let mut command = trial.scene.command(&trial.program);
    trial.client.start(&mut command, &trial.server.url(&lane), "please go on", Leave::All);
    let ended = trial.scene.run(command.args(["--session", session]));
    let requests = trial.server.requests(&lane);
    let turn = requests[earlier..].iter().find(|request| request.step.is_some());
    let turn = turn.ok_or_else(|| format!("it asked its model nothing: {ended:?}"))?;
    letters.iter().try_for_each(|letter| {
        ensure(turn.count(&letter.text) > 0, || format!("{} is not in the request", letter.text))
    })
}

/// Kills the client and everything it started, at once.
fn kill_all(home: &Path) {
    processes::of_client(home).iter().filter(|process| !process.line.contains("tmux")).for_each(|process| {
        process.end(Signal::SIGKILL);
    });
}

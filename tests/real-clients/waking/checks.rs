//! The checks of each client that can be woken.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::model::Step;
use crate::processes;
use crate::report::Report;

use super::stage::{Checked, Failure, Sent, Stage, Turn, ensure, send, until};

pub const STARTS: &str = "it starts in a terminal, joins and rests";
const IDLE: &str = "resting, it takes up a message by itself, as a peer's words";
const LOW: &str = "a message of low importance wakes nobody, and comes with the next";
const BURST: &str = "twenty messages at once make one turn";
const BUSY: &str = "busy, it is not interrupted, and is told once, at its next step";
const DIALOG: &str = "asking for leave, it is left alone, and is told when it goes on";
const CHAIN: &str = "mailTurns ends a chain of wake-ups without its user";
const CLEARED: &str = "after /clear there is one waiter, and it wakes";
const CLEARED_ALONE: &str = "after /clear it is the same agent, and is woken";
const INTERRUPTED: &str = "interrupted by its user, it is not woken, and its sender is told so";
const BACKGROUND: &str = "in a pane that nobody looks at, it is woken all the same";
const POSTED: &str = "with nobody of ours beside it, one line to its inbox wakes it, without a dialog";
const WITHIN: &str =
    "with nobody of ours beside it, its MCP server wakes it in a mode in which others would raise a dialog";
const HELD: &str =
    "where its inbox would ask its user, nothing is posted, and the next prompt brings the mail";
const ACCEPTED: &str = "where its user accepts what comes to its inbox, that wakes it in every mode";
const KILLED: &str = "killed, it leaves nothing of ours behind";
const RESUMED: &str = "killed and resumed, there is one waiter, and it wakes";
const LIVES_ON: &str = "without its terminal it lives on in its daemon, and wakes";
const GONE: &str = "when it is gone, nothing of ours is left, and nobody takes it for being there";

/// The required limit. A busy machine is given more time, and the report shows it.
const SOON: Duration = Duration::from_secs(2);
const LATEST: Duration = Duration::from_secs(30);
/// What has not happened by then does not happen.
const PATIENCE: Duration = Duration::from_secs(60);
const BURST_SIZE: usize = 20;
/// A pipe that the client's shell reads from: the command takes as long as we like, and every client permits it.
const PIPE: &str = "pipe";
const PIPED: &str = "the-command-ran-to-its-end";

/// Runs the checks in an order in which each leaves the client idle.
pub fn go(mut stage: Stage<'_>, report: &mut Report) {
    let trial = stage.trial;
    let client = trial.client.name();
    let is_claude = client == "claude";
    report.check(client, STARTS, Ok(()), &String::new);
    let mut is_sound = true;
    let steps: [(&str, bool, Check); 11] = [
        (IDLE, true, idle),
        (LOW, true, low),
        (BURST, true, burst),
        (BUSY, true, busy),
        (DIALOG, stage.seat.dialog.is_some(), dialog),
        (CHAIN, true, chain),
        (INTERRUPTED, is_claude, interrupted),
        (CLEARED, is_claude, cleared),
        (CLEARED_ALONE, ["kimi", "qwen"].contains(&client), cleared),
        (POSTED, is_claude, posted),
        (BACKGROUND, stage.seat.rung == "paste", background),
    ];
    for (check, is_wanted, run) in steps {
        match (is_wanted, is_sound) {
            (false, _) => {}
            (true, false) => report.skip(check, "what was before it failed"),
            (true, true) => is_sound = tell(report, client, check, &stage, run(&stage)),
        }
    }
    if is_claude && is_sound {
        stage = match resume(stage, report) {
            Some(stage) => stage,
            None => return,
        };
        // This session does not ask its user for permission.
        for (check, run) in [(WITHIN, within as Check), (HELD, held), (ACCEPTED, accepted)] {
            let result = run(&stage);
            is_sound &= tell(report, client, check, &stage, result);
        }
    }
    // Claude Code was killed before, so here it may end normally; the others are killed.
    if stage.seat.waits && !is_claude {
        stage.kill();
    }
    stage.close();
    if stage.seat.lives_on {
        match is_sound {
            false => report.skip(LIVES_ON, "what was before it failed"),
            true => {
                let woke = wakes(&stage, "after-the-terminal-was-closed").map(Some);
                tell(report, client, LIVES_ON, &stage, woke);
            }
        }
        super::tidy_up(trial);
    }
    let home = trial.scene.home();
    end_client(&home);
    let gone = nothing_left(&home).and_then(|()| {
        until("that it left", Duration::from_secs(15), || trial.scene.names().is_empty().then_some(()))
    });
    report.check(client, GONE, gone, &|| {
        format!("{}\n{:#?}", trial.scene.msg(&["agents"]), processes::of(&home))
    });
}

/// Each returns the measured time, if there is one.
pub(super) type Check = fn(&Stage<'_>) -> Checked<Option<Duration>>;

pub(super) fn tell(
    report: &mut Report,
    client: &str,
    check: &str,
    stage: &Stage<'_>,
    result: Checked<Option<Duration>>,
) -> bool {
    let is_passed = result.is_ok();
    let evidence = || stage.evidence();
    match result {
        Ok(Some(took)) => {
            let slow = if took > SOON { ", SLOW" } else { "" };
            report.check(client, &format!("{check} ({} ms{slow})", took.as_millis()), Ok(()), &evidence);
        }
        Ok(None) => report.check(client, check, Ok(()), &evidence),
        Err(wrong) => report.check(client, check, Err(wrong), &evidence),
    }
    is_passed
}

/// Sends, and waits until the message is taken up. The slowest of three counts.
fn idle(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let mut worst = Duration::ZERO;
    for n in 0..3 {
        worst = worst.max(wakes(stage, &format!("wake-up-number-{n}"))?);
    }
    Ok(Some(worst))
}

pub fn wakes(stage: &Stage<'_>, text: &str) -> Checked<Duration> {
    wakes_by(stage, stage.seat.rung, text)
}

fn wakes_by(stage: &Stage<'_>, rung: &str, text: &str) -> Checked<Duration> {
    let count = stage.count();
    let sent = stage.send(text, &[])?;
    ensure(sent.wake == rung, || format!("`wake` says {}", sent.wake))?;
    let took = stage.turn(count + 1)?.at.duration_since(sent.at);
    ensure(took < LATEST, || format!("it took {} ms", took.as_millis()))?;
    let last = count + stage.seat.requests;
    has(stage, &stage.turn(last)?, &sent)?;
    stage.rest()?;
    ensure(stage.count() == last, || format!("{} requests for one message", stage.count() - count))?;
    Ok(took)
}

/// The message is in that request, once, as a peer's words.
pub(super) fn has(stage: &Stage<'_>, turn: &Turn, letter: &Sent) -> Checked {
    let conversation = turn.request.conversation();
    let holding: Vec<&String> = conversation.iter().filter(|said| said.contains(&letter.text)).collect();
    let [text] = holding.as_slice() else {
        return Err(format!("{} stands in {} texts of the request", letter.text, holding.len()));
    };
    let times = text.matches(&letter.text).count();
    ensure(times == 1, || format!("{} stands there {times} times", letter.text))?;
    // Gemini CLI escapes it as in HTML.
    let plain = text.replace("&gt;", ">").replace("</hook_context>", "");
    let is_quoted = plain.lines().any(|line| line == format!("> {}", letter.text));
    let before = text.split(&letter.text).next().unwrap_or_default();
    ensure(is_quoted && before.contains("[peer Alice, "), || format!("not as a peer's words: {text}"))?;
    let Some(role) = stage.seat.role else { return Ok(()) };
    let items = turn.request.body["input"].as_array().into_iter().flatten();
    let roles: Vec<&str> = items
        .filter(|item| item.to_string().contains(&letter.text))
        .map(|item| item["role"].as_str().unwrap_or("none"))
        .collect();
    ensure(roles == [role], || format!("it stands in messages of {roles:?}"))
}

/// One more request, where no hook can tell the model anything after a tool: mail comes at the stop.
fn late(stage: &Stage<'_>) -> usize {
    usize::from(!stage.trial.client.hears_after_tools())
}

fn low(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let count = stage.count();
    let unimportant = stage.send("no-hurry-at-all", &["--importance", "low"])?;
    ensure(unimportant.wake == "none", || format!("`wake` says {}", unimportant.wake))?;
    stage.quiet(count)?;
    wakes(stage, "now-there-is-hurry")?;
    has(stage, &stage.turn(count + stage.seat.requests)?, &unimportant)?;
    Ok(None)
}

/// All are sent at once, and the model answers after that.
fn burst(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let count = stage.count();
    let sent_all = stage.home().join("all-sent");
    stage.play(vec![
        Step::call(stage.seat.shell(stage.trial.client, "cat src/free.rs")).when_there_is(&sent_all),
    ]);
    let (to, letters) = (stage.name()?, Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for n in 0..BURST_SIZE {
            let (letters, scene, to) = (&letters, stage.scene(), &to);
            scope.spawn(move || {
                let sent = send(scene, to, &format!("burst-{n}-of-twenty"), &[]);
                letters.lock().unwrap().push(sent);
            });
        }
    });
    fs::write(&sent_all, "").unwrap();
    let letters: Vec<Sent> = letters.into_inner().unwrap().into_iter().collect::<Checked<_>>()?;
    let woke = letters.iter().filter(|sent| sent.wake == stage.seat.rung).count();
    let known = letters.iter().all(|sent| sent.wake == stage.seat.rung || sent.wake == "hook");
    ensure(known && woke > 0, || format!("{:?}", letters.iter().map(|sent| &sent.wake).collect::<Vec<_>>()))?;
    let first = stage.turn(count + 1)?;
    let begun = letters.iter().map(|sent| sent.at).min().unwrap();
    // One turn: the model is asked, uses a tool, and is asked again; perhaps once more, if mail comes at the stop.
    stage.turn(count + 2)?;
    let last = match stage.trial.client.hears_after_tools() {
        true => stage.turn(count + 2)?,
        false => until("all of them at its model", PATIENCE, || stage.last_with(&letters))?,
    };
    letters.iter().try_for_each(|letter| has(stage, &last, letter))?;
    stage.rest()?;
    stage.quiet(count + 2 + late(stage).min(stage.count().saturating_sub(count + 2)))?;
    Ok(Some(first.at.duration_since(begun)))
}

/// One message while the model thinks, and another while a command runs.
fn busy(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let count = stage.count();
    let pipe = stage.scene().repo().join(PIPE);
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).map_err(|error| error.to_string())?;
    let has_thought = stage.home().join("has-thought");
    let command = format!("cat {PIPE}");
    stage.play(vec![Step::call(stage.seat.shell(stage.trial.client, &command)).when_there_is(&has_thought)]);
    stage.prompt()?;
    let mut letters = vec![stage.send("while-it-thinks", &[])?];
    stage.quiet(count + 1)?;
    fs::write(&has_thought, "").unwrap();
    // Opening succeeds as soon as somebody reads.
    let mut writer = until("that its command runs", Duration::from_secs(30), || {
        let flags = nix::libc::O_NONBLOCK;
        fs::OpenOptions::new().write(true).custom_flags(flags).open(&pipe).ok()
    })?;
    letters.push(stage.send("while-a-command-runs", &[])?);
    stage.quiet(count + 1)?;
    writeln!(writer, "{PIPED}").map_err(|error| format!("its command was cancelled: {error}"))?;
    drop(writer);
    let next = stage.turn(count + 2 + late(stage))?;
    ensure(next.request.count(PIPED) > 0, || "its command did not run to its end".to_string())?;
    for letter in &letters {
        ensure(letter.wake == "hook", || format!("`wake` says {} for {}", letter.wake, letter.text))?;
        has(stage, &next, letter)?;
    }
    stage.rest()?;
    stage.quiet(count + 2 + late(stage))?;
    fs::remove_file(pipe).map_err(|error| error.to_string())?;
    Ok(None)
}

fn dialog(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let (question, yes) = stage.seat.dialog.expect("one that asks");
    let count = stage.count();
    let made = stage.scene().repo().join("asked-for.txt");
    stage.play(vec![Step::call(stage.seat.shell(stage.trial.client, "touch asked-for.txt"))]);
    stage.prompt()?;
    let asks = || stage.screen().contains(question);
    until("that it asks for leave", Duration::from_secs(30), || asks().then_some(()))?;
    let letter = stage.send("while-it-asks-for-leave", &[])?;
    ensure(letter.wake == "hook", || format!("`wake` says {}", letter.wake))?;
    stage.quiet(count + 1)?;
    ensure(asks() && !made.exists(), || "somebody answered for its user".to_string())?;
    stage.press(yes);
    let next = stage.turn(count + 2)?;
    ensure(made.exists(), || "it was not given leave".to_string())?;
    has(stage, &next, &letter)?;
    stage.rest()?;
    stage.quiet(count + 2)?;
    Ok(None)
}

fn chain(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    stage.scene().msg(&["config", "set", "mailTurns", "2"]);
    stage.prompt()?;
    stage.rest()?;
    for n in 0..2 {
        wakes(stage, &format!("link-{n}-of-a-chain"))?;
    }
    let count = stage.count();
    let late = stage.send("one-link-too-many", &[])?;
    ensure(late.wake == "prompt", || format!("`wake` says {}", late.wake))?;
    stage.quiet(count)?;
    has(stage, &stage.prompt()?, &late)?;
    stage.rest()?;
    // After a prompt of the user, mail can wake it again.
    wakes(stage, "first-link-of-another-chain")?;
    stage.scene().msg(&["config", "set", "mailTurns", "1000"]);
    Ok(None)
}

fn interrupted(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let has_thought = stage.home().join("has-thought-in-vain");
    stage.play(vec![Step::say("Very well.").when_there_is(&has_thought)]);
    stage.prompt()?;
    let count = stage.count();
    stage.press("Escape");
    until("that it is known", PATIENCE, || {
        stage.scene().msg(&["doctor"]).to_string().contains("was interrupted by its user").then_some(())
    })?;
    fs::write(&has_thought, "").map_err(|error| error.to_string())?;
    let letter = stage.send("its-user-has-stopped-it", &[])?;
    ensure(letter.wake == "prompt", || format!("`wake` says {}", letter.wake))?;
    stage.quiet(count)?;
    has(stage, &stage.prompt()?, &letter)?;
    stage.rest()?;
    Ok(None)
}

fn cleared(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let (name, before) = (stage.name()?, stage.session()?);
    stage.enter("/clear")?;
    until("another session", Duration::from_secs(30), || {
        stage.session().is_ok_and(|session| session != before).then_some(())
    })?;
    // What is typed while the screen is cleared may be lost.
    stage.stands_still()?;
    stage.prompt()?;
    stage.rest()?;
    let one_waiter = || if stage.seat.waits { stage.one_waiter().map(drop) } else { Ok(()) };
    one_waiter()?;
    let took = wakes(stage, "after-the-slate-is-clean")?;
    one_waiter()?;
    ensure(stage.name()? == name, || format!("{name} is {} now", stage.name().unwrap_or_default()))?;
    Ok(Some(took))
}

fn background(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    stage.look_away()?;
    wakes(stage, "while-nobody-looks").map(Some)
}

/// The message goes to its own inbox if our waiter was killed. A dialog of Claude Code would be visible on the screen.
fn posted(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let mut worst = Duration::ZERO;
    for n in 0..3 {
        leave_alone(stage)?;
        let count = stage.count();
        let tried = stage.scene().msg(&["doctor", "--wake", &stage.name()?]);
        let told = tried["checks"][0]["message"].as_str().unwrap_or_default();
        ensure(told.contains("nothing was posted"), || format!("doctor says {tried}"))?;
        stage.quiet(count)?;
        worst = worst.max(wakes_by(stage, "socket", &format!("posted-to-its-inbox-{n}"))?);
        no_dialog(stage)?;
        stage.one_waiter()?;
    }
    Ok(Some(worst))
}

/// A message posted by one of its own processes is taken up in every mode.
fn within(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let mut worst = Duration::ZERO;
    for n in 0..3 {
        leave_alone(stage)?;
        worst = worst.max(wakes_by(stage, "server", &format!("posted-from-within-{n}"))?);
        no_dialog(stage)?;
        stage.one_waiter()?;
    }
    Ok(Some(worst))
}

/// From here on its server is gone too.
fn held(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    end_server(stage)?;
    leave_alone(stage)?;
    let count = stage.count();
    let late = stage.send("not-worth-a-dialog", &[])?;
    ensure(late.wake == "prompt", || format!("`wake` says {}", late.wake))?;
    stage.quiet(count)?;
    no_dialog(stage)?;
    has(stage, &stage.prompt()?, &late)?;
    stage.rest()?;
    Ok(None)
}

fn accepted(stage: &Stage<'_>) -> Checked<Option<Duration>> {
    let path = stage.home().join(".claude/settings.json");
    let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let mut settings: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    settings["crossSessionInbound"] = "accept".into();
    fs::write(&path, settings.to_string()).map_err(|error| error.to_string())?;
    leave_alone(stage)?;
    // Claude Code reads its settings again a moment later. Until then nothing would be posted.
    let late = stage.send("its-user-has-just-accepted-it", &[])?;
    ensure(late.wake == "prompt", || format!("`wake` says {}", late.wake))?;
    until("that it can be woken", PATIENCE, || {
        let checks = stage.scene().msg(&["doctor"]);
        checks.to_string().contains("by a line to its inbox socket").then_some(())
    })?;
    let took = wakes_by(stage, "socket", "its-user-accepts-it")?;
    no_dialog(stage)?;
    Ok(Some(took))
}

fn end_server(stage: &Stage<'_>) -> Checked {
    for server in processes::servers(&stage.home()) {
        server.end(Signal::SIGKILL);
        until("that its server is gone", PATIENCE, || server.is_gone().then_some(()))?;
    }
    Ok(())
}

/// Kills the only waiter. The previous turn must have begun without one, so that no other follows.
fn leave_alone(stage: &Stage<'_>) -> Checked {
    let waiter = stage.one_waiter()?;
    waiter.end(Signal::SIGKILL);
    until("that its waiter is gone", PATIENCE, || waiter.is_gone().then_some(()))
}

fn no_dialog(stage: &Stage<'_>) -> Checked {
    ensure(!stage.screen().contains("Held"), || "it holds the message behind a dialog".to_string())
}

/// Kills the client, and resumes its session in another process.
fn resume<'a>(stage: Stage<'a>, report: &mut Report) -> Option<Stage<'a>> {
    let (trial, seat, home) = (stage.trial, stage.seat, stage.home());
    let client = trial.client.name();
    let session = stage.session();
    stage.kill();
    let killed = nothing_left(&home);
    report.check(client, KILLED, killed, &|| stage.evidence());
    stage.close();
    let resumed = session.map_err(Failure::from).and_then(|session| Stage::open(trial, seat, Some(&session)));
    match resumed {
        Err(Failure { wrong, evidence }) => {
            report.check(client, RESUMED, Err(wrong), &|| evidence.clone());
            None
        }
        Ok(stage) => {
            let result = stage
                .one_waiter()
                .and_then(|_| wakes(&stage, "after-it-was-killed"))
                .and_then(|took| stage.one_waiter().map(|_| Some(took)));
            tell(report, client, RESUMED, &stage, result);
            Some(stage)
        }
    }
}

/// Gemini CLI may not notice that its terminal is gone, and our processes live with it. A killed client does not
/// report its end.
fn end_client(home: &std::path::Path) {
    let is_over = || processes::of_client(home).is_empty().then_some(());
    if until("that it ends", Duration::from_secs(5), is_over).is_err() {
        processes::of_client(home).iter().for_each(|process| process.end(Signal::SIGKILL));
    }
}

fn nothing_left(home: &std::path::Path) -> Checked {
    let mut left = Vec::new();
    let gone = until("that nothing of ours is left", Duration::from_secs(15), || {
        left = processes::of_ours(home);
        left.is_empty().then_some(())
    });
    gone.map_err(|wrong| format!("{wrong}: {left:?}"))
}

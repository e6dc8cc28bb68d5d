//! The checks, in an order in which each leaves the pair as the next needs it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::model::{Request, Step};
use crate::processes::{self, Process};
use crate::report::Report;
use crate::scene::Scene;
use crate::trial::Trial;
use crate::trial::run::{Checked, Run, ensure};
use crate::wait::until;

use super::neighbour::{Neighbour, Partner};
use super::repository::{self, CACHE, FIRST, LOGIN, SECOND};
use super::session::Session;

const BESIDE: &str = "another client works beside it, and the history is counted";
const NEARBY: &str = "at its start its model is told in which file the other client is";
const ELSEWHERE: &str = "nothing is said where prompts lead elsewhere";
const RESERVED: &str = "what a reservation says already is not said at the prompt";
const FORETOLD: &str =
    "a prompt that leads to a file in which another client is: its model is told before its edit, once";
const NOT_AGAIN: &str = "at the next such prompt it is not told again, and the other model is told nothing";
const CONFLICT: &str =
    "two clients change the same line in two worktrees: both models are told once, with file and line";

/// What has not happened by then does not happen.
const PATIENCE: Duration = Duration::from_secs(90);
/// How the sentence begins.
const HEADS_UP: &str = "Heads-up:";
/// A prompt that leads to the file of the other client.
const PROMPT: &str = "the login forgets its users, please mend it";

pub fn go(trial: &Trial<'_>, partner: &Partner, report: &mut Report) {
    let client = trial.client.name();
    let edit = (LOGIN, FIRST, "fn theirs() {}");
    let started = Neighbour::start(trial, partner, &trial.scene.repo(), edit);
    let counted = || until("the counts", PATIENCE, || repository::is_counted(&trial.scene).then_some(()));
    let neighbour = match started.and_then(|neighbour| counted().map(|()| neighbour)) {
        Ok(neighbour) => neighbour,
        Err(wrong) => {
            report.check(client, BESIDE, Err(wrong), &String::new);
            let rest = [NEARBY, ELSEWHERE, RESERVED, FORETOLD, NOT_AGAIN, CONFLICT];
            rest.iter().for_each(|check| report.skip(check, "nobody works beside it"));
            return;
        }
    };
    report.check(client, BESIDE, Ok(()), &String::new);
    let mut session = Session::new(trial);
    let prompts = session.affordable_prompts();
    let other = neighbour.name.clone();
    let mut check = |check: &str, run: &Run, result: Checked| {
        report.check(client, check, result, &|| run.to_string());
    };
    let (run, result) = led_elsewhere(&mut session, prompts, &other);
    check(NEARBY, &run, tells_of_nearby(&run, &other));
    check(&format!("{ELSEWHERE} (prompts: {prompts})"), &run, result);
    let (run, result) = reserved(trial, &mut session, &other);
    check(RESERVED, &run, result);
    let (run, result) = foretold(trial, &mut session, &other);
    check(FORETOLD, &run, result);
    let (run, result) = not_again(&mut session, neighbour);
    check(NOT_AGAIN, &run, result);
    let (run, result) = conflict(trial, &mut session, partner);
    check(CONFLICT, &run, result);
}

/// What its model was told at the start is in the conversation once.
fn tells_of_nearby(run: &Run, other: &str) -> Checked {
    let sentence = format!("At work in this repository: {other} is in `{LOGIN}`.");
    let times = run.turns.last().map_or(0, |turn| turn.count(&sentence));
    ensure(times == 1, || format!("the last request has \"{sentence}\" {times} times, not once"))
}

/// The first run that is told something, or the last.
fn led_elsewhere(session: &mut Session<'_>, prompts: usize, other: &str) -> (Run, Checked) {
    let about = ["the cache of entries", "a darker theme", "describe the tour", "something new entirely"];
    let mut named = None;
    let mut number = 0;
    loop {
        let text = format!("{}, number {number}", about[number % about.len()]);
        let run = session.prompt(&text, vec![Step::say("It is done.")]);
        let times = run.turns.last().map_or(0, |turn| turn.count(other));
        let mut result = is_silent(&run, &text, 0);
        // At the start of a session, its model is told who is near, and then nothing of it.
        if session.is_one_process() && result.is_ok() {
            let before = *named.get_or_insert(times);
            result = ensure(times == before, || {
                format!("{other} is named {times} times at \"{text}\", not {before}")
            });
        }
        number += 1;
        if result.is_err() || number == prompts {
            return (run, result);
        }
    }
}

/// It ended well, and the sentence stands no more often in any of its requests than before.
fn is_silent(run: &Run, prompt: &str, before: usize) -> Checked {
    ensure(run.ended.code == Some(0), || format!("it ended with {:?} at \"{prompt}\"", run.ended.code))?;
    ensure(!run.turns.is_empty(), || format!("no request at \"{prompt}\""))?;
    run.turns.iter().try_for_each(|turn| {
        let times = turn.count(HEADS_UP);
        ensure(times == before, || format!("{times} times `{HEADS_UP}` at \"{prompt}\", not {before}"))
    })
}

fn reserved(trial: &Trial<'_>, session: &mut Session<'_>, other: &str) -> (Run, Checked) {
    trial.scene.msg(&["reserve", LOGIN, "--reason", "mine", "--as", other]);
    let run = session.prompt(PROMPT, vec![Step::say("It is done.")]);
    trial.scene.msg(&["release", LOGIN, "--as", other]);
    let result = is_silent(&run, PROMPT, 0);
    (run, result)
}

fn foretold(trial: &Trial<'_>, session: &mut Session<'_>, other: &str) -> (Run, Checked) {
    let path = trial.scene.repo().join(LOGIN);
    let read = trial.client.read(&path).map(Step::call);
    let edit = Step::call(trial.client.edit(&path, SECOND, "fn mine() {}"));
    let run = session.prompt(PROMPT, read.into_iter().chain([edit, Step::say("It is done.")]).collect());
    let sentence = format!("{HEADS_UP} {other} is in `{LOGIN}`; prompts about `login` usually end there (");
    let each = run.turns.iter().enumerate().try_for_each(|(at, turn)| {
        let times = (turn.count(&sentence), turn.count(HEADS_UP));
        ensure(times == (1, 1), || format!("request {at} has the sentence {times:?} times, not once"))
    });
    let is_edited = trial.scene.text(LOGIN).contains("fn mine() {}");
    let result = each
        .and_then(|()| ensure(run.turns.len() >= 2, || format!("{} requests", run.turns.len())))
        .and_then(|()| ensure(is_edited, || format!("{LOGIN} is {:?}", trial.scene.text(LOGIN))));
    (run, result)
}

fn not_again(session: &mut Session<'_>, neighbour: Neighbour<'_>) -> (Run, Checked) {
    let run = session.prompt(PROMPT, vec![Step::say("It is done.")]);
    // The earlier sentence is part of the conversation.
    let earlier = usize::from(session.keeps_hook_text());
    let other = neighbour.go_on();
    match is_silent(&run, PROMPT, earlier) {
        Err(wrong) => (run, Err(wrong)),
        Ok(()) => {
            let result = is_silent(&other, "please look after it", 0);
            (other, result.map_err(|wrong| format!("the other client: {wrong}")))
        }
    }
}

/// Both change the first line of a file. What each model is told comes with the result of a later tool, or at the stop.
fn conflict(trial: &Trial<'_>, session: &mut Session<'_>, partner: &Partner) -> (Run, Checked) {
    let root = repository::linked(&trial.scene);
    let other = match Neighbour::start(trial, partner, &root, (CACHE, FIRST, "fn theirs() {}")) {
        Ok(other) => other,
        Err(wrong) => return (Run::none(), Err(wrong)),
    };
    let sides = Arc::new(Mutex::new(Value::Null));
    let ended: Arc<Mutex<Checked>> = Arc::new(Mutex::new(Err("the jobs were not waited for".into())));
    let is_found = {
        let (scene, sides) = (Arc::clone(&trial.scene), Arc::clone(&sides));
        move |_: &Request| {
            // Both are told, and then it is shown.
            let shown = || {
                let overlaps = scene.msg(&["overlaps"])["overlaps"].clone();
                Some(overlaps.as_array()?.iter().find(|one| one["kind"] == "conflict")?["sides"].clone())
            };
            let found = until("the conflict", PATIENCE, shown);
            *sides.lock().unwrap() = found.unwrap_or_default();
        }
    };
    let is_known = {
        let (scene, ended) = (Arc::clone(&trial.scene), Arc::clone(&ended));
        move |_: &Request| *ended.lock().unwrap() = end_of_jobs(&scene)
    };
    let path = trial.scene.repo().join(CACHE);
    let read = trial.client.read(&path).map(Step::call);
    let steps = [
        Step::call(trial.client.edit(&path, FIRST, "fn mine() {}")),
        Step::call(trial.client.shell("echo hello")).meanwhile(is_found),
        // It is the same conflict still.
        Step::call(trial.client.edit(&path, "fn mine() {}", "fn ours() {}")),
        Step::call(trial.client.shell("echo hello")).meanwhile(is_known),
        Step::say("It is done."),
    ];
    let run = session.prompt("please go on", read.into_iter().chain(steps).collect());
    let theirs = other.name.clone();
    let other = other.go_on();
    let sides = sides.lock().unwrap().clone();
    let names = sides.as_array().into_iter().flatten().filter_map(|side| side["agent"].as_str());
    let mine = names.filter(|name| **name != theirs).collect::<Vec<_>>().join(" and ");
    let result = ended.lock().unwrap().clone();
    match result.and_then(|()| tells_of(&run, &theirs)) {
        Err(wrong) => (run, Err(wrong)),
        Ok(()) => {
            let result = tells_of(&other, &mine);
            (other, result.map_err(|wrong| format!("the other client: {wrong}")))
        }
    }
}

/// Waits for the end of the background jobs that hooks have started: they may still tell somebody.
fn end_of_jobs(scene: &Scene) -> Checked {
    let is_job = |process: &Process| process.line.contains(" background ");
    let jobs = || processes::of(&scene.home()).iter().any(is_job);
    until("the end of the jobs", PATIENCE, || (!jobs()).then_some(()))
}

/// The last request tells once of the conflict with that agent, with file and line.
fn tells_of(run: &Run, with: &str) -> Checked {
    let turn = run.turns.last().ok_or("there was no request")?;
    let sentence = format!("Conflict: your `{CACHE}` (line 1) and {with}'s (line 1) in the worktree `");
    let times = (turn.count(&sentence), turn.count("Conflict: "));
    ensure(times == (1, 1), || format!("the last request has `{sentence}` {times:?} times, not once"))
}

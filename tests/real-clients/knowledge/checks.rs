//! The checks: first a session that only reads, then one that works.

use serde_json::json;

use crate::model::Request;
use crate::report::Report;
use crate::scene::{FREE, Scene};
use crate::trial::Trial;
use crate::trial::run::{Checked, Run, arrived, ensure};

use super::notes;
use super::records::{self, FAILING, HOSTILE, NOTED, TASKS};
use super::sessions::{self, FAILED_AT, HOSTILE_AT, LEARNED, NOTED_AT, Work};

const START: &str = "at its start its model is told how much is recorded";
const NOTHING: &str = "a file that no note is about brings none";
const OFFERED: &str =
    "a note about a file that it reads is in the next request, once, quoted, with author and verdict";
const FAILED: &str = "a note about a command comes with its result if it fails";
const READS: &str = "a session that only reads records nothing, and nobody asks it to";
const BY_PROMPT: &str = "a note about a file that its prompt names comes with the prompt, once";
const HOSTILE_NOTE: &str = "a hostile note is short, on one line, and can't close its quotation marks";
const DECISION: &str = "after an answer of its user its model is asked to record the decision, once";
const ASKED: &str = "a session that works is asked at its stop and at its task, once each";
const RECORDED: &str = "what it learned is recorded with `msg complete`, in its name, and nobody asks again";

/// Words of each question.
const ASKS_AFTER_DECISION: &str = "If this settled something that the code will not show";
const ASKS_AT_STOP: &str = "and recorded nothing. If you decided something there";
const ASKS_AT_TASK: &str = "To tell the next session what you learned";

pub fn go(trial: &Trial<'_>, report: &mut Report) {
    let client = trial.client.name();
    let hears = trial.client.hears_after_tools();
    let run = sessions::read(trial);
    let mut check = |check: &str, result: Checked| report.check(client, check, result, &|| run.to_string());
    check(START, tells_what_there_is(&run));
    check(READS, is_left_alone(&run, &trial.scene));
    if hears {
        check(NOTHING, brings(&run, ..NOTED_AT, &[]));
        check(OFFERED, is_offered(&run));
        check(HOSTILE_NOTE, turn(&run, HOSTILE_AT).and_then(notes::is_tame));
        match trial.client.tells_failures() {
            true => check(FAILED, brings(&run, FAILED_AT.., &[NOTED, HOSTILE, &format!("$ {FAILING}")])),
            false => report.skip(FAILED, "its hooks are not told of failures"),
        }
    } else {
        check(NOTHING, brings(&run, .., &[]));
        for check in [OFFERED, FAILED] {
            report.skip(check, "no hook can tell its model anything after a tool; notes come with prompts");
        }
    }
    let work = sessions::work(trial);
    let mut check =
        |check: &str, result: Checked| report.check(client, check, result, &|| work.run.to_string());
    check(BY_PROMPT, brings(&work.run, .., &[HOSTILE]));
    check(&format!("{HOSTILE_NOTE} (with the prompt)"), turn(&work.run, 0).and_then(notes::is_tame));
    check(ASKED, is_asked(&work));
    check(RECORDED, is_recorded(&work, &trial.scene));
    match work.decided {
        Some(at) => check(DECISION, arrived(&work.run, at, ASKS_AFTER_DECISION)),
        None => report.skip(DECISION, "it does not tell hooks what its user decides"),
    }
}

fn turn(run: &Run, at: usize) -> Result<&Request, String> {
    run.turns.get(at).ok_or_else(|| format!("there was no turn {at}"))
}

fn tells_what_there_is(run: &Run) -> Checked {
    let sentence = "There are 3 records of what earlier sessions learned here (3 notes).";
    let times = turn(run, 0)?.count(sentence);
    ensure(times == 1, || format!("the first request has \"{sentence}\" {times} times, not once"))
}

/// These requests have a note about each of these places once, and no other notes.
fn brings(
    run: &Run,
    which: impl std::slice::SliceIndex<[Request], Output = [Request]>,
    places: &[&str],
) -> Checked {
    let requests = run.turns.get(which).filter(|requests| !requests.is_empty());
    requests.ok_or("there were no such requests")?.iter().enumerate().try_for_each(|(at, request)| {
        let all = notes::of(request).len();
        ensure(all == places.len(), || format!("{all} notes in request {at}, not {}", places.len()))?;
        places.iter().try_for_each(|place| notes::one_about(request, place).map(drop))
    })
}

/// It is read twice.
fn is_offered(run: &Run) -> Checked {
    brings(run, NOTED_AT..HOSTILE_AT, &[NOTED])?;
    brings(run, HOSTILE_AT..FAILED_AT, &[NOTED, HOSTILE])?;
    notes::is_whole(&notes::one_about(turn(run, NOTED_AT)?, NOTED)?)
}

fn is_left_alone(run: &Run, scene: &Scene) -> Checked {
    ensure(run.ended.code == Some(0), || format!("it ended with {:?}", run.ended.code))?;
    let times = run.turns.iter().map(|request| request.count("msg learn")).max();
    ensure(times == Some(0), || format!("the most questions in a request: {times:?}"))?;
    ensure(run.turns.len() == 1 + FAILED_AT, || format!("it took {} turns", run.turns.len()))?;
    let records = records::of_others(scene);
    ensure(records.is_empty(), || format!("it recorded {records:?}"))
}

fn is_asked(work: &Work) -> Checked {
    arrived(&work.run, work.stopped, ASKS_AT_STOP)?;
    arrived(&work.run, work.completed, ASKS_AT_TASK)
}

fn is_recorded(work: &Work, scene: &Scene) -> Checked {
    ensure(work.run.ended.code == Some(0), || format!("it ended with {:?}", work.run.ended.code))?;
    let [name] = work.names.as_slice() else { return Err(format!("there were {:?}", work.names)) };
    let records = records::of_others(scene);
    let [record] = records.as_slice() else { return Err(format!("it recorded {records:?}")) };
    let shown = json!({
        "kind": record["kind"], "author": record["author"], "description": record["description"],
        "anchors": record["anchors"][0]["anchor"], "tags": record["tags"],
    });
    let expected = json!({
        "kind": "note", "author": name, "description": LEARNED, "anchors": FREE, "tags": { "task": TASKS[1] },
    });
    ensure(shown == expected, || format!("it recorded {shown}, not {expected}"))?;
    let turns = work.run.turns.len();
    ensure(turns == work.requests, || format!("it took {turns} turns, not {}", work.requests))
}

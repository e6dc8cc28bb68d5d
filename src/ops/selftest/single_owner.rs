//! Promise 2: a name, a task and a path have one live owner each, whoever races for them and whoever is killed.
//! Also tests the locks that this depends on.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::domain::settings::Durability;
use crate::sys::children::{CapturedOutput, Child, ChildInput};
use crate::sys::files::{self, Files, Published};
use crate::sys::flock::FileLock;

use super::check_environment::{CheckEnvironment, LIMIT, MsgOutput, PromiseBroken, PromiseKept, demand};
use super::race::{Rounds, Tempo, race};
use super::worker::HELD;

const TIME: Duration = Duration::from_millis(900);
/// If a lock is held for longer than this after its holder's death, it was not freed with the holder.
const SLOW: Duration = Duration::from_secs(5);
const RACERS: [&str; 4] = ["Ada", "Ben", "Cleo", "Dora"];

/// Tests that the lock excludes others, that it dies with its holder, and that a file that must be new is created once.
pub(super) fn locks(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    let path = stage.work().join("lock");
    let fault = |error: crate::sys::flock::LockError| PromiseBroken(error.to_string());
    let mut handed_over = Duration::ZERO;
    const TIMES: usize = 5;
    for _ in 0..TIMES {
        let mut holder = hold(stage, &path)?;
        let taken = FileLock::try_acquire(&path).map_err(fault)?;
        demand(taken.is_none(), || "`flock` was granted to two processes at once".to_string())?;
        holder.kill()?;
        let died = Instant::now();
        let ours = FileLock::acquire(&path, LIMIT).map_err(fault)?;
        handed_over = handed_over.max(died.elapsed());
        ours.probe(&path).map_err(fault)?;
    }
    let files = Files::new(stage.dir().join("props"), Durability::Process);
    let target = stage.work().join("new");
    let first = files.publish(&target, b"first")?;
    let second = files.publish(&target, b"second")?;
    let is_first = files::read(&target)?.is_some_and(|content| content == b"first");
    demand((first, second) == (Published::Done, Published::Exists) && is_first, || {
        "a file that must be new was put in place of another".to_string()
    })?;
    let record = stage.work().join("record");
    let linked = files.publish_twice(&stage.work().join("link"), &record, b"linked")?;
    demand(linked == Some(Published::Done), || "a hard link can't be made".to_string())?;
    demand(handed_over < SLOW, || {
        format!("a lock was free only {} ms after its holder was killed", handed_over.as_millis())
    })?;
    Ok(PromiseKept::with(format!(
        "flock keeps others out, and is free once its holder is killed ({TIMES} times); new files are made once"
    )))
}

/// Starts a child that holds a lock, and waits until it does.
pub(super) fn hold(stage: &CheckEnvironment<'_>, path: &std::path::Path) -> Result<Child, PromiseBroken> {
    let path = path.to_string_lossy();
    let mut command = stage.command(&["selftest", "--role", "holder", "--lock", &path]);
    let mut holder = Child::start(&mut command, ChildInput::Lifeline, CapturedOutput::Stdout)?;
    let held = holder.hear(|said| said.starts_with(HELD.as_bytes()), LIMIT, stage.stop);
    demand(held.is_some(), || "a process could not lock a file".to_string())?;
    Ok(holder)
}

/// Races for one name: everybody joins under it.
pub(super) fn names(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    let mut tally = Tally::default();
    let host = stage.host()?;
    let args = ["join", "First", "--pid", &host.pid().to_string(), "--harness", "terminal"];
    let tempo = Tempo::of(&stage.msg(&args)?.expect(0)?);
    let mut rounds = Rounds::new(TIME, 3, 60);
    while rounds.next(stage) {
        let hosts = RACERS.iter().map(|_| stage.host()).collect::<Result<Vec<_>, _>>()?;
        let who: Vec<(String, String)> = hosts
            .iter()
            .enumerate()
            .map(|(at, host)| (host.pid().to_string(), format!("{}-{at}", rounds.count)))
            .collect();
        let join = |(pid, session): &'_ (String, String)| -> [String; 8] {
            ["join", "Robin", "--pid", pid, "--session", session, "--harness", "terminal"].map(str::to_string)
        };
        let commands: Vec<[String; 8]> = who.iter().map(join).collect();
        let commands: Vec<Vec<&str>> =
            commands.iter().map(|words| words.iter().map(String::as_str).collect()).collect();
        let answers = race(stage, &commands, tempo)?;
        let listed = stage.msg(&["agents"])?.expect(0)?;
        let owners: Vec<&Value> = all(&listed, "agents").filter(|agent| agent["name"] == "Robin").collect();
        let pids: Vec<&str> = who.iter().map(|(pid, _)| pid.as_str()).collect();
        let owners: Vec<String> = owners.iter().map(|agent| agent["pid"].to_string()).collect();
        tally.count("the name `Robin`", &answers, "name_taken", &pids, &owners)?;
        // This round's processes end here, their agent dies, and the name is free again.
    }
    Ok(tally.held(&rounds))
}

/// Races for one task: everybody claims it.
pub(super) fn tasks(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    let tasks: String = (1..=60).map(|number| format!("- [ ] T-{number}: number {number}\n")).collect();
    stage.put(&stage.work().join("spec.md"), tasks.as_bytes())?;
    let mut hosts = enter(stage)?;
    let tempo = Tempo::of(&stage.msg(&["claim", "T-60", "--spec", "spec.md", "--as", "Ada"])?.expect(0)?);
    stage.msg(&["unclaim", "--as", "Ada"])?.expect(0)?;
    let owners = |stage: &CheckEnvironment<'_>, task: &str| -> Result<Vec<String>, PromiseBroken> {
        let listed = stage.msg(&["tasks", "--spec", "spec.md"])?.expect(0)?;
        let of_task = all(&listed, "tasks").filter(|row| row["id"] == task && row["state"] == "claimed");
        Ok(of_task.filter_map(|row| row["agent"].as_str().map(str::to_string)).collect())
    };
    let mut tally = Tally::default();
    let mut rounds = Rounds::new(TIME, 3, 58);
    while rounds.next(stage) {
        let task = format!("T-{}", rounds.count);
        let claim = |name: &'static str| vec!["claim", task.as_str(), "--spec", "spec.md", "--as", name];
        let answers = race(stage, &RACERS.map(claim), tempo)?;
        let owners = owners(stage, &task)?;
        tally.count(&format!("the task `{task}`"), &answers, "already_claimed", &RACERS, &owners)?;
        for owner in &owners {
            stage.msg(&["unclaim", "--as", owner])?.expect(0)?;
        }
    }
    // Only the death of its owner's process makes this one free.
    stage.msg(&["claim", "T-59", "--spec", "spec.md", "--as", "Ada"])?.expect(0)?;
    stage.msg(&["claim", "T-59", "--spec", "spec.md", "--as", "Ben"])?.expect_kind(1, "already_claimed")?;
    hosts.remove(0).kill()?;
    stage.msg(&["claim", "T-59", "--spec", "spec.md", "--as", "Ben"])?.expect(0)?;
    demand(owners(stage, "T-59")? == ["Ben"], || "a task that was claimed is not its owner's".to_string())?;
    Ok(tally.held(&rounds))
}

/// Races for one path: everybody reserves a pattern that covers it.
pub(super) fn paths(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    let mut hosts = enter(stage)?;
    let absolute = stage.work().join("shared/a.rs").to_string_lossy().into_owned();
    let patterns = ["shared/", "shared/**/*.rs", "./shared/a.rs", absolute.as_str()];
    let tempo = Tempo::of(&stage.msg(&["reserve", "other/", "--as", "Ada"])?.expect(0)?);
    stage.msg(&["release", "--as", "Ada"])?.expect(0)?;
    let holders = |stage: &CheckEnvironment<'_>| -> Result<Vec<String>, PromiseBroken> {
        let listed = stage.msg(&["reservations"])?.expect(0)?;
        Ok(all(&listed, "reservations")
            .filter_map(|row| row["holder"].as_str().map(str::to_string))
            .collect())
    };
    let mut tally = Tally::default();
    let mut rounds = Rounds::new(TIME, 3, 60);
    while rounds.next(stage) {
        let commands: Vec<Vec<&str>> = RACERS
            .iter()
            .zip(patterns)
            .map(|(name, pattern)| vec!["reserve", pattern, "--as", name])
            .collect();
        let answers = race(stage, &commands, tempo)?;
        let holders = holders(stage)?;
        tally.count("the path `shared/a.rs`", &answers, "reserved", &RACERS, &holders)?;
        for holder in &holders {
            stage.msg(&["release", "--as", holder])?.expect(0)?;
        }
    }
    stage.msg(&["reserve", "shared/", "--as", "Ada"])?.expect(0)?;
    stage.msg(&["reserve", &absolute, "--as", "Ben"])?.expect_kind(1, "reserved")?;
    hosts.remove(0).kill()?;
    stage.msg(&["reserve", &absolute, "--as", "Ben"])?.expect(0)?;
    demand(holders(stage)? == ["Ben"], || "a path that was reserved is not its holder's".to_string())?;
    Ok(tally.held(&rounds))
}

/// Lets all racers join, each with a process of its own.
fn enter(stage: &CheckEnvironment<'_>) -> Result<Vec<Child>, PromiseBroken> {
    RACERS.iter().map(|name| stage.join(name)).collect()
}

fn all<'a>(answer: &'a MsgOutput, member: &str) -> impl Iterator<Item = &'a Value> {
    answer.json[member].as_array().into_iter().flatten()
}

/// Totals over the races so far.
#[derive(Debug, Default)]
struct Tally {
    commands: usize,
    killed: usize,
}

impl Tally {
    /// Judges one race. `racers` and `answers` are in the same order; `owners` is what the program reports
    /// afterwards. A killed racer may have won all the same.
    fn count(
        &mut self,
        what: &str,
        answers: &[MsgOutput],
        refusal: &str,
        racers: &[&str],
        owners: &[String],
    ) -> Result<(), PromiseBroken> {
        self.commands += answers.len();
        self.killed += answers.iter().filter(|answer| answer.was_killed).count();
        let mut winners = Vec::new();
        for (answer, racer) in answers.iter().zip(racers) {
            match answer.code {
                _ if answer.was_killed => {}
                Some(0) => winners.push(*racer),
                Some(1) if answer.kind() == refusal => {}
                _ => return Err(PromiseBroken(answer.outcome())),
            }
        }
        demand(winners.len() < 2, || format!("{what} was given to {} at once", winners.join(" and ")))?;
        demand(owners.len() < 2, || format!("{what} has {} owners: {}", owners.len(), owners.join(", ")))?;
        if let Some(winner) = winners.first() {
            let owner = owners.first().map_or("nobody", String::as_str);
            demand(owner == *winner, || {
                format!("{what} was given to {winner}, and is said to be {owner}'s")
            })?;
        }
        let everybody_was_refused = winners.is_empty() && answers.iter().all(|answer| !answer.was_killed);
        demand(!everybody_was_refused, || format!("{what} was free, and nobody got it"))
    }

    fn held(&self, rounds: &Rounds) -> PromiseKept {
        let (races, racers) = (rounds.count, RACERS.len());
        let Self { commands, killed } = self;
        PromiseKept::with(format!(
            "{races} races of {racers}, one owner each; {killed} of {commands} commands killed"
        ))
    }
}

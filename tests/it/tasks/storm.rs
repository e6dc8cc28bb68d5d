//! Agents that work on one spec while they and their commands are killed.
//!
//! There are three oracles, none of which asks the program. Each worker records when a task was certainly its own: from
//! the answer of `claim` until it asks to complete it, or its host is about to be killed. A watcher reads the files all
//! the time: what is done stays done, and a claim is removed only because its task is done or its owner was killed. And
//! in the end, every task is done once, after its dependencies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ravenry::sys::test_switches;
use serde_json::Value;

use super::crowd::{Caller, Chance, Host, entries, ledger, number};
use crate::support::environment::{Ended, TestEnvironment, put, rounds};

const WORKERS: usize = 16;
/// How many tasks there are if the sweeps are whole; [`FLAG`] asks for another number.
const TASKS: usize = 400;
const FLAG: &str = "RAVENRY_SWARM_TASKS";
const SEED_FLAG: &str = "RAVENRY_SWARM_SEED";
/// One command in `COMMAND_DIES` is killed; during one in `HOST_DIES`, its agent's host is killed.
const COMMAND_DIES: u64 = 8;
const HOST_DIES: u64 = 12;
/// More steps than any command takes.
const STEPS: u64 = 24;

/// The test fails after this time: something hangs.
const LONGEST: Duration = Duration::from_secs(1_200);

/// A period in which a task was certainly this agent's.
struct Held {
    task: String,
    agent: String,
    since: Instant,
    until: Instant,
}

/// What the workers know.
#[derive(Default)]
struct Journal {
    held: Vec<Held>,
    /// Tasks and the agents that were told they completed them.
    completed: Vec<(String, String)>,
    /// The times of claims, as the answers say.
    claimed_at: BTreeMap<(String, String), String>,
    /// Written before the kill.
    killed: BTreeSet<String>,
    commands_killed: usize,
}

/// What dies early, if anything.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Lives,
    /// The command dies before this change to the file system.
    Step(u64),
    /// The command dies after this long.
    After(Duration),
    /// The agent's host dies while the command runs, after this long.
    Orphaned(Duration),
}

impl Fate {
    fn draw(chance: &mut Chance) -> Self {
        let soon = |chance: &mut Chance| Duration::from_micros(chance.below(40_000));
        if chance.one_in(HOST_DIES) {
            return Self::Orphaned(soon(chance));
        }
        match chance.below(2 * COMMAND_DIES) {
            0 => Self::Step(1 + chance.below(STEPS)),
            1 => Self::After(soon(chance)),
            _ => Self::Lives,
        }
    }
}

struct Agent<'a> {
    name: String,
    host: Host,
    caller: &'a Caller,
    journal: &'a Mutex<Journal>,
}

impl<'a> Agent<'a> {
    fn join(name: String, caller: &'a Caller, journal: &'a Mutex<Journal>) -> Self {
        let host = Host::new();
        let (pid, session) = (host.pid().to_string(), format!("session of {name}"));
        caller.ok(&["join", &name, "--pid", &pid, "--session", &session, "--spec", "spec.md"]);
        Self { name, host, caller, journal }
    }

    fn die(&mut self) {
        self.journal.lock().unwrap().killed.insert(self.name.clone());
        self.host.kill();
    }

    /// `None`: it was killed.
    fn command(&mut self, args: &[&str], fate: Fate) -> Option<Ended> {
        let mut command = self.caller.msg(&[args, &["--as", &self.name]].concat());
        if let Fate::Step(step) = fate {
            command.env(test_switches::CRASH_AT, step.to_string());
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        match fate {
            Fate::After(delay) => {
                std::thread::sleep(delay);
                child.kill().unwrap();
            }
            Fate::Orphaned(delay) => {
                std::thread::sleep(delay);
                self.die();
            }
            Fate::Lives | Fate::Step(_) => {}
        }
        let output = child.wait_with_output().unwrap();
        if output.status.signal() == Some(9) {
            self.journal.lock().unwrap().commands_killed += 1;
            return None;
        }
        Some(Ended {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        })
    }
}

/// What a worker does next.
enum Turn {
    Claim,
    Complete(String, Instant),
    /// The agent is gone, so another takes its place.
    Replaced,
    Over,
}

/// Works as one agent after another until everything is done.
fn work(number: usize, seed: u64, caller: &Caller, journal: &Mutex<Journal>) {
    let mut chance = Chance(seed.wrapping_mul(1_000).wrapping_add(number as u64));
    let begun = Instant::now();
    for life in 0.. {
        let mut agent = Agent::join(format!("W{number}-{life}"), caller, journal);
        let mut turn = Turn::Claim;
        loop {
            assert!(begun.elapsed() < LONGEST, "{} is still at it", agent.name);
            turn = match turn {
                Turn::Claim => claim(&mut agent, &mut chance),
                Turn::Complete(task, since) => complete(&mut agent, &mut chance, task, since),
                Turn::Replaced => break,
                Turn::Over => return,
            };
        }
    }
}

fn claim(agent: &mut Agent<'_>, chance: &mut Chance) -> Turn {
    let fate = Fate::draw(chance);
    let ended = agent.command(&["claim", "--next"], fate);
    if let Fate::Orphaned(_) = fate {
        let ended = ended.expect("nobody killed the command");
        assert!(matches!(ended.code, Some(0 | 1 | 3)), "a claim of a dead agent: {ended}");
        return Turn::Replaced;
    }
    let Some(ended) = ended else { return Turn::Claim };
    let task = match ended.code {
        Some(0) => {
            let claim = ended.json()["claim"].clone();
            let text = |key: &str| claim[key].as_str().unwrap().to_string();
            assert_eq!(text("agent"), agent.name, "{ended}");
            let key = (text("task"), agent.name.clone());
            agent.journal.lock().unwrap().claimed_at.insert(key, text("claimedAt"));
            text("task")
        }
        _ => match ended.kind().as_str() {
            "all_done" => return Turn::Over,
            "nothing_ready" => {
                std::thread::sleep(Duration::from_millis(40));
                return Turn::Claim;
            }
            // The answer of the last command was lost when it was killed.
            "already_have_claim" => ended.json()["error"]["task"].as_str().unwrap().to_string(),
            _ => panic!("{} can't claim: {ended}", agent.name),
        },
    };
    let since = Instant::now();
    if chance.one_in(HOST_DIES) {
        hold(agent, &task, since);
        agent.die();
        return Turn::Replaced;
    }
    Turn::Complete(task, since)
}

/// Records that it was the agent's until now.
fn hold(agent: &Agent<'_>, task: &str, since: Instant) {
    let held = Held { task: task.to_string(), agent: agent.name.clone(), since, until: Instant::now() };
    agent.journal.lock().unwrap().held.push(held);
}

fn complete(agent: &mut Agent<'_>, chance: &mut Chance, task: String, since: Instant) -> Turn {
    let fate = Fate::draw(chance);
    hold(agent, &task, since);
    let ended = agent.command(&["complete", &task], fate);
    let completed = || agent.journal.lock().unwrap().completed.push((task.clone(), agent.name.clone()));
    let is_dead = matches!(fate, Fate::Orphaned(_));
    match ended {
        Some(ended) if ended.code == Some(0) => completed(),
        Some(ended) if is_dead => {
            assert!(matches!(ended.code, Some(1 | 3)), "a completion of a dead agent: {ended}");
        }
        // The command before this one had done it when it was killed.
        Some(ended) if ended.kind() == "already_completed" => {
            let was_told = agent.journal.lock().unwrap().completed.iter().any(|(done, _)| *done == task);
            assert!(!was_told, "{} was told of {task} before, and still has it", agent.name);
            assert_eq!(ended.json()["error"]["agent"], agent.name.as_str(), "{ended}");
            completed();
        }
        Some(ended) => panic!("{} can't complete {task}: {ended}", agent.name),
        // Asking again shows whether it is done; until then nothing is certain.
        None => return Turn::Complete(task, Instant::now()),
    }
    if is_dead { Turn::Replaced } else { Turn::Claim }
}

/// Reads the files again and again. Returns how often, and every claim it saw: task, agent, since when.
fn watch(
    mesh: &Path,
    spec: &Spec,
    journal: &Mutex<Journal>,
    is_over: &AtomicBool,
) -> (usize, BTreeMap<(String, String), String>) {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let done = || -> HashMap<String, Value> {
        entries(&ledger(mesh, "completions.json")).into_iter().map(|(_, task, entry)| (task, entry)).collect()
    };
    let (mut looks, mut seen) = (0, BTreeMap::new());
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut before = done();
    loop {
        let is_last = is_over.load(Ordering::SeqCst);
        let mut now: BTreeMap<String, String> = BTreeMap::new();
        for (_, task, entry) in entries(&ledger(mesh, "claims.json")) {
            let agent = text(&entry["agent"]);
            if let Some(done) = before.get(&task) {
                assert_eq!(done["completedBy"], agent.as_str(), "{task} was done, and is claimed");
            }
            seen.insert((task.clone(), agent.clone()), text(&entry["claimedAt"]));
            now.insert(task, agent);
        }
        let after = done();
        for (task, entry) in &before {
            assert_eq!(after.get(task), Some(entry), "what is done stays so");
        }
        let agents: BTreeSet<&String> = now.values().collect();
        assert_eq!(agents.len(), now.len(), "one task each: {now:?}");
        for (task, agent) in &now {
            for dependency in &spec[task] {
                assert!(after.contains_key(dependency), "{agent} has {task} before {dependency} is done");
            }
        }
        let killed = journal.lock().unwrap().killed.clone();
        for (task, agent) in owners.iter().filter(|(task, agent)| now.get(*task) != Some(agent)) {
            let by = after.get(task).map(|done| text(&done["completedBy"]));
            assert!(
                by.as_ref() == Some(agent) || killed.contains(agent),
                "{agent} lives, and lost {task} to {:?}, done by {by:?}",
                now.get(task)
            );
        }
        (owners, before) = (now, after);
        looks += 1;
        if is_last {
            return (looks, seen);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The dependencies of each task.
type Spec = BTreeMap<String, Vec<String>>;

/// Every task except the first few depends on up to three of the tasks shortly before it.
fn spec(tasks: usize, chance: &mut Chance) -> (Spec, String) {
    let id = |number: u64| format!("TASK-{number:04}");
    let (mut spec, mut text) = (Spec::new(), "# The storm\n\n".to_string());
    for number in 0..tasks as u64 {
        let count = if number < 20 { 0 } else { chance.below(4) };
        let before: BTreeSet<u64> = (0..count).map(|_| number - 1 - chance.below(number.min(40))).collect();
        let depends_on: Vec<String> = before.into_iter().map(id).collect();
        let needs = match depends_on.as_slice() {
            [] => String::new(),
            ids => format!(" (needs {})", ids.join(", ")),
        };
        text.push_str(&format!("- [ ] {}: number {number}{needs}\n", id(number)));
        spec.insert(id(number), depends_on);
    }
    (spec, text)
}

#[test]
fn sixteen_work_through_a_spec_while_they_are_killed() {
    let seed = number(SEED_FLAG, 5) as u64;
    let (spec, text) = spec(number(FLAG, rounds(TASKS)), &mut Chance(seed));
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), &text);
    let (caller, mesh, journal) = (Caller::of(&env), env.mesh(), Mutex::new(Journal::default()));
    let is_over = AtomicBool::new(false);
    let (looks, seen) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&mesh, &spec, &journal, &is_over));
        let (caller, journal) = (&caller, &journal);
        let workers: Vec<_> =
            (0..WORKERS).map(|number| scope.spawn(move || work(number, seed, caller, journal))).collect();
        let ends: Vec<_> = workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        let seen = watcher.join();
        ends.into_iter().for_each(|end| end.unwrap());
        seen.unwrap()
    });
    let journal = journal.into_inner().unwrap();
    assert_held_by_one(&journal.held);
    assert_done_once(&mesh, &spec, &journal);
    assert_in_order(&mesh, &spec, journal.claimed_at.iter().chain(&seen));
    let (deaths, commands) = (journal.killed.len(), journal.commands_killed);
    assert!(deaths > spec.len() / 20 && commands > spec.len() / 20, "{deaths} and {commands} were killed");
    assert!(looks > spec.len() / 4, "the watcher looked {looks} times");
    let host = Host::new();
    caller.ok(&["join", "Last", "--pid", &host.pid().to_string(), "--session", "last", "--spec", "spec.md"]);
    let tasks = caller.ok(&["tasks", "--as", "Last"]);
    assert_eq!(tasks["progress"]["done"], spec.len());
    assert_eq!(tasks["progress"]["claimed"], 0);
}

/// Asserts that no task had two owners at once.
fn assert_held_by_one(held: &[Held]) {
    let mut of_task: BTreeMap<&str, Vec<&Held>> = BTreeMap::new();
    for held in held {
        of_task.entry(&held.task).or_default().push(held);
    }
    for held in of_task.values_mut() {
        held.sort_by_key(|held| held.since);
        for (at, first) in held.iter().enumerate() {
            for second in &held[at + 1..] {
                let (task, one, other) = (&first.task, &first.agent, &second.agent);
                assert!(first.until <= second.since, "{one} and {other} have {task} at once");
            }
        }
    }
}

/// Asserts that no task is lost, and none is done twice.
fn assert_done_once(mesh: &Path, spec: &Spec, journal: &Journal) {
    let mut told: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (task, agent) in &journal.completed {
        told.entry(task).or_default().insert(agent);
    }
    let done = entries(&ledger(mesh, "completions.json"));
    let ids: BTreeSet<&String> = done.iter().map(|(_, task, _)| task).collect();
    assert_eq!((ids, done.len()), (spec.keys().collect(), spec.len()), "every task once");
    for (_, task, entry) in &done {
        let by = entry["completedBy"].as_str().unwrap();
        // An agent that was killed meanwhile may not have been told.
        let others: Vec<&&str> =
            told.get(task.as_str()).into_iter().flatten().filter(|agent| **agent != by).collect();
        assert!(others.is_empty(), "{task} was completed by {by}, and {others:?} were told that they did");
        let told = told.contains_key(task.as_str()) || journal.killed.contains(by);
        assert!(told, "{by} lives, completed {task}, and doesn't know");
    }
    let count = journal.completed.iter().map(|(task, _)| task).collect::<BTreeSet<_>>().len();
    assert_eq!(count, journal.completed.len(), "nobody was told twice");
}

/// Asserts that every task was claimed after its dependencies were done.
fn assert_in_order<'a>(
    mesh: &Path,
    spec: &Spec,
    claims: impl Iterator<Item = (&'a (String, String), &'a String)>,
) {
    let done: HashMap<String, String> = entries(&ledger(mesh, "completions.json"))
        .into_iter()
        .map(|(_, task, entry)| (task, entry["completedAt"].as_str().unwrap().to_string()))
        .collect();
    for ((task, agent), claimed_at) in claims {
        assert!(done[task] >= *claimed_at, "{task}, claimed by {agent}, was done before that");
        for dependency in &spec[task] {
            let done_at = &done[dependency];
            assert!(done_at <= claimed_at, "{agent} claimed {task} at {claimed_at}; {dependency}: {done_at}");
        }
    }
}

//! What the model does. Several workers ask it at the same time, so it goes by what a request contains: the task, and the
//! words with which a builder is started again.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::tasks::{BRANCH, TODO, task};
use crate::clients::Client;
use crate::model::{Request, Step};
use crate::processes;
use crate::scene::Scene;
use crate::trial::run::Checked;
use crate::wait;

/// What the reviewer wants.
pub const FINDING: &str = "write the number as a word";
/// What comes before the id of a task in what a builder is told.
const TOLD: &str = "This is task `";
const REVIEW: &str = "Review what a worker has done";
/// How long a builder waits for the others.
const PATIENCE: Duration = Duration::from_secs(240);

/// A file, and what becomes of its text.
type Change = (&'static str, fn(&str) -> String);

/// What a builder does after it was told something.
struct Act {
    task: &'static str,
    /// Words of what it is told.
    words: &'static str,
    /// What it waits for first.
    before: Before,
    /// The file that it changes, and what that becomes.
    change: Option<Change>,
    /// Whether it is killed after that.
    is_killed: bool,
}

enum Before {
    Nothing,
    /// The builder of that task is at work, so its worktree is made.
    Begun(&'static str),
    /// The file has that line on the branch.
    Merged(&'static str, &'static str),
}

const fn act(task: &'static str, words: &'static str, before: Before, change: Option<Change>) -> Act {
    Act { task, words, before, change, is_killed: false }
}

/// The last one counts whose words were said.
const ACTS: [Act; 11] = [
    act("T-1", "", Before::Nothing, Some(("base.txt", |_| "base".to_string()))),
    Act { is_killed: true, ..act("T-2", "", Before::Nothing, Some(("two.txt", |_| "half".to_string()))) },
    act(
        "T-2",
        "An earlier attempt did not get done (failed: ",
        Before::Nothing,
        Some(("two.txt", |old| format!("{old}\ntwo"))),
    ),
    act("T-3", "", Before::Begun("T-6"), None),
    act("T-3", "does not pass yet", Before::Nothing, Some(("three.txt", |_| "three".to_string()))),
    act("T-4", "", Before::Nothing, Some(("shared.txt", |_| "4".to_string()))),
    act("T-4", FINDING, Before::Begun("T-5"), Some(("shared.txt", |_| "four".to_string()))),
    act("T-5", "", Before::Merged("shared.txt", "four"), Some(("shared.txt", |_| "five".to_string()))),
    act("T-5", "Others changed the same files meanwhile", Before::Nothing, Some(("shared.txt", resolved))),
    act("T-6", "", Before::Merged("three.txt", "three"), Some(("six.txt", |_| "six".to_string()))),
    act(
        "T-6",
        "together with what they did meanwhile it does not",
        Before::Nothing,
        Some(("agreed.txt", |_| "agreed".to_string())),
    ),
];

/// Both sides of a conflict, one after the other.
fn resolved(marked: &str) -> String {
    let is_mark = |line: &&str| ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark));
    marked.lines().filter(|line| !is_mark(line)).collect::<Vec<_>>().join("\n")
}

/// The model, which remembers how far each act is.
pub struct Script {
    scene: Arc<Scene>,
    /// How many turns of an act, by its place in the list, there were.
    turns: Mutex<HashMap<usize, usize>>,
}

impl Script {
    pub fn new(scene: &Arc<Scene>) -> Self {
        Self { scene: Arc::clone(scene), turns: Mutex::default() }
    }

    /// What the model of that client does.
    pub fn answer(&self, client: &dyn Client, request: &Request) -> Step {
        let said = request.conversation().join("\n");
        let Some(task) = task_of(&said) else { return Step::say("Nobody told me of a task.") };
        if said.contains(REVIEW) {
            return Step::say(&verdict(task, &said));
        }
        let place = ACTS.iter().rposition(|act| act.task == task && said.contains(act.words));
        let Some(place) = place else { return Step::say("That is not in the script.") };
        self.build(client, place).unwrap_or_else(|wrong| Step::say(&format!("{task} is not done: {wrong}")))
    }

    /// The next turn of an act.
    fn build(&self, client: &dyn Client, place: usize) -> Result<Step, String> {
        let act = &ACTS[place];
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            let turn = turns.entry(place).or_default();
            *turn += 1;
            *turn - 1
        };
        if turn == 0 {
            self.wait_before(act)?;
        }
        let mut calls = Vec::new();
        if let Some((file, change)) = &act.change {
            let path = self.worktree(act.task)?.join(file);
            let old = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let old = old.trim_end();
            calls.extend(client.read(&path));
            calls.push(client.edit(&path, old, &change(old)));
        }
        if turn < calls.len() {
            return Ok(Step::call(calls.swap_remove(turn)));
        }
        if act.is_killed {
            self.kill(act.task)?;
        }
        Ok(Step::say(&format!("{} is done.", act.task)))
    }

    fn wait_before(&self, act: &Act) -> Checked {
        match act.before {
            Before::Nothing => Ok(()),
            Before::Begun(task) => wait::until(&format!("{task} is begun"), PATIENCE, || {
                let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
                turns.keys().any(|place| ACTS[*place].task == task).then_some(())
            }),
            Before::Merged(file, line) => wait::until(&format!("{file} is merged"), PATIENCE, || {
                let mut show = self.scene.command("git");
                show.args(["show", &format!("{BRANCH}:{file}")]);
                let output = show.output().ok()?;
                String::from_utf8_lossy(&output.stdout).lines().any(|other| other == line).then_some(())
            }),
        }
    }

    /// The run of that task which goes on.
    fn run(&self, task: &str) -> Result<Value, String> {
        let ended = self.scene.run(self.scene.command("msg").args(["runs", "--json"]));
        let answer: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
        let is_its = |run: &&Value| run["claim"]["task"] == task && run["endedAt"].is_null();
        let run = answer["runs"].as_array().into_iter().flatten().find(is_its);
        run.cloned().ok_or_else(|| format!("no run: {ended:?}"))
    }

    fn worktree(&self, task: &str) -> Result<PathBuf, String> {
        Ok(PathBuf::from(self.run(task)?["root"].as_str().unwrap_or_default()))
    }

    /// Kills the worker of that task.
    fn kill(&self, task: &str) -> Checked {
        let run = self.run(task)?;
        let id = run["id"].as_str().unwrap_or_default();
        let all = processes::of(&self.scene.home());
        let is_keeper =
            |pid: i32| all.iter().any(|process| process.pid == pid && process.line.contains(" keeper "));
        let ours = processes::started_with("MSG_RUN", id);
        let worker = ours.iter().find(|process| process.parent().is_some_and(is_keeper));
        worker.ok_or_else(|| format!("no worker of {id} among {ours:?}"))?.end(Signal::SIGKILL);
        // What it has started may still listen.
        wait::until(&format!("run {id} ends"), PATIENCE, || {
            self.run(task).map_or(true, |other| other["id"] != run["id"]).then_some(())
        })
    }
}

/// The task that somebody was told of.
fn task_of(said: &str) -> Option<&'static str> {
    let (_, rest) = said.split_once(TOLD)?;
    let (id, _) = rest.split_once('`')?;
    task(id).map(|task| task.id)
}

/// What the reviewer says of the changes that it is shown.
fn verdict(task: &str, said: &str) -> String {
    let shows = |line: &str| said.lines().any(|other| other == format!("> {line}"));
    if task == "T-4" && shows(&format!("-{TODO}")) && shows("+4") {
        return format!(
            r#"{{"verdict": "rework", "findings": [{{"file": "shared.txt", "line": 1, "text": "{FINDING}"}}]}}"#
        );
    }
    r#"{"verdict": "ship", "findings": []}"#.to_string()
}

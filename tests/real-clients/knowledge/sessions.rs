//! The two sessions of the client.

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::awareness::session::type_in;
use crate::clients::Leave;
use crate::model::{Call, Request, Step};
use crate::scene::{Ended, FREE, NEW, OLD};
use crate::trial::Trial;
use crate::trial::run::Run;

use super::records::{FAILING, HOSTILE, NOTED, PLAIN, PLAN, TASKS};

/// What the session that works has learned.
pub const LEARNED: &str = "Renaming it needs no other change";

/// The session that works on a task.
pub struct Work {
    pub run: Run,
    /// The agents at its first turn, except for the other one.
    pub names: Vec<String>,
    /// The request with the result of its user's decision, if he can decide something.
    pub decided: Option<usize>,
    /// The request after its first stop.
    pub stopped: usize,
    /// The request with the result of its first completion.
    pub completed: usize,
    /// The number of requests, if nobody asks it anything else.
    pub requests: usize,
}

/// The requests of the session that only reads: with the first result of reading [`NOTED`], with that of [`HOSTILE`],
/// and with that of [`FAILING`], which is the last.
pub const NOTED_AT: usize = 2;
pub const HOSTILE_AT: usize = 4;
pub const FAILED_AT: usize = 5;

/// It reads one file after the other, one of them twice, and runs a command that fails.
pub fn read(trial: &Trial<'_>) -> Run {
    let looks =
        [PLAIN[0], NOTED, NOTED, HOSTILE].map(|file| trial.client.look(&trial.scene.repo().join(file)));
    let calls = looks.into_iter().chain([trial.client.shell(FAILING)]);
    let steps = calls.map(Step::call).chain([Step::say("I have read it.")]).collect();
    run(trial, &mut trial.scene.command(&trial.program), "please look around", steps)
}

/// It changes three files and stops, completes a task, and another one with what it learned. Its prompt names the file
/// that the hostile note is about.
pub fn work(trial: &Trial<'_>) -> Work {
    let client = trial.client;
    let mut command = trial.scene.command(&trial.program);
    let paths = PLAIN.map(|file| trial.scene.repo().join(file));
    let names = Arc::<Mutex<Vec<String>>>::default();
    let sees = {
        let (scene, names) = (Arc::clone(&trial.scene), Arc::clone(&names));
        move |_: &Request| *names.lock().unwrap() = scene.names()
    };
    let shell = |line: String| client.shell(&client.patient(&line));
    let begin = Step::call(shell(format!("msg spec {PLAN} && msg claim {}", TASKS[0]))).meanwhile(sees);
    let begin = paths.iter().filter_map(|path| client.read(path)).fold(begin, Step::and_call);
    let mut steps = vec![begin];
    let decision: Option<Call> = client.decision(&mut command);
    let decided = decision.map(|call| {
        steps.push(Step::call(call));
        steps.len()
    });
    let edits = paths.iter().map(|path| client.edit(path, OLD, NEW));
    steps.push(edits.fold(Step::default(), Step::and_call));
    steps.push(Step::say("I am done."));
    let stopped = steps.len();
    steps.push(Step::call(shell(format!("msg complete {} && msg claim {}", TASKS[0], TASKS[1]))));
    let completed = steps.len();
    steps.push(Step::call(shell(format!("msg complete {} --learned \"{LEARNED}\" --at {FREE}", TASKS[1]))));
    steps.push(Step::say("I am done at last."));
    let requests = steps.len();
    let run = run(trial, &mut command, &format!("please mend {HOSTILE}"), steps);
    let names = names.lock().unwrap().clone();
    Work { run, names, decided, stopped, completed, requests }
}

/// Runs a session with one prompt.
fn run(trial: &Trial<'_>, command: &mut Command, prompt: &str, steps: Vec<Step>) -> Run {
    let (lane, scene) = (super::lane(trial), &trial.scene);
    let url = trial.server.url(&lane);
    let earlier = trial.server.requests(&lane).len();
    trial.server.play(&lane, steps);
    let ended = match trial.client.converse(command, &url) {
        // One of these clients would take half a minute to end by itself.
        Some(conversation) => {
            let mut process = scene.start(command.stdin(Stdio::piped()));
            let mut input = process.child.stdin.take().expect("a pipe");
            let Ended { code, .. } = type_in(&mut process, &conversation, &mut input, prompt);
            process.end(code)
        }
        None => {
            trial.client.start(command, &url, prompt, Leave::All);
            scene.run(command)
        }
    };
    let requests = trial.server.requests(&lane).into_iter().skip(earlier);
    Run { ended, turns: requests.filter(|request: &Request| request.step.is_some()).collect() }
}

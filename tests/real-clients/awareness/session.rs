//! A session of the client that gets prompts one after the other: from its standard input or by HTTP if it has such a
//! mode, otherwise each from a run of its own that resumes the session.

use std::io::Write as _;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::clients::{Conversation, Leave};
use crate::http;
use crate::model::{Request, Step};
use crate::scene::{Ended, Running};
use crate::trial::Trial;
use crate::trial::run::Run;
use crate::trial::served;
use crate::wait::until;

/// A turn that is not over by then never is.
const PATIENCE: Duration = Duration::from_secs(90);

pub struct Session<'a> {
    trial: &'a Trial<'a>,
    lane: String,
    way: PromptWay,
}

/// How it gets its prompts.
enum PromptWay {
    Input { process: Running, conversation: Conversation, input: ChildStdin },
    Server { process: Running, address: String, id: String },
    Runs { count: usize },
}

impl<'a> Session<'a> {
    pub fn new(trial: &'a Trial<'a>) -> Self {
        let lane = super::lane(trial);
        let mut command = trial.scene.command(&trial.program);
        let way = match trial.client.converse(&mut command, &trial.server.url(&lane)) {
            Some(conversation) => {
                let mut process = trial.scene.start(command.stdin(Stdio::piped()));
                let input = process.child.stdin.take().expect("a pipe");
                PromptWay::Input { process, conversation, input }
            }
            None if trial.client.serve(&mut command) => serve(trial, &mut command),
            None => PromptWay::Runs { count: 0 },
        };
        Self { trial, lane, way }
    }

    /// How many prompts it can be given in a few seconds.
    pub fn affordable_prompts(&self) -> usize {
        match self.way {
            PromptWay::Input { .. } => 50,
            PromptWay::Server { .. } => 10,
            PromptWay::Runs { .. } => 1,
        }
    }

    /// Whether one process takes all prompts.
    pub fn is_one_process(&self) -> bool {
        !matches!(self.way, PromptWay::Runs { .. })
    }

    /// Whether its model still has what it was told at an earlier prompt.
    pub fn keeps_hook_text(&self) -> bool {
        self.is_one_process() || self.trial.client.keeps_hook_text()
    }

    /// Gives it a prompt, and returns when its turn is over.
    pub fn prompt(&mut self, text: &str, steps: Vec<Step>) -> Run {
        let (trial, url) = (self.trial, self.trial.server.url(&self.lane));
        let earlier = trial.server.requests(&self.lane).len();
        trial.server.play(&self.lane, steps);
        let ended = match &mut self.way {
            PromptWay::Input { process, conversation, input } => type_in(process, conversation, input, text),
            PromptWay::Server { process, address, id } => post(process, address, id, text),
            PromptWay::Runs { count } => {
                let mut command = trial.scene.command(&trial.program);
                match *count {
                    0 => trial.client.start(&mut command, &url, text, Leave::All),
                    _ => trial.client.resume(&mut command, &url, text, Leave::All),
                }
                *count += 1;
                trial.scene.run(&mut command)
            }
        };
        let requests = trial.server.requests(&self.lane).into_iter().skip(earlier);
        Run { ended, turns: requests.filter(|request: &Request| request.step.is_some()).collect() }
    }
}

/// Starts its server, and a session there.
fn serve(trial: &Trial<'_>, command: &mut Command) -> PromptWay {
    let process = trial.scene.start(command);
    let listens = || served::address(&process.said()).map(str::to_string);
    let address = until("its address", PATIENCE, listens).expect("a server");
    let id = served::begin(&address);
    PromptWay::Server { process, address, id }
}

/// Gives a process a prompt, and returns when its turn is over.
pub fn type_in(
    process: &mut Running,
    conversation: &Conversation,
    input: &mut ChildStdin,
    text: &str,
) -> Ended {
    let turns = |said: &str| said.matches(conversation.end).count();
    let before = turns(&process.said());
    // A process that does not read any more has ended, which is seen below.
    drop(writeln!(input, "{}", (conversation.line)(text)));
    let over = until("the end of its turn", PATIENCE, || {
        let is_over = turns(&process.said()) > before;
        (is_over || process.child.try_wait().is_ok_and(|ended| ended.is_some())).then_some(is_over)
    });
    Ended { code: over.is_ok_and(|is_over| is_over).then_some(0), ..process.said_so_far() }
}

/// The answer comes when the turn is over.
fn post(process: &Running, address: &str, id: &str, text: &str) -> Ended {
    let body = json!({ "parts": [{ "type": "text", "text": text }] });
    let answer = http::post(address, &format!("/session/{id}/message"), &body.to_string());
    Ended { code: answer.starts_with("HTTP/1.1 200").then_some(0), ..process.said_so_far() }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.way, PromptWay::Runs { count: 0 }) {
            PromptWay::Input { process, .. } | PromptWay::Server { process, .. } => drop(process.end(None)),
            PromptWay::Runs { .. } => {}
        }
    }
}

//! A scene in which `msg run --tmux` finds one client, and a tmux server of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::model::{Call, Request, Step};
use crate::scene::Ended;
use crate::trial::Trial;
use crate::trial::run::{Checked, ensure};
use crate::waking::seat::Seat;
use crate::{wait, workers};

/// What has not happened by then does not happen.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Stage<'a> {
    pub seat: Seat,
    pub worker: workers::Stage<'a>,
    socket: PathBuf,
}

impl<'a> Stage<'a> {
    pub fn new(trial: &'a Trial<'a>) -> Self {
        let seat = Seat::of(trial.client).expect("one that has a terminal");
        let worker = workers::Stage::at_terminal(trial, &seat);
        let socket = trial.scene.home().with_file_name("tmux");
        let path = socket.display().to_string();
        for (key, value) in [("tmuxSocket", path.as_str()), ("lookSeconds", "0.2"), ("backOff", "0")] {
            trial.scene.msg(&["config", "set", key, value]);
        }
        Self { seat, worker, socket }
    }

    pub fn client(&self) -> &'static str {
        self.worker.trial.client.name()
    }

    /// The model takes these steps, and afterwards answers every request with one sentence.
    pub fn play(&self, mut steps: Vec<Step>) {
        steps.extend((0..100).map(|_| Step::say("Very well.")));
        self.worker.trial.server.play(self.client(), steps);
    }

    /// A call that runs a command.
    pub fn shell(&self, command: &str) -> Call {
        self.seat.shell(self.worker.trial.client, command)
    }

    /// Runs `msg` as a person does.
    pub fn msg(&self, args: &[&str]) -> (Value, Ended) {
        let ended = self.worker.trial.scene.run(&mut self.worker.msg(args));
        (serde_json::from_str(&ended.stdout).unwrap_or_default(), ended)
    }

    /// The same, which must succeed.
    pub fn must(&self, args: &[&str]) -> Checked<Value> {
        let (answer, ended) = self.msg(args);
        ensure(answer["ok"] == true, || format!("msg {}: {ended:?}", args.join(" ").escape_debug()))?;
        Ok(answer)
    }

    /// Starts a worker of that profile and name on a task, which it has taken then. Returns its run.
    pub fn start(&self, profile: &str, name: &str, task: &str) -> Checked<Value> {
        let args = ["run", profile, task, "--tmux", "--detach", "--name", name];
        Ok(self.must(&[&args, self.trusting()].concat())?["run"].clone())
    }

    /// Nobody has told Gemini before that the folder is trusted: that dialog is answered here.
    pub fn trusting(&self) -> &'static [&'static str] {
        if self.client() == "gemini" { &["--accept-trust"] } else { &[] }
    }

    pub fn look(&self, name: &str) -> Value {
        self.msg(&["look", name]).0
    }

    /// Waits until a look shows one of these states. Returns the look.
    pub fn until(&self, name: &str, states: &[&str]) -> Checked<Value> {
        let mut last = Value::Null;
        let found = wait::until(&format!("it is {}", states.join(" or ")), PATIENCE, || {
            last = self.look(name);
            states.iter().any(|state| last["state"] == *state).then(|| last.clone())
        });
        found.map_err(|wrong| format!("{wrong}, but {} by {}", last["state"], last["restsOn"]))
    }

    /// Waits until its run is in that state.
    pub fn until_run(&self, id: &str, state: &str) -> Checked<Value> {
        let mut last = Value::Null;
        let found = wait::until(&format!("its run is {state}"), PATIENCE, || {
            last = self.msg(&["runs", "show", id]).0["run"].clone();
            (last["state"] == state).then(|| last.clone())
        });
        found.map_err(|wrong| format!("{wrong}, but {}: {}", last["state"], last["reason"]))
    }

    /// The requests of turns to the model.
    pub fn turns(&self) -> Vec<Request> {
        let mut requests = self.worker.trial.server.requests(self.client());
        requests.retain(|request| request.step.is_some());
        requests
    }

    /// The text is in the conversation as it is, once. Copilot puts a long one into a file, and its model gets the path.
    pub fn is_taken_once(&self, text: &str) -> Checked {
        if self.client() == "copilot" && text.len() > 30_000 {
            return self.is_in_one_file(text);
        }
        let last = wait::until("its model has the prompt", PATIENCE, || {
            self.turns().pop().filter(|turn| turn.count(text) > 0)
        });
        // What is not there as a whole may be there in parts.
        let first_line = text.lines().next().unwrap_or_default();
        let last = last.map_err(|wrong| {
            let times = self.turns().last().map_or(0, |turn| turn.count(first_line));
            format!("{wrong}; its first line is there {times} times")
        })?;
        let times = last.count(text);
        ensure(times == 1, || format!("its model has the prompt {times} times"))
    }

    fn is_in_one_file(&self, text: &str) -> Checked {
        let dir = self.worker.trial.scene.home().join(".copilot/session-state");
        let paths = wait::until("its model has the path", PATIENCE, || {
            let named = |path: &PathBuf| {
                let path = path.display().to_string();
                self.turns().last().is_some_and(|turn| turn.count(&path) == 1)
            };
            let paths: Vec<PathBuf> = files_below(&dir).into_iter().filter(named).collect();
            (!paths.is_empty()).then_some(paths)
        })?;
        let has_text =
            |path: &PathBuf| fs::read_to_string(path).is_ok_and(|content| content.trim() == text.trim());
        ensure(paths.len() == 1 && has_text(&paths[0]), || format!("{paths:?} are not the text"))
    }

    /// What a person does in tmux.
    pub fn tmux(&self, args: &[&str]) -> String {
        let mut tmux = self.command();
        let output = tmux.args(args).output().expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A person starts this in a session of its own.
    pub fn open(&self, program: &Command) {
        let mut tmux = self.command();
        tmux.args(["new-session", "-d", "-s", "person", "-x", "200", "-y", "50"]);
        for (name, value) in program.get_envs() {
            if let Some(value) = value {
                tmux.arg("-e").arg(format!("{}={}", name.display(), value.display()));
            }
        }
        tmux.arg("--").arg(program.get_program()).args(program.get_args());
        let output = tmux.output().expect("tmux runs");
        assert!(output.status.success(), "{tmux:?}: {output:?}");
    }

    fn command(&self) -> Command {
        let mut tmux = self.worker.trial.scene.command("tmux");
        tmux.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]);
        tmux
    }

    /// For whoever has to find out what failed.
    pub fn evidence(&self) -> String {
        let panes = self.tmux(&["list-panes", "-a", "-F", "#{pane_id} #{window_name}"]);
        let screens = panes.lines().map(|line| {
            let pane = line.split(' ').next().unwrap_or_default();
            let screen = self.tmux(&["capture-pane", "-p", "-t", pane]);
            let lines: Vec<&str> = screen.lines().filter(|line| !line.trim().is_empty()).collect();
            format!("{line}\n{}", lines.join("\n"))
        });
        let screens = screens.collect::<Vec<_>>().join("\n");
        let none = Ended { code: None, stdout: String::new(), stderr: String::new() };
        format!("{screens}\n{} turns\n{}", self.turns().len(), self.worker.evidence(&none))
    }
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

//! A scene in which `msg run` finds one client, and profiles for it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::clients::{Client, Leave};
use crate::model::Step;
use crate::scene::{Ended, FREE, NEW, OLD, Running, Scene};
use crate::trial::Trial;
use crate::waking::seat::Seat;

/// What the model says at the end.
pub const SAID: &str = "It has a new name now.";

pub struct Stage<'a> {
    pub trial: &'a Trial<'a>,
    /// What its user has in the environment.
    env: Vec<(OsString, OsString)>,
}

/// The rest of a profile whose worker has to ask before it runs a command.
fn asking(client: &str) -> &'static str {
    match client {
        "gemini" => "tools = [\"replace\"]\n",
        "opencode" => "tools = [\"edit\"]\n",
        "copilot" => "tools = [\"write\"]\n",
        // It has no list of tools.
        "codex" => "",
        _ => "tools = [\"Edit\"]\n",
    }
}

/// Makes a client that is set up one that `msg` starts as a worker, with our hooks where a worker does not bring them. Returns
/// what its user has in the environment.
pub fn be_worker(client: &dyn Client, program: &Path, scene: &Scene, url: &str) -> Vec<(OsString, OsString)> {
    client.set_up_worker(scene, url);
    // What it needs of the environment is what it is started with elsewhere.
    let mut alone = Command::new(program);
    client.start(&mut alone, url, "x", Leave::Settings);
    let env = alone.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let mut env: Vec<(OsString, OsString)> = env.collect();
    env.extend(client.worker_variables().iter().map(|(name, value)| (name.into(), value.into())));
    put_client(client, program, scene);
    let installed = scene.run(scene.command("msg").args(["install", client.name(), "--no-mcp"]));
    assert_eq!(installed.code, Some(0), "{installed:?}");
    env
}

fn on_path(client: &dyn Client, scene: &Scene) -> PathBuf {
    scene.home().join(".local/bin").join(client.name())
}

fn put_client(client: &dyn Client, program: &Path, scene: &Scene) {
    drop(fs::remove_file(on_path(client, scene)));
    std::os::unix::fs::symlink(program, on_path(client, scene)).unwrap();
}

impl<'a> Stage<'a> {
    /// Sets the client up, with our hooks where a worker does not bring them.
    pub fn new(trial: &'a Trial<'a>) -> Self {
        trial.client.set_up(&trial.scene, &trial.server.url(trial.client.name()));
        Self::set_up(trial)
    }

    /// The same for a terminal, where its user has answered the questions that come only there.
    pub fn at_terminal(trial: &'a Trial<'a>, seat: &Seat) -> Self {
        seat.set_up(trial.client, &trial.scene, &trial.server.url(trial.client.name()));
        Self::set_up(trial)
    }

    fn set_up(trial: &'a Trial<'a>) -> Self {
        let (client, scene) = (trial.client, &trial.scene);
        let env = be_worker(client, &trial.program, scene, &trial.server.url(client.name()));
        let stage = Self { trial, env };
        let model = client.worker_model().map_or(String::new(), |model| format!("model = \"{model}\"\n"));
        let profile =
            |name: &str, more: &str| format!("[{name}]\nharness = \"{}\"\n{model}{more}\n", client.name());
        let profiles = [
            profile("edits", ""),
            profile("reads", "readonly = true\n"),
            profile("asks", asking(client.name())),
            profile("strange", "args = [\"--no-such-option-of-anybody\"]\n"),
        ];
        scene.write(".config/ravenry/workers.toml", &profiles.concat());
        stage
    }

    fn on_path(&self) -> PathBuf {
        on_path(self.trial.client, &self.trial.scene)
    }

    /// The client is the program of its name.
    pub fn put_client(&self) {
        put_client(self.trial.client, &self.trial.program, &self.trial.scene);
    }

    pub fn remove_client(&self) {
        drop(fs::remove_file(self.on_path()));
    }

    /// A shell script is the program of its name. `CLIENT` in it is the real one.
    pub fn put_script(&self, text: &str) {
        self.remove_client();
        let text = text.replace("CLIENT", &format!("'{}'", self.trial.program.display()));
        fs::write(self.on_path(), format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(self.on_path(), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `msg` as its user calls it.
    pub fn msg(&self, args: &[&str]) -> Command {
        let mut command = self.trial.scene.command("msg");
        command.args(args).arg("--json").envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end while the model plays these steps. Returns the answer.
    pub fn play(&self, steps: Vec<Step>, args: &[&str]) -> (Value, Ended) {
        let scene = &self.trial.scene;
        self.trial.server.play(self.trial.client.name(), steps);
        let ended = scene.run(&mut self.msg(args));
        (serde_json::from_str(&ended.stdout).unwrap_or_default(), ended)
    }

    /// Starts it while the model plays these steps.
    pub fn start(&self, steps: Vec<Step>, args: &[&str]) -> Running {
        self.trial.server.play(self.trial.client.name(), steps);
        self.trial.scene.start(&mut self.msg(args))
    }

    /// The model edits a file, and says so.
    pub fn editing(&self) -> Vec<Step> {
        let path = self.trial.scene.repo().join(FREE);
        let mut steps: Vec<Step> = self.trial.client.read(&path).into_iter().map(Step::call).collect();
        steps.push(Step::call(self.trial.client.edit(&path, OLD, NEW)));
        steps.push(Step::say(SAID));
        steps
    }

    /// For whoever has to find out what failed.
    pub fn evidence(&self, ended: &Ended) -> String {
        let runs = self.trial.scene.run(&mut self.msg(&["runs", "--all"]));
        let first: Value = serde_json::from_str(&runs.stdout).unwrap_or_default();
        let id = first["runs"][0]["id"].as_str().unwrap_or("none").to_string();
        let log = |more: &[&str]| {
            let ended = self.trial.scene.run(&mut self.msg(&[&["runs", "log", &id], more].concat()));
            let log: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
            let log: Vec<char> = log["log"].as_str().unwrap_or_default().chars().collect();
            log[log.len().saturating_sub(3000)..].iter().collect::<String>()
        };
        format!("{ended:?}\nrun: {}\noutput: {}\nerrors: {}", first["runs"][0], log(&[]), log(&["--errors"]))
    }
}

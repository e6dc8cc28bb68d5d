//! A repository with a spec, and profiles for the clients that build and review.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::Builder;
use super::script::Script;
use super::tasks::{FILES, SPEC, TODO, spec};
use crate::model::Server;
use crate::processes;
use crate::scene::{Ended, Scene};
use crate::wait;
use crate::workers::be_worker;

/// A crew that has not ended by then never does.
const LIMIT: Duration = Duration::from_secs(420);
const REVIEWER: &str = "judge";

/// Files of a person: content, mode, and when they were changed.
pub type Files = BTreeMap<PathBuf, (Vec<u8>, u32, (i64, i64))>;

pub struct Stage {
    pub scene: Arc<Scene>,
    /// What the person has in the environment.
    env: Vec<(OsString, OsString)>,
    /// The profiles of the builders.
    profiles: Vec<String>,
}

impl Stage {
    /// The first of the builders reviews, too.
    pub fn new(builders: &[Builder], scene: Arc<Scene>, server: &Server) -> Self {
        for file in FILES {
            fs::write(scene.repo().join(file), format!("{TODO}\n")).unwrap();
        }
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-qm", "what is to be done"]);
        fs::write(scene.repo().join(SPEC), spec()).unwrap();

        let script = Arc::new(Script::new(&scene));
        let (mut env, mut profiles, mut text) = (Vec::new(), Vec::new(), String::new());
        for Builder { client, program, .. } in builders {
            let lane = format!("{}-crew", client.name());
            let url = server.url(&lane);
            client.set_up(&scene, &url);
            env.extend(be_worker(*client, program, &scene, &url));
            let (script, director) = (Arc::clone(&script), *client);
            server.direct(&lane, move |request| script.answer(director, request));

            let harness = format!("harness = \"{}\"\n", client.name());
            let model = client.worker_model().map_or(String::new(), |model| format!("model = \"{model}\"\n"));
            if profiles.is_empty() {
                text.push_str(&format!("[{REVIEWER}]\n{harness}{model}readonly = true\n\n"));
            }
            let name = format!("by-{}", client.name());
            text.push_str(&format!(
                "[{name}]\n{harness}{model}isolation = \"worktree\"\nreview = \"{REVIEWER}\"\n\n"
            ));
            profiles.push(name);
        }
        scene.write(".config/ravenry/workers.toml", &text);
        let stage = Self { scene, env, profiles };
        let trusted = stage.scene.run(&mut stage.msg(&["workers", "trust", "--spec", SPEC, "--yes"]));
        assert_eq!(trusted.code, Some(0), "{trusted:?}");
        stage
    }

    /// `msg` as the person calls it.
    pub fn msg(&self, args: &[&str]) -> Command {
        let mut command = self.scene.command("msg");
        command.args(args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What it answers with `--json`.
    pub fn ask(&self, args: &[&str]) -> Value {
        let ended = self.scene.run(self.msg(args).arg("--json"));
        serde_json::from_str(&ended.stdout).unwrap_or_default()
    }

    /// Lets the crew work to its end.
    pub fn work(&self) -> Ended {
        let profiles = self.profiles.join(",");
        let mut command =
            self.msg(&["crew", "work", SPEC, "--workers", "3", "--profile", &profiles, "--yes"]);
        let mut running = self.scene.start(command.arg("--json"));
        let code = wait::until("the crew ends", LIMIT, || running.child.try_wait().unwrap());
        running.end(code.ok().and_then(|status| status.code()))
    }

    /// What git says in a repository.
    pub fn git(&self, repository: &Path, args: &[&str]) -> String {
        let output = self.scene.command("git").current_dir(repository).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_string()
    }

    /// Everything in the person's repository, and in git's directory what is not only ours.
    pub fn person(&self) -> Files {
        let ours = [".git/objects", ".git/refs/ravenry", ".git/refs/heads/ravenry", ".git/worktrees"];
        let top = self.scene.repo();
        let mut found = Files::new();
        let mut dirs = vec![top.clone()];
        while let Some(dir) = dirs.pop() {
            for path in fs::read_dir(&dir).unwrap().flatten().map(|entry| entry.path()) {
                let name = path.strip_prefix(&top).unwrap().to_path_buf();
                let there = path.symlink_metadata().unwrap();
                if ours.iter().any(|ours| name.starts_with(ours)) {
                    continue;
                }
                if there.is_dir() {
                    dirs.push(path);
                } else {
                    let time = (there.mtime(), there.mtime_nsec());
                    found.insert(name, (fs::read(&path).unwrap(), there.mode(), time));
                }
            }
        }
        found
    }
}

/// Ends whatever a failed crew has left.
pub fn end(scene: &Scene) {
    for process in processes::of(&scene.home()) {
        process.end(Signal::SIGKILL);
    }
}

//! Snapshots of the answers at every hook of every harness: with everything free, and with another agent holding what
//! the payloads touch.

use std::process::Command;
use std::time::{Duration, SystemTime};

use ravenry::sys::test_switches;

use crate::support::environment::{TestEnvironment, date, end};
use crate::support::hook_fixture::{Fixture, feed, fixtures, hook, project};

const RESERVED_AT: &str = "2024-05-17T09:18:00.000Z";
const NOW: &str = "2024-05-17T09:30:00.000Z";
const HELD: [&str; 7] =
    ["src/lib.rs", "src/new.rs", "src/other.rs", "out.txt", "notes.txt", "n.ipynb", "sub.txt"];

/// A mesh with GoldFalcon, and the agent that the hooks are called for.
struct Scene {
    env: TestEnvironment,
    /// The session that SwiftRaven has at present.
    session: Option<String>,
}

impl Scene {
    fn new(held: &[&str]) -> Self {
        let env = TestEnvironment::new();
        project(&env);
        let scene = Self { env, session: None };
        let host = scene.env.host().to_string();
        scene.run(&["join", "GoldFalcon", "--pid", &host, "--harness", "codex", "--session", "gold"], NOW);
        if !held.is_empty() {
            let reserve =
                [&["reserve", "--as", "GoldFalcon", "--reason", "moving the parser"], held].concat();
            scene.run(&reserve, RESERVED_AT);
        }
        // It has been idle since, so changes meanwhile are not its own.
        let hour = Duration::from_secs(3600);
        date(&scene.env.mesh().join("presence/GoldFalcon"), SystemTime::now() - hour);
        scene
    }

    fn at(&self, mut command: Command, now: &str) -> Command {
        command.env(test_switches::NOW, now).current_dir(self.env.home().join("project"));
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str], now: &str) {
        let mut command = self.at(self.env.msg(), now);
        end(command.args(args)).expect_code(0);
    }

    /// Makes SwiftRaven the agent of the payload's session. It joins again when the end of a session has removed it.
    fn become_caller(&mut self, fixture: &Fixture) {
        let session = fixture.session();
        let is_there = self.env.mesh().join("registry/SwiftRaven.json").exists();
        if session.is_none() || (is_there && session == self.session) {
            return;
        }
        if is_there {
            self.run(&["leave", "--as", "SwiftRaven"], NOW);
        }
        let (host, id) = (self.env.host().to_string(), session.as_deref().unwrap());
        let harness = fixture.harness;
        let join = ["join", "SwiftRaven", "--pid", &host, "--harness", harness, "--session", id];
        self.run(&join, NOW);
        self.session = session;
    }

    /// The output of the hook.
    #[track_caller]
    fn decide(&mut self, fixture: &Fixture) -> String {
        self.become_caller(fixture);
        let mut command = self.at(hook(&self.env, fixture.harness, &fixture.event), NOW);
        let ended = feed(&mut command, fixture.payload.as_bytes());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}: {ended}", fixture.name);
        assert!(!self.env.mesh().join("trouble.jsonl").exists(), "{}", fixture.name);
        ended.stdout.replace(self.env.home().to_str().unwrap(), "/home/dev")
    }

    /// The answers to a harness's payloads, and the list of payloads without an answer.
    fn play(held: &[&str], dir: &str) -> String {
        let mut scene = Self::new(held);
        let (mut said, mut silent) = (String::new(), String::from("Nothing is said at:\n"));
        for fixture in fixtures(&scene.env.home(), dir) {
            let answer = scene.decide(&fixture);
            if answer.is_empty() {
                silent.push_str(&format!("  {}\n", fixture.name));
                continue;
            }
            assert!(answer.ends_with('\n') && answer.lines().count() == 1, "{}: {answer}", fixture.name);
            said.push_str(&format!("{}\n  {answer}\n", fixture.name));
        }
        said + &silent
    }
}

#[track_caller]
fn check(dir: &str) {
    let free = Scene::play(&[], dir);
    let held = Scene::play(&HELD, dir);
    let text = format!(
        "# All is free\n\n{free}\n# GoldFalcon holds {}\n\n{held}\nThe exit code is 0 each time.",
        HELD.join(", ")
    );
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("decisions-{dir}"), text));
}

#[test]
fn claude() {
    check("claude");
}

#[test]
fn codex() {
    check("codex");
}

#[test]
fn copilot() {
    check("copilot");
}

#[test]
fn copilot_in_the_words_of_claude() {
    check("copilot-pascal");
}

#[test]
fn gemini() {
    check("gemini");
}

#[test]
fn kimi() {
    check("kimi");
}

#[test]
fn qwen() {
    check("qwen");
}

#[test]
fn opencode() {
    check("opencode");
}

#[test]
fn pi() {
    check("pi");
}

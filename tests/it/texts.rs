//! Snapshots of everything a person reads: review each as somebody who has never seen the tool.
//!
//! A scene is a list of commands. It is played twice, each time in its own environment: once as text, which is the
//! snapshot, and once with `--json`, where every command must answer with exactly one object and the same exit code.

mod crew_demo;
mod demo;
mod errors;
mod feed;
mod guard;
mod help;
mod install;
mod messages;
mod peers;
mod reservations;
mod scenes;
mod statusline;
mod swarm;

pub use messages::in_terminal;

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use ravenry::sys::test_switches;
use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, date, end, put};

/// The time in every scene, unless it says otherwise. It is long past, so that an agent that shows a sign of life while
/// the test runs counts as active.
pub const NOW: &str = "2024-05-17T09:30:00.000Z";

#[derive(Clone, Copy, PartialEq)]
enum Voice {
    Words,
    Json,
}

struct Scene {
    env: TestEnvironment,
    voice: Voice,
    now: String,
    transcript: String,
    exits: Vec<Option<i32>>,
    pids: Vec<u32>,
}

/// Plays a scene as text and as JSON, and compares the text with the snapshot of that name.
#[track_caller]
fn check(name: &str, play: impl Fn(&mut Scene)) {
    let words = Scene::play(Voice::Words, &play);
    let json = Scene::play(Voice::Json, &play);
    assert_eq!(words.exits, json.exits, "a command ends otherwise in JSON: {}", words.transcript);
    words.compare(name);
}

#[track_caller]
pub fn snapshot(name: &str, text: &str, filters: &[(&str, &str)]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (pattern, placeholder) in filters {
        settings.add_filter(pattern, *placeholder);
    }
    settings.bind(|| insta::assert_snapshot!(name, text));
}

impl Scene {
    fn play(voice: Voice, play: &impl Fn(&mut Self)) -> Self {
        let env = TestEnvironment::new();
        fs::create_dir(env.home().join("project")).unwrap();
        let mut scene = Self {
            env,
            voice,
            now: NOW.to_string(),
            transcript: String::new(),
            exits: Vec::new(),
            pids: vec![std::process::id()],
        };
        play(&mut scene);
        scene
    }

    #[track_caller]
    fn compare(&self, name: &str) {
        let text = self.env.redact(&self.transcript);
        let pids: Vec<String> = self.pids.iter().map(u32::to_string).collect();
        // Only where a process is meant: a small pid could be any number.
        let pid = format!("(process|--pid|-p) ({})\\b", pids.join("|"));
        snapshot(name, text.trim_end(), &[(&pid, "$1 [PID]")]);
    }

    /// The mesh of a scene, beneath the home, so that no path of this machine makes a column wider.
    fn mesh(&self) -> PathBuf {
        self.env.home().join("mesh")
    }

    fn project(&self) -> PathBuf {
        self.env.home().join("project")
    }

    fn command(&self) -> Command {
        let mut command = self.env.msg();
        command.env("MSG_MESH", "~/mesh").env(test_switches::NOW, &self.now).current_dir(self.project());
        command.env_remove("MSG_LOCK_TIMEOUT");
        command
    }

    /// Runs `msg`.
    fn msg(&mut self, args: &[&str]) {
        self.msg_with(&[], args);
    }

    /// Runs `msg` with environment variables.
    fn msg_with(&mut self, variables: &[(&str, &str)], args: &[&str]) {
        let mut command = self.command();
        command.envs(variables.iter().copied());
        let told: String =
            variables.iter().map(|(name, value)| format!("{name}={} ", shown(&[value]))).collect();
        self.run(command, &format!("{told}msg {}", shown(args)), args);
    }

    fn run(&mut self, mut command: Command, line: &str, args: &[&str]) {
        if self.voice == Voice::Json {
            let ended = end(command.arg("--json").args(args));
            self.exits.push(ended.code);
            one_object(line, &ended.stdout, ended.code);
            return;
        }
        let (text, code) = spoken(command.args(args));
        self.exits.push(code);
        self.transcript.push_str(&format!("$ {}\n{text}", line.trim_end()));
        match code {
            Some(0) => {}
            Some(code) => self.transcript.push_str(&format!("[exit {code}]\n")),
            None => panic!("{line}: killed\n{text}"),
        }
        self.transcript.push('\n');
    }

    /// Notes something that happens between the commands.
    fn meanwhile(&mut self, what: &str) {
        self.transcript.push_str(&format!("# {what}\n\n"));
    }

    fn host(&mut self) -> String {
        let pid = self.env.host();
        self.pids.push(pid);
        pid.to_string()
    }

    /// Runs `msg join` without a transcript. Returns the host.
    #[track_caller]
    fn joined(&mut self, name: &str, harness: &str) -> u32 {
        let pid = self.host();
        let session = format!("session-of-{name}");
        let args = ["join", name, "--pid", &pid, "--harness", harness, "--session", &session];
        let ended = end(self.command().args(args));
        assert_eq!(ended.code, Some(0), "{ended}");
        pid.parse().unwrap()
    }

    /// Rewrites a registration by hand.
    fn rewrite(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let path = self.mesh().join(format!("registry/{name}.json"));
        let mut registration = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        change(&mut registration);
        fs::write(path, serde_json::to_string_pretty(&registration).unwrap()).unwrap();
    }

    /// Writes a registration as pi-messenger does, for a live process.
    fn pi_messengers(&mut self, name: &str) {
        let pid = self.env.pi_host();
        self.pids.push(pid);
        let registration = json!({
            "name": name, "pid": pid, "sessionId": "0195b6aa-7c3e-7d51-9d0c-1f6a2b3c4d5e",
            "cwd": self.project(), "model": "test-model", "startedAt": "2024-05-17T08:30:00.000Z",
            "gitBranch": "main", "isHuman": false, "statusMessage": "reviewing PR",
            "session": {"toolCalls": 3, "tokens": 1234, "filesModified": ["src/auth/login.ts"]},
            "activity": {"lastActivityAt": "2024-05-17T09:28:00.000Z"},
            "reservations": [
                {"pattern": "src/auth/", "reason": "Refactoring", "since": "2024-05-17T09:00:00.000Z"},
                {"pattern": "config.yaml", "since": "2024-05-17T09:00:00.000Z"},
            ],
        });
        put(&self.mesh().join(format!("registry/{name}.json")), &registration.to_string());
    }

    /// Writes a claim as pi-messenger does.
    fn claim(&self, name: &str, task: &str, reason: &str) {
        let path = self.mesh().join(format!("registry/{name}.json"));
        let agent: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let claim = json!({
            "agent": name, "sessionId": agent["sessionId"], "pid": agent["pid"],
            "claimedAt": "2024-05-17T09:10:00.000Z", "reason": reason,
        });
        let claims = json!({ self.project().join("spec.md").to_str().unwrap(): { task: claim } });
        put(&self.mesh().join("claims.json"), &claims.to_string());
    }

    fn mail(&self, name: &str, count: usize) {
        for number in 0..count {
            let message = json!({"id": number.to_string(), "from": "X", "to": name, "text": "hi",
                "timestamp": NOW, "replyTo": null});
            let file = format!("inbox/{name}/1715938200000-{number:06}.json");
            put(&self.mesh().join(file), &message.to_string());
        }
    }

    /// Sets an agent's last sign of life to this long before [`NOW`].
    fn quiet_for(&self, name: &str, seconds: u64) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_715_938_200);
        date(&self.mesh().join(format!("presence/{name}")), now - Duration::from_secs(seconds));
    }
}

/// A command's output, including errors, in the order in which a person sees it.
pub fn spoken(command: &mut Command) -> (String, Option<i32>) {
    let (mut reader, writer) = io::pipe().unwrap();
    let stdout = writer.try_clone().unwrap();
    let mut child = command.stdout(stdout).stderr(writer).spawn().unwrap();
    // The `Command` holds our ends of the pipe open as long as it exists.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    (text, child.wait().unwrap().code())
}

/// Checks that the output is exactly one object, on one line, whose `ok` matches the exit code.
#[track_caller]
fn one_object(line: &str, stdout: &str, code: Option<i32>) -> Value {
    let object: Value =
        serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{line}: {error}: {stdout}"));
    assert!(object.is_object() && stdout.ends_with('\n') && stdout.lines().count() == 1, "{line}: {stdout}");
    assert_eq!(object["ok"], code == Some(0), "{line}: {stdout}");
    if code != Some(0) {
        let error = &object["error"];
        assert!(error["kind"].is_string() && error["message"].is_string(), "{line}: {stdout}");
        assert!(error["hints"].is_array(), "{line}: {stdout}");
        assert_ne!(error["message"], "");
    }
    object
}

/// Arguments quoted for a shell.
fn shown(args: &[&str]) -> String {
    let quote = |arg: &&str| {
        let plain = |c: char| c.is_alphanumeric() || "-_./,=~$".contains(c);
        if !arg.is_empty() && arg.chars().all(plain) {
            (*arg).to_string()
        } else {
            let written = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
            format!("'{}'", arg.chars().map(written).collect::<String>())
        }
    };
    args.iter().map(quote).collect::<Vec<_>>().join(" ")
}

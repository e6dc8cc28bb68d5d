//! Hook calls, made from captured payloads.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ravenry::domain::Harness;
use ravenry::domain::hook::HookAnswer;
use ravenry::harness::{self, hook_codec};
use serde_json::{Value, json};

use crate::support::environment::{Ended, TestEnvironment, end};
use crate::support::terminal::Shell;

/// One hook call.
#[derive(Clone)]
pub struct Call {
    pub harness: Harness,
    pub event: String,
    payload: Value,
}

impl Call {
    /// A captured call such as `claude/PostToolUse-Bash`, changed to this session and to the tests' directory.
    #[track_caller]
    pub fn new(env: &TestEnvironment, fixture: &str, session: &str) -> Self {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hooks").join(format!("{fixture}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let payload: Value = serde_json::from_str(&text).unwrap();
        let (folder, file) = fixture.split_once('/').unwrap();
        let harness = harness::parse(folder.trim_end_matches("-pascal")).unwrap();
        let event = file.rsplit('/').next().unwrap().split('-').next().unwrap().to_string();
        let mut call = Self { harness, event, payload };
        for place in
            ["/session_id", "/sessionId", "/input/sessionID", "/properties/sessionID", "/ctx/sessionId"]
        {
            call.replace(place, &json!(session));
        }
        call.replace("/properties/info/id", &json!(session));
        let cwd = json!(env.work());
        match harness.name() {
            "pi" => call.replace("/ctx/cwd", &cwd),
            _ => call = call.with("/cwd", cwd.clone()),
        }
        call.replace("/properties/info/directory", &cwd);
        call
    }

    fn replace(&mut self, place: &str, value: &Value) {
        if let Some(found) = self.payload.pointer_mut(place) {
            *found = value.clone();
        }
    }

    /// The same call with this value at this place.
    #[track_caller]
    pub fn with(mut self, place: &str, value: impl Into<Value>) -> Self {
        let (above, key) = place.rsplit_once('/').unwrap();
        self.payload.pointer_mut(above).unwrap_or_else(|| panic!("no {above}"))[key] = value.into();
        self
    }

    /// A call of Claude Code for a shell command.
    pub fn bash(env: &TestEnvironment, event: &str, session: &str, command: &str) -> Self {
        let call = Self::new(env, &format!("claude/{event}-Bash"), session);
        let call = call.with("/tool_input/command", command).with("/tool_use_id", command);
        match call.payload.pointer("/tool_response/bashEditDiff") {
            Some(_) => call.with("/tool_response/bashEditDiff", Value::Null),
            None => call,
        }
    }

    /// A call of Claude Code before an edit.
    pub fn edit(env: &TestEnvironment, session: &str, path: &str) -> Self {
        Self::new(env, "claude/PreToolUse-Edit", session)
            .with("/tool_input/file_path", json!(env.work().join(path)))
    }

    /// Maximum number of characters in the answer.
    pub fn room(&self) -> Option<usize> {
        hook_codec::max_answer_chars(self.harness, &self.event)
    }

    /// `msg hook`, with the payload on its standard input.
    pub fn command(&self, env: &TestEnvironment) -> Command {
        let mut command = env.msg();
        command.args(["hook", self.harness.name(), &self.event]);
        command.stdin(Stdio::from(File::open(self.file(env)).unwrap()));
        command
    }

    /// The same as a shell command line.
    pub fn line(&self, env: &TestEnvironment) -> String {
        format!("msg hook {} {} <{}", self.harness, self.event, self.file(env).display())
    }

    /// The payload.
    pub fn input(&self) -> String {
        self.payload.to_string()
    }

    fn file(&self, env: &TestEnvironment) -> PathBuf {
        let file = env.path().join(format!("call-{}", fs::read_dir(env.path()).unwrap().count()));
        fs::write(&file, self.input()).unwrap();
        file
    }

    /// The answer to a call that succeeds.
    #[track_caller]
    pub fn answer(&self, env: &TestEnvironment) -> HookAnswer {
        self.understand(&end(&mut self.command(env)))
    }

    /// The answer to a call that is made from a harness's process.
    #[track_caller]
    pub fn answer_in(&self, env: &TestEnvironment, shell: &mut Shell) -> HookAnswer {
        self.understand(&shell.run(&self.line(env)))
    }

    /// The context in the answer.
    #[track_caller]
    pub fn context(&self, env: &TestEnvironment) -> String {
        context(self.answer(env))
    }

    #[track_caller]
    pub fn understand(&self, ended: &Ended) -> HookAnswer {
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended}");
        if ended.stdout.is_empty() {
            return HookAnswer::Silence;
        }
        let said = ended.json();
        let text = |place: &str| said.pointer(place).and_then(Value::as_str).map(str::to_string);
        let first = |places: &[&str]| places.iter().find_map(|place| text(place));
        let is_stop = ["Stop", "agentStop", "AfterAgent"].contains(&self.event.as_str());
        let denials = [
            "/hookSpecificOutput/permissionDecisionReason",
            "/permissionDecisionReason",
            "/deny",
            if is_stop { "/none" } else { "/reason" },
        ];
        let contexts =
            ["/hookSpecificOutput/additionalContext", "/additionalContext", "/context", "/message"];
        first(&denials)
            .map(if is_stop { HookAnswer::GoOn } else { HookAnswer::Deny })
            .or_else(|| first(&contexts).map(if is_stop { HookAnswer::GoOn } else { HookAnswer::Context }))
            .or_else(|| first(&["/goOn", "/reason"]).map(HookAnswer::GoOn))
            .unwrap_or_else(|| panic!("what is that? {ended}"))
    }
}

#[track_caller]
pub fn context(answer: HookAnswer) -> String {
    match answer {
        HookAnswer::Context(text) => text,
        other => panic!("no context: {other:?}"),
    }
}

/// Sends from Alice to Bob; returns the message's id.
#[track_caller]
pub fn send(env: &TestEnvironment, text: &str) -> String {
    let sent = env.ok(&["send", "Bob", text, "--as", "Alice"]);
    sent["sent"][0]["id"].as_str().unwrap().to_string()
}

/// The state of a message, and what delivered it.
#[track_caller]
pub fn receipt(env: &TestEnvironment, id: &str) -> (String, Option<String>) {
    let receipt = env.ok(&["receipt", id, "--as", "Alice"]);
    (receipt["state"].as_str().unwrap().to_string(), receipt["via"].as_str().map(str::to_string))
}

/// The session of an agent that joined by `TestEnvironment::join`.
pub fn session_of(name: &str) -> String {
    format!("session of {name}")
}

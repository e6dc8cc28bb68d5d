//! pi as a worker: `pi --mode json -p`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::domain::runs::{MicroUsd, Usage};
use crate::harness::install::given_plugin;
use crate::harness::worker::{
    LoginState, PermissionQuestions, UnsupportedOrder, WorkerAccess, WorkerAdapter, WorkerCall, WorkerEnd,
    WorkerEvent, WorkerExit, WorkerFailure, WorkerHooks, WorkerOrder, WorkerReader, WorkerSession,
};
use crate::harness::worker_output::{
    RETRIES, ToolVerb, WorkerTally, at, check_texts, doing, dollars, failure, is_recorded, literal, number,
    object, text,
};
use crate::sys::environment::Home;

use super::install;

/// Versions whose output was recorded.
const RECORDED: &[&str] = &["0.87.1"];
const READERS: &[&str] = &["read", "grep", "find", "ls"];
const WRITERS: &[&str] = &["bash", "powershell", "edit", "write"];
/// An installed extension knows by this name that a copy of it was given.
const GIVEN: &str = "ravenry-given.ts";

pub(super) struct PiWorker;

impl WorkerAdapter for PiWorker {
    fn is_known(&self, version: &str) -> bool {
        is_recorded(version, RECORDED)
    }

    fn login(&self, home: &Home, variable: &dyn Fn(&str) -> Option<String>) -> LoginState {
        let keys = [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_OAUTH_TOKEN",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "OPENROUTER_API_KEY",
            "XAI_API_KEY",
            "GROQ_API_KEY",
            "MISTRAL_API_KEY",
            "DEEPSEEK_API_KEY",
        ];
        let told = variable("PI_CODING_AGENT_DIR").map(|dir| home.expand(&dir));
        let directory = told.unwrap_or_else(|| home.home.join(".pi/agent"));
        let auth = std::fs::read_to_string(directory.join("auth.json")).unwrap_or_default();
        let has_auth = object(&auth).as_ref().and_then(Value::as_object).is_some_and(|auth| !auth.is_empty());
        if has_auth || keys.iter().any(|name| variable(name).is_some()) {
            LoginState::LoggedIn
        } else if directory.join("models.json").exists() {
            LoginState::Unknown
        } else {
            LoginState::LoggedOut
        }
    }

    fn hooks(&self) -> WorkerHooks {
        WorkerHooks::Given
    }

    /// It never asks.
    fn questions(&self) -> PermissionQuestions {
        PermissionQuestions::Fixed
    }

    fn call(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        let mut call = usual_call(order, ["--mode", "json", "-p"].map(OsString::from).to_vec())?;
        call.args.extend([OsString::from("--"), literal(order.task).into()]);
        Ok(call)
    }

    fn call_at_terminal(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        let mut call = usual_call(order, Vec::new())?;
        call.prompt = literal(order.task);
        Ok(call)
    }

    fn interactive(&self, session: &str) -> Vec<OsString> {
        vec!["--session".into(), session.into()]
    }

    fn reader(&self, root: &Path) -> Box<dyn WorkerReader> {
        Box::new(PiReader { root: root.to_path_buf(), tally: WorkerTally::default() })
    }

    fn foreign_variables(&self) -> &'static [&'static str] {
        &[
            "AI_AGENT",
            "PI_CODING_AGENT",
            "PI_MODEL",
            "PI_PROVIDER",
            "PI_REASONING_LEVEL",
            "PI_SESSION_FILE",
            "PI_SESSION_ID",
        ]
    }
}

/// What a call with and without a terminal have in common, after these arguments.
fn usual_call(order: &WorkerOrder<'_>, mut args: Vec<OsString>) -> Result<WorkerCall, UnsupportedOrder> {
    check_texts(order)?;
    let extension = order.scratch.join(GIVEN);
    let mut option = |name: &str, value: &str| args.extend([OsString::from(name), value.into()]);
    let session = match order.session {
        WorkerSession::New(id) => ("--session-id", id),
        WorkerSession::Resumed(id) => ("--session", id),
    };
    option(session.0, session.1.as_str());
    let tools = tools(order)?;
    if let Some(tools) = &tools {
        option("--tools", tools);
    }
    if let Some(instructions) = order.instructions {
        // The text of a file with that name would be read instead.
        option("--append-system-prompt", &format!("{instructions}\n"));
    }
    if let Some(model) = order.model {
        option("--model", model);
    }
    args.extend(["-e".into(), extension.clone().into_os_string()]);
    args.extend(order.args.iter().map(OsString::from));
    Ok(WorkerCall {
        args,
        files: vec![(extension, given_plugin(install::EXTENSION, order.hooks))],
        session: Some(session.1.clone()),
        permission_mode: tools.map_or_else(|| "all tools".to_string(), |tools| format!("tools {tools}")),
        ..WorkerCall::default()
    })
}

/// The tools that the worker has; `None` if those that it has by itself.
fn tools(order: &WorkerOrder<'_>) -> Result<Option<String>, UnsupportedOrder> {
    match order.access {
        WorkerAccess::Edits => Ok((!order.tools.is_empty()).then(|| order.tools.join(","))),
        WorkerAccess::Reads => {
            if let Some(tool) = order.tools.iter().find(|tool| WRITERS.contains(&tool.as_str())) {
                return Err(UnsupportedOrder(format!("a worker that only reads can't have the tool {tool}")));
            }
            let more = order.tools.iter().map(String::as_str).filter(|tool| !READERS.contains(tool));
            Ok(Some(READERS.iter().copied().chain(more).collect::<Vec<_>>().join(",")))
        }
    }
}

/// Reads the lines of `--mode json`.
#[derive(Debug)]
struct PiReader {
    root: PathBuf,
    tally: WorkerTally,
}

impl WorkerReader for PiReader {
    fn line(&mut self, line: &str) -> Vec<WorkerEvent> {
        let Some(value) = object(line) else { return Vec::new() };
        match text(&value, &["type"]).unwrap_or_default() {
            "session" => self.tally.session(text(&value, &["id"])).into_iter().collect(),
            "message_end" if text(&value, &["message", "role"]) == Some("assistant") => {
                self.answer(value.get("message").unwrap_or(&Value::Null))
            }
            "tool_execution_start" => {
                let name = text(&value, &["toolName"]).unwrap_or("a tool");
                let args = value.get("args").unwrap_or(&Value::Null);
                vec![WorkerEvent::Doing(doing(verb(name), name, args, &self.root))]
            }
            "auto_retry_start" => vec![WorkerEvent::Doing(RETRIES.to_string())],
            _ => Vec::new(),
        }
    }

    /// It exits with 0 when its model does not answer.
    fn end(self: Box<Self>, exit: WorkerExit, errors: &str, _scratch: &Path) -> WorkerEnd {
        self.tally.finish(exit, errors)
    }
}

impl PiReader {
    fn answer(&mut self, message: &Value) -> Vec<WorkerEvent> {
        let mut events: Vec<WorkerEvent> = self.tally.model(text(message, &["model"])).into_iter().collect();
        let said: Vec<&str> = at(message, &["content"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|part| text(part, &["text"]))
            .collect();
        self.tally.said(&said.join(""));
        self.tally.end.failure = None;
        if matches!(text(message, &["stopReason"]), Some("error" | "aborted")) {
            let failed = failure(None, text(message, &["errorMessage"]).unwrap_or("it does not say why"));
            if matches!(failed, WorkerFailure::Limited { .. }) {
                events.push(WorkerEvent::Limited(None));
            }
            self.tally.end.failure = Some(failed);
            return events;
        }
        let count = |name| number(message, &["usage", name]);
        let used = Usage {
            input: count("input"),
            output: count("output"),
            cache_read: count("cacheRead"),
            cache_write: count("cacheWrite"),
            turns: Some(1),
        };
        // A model without prices costs 0, which is not known to be true.
        let cost = dollars(message, &["usage", "cost", "total"]).filter(|cost| *cost > MicroUsd::ZERO);
        events.push(self.tally.add(used, cost));
        events
    }
}

fn verb(tool: &str) -> ToolVerb {
    match tool {
        "edit" | "write" => ToolVerb::Edits,
        "read" => ToolVerb::Reads,
        "bash" | "powershell" => ToolVerb::Runs,
        "grep" | "find" => ToolVerb::Searches,
        _ => ToolVerb::Uses,
    }
}

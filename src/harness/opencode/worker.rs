//! OpenCode as a worker: `opencode run --format json`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::domain::SessionId;
use crate::domain::runs::{MicroUsd, Usage};
use crate::harness::install::given_plugin;
use crate::harness::worker::{
    LoginState, PermissionQuestions, UnsupportedOrder, WorkerAccess, WorkerAdapter, WorkerCall, WorkerEnd,
    WorkerEvent, WorkerExit, WorkerFailure, WorkerHooks, WorkerOrder, WorkerReader, WorkerSession,
};
use crate::harness::worker_output::{
    ToolVerb, WorkerTally, at, check_texts, doing, dollars, failure, is_recorded, literal, number, object,
    text,
};
use crate::sys::environment::Home;

use super::install;

/// Versions whose output was recorded.
const RECORDED: &[&str] = &["1.18.33"];
const READERS: &[&str] = &["read", "grep", "glob", "list", "todowrite"];
/// Named one by one as well, so that an agent of a project with our name can't allow one of them.
const WRITERS: &[&str] = &["edit", "bash", "task", "external_directory"];
/// The agent that only reads.
const READING_AGENT: &str = "ravenry-reads";
/// An installed plugin knows by this name that a copy of it was given.
const GIVEN: &str = "ravenry-given.js";
/// The task, which it reads from its standard input.
const TASK: &str = "opencode-task";
/// Near the end of its help.
const HELP: &str = "auto-approve permissions that are not explicitly denied";
const CONFIG: &str = "OPENCODE_CONFIG_CONTENT";

pub(super) struct OpenCodeWorker;

impl WorkerAdapter for OpenCodeWorker {
    fn is_known(&self, version: &str) -> bool {
        is_recorded(version, RECORDED)
    }

    /// It has models that need no login, so nobody is known to be logged out.
    fn login(&self, home: &Home, variable: &dyn Fn(&str) -> Option<String>) -> LoginState {
        let keys = [
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "OPENROUTER_API_KEY",
            "OPENCODE_API_KEY",
        ];
        let told = variable("XDG_DATA_HOME").map(PathBuf::from);
        let data = told.unwrap_or_else(|| home.home.join(".local/share"));
        let auth = std::fs::read_to_string(data.join("opencode/auth.json")).unwrap_or_default();
        let has_auth = object(&auth).as_ref().and_then(Value::as_object).is_some_and(|auth| !auth.is_empty());
        if has_auth || keys.iter().any(|name| variable(name).is_some()) {
            LoginState::LoggedIn
        } else {
            LoginState::Unknown
        }
    }

    fn hooks(&self) -> WorkerHooks {
        WorkerHooks::Given
    }

    fn questions(&self) -> PermissionQuestions {
        PermissionQuestions::Fixed
    }

    fn call(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        let mut call = usual_call(order, ["run", "--format", "json"].map(OsString::from).to_vec())?;
        // As an argument it would have to be split into words, and a word that is a number ends the program.
        let file = order.scratch.join(TASK);
        call.files.push((file.clone(), order.task.to_string()));
        call.input = Some(file);
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
        Box::new(OpenCodeReader { root: root.to_path_buf(), tally: WorkerTally::default() })
    }

    fn foreign_variables(&self) -> &'static [&'static str] {
        &["AGENT", "OPENCODE", "OPENCODE_PID", CONFIG]
    }
}

/// What a call with and without a terminal have in common, after these arguments.
fn usual_call(order: &WorkerOrder<'_>, mut args: Vec<OsString>) -> Result<WorkerCall, UnsupportedOrder> {
    check_texts(order)?;
    let plugin = order.scratch.join(GIVEN);
    let mut files = vec![(plugin.clone(), given_plugin(install::PLUGIN, order.hooks))];
    let mut config = json!({ "plugin": [file_url(&plugin)] });
    let permission_mode = access(order, &mut config, &mut args)?;
    if let Some(instructions) = order.instructions {
        let file = order.scratch.join("opencode-instructions.md");
        config["instructions"] = json!([file.to_string_lossy()]);
        files.push((file, instructions.to_string()));
    }
    let session: Option<SessionId> = match order.session {
        WorkerSession::New(_) => None,
        WorkerSession::Resumed(id) => {
            args.extend(["--session".into(), OsString::from(id.as_str())]);
            Some(id.clone())
        }
    };
    if let Some(model) = order.model {
        args.extend(["--model".into(), OsString::from(model)]);
    }
    args.extend(order.args.iter().map(OsString::from));
    let env = vec![(CONFIG.to_string(), config.to_string().into())];
    Ok(WorkerCall { args, env, files, session, permission_mode, ..WorkerCall::default() })
}

/// Adds what the worker may do, and says it.
fn access(
    order: &WorkerOrder<'_>,
    config: &mut Value,
    args: &mut Vec<OsString>,
) -> Result<String, UnsupportedOrder> {
    let allowed = |tools: &[String]| -> Map<String, Value> {
        let rules = tools.iter().map(|tool| (tool.clone(), json!("allow")));
        [("*".to_string(), json!("deny"))].into_iter().chain(rules).collect()
    };
    match order.access {
        WorkerAccess::Reads => {
            if let Some(tool) =
                order.tools.iter().find(|tool| WRITERS.contains(&tool.as_str()) || tool.as_str() == "write")
            {
                return Err(UnsupportedOrder(format!("a worker that only reads can't have the tool {tool}")));
            }
            let readers: Vec<String> = READERS.iter().map(ToString::to_string).collect();
            let mut rules = allowed(&[readers, order.tools.to_vec()].concat());
            rules.extend(WRITERS.iter().map(|tool| (tool.to_string(), json!("deny"))));
            config["agent"] = json!({ READING_AGENT: { "mode": "primary", "permission": rules } });
            args.extend(["--agent", READING_AGENT].map(OsString::from));
            Ok(format!("agent {READING_AGENT}"))
        }
        WorkerAccess::Edits => {
            let mut rules = if order.tools.is_empty() { Map::new() } else { allowed(order.tools) };
            // The flag would allow it, too. What its user denies stays denied.
            rules.insert("external_directory".to_string(), json!("deny"));
            config["permission"] = Value::Object(rules);
            args.push("--auto".into());
            Ok("--auto, external_directory denied".to_string())
        }
    }
}

/// The URL of a file. Bytes that a path of a URL can't have are encoded.
fn file_url(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let encoded: String = path
        .as_os_str()
        .as_bytes()
        .iter()
        .map(|&byte| match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    format!("file://{encoded}")
}

/// Reads the lines of `--format json`.
#[derive(Debug)]
struct OpenCodeReader {
    root: PathBuf,
    tally: WorkerTally,
}

impl WorkerReader for OpenCodeReader {
    fn line(&mut self, line: &str) -> Vec<WorkerEvent> {
        let Some(value) = object(line) else { return Vec::new() };
        let mut events: Vec<WorkerEvent> =
            self.tally.session(text(&value, &["sessionID"])).into_iter().collect();
        match text(&value, &["type"]).unwrap_or_default() {
            "text" => self.tally.said(text(&value, &["part", "text"]).unwrap_or_default()),
            "tool_use" => self.tool(value.get("part").unwrap_or(&Value::Null), &mut events),
            "step_finish" => {
                let count = |path: &[&str]| number(&value, &[&["part", "tokens"], path].concat());
                let used = Usage {
                    input: count(&["input"]),
                    output: count(&["output"])
                        .map(|output| output.saturating_add(count(&["reasoning"]).unwrap_or(0))),
                    cache_read: count(&["cache", "read"]),
                    cache_write: count(&["cache", "write"]),
                    turns: Some(1),
                };
                // A model without prices costs 0, which is not known to be true.
                let cost = dollars(&value, &["part", "cost"]).filter(|cost| *cost > MicroUsd::ZERO);
                events.push(self.tally.add(used, cost));
            }
            "error" => {
                let data = at(&value, &["error", "data"]).unwrap_or(&Value::Null);
                let message = text(data, &["message"])
                    .or_else(|| text(&value, &["error", "name"]))
                    .unwrap_or("it does not say why");
                let failed = failure(number(data, &["statusCode"]), message);
                if matches!(failed, WorkerFailure::Limited { .. }) {
                    events.push(WorkerEvent::Limited(None));
                }
                self.tally.end.failure = Some(failed);
            }
            _ => {}
        }
        events
    }

    /// It answers an unknown option with its help and does not name it.
    fn end(self: Box<Self>, exit: WorkerExit, errors: &str, _scratch: &Path) -> WorkerEnd {
        self.tally.finish_or_help(exit, errors, HELP)
    }
}

impl OpenCodeReader {
    /// A tool is told of when it has ended. What a plugin refuses is an error with another text.
    fn tool(&mut self, part: &Value, events: &mut Vec<WorkerEvent>) {
        let name = text(part, &["tool"]).unwrap_or("a tool");
        let words =
            doing(verb(name), name, at(part, &["state", "input"]).unwrap_or(&Value::Null), &self.root);
        events.push(WorkerEvent::Doing(words.clone()));
        let error = text(part, &["state", "error"]).unwrap_or_default();
        let refusals = ["The user rejected permission", "The user has specified a rule which prevents you"];
        if refusals.iter().any(|refusal| error.starts_with(refusal)) {
            events.push(self.tally.denied(words));
        } else {
            self.tally.answered();
        }
    }
}

fn verb(tool: &str) -> ToolVerb {
    match tool {
        "edit" | "write" | "apply_patch" => ToolVerb::Edits,
        "read" => ToolVerb::Reads,
        "bash" => ToolVerb::Runs,
        "grep" | "glob" | "websearch" => ToolVerb::Searches,
        _ => ToolVerb::Uses,
    }
}

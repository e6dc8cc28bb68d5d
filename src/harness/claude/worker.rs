//! Claude Code as a worker: `claude -p` with a stream of JSON lines.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::domain::runs::{Cost, Usage};
use crate::harness::install::directory_from;
use crate::harness::worker::{
    CountedSpan, LoginState, PermissionQuestions, UnsupportedOrder, WorkerAccess, WorkerAdapter, WorkerCall,
    WorkerCounts, WorkerEnd, WorkerEvent, WorkerExit, WorkerFailure, WorkerHooks, WorkerOrder, WorkerReader,
    WorkerSession,
};
use crate::harness::worker_output::{
    RETRIES, RememberedCalls, ToolVerb, WorkerTally, at, check_texts, doing, dollars, error_text, failure,
    is_recorded, literal, number, object, text,
};
use crate::sys::environment::Home;

use super::install;

/// Versions whose output was recorded.
const RECORDED: &[&str] = &["2.1.325"];
/// All that a worker has that only reads. Without a shell, no permission of its user lets it write.
const READERS: &[&str] = &["Read", "Glob", "Grep", "ToolSearch"];
/// With it, instructions in added directories are read.
const ADDED_INSTRUCTIONS: &str = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD";
const WRITERS: &[&str] = &["Edit", "Write", "NotebookEdit", "Bash"];

pub(super) struct ClaudeWorker;

impl WorkerAdapter for ClaudeWorker {
    fn is_known(&self, version: &str) -> bool {
        is_recorded(version, RECORDED)
    }

    fn login(&self, home: &Home, variable: &dyn Fn(&str) -> Option<String>) -> LoginState {
        let is_set = |names: &[&str]| names.iter().any(|name| variable(name).is_some());
        if is_set(&["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"]) {
            return LoginState::LoggedIn;
        }
        if is_set(&["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"]) {
            return LoginState::Unknown;
        }
        let told = variable(install::DIRECTORY).map(PathBuf::from);
        let directory = told.clone().unwrap_or_else(|| home.home.join(".claude"));
        let state = told.unwrap_or_else(|| home.home.clone()).join(".claude.json");
        let has = |path: PathBuf, words: &[&str]| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            words.iter().any(|word| text.contains(word))
        };
        if has(directory.join(".credentials.json"), &["accessToken"]) || has(state, &["\"primaryApiKey\""]) {
            LoginState::LoggedIn
        } else if cfg!(target_os = "macos")
            || has(directory.join("settings.json"), &["apiKeyHelper", "ANTHROPIC_", "CLAUDE_CODE_"])
        {
            // A Mac keeps it in the keychain.
            LoginState::Unknown
        } else {
            LoginState::LoggedOut
        }
    }

    fn hooks(&self) -> WorkerHooks {
        WorkerHooks::Given
    }

    /// The hook `PermissionRequest` runs without a terminal too, and its answer counts.
    fn questions(&self) -> PermissionQuestions {
        PermissionQuestions::Asked
    }

    fn call(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        let headless = ["-p", "--output-format", "stream-json", "--verbose"].map(OsString::from);
        let mut call = usual_call(order, headless.to_vec())?;
        if let Some(budget) = order.budget {
            call.args.extend(["--max-budget-usd".into(), OsString::from(budget.dollars().to_string())]);
        }
        if !is_trusted(order.home, order.project) {
            call.args.extend([OsString::from("--setting-sources=user"), joined("--add-dir=", order.root)]);
            call.env.push((ADDED_INSTRUCTIONS.to_string(), "1".into()));
            call.permission_mode.push_str(", without the settings of the project");
        }
        add_settings(&mut call);
        call.args.extend(order.args.iter().map(OsString::from));
        call.args.extend([OsString::from("--"), literal(order.task).into()]);
        Ok(call)
    }

    fn call_at_terminal(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        let mut call = usual_call(order, Vec::new())?;
        add_settings(&mut call);
        call.args.extend(order.args.iter().map(OsString::from));
        if !is_trusted(order.home, order.root) {
            call.dialogs.push("whether the files in this folder are trusted");
        }
        call.prompt = literal(order.task);
        Ok(call)
    }

    fn interactive(&self, session: &str) -> Vec<OsString> {
        vec!["--resume".into(), session.into()]
    }

    fn reader(&self, root: &Path) -> Box<dyn WorkerReader> {
        Box::new(ClaudeReader { root: root.to_path_buf(), ..ClaudeReader::default() })
    }

    fn foreign_variables(&self) -> &'static [&'static str] {
        &[
            "AI_AGENT",
            "CLAUDECODE",
            "CLAUDE_CODE_CHILD_SESSION",
            "CLAUDE_CODE_ENTRYPOINT",
            "CLAUDE_CODE_EXECPATH",
            "CLAUDE_CODE_MESSAGING_SOCKET",
            "CLAUDE_CODE_MESSAGING_TOKEN",
            "CLAUDE_CODE_SESSION_ATTENDED",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_ENV_FILE",
            "CLAUDE_PID",
            "CLAUDE_PROJECT_DIR",
        ]
    }

    fn replaced_variables(&self) -> &'static [&'static str] {
        &["COREPACK_ENABLE_AUTO_PIN", "GIT_EDITOR", "NoDefaultCurrentDirectoryInExePath"]
    }

    fn counts(&self) -> WorkerCounts {
        WorkerCounts { usage: CountedSpan::Run, cost: CountedSpan::Session }
    }
}

/// What a call with and without a terminal have in common, after these arguments.
fn usual_call(order: &WorkerOrder<'_>, mut args: Vec<OsString>) -> Result<WorkerCall, UnsupportedOrder> {
    check_texts(order)?;
    let settings = order.scratch.join("claude-settings.json");
    let content =
        install::worker_settings(order.hooks).map_err(|error| UnsupportedOrder(error.to_string()))?;
    let mode = access(order, &mut args)?;
    let mut option = |name: &str, value: &str| args.extend([OsString::from(name), OsString::from(value)]);
    option("--permission-mode", mode);
    let session = match order.session {
        WorkerSession::New(id) => ("--session-id", id),
        WorkerSession::Resumed(id) => ("--resume", id),
    };
    option(session.0, session.1.as_str());
    if let Some(instructions) = order.instructions {
        option("--append-system-prompt", instructions);
    }
    if let Some(model) = order.model {
        option("--model", model);
    }
    Ok(WorkerCall {
        args,
        files: vec![(settings, content)],
        session: Some(session.1.clone()),
        permission_mode: mode.to_string(),
        ..WorkerCall::default()
    })
}

/// Names the file with our hooks, which is the only one that belongs to the call.
fn add_settings(call: &mut WorkerCall) {
    let files = call.files.iter().map(|(path, _)| path.clone().into_os_string());
    call.args.extend(files.flat_map(|path| ["--settings".into(), path]));
}

/// Whether the person has trusted this folder, or one above, in Claude Code. Without a terminal it runs the hooks of any
/// project, so a clone could run what it likes. The instructions of the project are read nevertheless.
fn is_trusted(home: &Home, project: &Path) -> bool {
    let state = directory_from(install::DIRECTORY).unwrap_or_else(|| home.home.clone()).join(".claude.json");
    let state = std::fs::read_to_string(state).ok().as_deref().and_then(object);
    project.ancestors().filter_map(Path::to_str).any(|folder| {
        let accepted =
            state.as_ref().and_then(|state| at(state, &["projects", folder, "hasTrustDialogAccepted"]));
        accepted.and_then(Value::as_bool) == Some(true)
    })
}

fn joined(flag: &str, path: &Path) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}

/// Adds the tools that the worker has, and says its permission mode.
fn access(order: &WorkerOrder<'_>, args: &mut Vec<OsString>) -> Result<&'static str, UnsupportedOrder> {
    let mut list = |name: &str, tools: &[String]| args.push(format!("{name}={}", tools.join(",")).into());
    let name = |tool: &String| tool.split('(').next().unwrap_or(tool).to_string();
    match order.access {
        WorkerAccess::Reads => {
            if let Some(tool) = order.tools.iter().find(|tool| WRITERS.contains(&tool.as_str())) {
                return Err(UnsupportedOrder(format!(
                    "a worker that only reads can't have the tool {tool}; name commands that only read, such as `Bash(git log:*)`"
                )));
            }
            let mut names: Vec<String> = READERS.iter().map(ToString::to_string).collect();
            names.extend(order.tools.iter().map(name).filter(|name| !READERS.contains(&name.as_str())));
            names.dedup();
            list("--tools", &names);
            if !order.tools.is_empty() {
                list("--allowedTools", order.tools);
            }
            // Nobody is asked: an answer could let it write.
            Ok("dontAsk")
        }
        WorkerAccess::Edits if order.tools.is_empty() => {
            list("--allowedTools", &["Bash".to_string()]);
            Ok("acceptEdits")
        }
        WorkerAccess::Edits => {
            list("--allowedTools", order.tools);
            Ok("acceptEdits")
        }
    }
}

/// Reads the lines of `--output-format stream-json`.
#[derive(Debug, Default)]
struct ClaudeReader {
    root: PathBuf,
    tally: WorkerTally,
    /// The id of the message that was counted last: each of its parts is a line of its own.
    counted: String,
    calls: RememberedCalls,
    until: Option<Timestamp>,
}

impl WorkerReader for ClaudeReader {
    fn line(&mut self, line: &str) -> Vec<WorkerEvent> {
        let Some(value) = object(line) else { return Vec::new() };
        let mut events: Vec<WorkerEvent> =
            self.tally.session(text(&value, &["session_id"])).into_iter().collect();
        match (text(&value, &["type"]), text(&value, &["subtype"])) {
            (Some("system"), Some("init")) => events.extend(self.tally.model(text(&value, &["model"]))),
            (Some("system"), Some("permission_denied")) => events.push(self.denied(&value)),
            (Some("system"), Some("api_retry")) => events.push(match number(&value, &["error_status"]) {
                Some(429) => WorkerEvent::Limited(None),
                _ => WorkerEvent::Doing(RETRIES.to_string()),
            }),
            (Some("assistant"), _) => self.assistant(&value, &mut events),
            (Some("user"), _) => self.results(&value),
            (Some("rate_limit_event"), _) => events.extend(self.limited(&value)),
            (Some("result"), subtype) => events.push(self.result(&value, subtype)),
            _ => {}
        }
        events
    }

    fn end(self: Box<Self>, exit: WorkerExit, errors: &str, _scratch: &Path) -> WorkerEnd {
        self.tally.finish(exit, errors)
    }
}

impl ClaudeReader {
    fn assistant(&mut self, value: &Value, events: &mut Vec<WorkerEvent>) {
        // It writes errors as answers of this model.
        if text(value, &["message", "model"]) == Some("<synthetic>") {
            return;
        }
        let id = text(value, &["message", "id"]).unwrap_or_default();
        if !id.is_empty() && id != self.counted {
            self.counted = id.to_string();
            let used = usage(value.get("message").unwrap_or(&Value::Null));
            events.push(self.tally.add(Usage { turns: Some(1), ..used }, None));
        }
        for part in at(value, &["message", "content"]).and_then(Value::as_array).into_iter().flatten() {
            if let Some(said) = text(part, &["text"]) {
                self.tally.said(said);
            }
            if let (Some("tool_use"), Some(name)) = (text(part, &["type"]), text(part, &["name"])) {
                let input = part.get("input").unwrap_or(&Value::Null);
                let words = doing(verb(name), name, input, &self.root);
                self.calls.remember(text(part, &["id"]).unwrap_or_default(), &words);
                events.push(WorkerEvent::Doing(words));
            }
        }
    }

    /// The question about a tool call was refused. A refusal by a hook before the call is not one of these.
    fn denied(&mut self, value: &Value) -> WorkerEvent {
        // The result that follows belongs to the refusal, so it must not find the call.
        let words = self.calls.take(text(value, &["tool_use_id"]).unwrap_or_default());
        let words = words.unwrap_or_else(|| "uses a tool".to_string());
        self.tally.denied(words)
    }

    fn results(&mut self, value: &Value) {
        for part in at(value, &["message", "content"]).and_then(Value::as_array).into_iter().flatten() {
            let id = text(part, &["tool_use_id"]).unwrap_or_default();
            if self.calls.take(id).is_some() {
                self.tally.answered();
            }
        }
    }

    fn limited(&mut self, value: &Value) -> Option<WorkerEvent> {
        (text(value, &["rate_limit_info", "status"]) == Some("rejected")).then(|| {
            let reset = at(value, &["rate_limit_info", "resetsAt"]).and_then(Value::as_i64);
            self.until = reset.and_then(|reset| Timestamp::from_second(reset).ok());
            WorkerEvent::Limited(self.until)
        })
    }

    fn result(&mut self, value: &Value, subtype: Option<&str>) -> WorkerEvent {
        let end = &mut self.tally.end;
        let mut used = usage(value);
        used.turns = number(value, &["num_turns"]);
        // When it stops at an error, it may report nothing of what it used.
        if used.tokens().is_some_and(|tokens| tokens > 0) || end.usage.tokens().is_none() {
            end.usage = used;
        }
        end.cost = dollars(value, &["total_cost_usd"]).map_or(Cost::Unknown, Cost::Reported);
        let is_error = at(value, &["is_error"]).and_then(Value::as_bool) == Some(true);
        let said = text(value, &["result"]);
        if !is_error {
            if let Some(said) = said {
                end.result = Some(said.to_string());
            }
            return WorkerEvent::Used(end.usage, end.cost);
        }
        let errors = at(value, &["errors"]).and_then(Value::as_array).into_iter().flatten();
        let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
        let message = said.map_or_else(|| errors.join("; "), str::to_string);
        end.failure = Some(match (subtype, failure(number(value, &["api_error_status"]), &message)) {
            (Some("error_max_budget_usd"), _) => WorkerFailure::OverBudget(error_text(&message)),
            (_, WorkerFailure::Limited { text, .. }) => WorkerFailure::Limited { until: self.until, text },
            (_, failure) => failure,
        });
        WorkerEvent::Used(end.usage, end.cost)
    }
}

/// The member `usage`.
fn usage(value: &Value) -> Usage {
    let count = |name| number(value, &["usage", name]);
    Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        turns: None,
    }
}

fn verb(tool: &str) -> ToolVerb {
    match tool {
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => ToolVerb::Edits,
        "Read" => ToolVerb::Reads,
        "Bash" | "Monitor" => ToolVerb::Runs,
        "Grep" | "Glob" | "WebSearch" => ToolVerb::Searches,
        _ => ToolVerb::Uses,
    }
}

//! Copilot CLI as a worker: `copilot --prompt=… --output-format json`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::domain::runs::Usage;
use crate::harness::worker::{
    CountedSpan, LoginState, PermissionQuestions, UnsupportedOrder, WorkerAccess, WorkerAdapter, WorkerCall,
    WorkerCounts, WorkerEnd, WorkerEvent, WorkerExit, WorkerFailure, WorkerHooks, WorkerOrder, WorkerReader,
    WorkerSession,
};
use crate::harness::worker_output::{
    RETRIES, RememberedCalls, ToolVerb, WorkerTally, at, check_texts, doing, failure, is_recorded, number,
    object, text, with_instructions,
};
use crate::sys::environment::Home;

/// Versions whose output was recorded.
const RECORDED: &[&str] = &["1.0.102"];
const READERS: &[&str] = &["view", "grep", "glob"];
const WRITERS: &[&str] = &["write", "shell", "bash", "edit", "create", "apply_patch"];
/// What it used is in this file of the run's private directory.
const USAGE: &str = "copilot-usage.json";

pub(super) struct CopilotWorker;

impl WorkerAdapter for CopilotWorker {
    fn is_known(&self, version: &str) -> bool {
        is_recorded(version, RECORDED)
    }

    fn login(&self, home: &Home, variable: &dyn Fn(&str) -> Option<String>) -> LoginState {
        let is_set = |names: &[&str]| names.iter().any(|name| variable(name).is_some());
        let directory = variable("COPILOT_HOME").map_or_else(|| home.home.join(".copilot"), PathBuf::from);
        let has = |path: PathBuf, words: &[&str]| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            words.iter().any(|word| text.contains(word))
        };
        if is_set(&["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"])
            || has(
                directory.join("config.json"),
                &["loggedInUsers", "logged_in_users", "copilotTokens", "copilot_tokens"],
            )
            || has(home.config.join("gh/hosts.yml"), &["oauth_token"])
        {
            LoginState::LoggedIn
        } else if is_set(&["COPILOT_PROVIDER_BASE_URL"]) || has(home.config.join("gh/hosts.yml"), &["user:"])
        {
            // A provider without a key, or a keychain.
            LoginState::Unknown
        } else {
            LoginState::LoggedOut
        }
    }

    /// Hooks of a folder need a flag that trusts those of the project too.
    fn hooks(&self) -> WorkerHooks {
        WorkerHooks::Installed
    }

    fn questions(&self) -> PermissionQuestions {
        PermissionQuestions::Fixed
    }

    fn call(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        let mut headless = ["--output-format", "json", "--no-color", "--no-ask-user", "--usage-output-file"]
            .map(OsString::from)
            .to_vec();
        headless.push(order.scratch.join(USAGE).into_os_string());
        let mut call = usual_call(order, headless)?;
        call.args.push(format!("--prompt={}", with_instructions(order)).into());
        Ok(call)
    }

    fn call_at_terminal(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        let mut call = usual_call(order, Vec::new())?;
        call.dialogs = vec!["whether the files in this folder are trusted", "whether a tool may be used"];
        call.prompt = with_instructions(order);
        Ok(call)
    }

    fn interactive(&self, session: &str) -> Vec<OsString> {
        vec![format!("--resume={session}").into()]
    }

    fn reader(&self, root: &Path) -> Box<dyn WorkerReader> {
        Box::new(CopilotReader { root: root.to_path_buf(), ..CopilotReader::default() })
    }

    fn foreign_variables(&self) -> &'static [&'static str] {
        &[
            "COPILOT_AGENT_SESSION_ID",
            "COPILOT_CLI",
            "COPILOT_CLI_BINARY_VERSION",
            "COPILOT_CLI_RESOLVED_DIST_DIR",
        ]
    }

    fn replaced_variables(&self) -> &'static [&'static str] {
        &[
            "GIT_OPTIONAL_LOCKS",
            "GIT_ASKPASS",
            "GIT_CONFIG_COUNT",
            "GIT_TERMINAL_PROMPT",
            "SSH_ASKPASS",
            "GCM_INTERACTIVE",
        ]
    }

    fn counts(&self) -> WorkerCounts {
        WorkerCounts { usage: CountedSpan::Session, cost: CountedSpan::Run }
    }
}

/// What a call with and without a terminal have in common, after these arguments.
fn usual_call(order: &WorkerOrder<'_>, mut args: Vec<OsString>) -> Result<WorkerCall, UnsupportedOrder> {
    check_texts(order)?;
    let permission_mode = access(order, &mut args)?;
    let (name, id) = match order.session {
        WorkerSession::New(id) => ("--session-id", id),
        WorkerSession::Resumed(id) => ("--resume", id),
    };
    args.push(format!("{name}={id}").into());
    if let Some(model) = order.model {
        args.extend(["--model".into(), OsString::from(model)]);
    }
    args.extend(order.args.iter().map(OsString::from));
    Ok(WorkerCall { args, session: Some(id.clone()), permission_mode, ..WorkerCall::default() })
}

/// Adds what the worker may do, and says it.
fn access(order: &WorkerOrder<'_>, args: &mut Vec<OsString>) -> Result<String, UnsupportedOrder> {
    let name = |tool: &String| tool.split('(').next().unwrap_or(tool).to_string();
    let flags: Vec<String> = match order.access {
        WorkerAccess::Reads => {
            if let Some(tool) = order.tools.iter().find(|tool| WRITERS.contains(&name(tool).as_str())) {
                return Err(UnsupportedOrder(format!("a worker that only reads can't have the tool {tool}")));
            }
            let more = order.tools.iter().map(name).filter(|tool| !READERS.contains(&tool.as_str()));
            let available: Vec<String> = READERS.iter().map(ToString::to_string).chain(more).collect();
            let mut flags = vec![format!("--available-tools={}", available.join(","))];
            flags.extend(["--deny-tool=write", "--deny-tool=shell"].map(str::to_string));
            flags.extend(order.tools.iter().map(|tool| format!("--allow-tool={tool}")));
            flags
        }
        WorkerAccess::Edits if order.tools.is_empty() => {
            ["--allow-tool=write", "--allow-tool=shell"].map(str::to_string).to_vec()
        }
        WorkerAccess::Edits => order.tools.iter().map(|tool| format!("--allow-tool={tool}")).collect(),
    };
    let said = flags.join(" ");
    args.extend(flags.into_iter().map(OsString::from));
    Ok(said)
}

/// Reads the lines of `--output-format json`.
#[derive(Debug, Default)]
struct CopilotReader {
    root: PathBuf,
    tally: WorkerTally,
    calls: RememberedCalls,
}

impl WorkerReader for CopilotReader {
    fn line(&mut self, line: &str) -> Vec<WorkerEvent> {
        let Some(value) = object(line) else { return Vec::new() };
        match text(&value, &["type"]).unwrap_or_default() {
            "result" => self.tally.session(text(&value, &["sessionId"])).into_iter().collect(),
            "assistant.message" => {
                self.tally.said(text(&value, &["data", "content"]).unwrap_or_default());
                self.tally.end.failure = None;
                self.tally.model(text(&value, &["data", "model"])).into_iter().collect()
            }
            "tool.execution_start" => {
                let name = text(&value, &["data", "toolName"]).unwrap_or("a tool");
                let input = at(&value, &["data", "arguments"]).unwrap_or(&Value::Null);
                let words = doing(verb(name), name, input, &self.root);
                self.calls.remember(text(&value, &["data", "toolCallId"]).unwrap_or_default(), &words);
                vec![WorkerEvent::Doing(words)]
            }
            "tool.execution_complete" => self.complete(&value).into_iter().collect(),
            "assistant.turn_retry" => vec![WorkerEvent::Doing(RETRIES.to_string())],
            "model.call_failure" | "session.error" => self.failed(&value).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn end(mut self: Box<Self>, exit: WorkerExit, errors: &str, scratch: &Path) -> WorkerEnd {
        let used = std::fs::read_to_string(scratch.join(USAGE)).ok().as_deref().and_then(object);
        if let Some(used) = used {
            self.tally.end.usage = usage(&used);
        }
        self.tally.finish(exit, errors)
    }
}

impl CopilotReader {
    /// A refusal by a hook is not for want of an answer.
    fn complete(&mut self, value: &Value) -> Option<WorkerEvent> {
        let words = self.calls.take(text(value, &["data", "toolCallId"]).unwrap_or_default());
        let message = text(value, &["data", "error", "message"]).unwrap_or_default();
        let is_denied = text(value, &["data", "error", "code"]) == Some("denied");
        if is_denied && !message.starts_with("Denied by preToolUse hook") {
            return Some(self.tally.denied(words.unwrap_or_else(|| "uses a tool".to_string())));
        }
        self.tally.answered();
        None
    }

    /// It tries again by itself, so the failure of one call is not yet the end.
    fn failed(&mut self, value: &Value) -> Option<WorkerEvent> {
        let data = value.get("data").unwrap_or(&Value::Null);
        let message = text(data, &["message"])
            .or_else(|| text(data, &["errorMessage"]))
            .unwrap_or("it does not say why");
        let failed = failure(number(data, &["statusCode"]), message);
        let is_limited = matches!(failed, WorkerFailure::Limited { .. });
        self.tally.end.failure = Some(failed);
        is_limited.then_some(WorkerEvent::Limited(None))
    }
}

/// The sum over all models. Its tokens include those of the cache.
fn usage(value: &Value) -> Usage {
    let models = at(value, &["modelMetrics"]).and_then(Value::as_object);
    let of_one = |metrics: &Value| {
        let count = |name| number(metrics, &["usage", name]);
        let cached = count("cacheReadTokens");
        Usage {
            input: count("inputTokens").map(|input| input.saturating_sub(cached.unwrap_or(0))),
            output: count("outputTokens"),
            cache_read: cached,
            cache_write: count("cacheWriteTokens"),
            turns: number(metrics, &["requests", "count"]),
        }
    };
    models.into_iter().flatten().fold(Usage::default(), |sum, (_, metrics)| sum.plus(of_one(metrics)))
}

fn verb(tool: &str) -> ToolVerb {
    match tool {
        "edit" | "create" | "apply_patch" => ToolVerb::Edits,
        "view" => ToolVerb::Reads,
        "bash" | "powershell" => ToolVerb::Runs,
        "grep" | "glob" | "web_search" => ToolVerb::Searches,
        _ => ToolVerb::Uses,
    }
}

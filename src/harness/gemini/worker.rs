//! Gemini CLI as a worker: `gemini --prompt=… -o stream-json`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::domain::runs::Usage;
use crate::domain::text_edit::json::quoted;
use crate::harness::worker::{
    LoginState, PermissionQuestions, UnsupportedOrder, WorkerAccess, WorkerAdapter, WorkerCall, WorkerEnd,
    WorkerEvent, WorkerExit, WorkerFailure, WorkerHooks, WorkerOrder, WorkerReader, WorkerSession,
};
use crate::harness::worker_output::{
    RememberedCalls, ToolVerb, WorkerTally, check_texts, doing, failure, is_recorded, number, object, text,
    with_instructions,
};
use crate::sys::environment::Home;

/// Versions whose output was recorded.
const RECORDED: &[&str] = &["0.61.0"];
/// Near the end of its help.
const HELP: &str = "--accept-raw-output-risk";
/// Tools that write, or that start an agent that may.
const WRITERS: &[&str] = &["replace", "write_file", "run_shell_command", "save_memory", "invoke_agent"];

pub(super) struct GeminiWorker;

impl WorkerAdapter for GeminiWorker {
    fn is_known(&self, version: &str) -> bool {
        is_recorded(version, RECORDED)
    }

    fn login(&self, home: &Home, variable: &dyn Fn(&str) -> Option<String>) -> LoginState {
        let directory = home.home.join(".gemini");
        let has =
            |path: PathBuf, word: &str| std::fs::read_to_string(path).is_ok_and(|text| text.contains(word));
        let has_key = variable("GEMINI_API_KEY").is_some()
            || has(directory.join(".env"), "GEMINI_API_KEY=")
            || has(home.home.join(".env"), "GEMINI_API_KEY=");
        let other = ["GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "CLOUD_SHELL"];
        if has_key || has(directory.join("oauth_creds.json"), "token") {
            LoginState::LoggedIn
        } else if other.iter().any(|name| variable(name).is_some())
            || has(directory.join("settings.json"), "selectedType")
            || directory.join("gemini-credentials.json").exists()
        {
            // Another kind of login, or a keychain.
            LoginState::Unknown
        } else {
            LoginState::LoggedOut
        }
    }

    fn hooks(&self) -> WorkerHooks {
        WorkerHooks::Installed
    }

    fn questions(&self) -> PermissionQuestions {
        PermissionQuestions::Fixed
    }

    fn call(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        let headless = ["-o", "stream-json", "--skip-trust"].map(OsString::from);
        let mut call = usual_call(order, headless.to_vec())?;
        call.args.push(format!("--prompt={}", with_instructions(order)).into());
        Ok(call)
    }

    fn call_at_terminal(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        let mut call = usual_call(order, Vec::new())?;
        call.dialogs = vec!["whether the files in this folder are trusted"];
        call.prompt = with_instructions(order);
        Ok(call)
    }

    /// It asks whether the folder is trusted, and runs no hooks before it has started again. It does that by itself after the
    /// answer, but not always: a drawing of its screen at that moment makes it forget to. With the flag it does not ask.
    fn trusting_args(&self) -> &'static [&'static str] {
        &["--skip-trust"]
    }

    /// It leaves out messages that begin with what a hook added, and ours adds to the first one.
    fn forgets_first_prompt(&self) -> bool {
        true
    }

    fn interactive(&self, session: &str) -> Vec<OsString> {
        vec!["--resume".into(), session.into()]
    }

    fn reader(&self, root: &Path) -> Box<dyn WorkerReader> {
        Box::new(GeminiReader { root: root.to_path_buf(), ..GeminiReader::default() })
    }

    fn foreign_variables(&self) -> &'static [&'static str] {
        &[
            "GEMINI_CLI",
            "GEMINI_CLI_NO_RELAUNCH",
            "GEMINI_CLI_TRUST_WORKSPACE",
            "GEMINI_CWD",
            "GEMINI_PLANS_DIR",
            "GEMINI_PROJECT_DIR",
            "GEMINI_SESSION_ID",
        ]
    }

    fn replaced_variables(&self) -> &'static [&'static str] {
        &[
            "DBUS_SESSION_BUS_ADDRESS",
            "DISPLAY",
            "GH_PROMPT_DISABLED",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_NOSYSTEM",
            "GIT_CONFIG_SYSTEM",
            "GIT_PAGER",
            "PAGER",
            "GIT_ASKPASS",
            "GIT_CONFIG_COUNT",
            "GIT_TERMINAL_PROMPT",
            "SSH_ASKPASS",
            "GCM_INTERACTIVE",
        ]
    }
}

/// What a call with and without a terminal have in common, after these arguments.
fn usual_call(order: &WorkerOrder<'_>, mut args: Vec<OsString>) -> Result<WorkerCall, UnsupportedOrder> {
    check_texts(order)?;
    let policy = order.scratch.join("gemini-policy.toml");
    let (mode, rules) = access(order)?;
    args.extend(["--approval-mode", mode, "--policy"].map(OsString::from));
    args.push(policy.clone().into_os_string());
    let (name, id) = match order.session {
        WorkerSession::New(id) => ("--session-id", id),
        WorkerSession::Resumed(id) => ("--resume", id),
    };
    args.extend([OsString::from(name), id.as_str().into()]);
    if let Some(model) = order.model {
        args.extend(["--model".into(), OsString::from(model)]);
    }
    args.extend(order.args.iter().map(OsString::from));
    Ok(WorkerCall {
        args,
        files: vec![(policy, rules)],
        session: Some(id.clone()),
        permission_mode: mode.to_string(),
        ..WorkerCall::default()
    })
}

/// The approval mode and the rules of a policy file. Without a terminal, a tool that no rule allows is not there.
fn access(order: &WorkerOrder<'_>) -> Result<(&'static str, String), UnsupportedOrder> {
    let rule = |tools: &[&str], decision: &str, priority: u32| {
        let names: Vec<String> = tools.iter().map(|name| quoted(name)).collect();
        format!(
            "[[rule]]\ntoolName = [{}]\ndecision = \"{decision}\"\npriority = {priority}\n",
            names.join(", ")
        )
    };
    let tools: Vec<&str> = order.tools.iter().map(String::as_str).collect();
    match order.access {
        WorkerAccess::Reads => {
            if let Some(tool) = tools.iter().find(|tool| WRITERS.contains(tool)) {
                return Err(UnsupportedOrder(format!("a worker that only reads can't have the tool {tool}")));
            }
            // It outweighs what the settings of the user allow, which a mode alone does not.
            let mut rules = rule(WRITERS, "deny", 999);
            if !tools.is_empty() {
                rules.push_str(&rule(&tools, "allow", 1));
            }
            Ok(("default", rules))
        }
        // Below any rule of the user.
        WorkerAccess::Edits if tools.is_empty() => {
            Ok(("auto_edit", rule(&["run_shell_command"], "allow", 1)))
        }
        WorkerAccess::Edits => Ok(("auto_edit", rule(&tools, "allow", 1))),
    }
}

/// Reads the lines of `-o stream-json`.
#[derive(Debug, Default)]
struct GeminiReader {
    root: PathBuf,
    tally: WorkerTally,
    calls: RememberedCalls,
    /// The parts of the answer that is being written.
    saying: String,
}

impl WorkerReader for GeminiReader {
    fn line(&mut self, line: &str) -> Vec<WorkerEvent> {
        let Some(value) = object(line) else { return Vec::new() };
        match text(&value, &["type"]).unwrap_or_default() {
            "init" => {
                let session = self.tally.session(text(&value, &["session_id"]));
                session.into_iter().chain(self.tally.model(text(&value, &["model"]))).collect()
            }
            "message" if text(&value, &["role"]) == Some("assistant") => {
                self.saying.push_str(text(&value, &["content"]).unwrap_or_default());
                self.tally.said(&self.saying);
                Vec::new()
            }
            "tool_use" => {
                self.saying.clear();
                let name = text(&value, &["tool_name"]).unwrap_or("a tool");
                let words =
                    doing(verb(name), name, value.get("parameters").unwrap_or(&Value::Null), &self.root);
                self.calls.remember(text(&value, &["tool_id"]).unwrap_or_default(), &words);
                vec![WorkerEvent::Doing(words)]
            }
            "tool_result" => self.tool_result(&value).into_iter().collect(),
            "result" => self.result(&value),
            _ => Vec::new(),
        }
    }

    /// It names an unknown option above its long help, which may be cut.
    fn end(self: Box<Self>, exit: WorkerExit, errors: &str, _scratch: &Path) -> WorkerEnd {
        self.tally.finish_or_help(exit, errors, HELP)
    }
}

impl GeminiReader {
    /// A tool that the policy forbids, or that it keeps away altogether, was refused. One that a hook blocked was not.
    fn tool_result(&mut self, value: &Value) -> Option<WorkerEvent> {
        let message = text(value, &["error", "message"]).unwrap_or_default();
        let words = self.calls.take(text(value, &["tool_id"]).unwrap_or_default());
        let is_denied = match text(value, &["error", "type"]) {
            Some("policy_violation") => !message.starts_with("Tool execution blocked: "),
            Some("tool_not_registered") => {
                WRITERS.iter().any(|tool| message.starts_with(&format!("Tool \"{tool}\" not found")))
            }
            _ => false,
        };
        if is_denied {
            return Some(self.tally.denied(words.unwrap_or_else(|| "uses a tool".to_string())));
        }
        self.tally.answered();
        None
    }

    fn result(&mut self, value: &Value) -> Vec<WorkerEvent> {
        let count = |name| number(value, &["stats", name]);
        self.tally.end.usage = Usage {
            input: count("input").or_else(|| count("input_tokens")),
            output: count("output_tokens"),
            cache_read: count("cached"),
            ..Usage::default()
        };
        let mut events = vec![WorkerEvent::Used(self.tally.end.usage, self.tally.end.cost)];
        if text(value, &["status"]) == Some("error") {
            let message = text(value, &["error", "message"]).unwrap_or("it does not say why");
            let failure = match failure(None, message) {
                WorkerFailure::Limited { text, .. } => {
                    let until = until(value, message);
                    events.push(WorkerEvent::Limited(until));
                    WorkerFailure::Limited { until, text }
                }
                failure => failure,
            };
            self.tally.end.failure = Some(failure);
        }
        events
    }
}

/// The time of the line and the seconds in `Suggested retry after 37s.`.
fn until(value: &Value, message: &str) -> Option<Timestamp> {
    let time: Timestamp = text(value, &["timestamp"])?.parse().ok()?;
    let seconds = message.split_once("retry after ")?.1.split_once('s')?.0;
    time.checked_add(SignedDuration::from_secs(seconds.parse().ok()?)).ok()
}

fn verb(tool: &str) -> ToolVerb {
    match tool {
        "replace" | "write_file" => ToolVerb::Edits,
        "read_file" => ToolVerb::Reads,
        "run_shell_command" => ToolVerb::Runs,
        "grep_search" | "glob" | "google_web_search" | "search_file_content" => ToolVerb::Searches,
        _ => ToolVerb::Uses,
    }
}

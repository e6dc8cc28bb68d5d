//! Codex as a worker: `codex exec --json`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::domain::runs::Usage;
use crate::domain::text_edit::json::quoted;
use crate::harness::worker::{
    CountedSpan, LoginState, PermissionQuestions, UnsupportedOrder, WorkerAccess, WorkerAdapter, WorkerCall,
    WorkerCounts, WorkerEnd, WorkerEvent, WorkerExit, WorkerFailure, WorkerHooks, WorkerOrder, WorkerReader,
    WorkerSession,
};
use crate::harness::worker_output::{
    ToolVerb, WorkerTally, at, check_texts, doing, error_text, failure, is_recorded, literal, number, object,
    text,
};
use crate::sys::clock;
use crate::sys::environment::Home;

/// Versions whose output was recorded.
const RECORDED: &[&str] = &["0.166.0"];
/// What it writes to standard error about a patch that its sandbox does not allow.
const REJECTED: &str = "rejected by user approval settings";

pub(super) struct CodexWorker;

impl WorkerAdapter for CodexWorker {
    fn is_known(&self, version: &str) -> bool {
        is_recorded(version, RECORDED)
    }

    fn login(&self, home: &Home, variable: &dyn Fn(&str) -> Option<String>) -> LoginState {
        if variable("CODEX_API_KEY").is_some() {
            return LoginState::LoggedIn;
        }
        let directory = variable("CODEX_HOME").map_or_else(|| home.home.join(".codex"), PathBuf::from);
        let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        let auth = object(&read("auth.json"));
        let has = |path: &[&str]| auth.as_ref().and_then(|auth| text(auth, path)).is_some();
        let config = read("config.toml");
        if has(&["tokens", "access_token"]) || has(&["OPENAI_API_KEY"]) {
            LoginState::LoggedIn
        } else if variable("OPENAI_API_KEY").is_some()
            || ["model_provider", "cli_auth_credentials_store", "oss_provider"]
                .iter()
                .any(|word| config.contains(word))
        {
            // Another provider, or a keyring.
            LoginState::Unknown
        } else {
            LoginState::LoggedOut
        }
    }

    /// Hooks of a command line would need a flag that trusts those of the project too.
    fn hooks(&self) -> WorkerHooks {
        WorkerHooks::Installed
    }

    fn questions(&self) -> PermissionQuestions {
        PermissionQuestions::Fixed
    }

    fn call(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        check_texts(order)?;
        if !order.tools.is_empty() {
            return Err(UnsupportedOrder(
                "Codex has no list of tools that a worker may have; leave out `tools`".into(),
            ));
        }
        let sandbox = match order.access {
            WorkerAccess::Reads => "read-only",
            WorkerAccess::Edits => "workspace-write",
        };
        let mut args: Vec<OsString> = ["exec", "--sandbox", sandbox, "--cd"].map(OsString::from).to_vec();
        args.push(order.root.as_os_str().to_os_string());
        if let WorkerSession::Resumed(_) = order.session {
            args.push("resume".into());
        }
        args.extend(["--json", "--skip-git-repo-check"].map(OsString::from));
        // A resumed session keeps those that it began with.
        if let (Some(instructions), WorkerSession::New(_)) = (order.instructions, order.session) {
            // A JSON string is a TOML string.
            args.extend(["-c".into(), format!("developer_instructions={}", quoted(instructions)).into()]);
        }
        if let Some(model) = order.model {
            args.extend(["--model".into(), model.into()]);
        }
        args.extend(order.args.iter().map(OsString::from));
        let session = match order.session {
            WorkerSession::New(_) => None,
            WorkerSession::Resumed(id) => {
                args.push(id.as_str().into());
                Some(id.clone())
            }
        };
        args.extend(["--".into(), OsString::from(order.task)]);
        Ok(WorkerCall { args, session, permission_mode: sandbox.to_string(), ..WorkerCall::default() })
    }

    /// Anything beyond its sandbox it asks about.
    fn call_at_terminal(&self, order: &WorkerOrder<'_>) -> Result<WorkerCall, UnsupportedOrder> {
        let mut call = self.call(order)?;
        let sandbox = call.permission_mode.clone();
        let mut args: Vec<OsString> = Vec::new();
        if let WorkerSession::Resumed(_) = order.session {
            args.push("resume".into());
        }
        args.extend(["--sandbox", &sandbox, "--ask-for-approval", "on-request", "--cd"].map(OsString::from));
        args.push(order.root.as_os_str().to_os_string());
        if let (Some(instructions), WorkerSession::New(_)) = (order.instructions, order.session) {
            args.extend(["-c".into(), format!("developer_instructions={}", quoted(instructions)).into()]);
        }
        if let Some(model) = order.model {
            args.extend(["--model".into(), model.into()]);
        }
        args.extend(order.args.iter().map(OsString::from));
        if let WorkerSession::Resumed(id) = order.session {
            args.push(id.as_str().into());
        }
        call.args = args;
        call.permission_mode = format!("{sandbox}, asks on request");
        call.dialogs = vec!["whether the folder is trusted", "whether to install an update"];
        call.prompt = literal(order.task);
        Ok(call)
    }

    fn interactive(&self, session: &str) -> Vec<OsString> {
        vec!["resume".into(), session.into()]
    }

    fn reader(&self, root: &Path) -> Box<dyn WorkerReader> {
        Box::new(CodexReader { root: root.to_path_buf(), ..CodexReader::default() })
    }

    fn foreign_variables(&self) -> &'static [&'static str] {
        &[
            "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
            "CODEX_CI",
            "CODEX_MANAGED_BY_NPM",
            "CODEX_MANAGED_PACKAGE_ROOT",
            "CODEX_SANDBOX",
            "CODEX_SANDBOX_NETWORK_DISABLED",
            "CODEX_SESSION_ID",
            "CODEX_THREAD_ID",
            "CODEX_TOOL_CALL_ID",
            "CODEX_VERSION",
        ]
    }

    fn replaced_variables(&self) -> &'static [&'static str] {
        &["COLORTERM", "GH_PAGER", "GIT_PAGER", "LC_ALL", "LC_CTYPE", "NO_COLOR", "PAGER"]
    }

    fn counts(&self) -> WorkerCounts {
        WorkerCounts { usage: CountedSpan::Session, cost: CountedSpan::Run }
    }
}

/// Reads the lines of `codex exec --json`.
#[derive(Debug, Default)]
struct CodexReader {
    root: PathBuf,
    tally: WorkerTally,
    has_used_tools: bool,
}

impl WorkerReader for CodexReader {
    fn line(&mut self, line: &str) -> Vec<WorkerEvent> {
        let Some(value) = object(line) else { return Vec::new() };
        match text(&value, &["type"]).unwrap_or_default() {
            "thread.started" => self.tally.session(text(&value, &["thread_id"])).into_iter().collect(),
            "item.started" => self.item(&value).into_iter().collect(),
            "item.completed" => {
                match text(&value, &["item", "type"]) {
                    Some("agent_message") => {
                        self.tally.said(text(&value, &["item", "text"]).unwrap_or_default());
                    }
                    Some("file_change" | "command_execution" | "mcp_tool_call") => self.has_used_tools = true,
                    _ => {}
                }
                Vec::new()
            }
            "turn.completed" => {
                let count = |name| number(&value, &["usage", name]);
                let cached = count("cached_input_tokens");
                self.tally.end.failure = None;
                self.tally.end.usage = Usage {
                    input: count("input_tokens").map(|input| input.saturating_sub(cached.unwrap_or(0))),
                    output: count("output_tokens"),
                    cache_read: cached,
                    cache_write: count("cache_write_input_tokens"),
                    turns: None,
                };
                vec![WorkerEvent::Used(self.tally.end.usage, self.tally.end.cost)]
            }
            "turn.failed" => self.failed(text(&value, &["error", "message"]).unwrap_or_default()),
            // While it connects again, it reports the same as an error.
            "error" => self.failed(text(&value, &["message"]).unwrap_or_default()),
            _ => Vec::new(),
        }
    }

    fn end(self: Box<Self>, exit: WorkerExit, errors: &str, _scratch: &Path) -> WorkerEnd {
        let mut end = self.tally.finish(exit, errors);
        // Only standard error tells of it, so a later tool call can't be told from an earlier one.
        if !self.has_used_tools && errors.contains(REJECTED) {
            let line = errors.lines().rev().find(|line| line.contains(REJECTED)).unwrap_or_default();
            end.denied = Some(error_text(line.rsplit_once("error=").map_or(line, |(_, text)| text)));
        }
        end
    }
}

impl CodexReader {
    fn item(&self, value: &Value) -> Option<WorkerEvent> {
        let item = value.get("item")?;
        let (verb, input) = match text(item, &["type"])? {
            "file_change" => (ToolVerb::Edits, at(item, &["changes"])?.get(0)?.clone()),
            "command_execution" => {
                (ToolVerb::Runs, serde_json::json!({ "command": bare(text(item, &["command"])?) }))
            }
            "web_search" => (ToolVerb::Searches, item.clone()),
            "mcp_tool_call" => (ToolVerb::Uses, Value::Null),
            _ => return None,
        };
        let name = text(item, &["tool"]).unwrap_or("a tool");
        Some(WorkerEvent::Doing(doing(verb, name, &input, &self.root)))
    }

    fn failed(&mut self, message: &str) -> Vec<WorkerEvent> {
        let until = until(message);
        let failure = match failure(None, message) {
            WorkerFailure::Limited { text, .. } => WorkerFailure::Limited { until, text },
            failure => failure,
        };
        let is_limited = matches!(failure, WorkerFailure::Limited { .. });
        self.tally.end.failure = Some(failure);
        if is_limited { vec![WorkerEvent::Limited(until)] } else { Vec::new() }
    }
}

/// The command without the shell that runs it.
fn bare(command: &str) -> &str {
    let inner = ["/bin/bash -lc ", "/bin/sh -lc ", "/bin/zsh -lc ", "bash -lc "]
        .iter()
        .find_map(|shell| command.strip_prefix(shell));
    inner.map_or(command, |inner| inner.trim_matches(['\'', '"']))
}

/// The time in `try again at Nov 18th, 2026 8:20 AM.`, or in `try again at 8:20 AM.` on the same day. It is local.
fn until(message: &str) -> Option<Timestamp> {
    let rest = message.split_once("try again at ")?.1;
    let words: Vec<&str> = rest.split(['.', ' ', ',']).filter(|word| !word.is_empty()).collect();
    let zone = TimeZone::system();
    let local = match words.as_slice() {
        [time, half @ ("AM" | "PM"), ..] => {
            let time = Time::strptime("%I:%M %p", format!("{time} {half}")).ok()?;
            clock::now().to_zoned(zone.clone()).date().to_datetime(time)
        }
        [month, day, year, time, half, ..] => {
            let day = day.trim_end_matches(char::is_alphabetic);
            DateTime::strptime("%b %d %Y %I:%M %p", format!("{month} {day} {year} {time} {half}")).ok()?
        }
        _ => return None,
    };
    Some(local.to_zoned(zone).ok()?.timestamp())
}

#[cfg(test)]
pub(super) fn until_in(message: &str) -> Option<Timestamp> {
    until(message)
}

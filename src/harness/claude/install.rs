//! What is installed into Claude Code: hooks, a waiter, a permission, the status line and the MCP server.

use std::path::{Path, PathBuf};

use crate::domain::text_edit::EditError;
use crate::domain::text_edit::json::{Dialect, Json};
use crate::domain::{ASKED_COMMANDS, ASKED_FLAG, ASKED_TOOL, UNASKED_COMMANDS, UNASKED_LINES};
use crate::harness::install::{
    HOOK_SECONDS, Hook, HookGroup, HookRole, InstallContext, InstallScope, InstallTarget, RecordedOriginal,
    SettingsFileEntry, directory_from, hook_list, member, settings,
};
use crate::harness::{HookPurpose, MsgProgram};
use crate::sys::environment::{Home, variable};

use super::ID;

/// Timeout of a waiter, in seconds: how long an agent may be idle and still be woken.
const WEEK: u64 = 7 * 24 * 3600;
/// Excludes read-only tools. A tool we don't know may write.
const CHANGES: &str = "^(?!(?:Read|Glob|Grep|LS|WebFetch|WebSearch|ToolSearch|TodoWrite)$)";
/// The variable that names the directory of the user's settings.
pub(super) const DIRECTORY: &str = "CLAUDE_CONFIG_DIR";
/// Timeout of a question, in seconds. The run decides before that how long its parent has to answer.
const QUESTION_SECONDS: u64 = 24 * 3600;
/// What earlier versions put there: it permits every command.
const FORMER_PERMISSION: &str = "Bash(msg:*)";
const SERVER_PERMISSION: &str = "mcp__ravenry";

/// Whether a text in a list of the settings is ours.
pub(super) fn is_item(text: &str) -> bool {
    text == FORMER_PERMISSION || allowed().chain(asked()).any(|(_, item)| item == text)
}

/// Members of the settings that we add to or create, besides the common ones.
pub(super) fn members() -> Vec<Vec<String>> {
    [&["permissions", "allow"][..], &["permissions", "ask"], &["statusLine"]].map(member).to_vec()
}

pub(super) fn config_dir(home: &Home) -> PathBuf {
    directory_from(DIRECTORY).unwrap_or_else(|| home.home.join(".claude"))
}

pub(super) fn user_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    vec![target(place, config_dir(place.home).join("settings.json"))]
}

pub(super) fn project_targets(place: &InstallContext<'_>, root: &Path) -> Vec<InstallTarget> {
    vec![target(place, root.join(".claude/settings.local.json"))]
}

/// The state file, which holds the user's MCP servers: in the home directory, or in `CLAUDE_CONFIG_DIR` if that is set.
pub(super) fn server_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    let directory = config_dir(place.home);
    let parent = if variable(DIRECTORY).is_some() { &directory } else { &place.home.home };
    let members = [("type", Json::from("stdio"))].into_iter().chain(place.server_call()).collect();
    let entry = SettingsFileEntry::Server(place.server("mcpServers", members));
    vec![InstallTarget::new(parent.join(".claude.json"), settings(ID, Dialect::Strict, vec![entry]))]
}

fn target(place: &InstallContext<'_>, path: PathBuf) -> InstallTarget {
    let mut entries = reporters(&place.program);
    entries.extend(["SessionStart", "Stop"].map(|event| SettingsFileEntry::Hook(waiter(place, event))));
    let has_server = place.wants_mcp && matches!(place.scope, InstallScope::User);
    entries
        .extend(permissions().filter(|(about, _)| has_server || *about == Permits::Command).map(|it| it.1));
    let shown = place.line_for(ID, HookPurpose::StatusLine);
    let value = Json::object([("type", "command".into()), ("command", shown.as_str().into())]);
    entries.push(SettingsFileEntry::StatusLine { value, is_wanted: place.wants_statusline });
    // Claude Code silently ignores the whole file if it contains a comment.
    InstallTarget::new(path, settings(ID, Dialect::Strict, entries))
}

/// The hooks that report events.
fn reporters(program: &MsgProgram) -> Vec<SettingsFileEntry> {
    let hook = |(event, matcher)| {
        let group = HookGroup { matcher, timeout: HOOK_SECONDS, ..HookGroup::default() };
        SettingsFileEntry::Hook(group.hook(program, ID, event))
    };
    let events = [
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("PreToolUse", Some(CHANGES)),
        ("PostToolUse", None),
        ("PostToolUseFailure", None),
        ("Stop", None),
        ("StopFailure", None),
        ("SessionEnd", None),
    ];
    events.into_iter().map(hook).collect()
}

/// What a permission is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Permits {
    Command,
    Server,
}

/// What runs without asking.
fn allowed() -> impl Iterator<Item = (Permits, String)> {
    let commands =
        UNASKED_COMMANDS.iter().map(|command| (Permits::Command, format!("Bash(msg {command}:*)")));
    let lines = UNASKED_LINES.iter().map(|line| (Permits::Command, format!("Bash(msg {line})")));
    commands.chain(lines).chain([(Permits::Server, SERVER_PERMISSION.to_string())])
}

/// What Claude Code asks about, whatever else allows it: it looks at these rules first.
fn asked() -> impl Iterator<Item = (Permits, String)> {
    let (command, flag) = ASKED_FLAG;
    let commands = ASKED_COMMANDS.iter().map(|command| format!("Bash(msg {command}:*)"));
    let commands = commands.chain([format!("Bash(msg {command} * {flag}*)")]);
    let tool = (Permits::Server, format!("{SERVER_PERMISSION}__{ASKED_TOOL}"));
    commands.map(|rule| (Permits::Command, rule)).chain([tool])
}

/// All entries that permit something, or ask about it.
fn permissions() -> impl Iterator<Item = (Permits, SettingsFileEntry)> {
    let list = |name: &str| member(&["permissions", name]);
    let (allow, ask) = (list("allow"), list("ask"));
    let former = SettingsFileEntry::FormerItem { list: allow.clone(), text: FORMER_PERMISSION.to_string() };
    let item = |list: Vec<String>| {
        move |(about, text)| (about, SettingsFileEntry::Item { list: list.clone(), text })
    };
    [(Permits::Command, former)].into_iter().chain(allowed().map(item(allow))).chain(asked().map(item(ask)))
}

/// The settings of a worker: the same hooks, so that those that are installed too run once, and one that asks for
/// permissions. It has no waiter, because a worker is never idle.
pub(super) fn worker_settings(program: &MsgProgram) -> Result<String, EditError> {
    let mut entries = reporters(program);
    let asks = HookGroup { timeout: QUESTION_SECONDS, ..HookGroup::default() };
    entries.push(SettingsFileEntry::Hook(asks.hook(program, ID, "PermissionRequest")));
    entries.extend(permissions().map(|(_, entry)| entry));
    let part = settings(ID, Dialect::Strict, entries);
    let bytes = part.put(None, RecordedOriginal::Nothing, &|_| (None, None))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The process that Claude Code keeps running beside an idle session. A version that doesn't know `asyncRewake` still
/// knows `async`; its sessions are just not woken.
fn waiter(place: &InstallContext<'_>, event: &str) -> Hook {
    let line = place.line_for(ID, HookPurpose::WaitForMail);
    let handler = Json::object([
        ("type", Json::from("command")),
        ("command", line.as_str().into()),
        ("async", Json::Bool(true)),
        ("asyncRewake", Json::Bool(true)),
        ("timeout", Json::Number(WEEK)),
    ]);
    let value = Json::object([("hooks", Json::List(vec![handler]))]);
    Hook { list: hook_list(event), within: Some("hooks"), field: "command", role: HookRole::Waiter, value }
}

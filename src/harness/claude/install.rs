//! What is installed into Claude Code: hooks, a waiter, a permission, the status line and the MCP server.

use std::path::{Path, PathBuf};

use crate::domain::text_edit::EditError;
use crate::domain::text_edit::json::{Dialect, Json};
use crate::harness::install::{
    HOOK_SECONDS, Hook, HookGroup, HookRole, InstallContext, InstallScope, InstallTarget, RecordedOriginal,
    SettingsFileEntry, directory_from, hook_list, settings,
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
const PERMISSION: &str = "Bash(msg:*)";
const SERVER_PERMISSION: &str = "mcp__ravenry";

/// Texts in lists of the settings that are ours.
pub(super) const ITEMS: &[&str] = &[PERMISSION, SERVER_PERMISSION];
/// Members of the settings that we add to or create, besides the common ones.
pub(super) const MEMBERS: &[&[&str]] = &[&["permissions", "allow"], &["statusLine"]];

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
    let list = ["permissions", "allow"].map(str::to_string).to_vec();
    entries.push(permission());
    if place.wants_mcp && matches!(place.scope, InstallScope::User) {
        entries.push(SettingsFileEntry::Item { list, text: SERVER_PERMISSION.to_string() });
    }
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
        ("SessionEnd", None),
    ];
    events.into_iter().map(hook).collect()
}

fn permission() -> SettingsFileEntry {
    let list = ["permissions", "allow"].map(str::to_string).to_vec();
    SettingsFileEntry::Item { list, text: PERMISSION.to_string() }
}

/// The settings of a worker: the same hooks, so that those that are installed too run once, and one that asks for
/// permissions. It has no waiter, because a worker is never idle.
pub(super) fn worker_settings(program: &MsgProgram) -> Result<String, EditError> {
    let mut entries = reporters(program);
    let asks = HookGroup { timeout: QUESTION_SECONDS, ..HookGroup::default() };
    entries.push(SettingsFileEntry::Hook(asks.hook(program, ID, "PermissionRequest")));
    entries.push(permission());
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

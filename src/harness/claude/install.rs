//! What is installed into Claude Code: hooks, a waiter, a permission, the status line and the MCP server.

use std::path::{Path, PathBuf};

use crate::domain::text_edit::json::{Dialect, Json};
use crate::harness::HookPurpose;
use crate::harness::install::{
    HOOK_SECONDS, Hook, HookGroup, HookRole, InstallContext, InstallScope, InstallTarget, SettingsFileEntry,
    directory_from, hook_list, settings,
};
use crate::sys::environment::{Home, variable};

use super::ID;

/// Timeout of a waiter, in seconds: how long an agent may be idle and still be woken.
const WEEK: u64 = 7 * 24 * 3600;
/// Excludes read-only tools. A tool we don't know may write.
const CHANGES: &str = "^(?!(?:Read|Glob|Grep|LS|WebFetch|WebSearch|ToolSearch|TodoWrite)$)";
/// The variable that names the directory of the user's settings.
pub(super) const DIRECTORY: &str = "CLAUDE_CONFIG_DIR";
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
    let hook = |(event, matcher)| {
        place.group(ID, event, HookGroup { matcher, timeout: HOOK_SECONDS, ..HookGroup::default() })
    };
    let mut entries: Vec<SettingsFileEntry> = [
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("PreToolUse", Some(CHANGES)),
        ("PostToolUse", None),
        ("PostToolUseFailure", None),
        ("Stop", None),
        ("SessionEnd", None),
    ]
    .into_iter()
    .map(|event| SettingsFileEntry::Hook(hook(event)))
    .collect();
    entries.extend(["SessionStart", "Stop"].map(|event| SettingsFileEntry::Hook(waiter(place, event))));
    let list = ["permissions", "allow"].map(str::to_string).to_vec();
    entries.push(SettingsFileEntry::Item { list: list.clone(), text: PERMISSION.to_string() });
    if place.wants_mcp && matches!(place.scope, InstallScope::User) {
        entries.push(SettingsFileEntry::Item { list, text: SERVER_PERMISSION.to_string() });
    }
    let shown = place.line_for(ID, HookPurpose::StatusLine);
    let value = Json::object([("type", "command".into()), ("command", shown.as_str().into())]);
    entries.push(SettingsFileEntry::StatusLine { value, is_wanted: place.wants_statusline });
    // Claude Code silently ignores the whole file if it contains a comment.
    InstallTarget::new(path, settings(ID, Dialect::Strict, entries))
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

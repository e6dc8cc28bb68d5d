//! What is installed into Qwen Code: hooks, one of which lets `msg` run without asking, and the MCP server.
//!
//! A rule in `permissions.allow` would do that without a terminal, too, but it also lets `msg send $(…)` run.

use std::path::PathBuf;

use crate::domain::text_edit::json::{Dialect, Json};
use crate::harness::install::{
    HOOK_SECONDS, HookGroup, InstallContext, InstallTarget, SettingsFileEntry, directory_from, member,
    settings,
};
use crate::sys::environment::Home;

use super::ID;

/// The variable that names the directory of the user's settings.
pub(super) const DIRECTORY: &str = "QWEN_HOME";
/// The tool of the server that Qwen Code asks about.
pub(super) const ASKED_ITEM: &str = "mcp__ravenry__run";
const SHELL: &str = "^run_shell_command$";
const CHANGES: &str = "^(?:edit|write_file|notebook_edit|run_shell_command|monitor)$";

pub(super) fn config_dir(home: &Home) -> PathBuf {
    directory_from(DIRECTORY).unwrap_or_else(|| home.home.join(".qwen"))
}

pub(super) fn user_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    let path = config_dir(place.home).join("settings.json");
    vec![InstallTarget::new(path, settings(ID, Dialect::Comments, entries(place)))]
}

/// A rule of the user's settings counts more than the trust in a server.
fn asked_tool(place: &InstallContext<'_>) -> SettingsFileEntry {
    let (list, text) = (member(&["permissions", "ask"]), ASKED_ITEM.to_string());
    if place.wants_mcp {
        SettingsFileEntry::Item { list, text }
    } else {
        SettingsFileEntry::FormerItem { list, text }
    }
}

fn entries(place: &InstallContext<'_>) -> Vec<SettingsFileEntry> {
    let group = |matcher| HookGroup { matcher, name: Some("ravenry"), timeout: HOOK_SECONDS };
    // The server's tools may run without asking, like the command.
    let members = place.server_call().into_iter().chain([("trust", Json::Bool(true))]).collect();
    [
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("PermissionRequest", Some(SHELL)),
        ("PreToolUse", Some(CHANGES)),
        ("PostToolUse", None),
        ("PostToolUseFailure", None),
        ("Stop", None),
        ("SessionEnd", None),
    ]
    .into_iter()
    .map(|(event, matcher)| SettingsFileEntry::Hook(place.group(ID, event, group(matcher))))
    .chain([SettingsFileEntry::Server(place.server("mcpServers", members))])
    .chain([asked_tool(place)])
    .collect()
}
